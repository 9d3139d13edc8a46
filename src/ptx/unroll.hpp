// Unrolling of counted loops.
#pragma once

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Unrolls loops of one block that load, count with a constant step, and end by a comparison with an
/// invariant bound. Four (or two) iterations run at a time while that many remain. The original loop executes
/// the rest. Blocks under `.pragma "nounroll"` and the compiler's remainder loops are not unrolled.
void unroll_loops(FlowGraph& graph, isa::Function& function);

}  // namespace gpumux::ptx
