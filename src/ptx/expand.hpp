// Division, reciprocals and square roots as the instruction sequences that GPUs run for them.
#pragma once

#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// What an exact instruction becomes: `fast` computes the same result, bit for bit, whenever predicate
/// `ok` holds behind it (always, when there is none).
struct Expansion {
  std::vector<isa::Instruction> fast;
  isa::Operand ok;
};

/// False when `inst` is none of: div, rcp, sqrt (.rn, f32 and f64), div, rem (u32, s32, u64, s64).
/// The sequences are right for estimates (rcp.approx, rsqrt.approx) that are correctly rounded (f32; one
/// unit in the last place off also does, but for divisors whose mantissa is all ones), or within 2^-19
/// relative (f64).
[[nodiscard]] bool expand_instruction(isa::Function& function, const isa::Instruction& inst,
                                      Expansion& result);

/// Expands the graph's divisions and roots; where a fast sequence needs a check, the exact instruction
/// stays as the slow path, out of line.
void expand_arithmetic(FlowGraph& graph, isa::Function& function);

}  // namespace gpumux::ptx
