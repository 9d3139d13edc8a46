// Expansion of division, reciprocals and square roots into the instruction sequences that GPUs execute.
#pragma once

#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// The expansion of an exact instruction. `fast` computes the same result, bit for bit, if predicate `ok` is
/// true after it. Without `ok`, always.
struct Expansion {
  std::vector<isa::Instruction> fast;
  isa::Operand ok;
};

/// Expands div, rcp and sqrt (.rn, f32 and f64), and div and rem (u32, s32, u64, s64). Returns false for
/// other instructions. The sequences are exact if the f32 estimates (rcp.approx, rsqrt.approx) are correctly
/// rounded, and the f64 estimates are within 2^-19 relative. An f32 error of one unit in the last place is
/// also sufficient, except for divisors whose mantissa is all ones.
[[nodiscard]] bool expand_instruction(isa::Function& function, const isa::Instruction& inst,
                                      Expansion& result);

/// Expands all divisions and roots of the graph. If a fast sequence needs a check, the exact instruction
/// becomes the slow path, out of line.
void expand_arithmetic(FlowGraph& graph, isa::Function& function);

}  // namespace gpumux::ptx
