// How often the instructions of a trace are executed, and which of them are not timed as on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/sass.hpp"
#include "trace/trace_file.hpp"

namespace gpumux::trace {

/// By index in the machine's table of the launch's code: warp instructions. Throws UserError for a corrupt
/// trace.
[[nodiscard]] std::vector<std::uint64_t> executed_counts(const Trace& trace, const Launch& launch);

struct UntimedCount {
  Untimed why = Untimed::No;
  std::uint64_t warp_instructions = 0;
  std::string opcode;  // without modifiers, of the one that is executed most
};

/// Over all launches, in the order of Untimed; empty where everything is timed. Throws UserError.
[[nodiscard]] std::vector<UntimedCount> untimed_counts(const Trace& trace);

}  // namespace gpumux::trace
