// If-conversion: replaces short branches by guards.
#pragma once

#include <cstddef>

#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Limits of one conversion, in instructions.
struct IfConversionLimits {
  std::size_t one_side = 9;    // a branch that skips a block
  std::size_t both_sides = 9;  // a branch that chooses between two blocks
};

/// Removes a branch around a short block, or to one of two short blocks that meet again. Loads, stores and
/// instructions that must keep old values in other lanes are guarded by the branch's predicate. Arithmetic
/// whose result is dead in other lanes is executed by all lanes.
///
/// Blocks with other instructions are not converted: barriers, calls, exits, atomics, exchange between lanes,
/// volatile accesses, division, special functions, f64 arithmetic. Innermost branches are converted first.
/// Returns true if anything changed.
bool convert_branches(FlowGraph& graph, isa::Function& function, const IfConversionLimits& limits = {});

}  // namespace gpumux::ptx
