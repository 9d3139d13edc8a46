// Short branches become guards.
#pragma once

#include <cstddef>

#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Limits of one conversion, in instructions.
struct IfConversionLimits {
  std::size_t one_side = 9;    // of a branch that skips a block
  std::size_t both_sides = 9;  // of one that chooses between two
};

/// A branch around a short block, or to one of two short blocks that meet again, is removed: loads, stores
/// and what must keep its old value in the other lanes are guarded by the branch's predicate, arithmetic
/// whose result is dead in the other lanes is done by all. Blocks with anything else (barriers, calls, exits,
/// atomics, exchange between lanes, volatile accesses, division, special functions, f64 arithmetic) stay.
/// Innermost first. True when something changed.
bool convert_branches(FlowGraph& graph, isa::Function& function, const IfConversionLimits& limits = {});

}  // namespace gpumux::ptx
