// Execution counts of a trace's instructions, and counts of instructions whose timing is not modelled as on a
// GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/sass.hpp"
#include "trace/trace_file.hpp"

namespace gpumux::trace {

/// Number of executed warp instructions by index in the static table of the launch's code. Throws UserError
/// for a corrupt trace.
[[nodiscard]] std::vector<std::uint64_t> executed_counts(const Trace& trace, const Launch& launch);

struct UntimedCount {
  Untimed why = Untimed::No;
  std::uint64_t warp_instructions = 0;
  std::string opcode;  // the most frequent opcode, without modifiers
};

/// Counts of untimed instructions over all launches, in the order of Untimed. Empty if all instructions are
/// timed. Throws UserError.
[[nodiscard]] std::vector<UntimedCount> untimed_counts(const Trace& trace);

}  // namespace gpumux::trace
