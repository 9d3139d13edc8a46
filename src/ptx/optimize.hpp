// Machine-independent clean-up of the graph. Each pass but contract() keeps results bit for bit.
#pragma once

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Multiplications and additions of floats that PTX lets an implementation fuse become fma, as ptxas chooses.
void contract(FlowGraph& graph, const isa::Function& function);
/// Loads of kernel parameters at fixed offsets become moves from the constant bank; moves and selects
/// of floats become moves of bits; addition of negated immediates replaces subtraction; conversions
/// between global and generic addresses, which are the same numbers, become moves.
void canonicalize(FlowGraph& graph);
/// Copies, immediates, constants and symbols go straight into the instructions that can take them;
/// integer operations on immediates are evaluated. True when something changed.
bool propagate(FlowGraph& graph, isa::Function& function);
/// base + immediate goes into the offset of memory instructions; shifts, multiplications and
/// additions join into Lea and MadWide/MadLo. True when something changed.
bool combine(FlowGraph& graph, isa::Function& function);
/// Values that a dominating instruction has computed already are not computed again.
bool eliminate_common(FlowGraph& graph, isa::Function& function);
/// Removes instructions without effect whose results nobody reads.
bool eliminate_dead(FlowGraph& graph, isa::Function& function);
/// Gives each definition of a register within a block a name of its own, but the last, so that the
/// other passes see values. Needed behind unrolling.
void rename_locals(FlowGraph& graph, isa::Function& function);

/// Width in bits at which `inst` reads source `index`; 0 when it is no plain value (predicate, address).
[[nodiscard]] unsigned source_width(const isa::Instruction& inst, std::size_t index);

}  // namespace gpumux::ptx
