// Machine-independent optimisation of the graph. All passes except contract() keep results bit for bit.
#pragma once

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Fuses float multiplications and additions to fma where PTX allows it, with the choices of ptxas.
void contract(FlowGraph& graph, const isa::Function& function);
/// Brings instructions to a canonical form. Loads of kernel parameters at fixed offsets become moves from the
/// constant bank. Moves and selects of floats become moves of bits. Addition of negated immediates replaces
/// subtraction. Conversions between global and generic addresses, which are equal, become moves.
void canonicalize(FlowGraph& graph);
/// Propagates copies, immediates, constants and symbols into instructions that can take them, and evaluates
/// integer operations on immediates. Returns true if anything changed.
bool propagate(FlowGraph& graph, isa::Function& function);
/// Combines instructions: base + immediate becomes the offset of memory instructions, and shifts,
/// multiplications and additions become Lea and MadWide/MadLo. Returns true if anything changed.
bool combine(FlowGraph& graph, isa::Function& function);
/// Eliminates computations of values that a dominating instruction has already computed. Returns true if
/// anything changed.
bool eliminate_common(FlowGraph& graph, isa::Function& function);
/// Removes instructions without effect whose results are not read. Returns true if anything changed.
bool eliminate_dead(FlowGraph& graph, isa::Function& function);
/// Renames each definition of a register within a block, except the last one, so that other passes see
/// values. Needed after unrolling.
void rename_locals(FlowGraph& graph, isa::Function& function);

/// Width in bits of source `index` of `inst`. 0 if it is no plain value (predicate, address).
[[nodiscard]] unsigned source_width(const isa::Instruction& inst, std::size_t index);

}  // namespace gpumux::ptx
