// Register allocation.
#pragma once

#include <cstdint>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

inline constexpr std::uint32_t kPredicateRegisters = 7;  // P0..P6, as in the hardware

/// Registers per thread that `function`'s launch bounds and `max_registers` allow (16..255).
[[nodiscard]] std::uint32_t register_limit(const isa::Function& function, std::uint32_t max_registers);

/// Maps virtual registers to at most `limit` 32-bit registers (64-bit values in even-aligned pairs) and
/// kPredicateRegisters predicates; what does not fit is computed again at its uses (moves of immediates
/// and constants) or spilled to local memory (grows function.local_bytes). Moves that became void
/// are removed, unless `keep_moves`. Sets num_reg32, num_reg64, num_pred and physical. `stack`: register 0 is
/// the stack pointer and spills are relative to it.
void allocate_registers(FlowGraph& graph, isa::Function& function, std::uint32_t limit, bool stack,
                        bool keep_moves = false);

/// 32-bit registers live at the fullest point of the graph: what no allocation can go below.
[[nodiscard]] std::uint32_t max_pressure(const FlowGraph& graph, const isa::Function& function);

}  // namespace gpumux::ptx
