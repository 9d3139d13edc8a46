// The source of a core's instructions.
#pragma once

#include <span>

#include "cpu/trace/record.hpp"

namespace gpumux::cpu {

/// An endless sequence of instructions, delivered in chunks so that there is no virtual call per instruction.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  /// The next instructions: at least one, valid until the next call. Throws UserError for a damaged file.
  virtual std::span<const Record> next() = 0;
};

}  // namespace gpumux::cpu
