// Where a core's instructions come from.
#pragma once

#include <span>

#include "cpu/trace/record.hpp"

namespace gpumux::cpu {

/// An endless sequence of instructions, a chunk at a time, so that nothing virtual is called per instruction.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  /// The instructions that follow: at least one, valid until the next call. Throws UserError for a file that
  /// turns out to be damaged.
  virtual std::span<const Record> next() = 0;
};

}  // namespace gpumux::cpu
