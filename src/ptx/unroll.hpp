// Unrolling of counted loops.
#pragma once

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Loops of one block that load, count with a constant step and end by a comparison with an invariant
/// bound run four (or two) iterations at a time while that many remain; the loop itself stays for the
/// rest. Blocks under `.pragma "nounroll"` and remainder loops that the compiler made are left alone.
void unroll_loops(FlowGraph& graph, isa::Function& function);

}  // namespace gpumux::ptx
