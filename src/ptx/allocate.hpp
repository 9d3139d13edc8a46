// Register allocation.
#pragma once

#include <cstdint>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

inline constexpr std::uint32_t kPredicateRegisters = 7;  // P0..P6, as on hardware

/// Registers per thread that `function`'s launch bounds and `max_registers` allow (16..255).
[[nodiscard]] std::uint32_t register_limit(const isa::Function& function, std::uint32_t max_registers);

/// Maps virtual registers to at most `limit` 32-bit registers (64-bit values to even-aligned pairs) and
/// kPredicateRegisters predicates. Other values are recomputed at their uses (moves of immediates and
/// constants) or spilled to local memory, which increases function.local_bytes. Redundant moves are removed,
/// unless `keep_moves`. Sets num_reg32, num_reg64, num_pred and physical. `stack`: register 0 is the stack
/// pointer, and spills are relative to it.
void allocate_registers(FlowGraph& graph, isa::Function& function, std::uint32_t limit, bool stack,
                        bool keep_moves = false);

/// The maximum number of live 32-bit registers, which is a lower bound for any allocation.
[[nodiscard]] std::uint32_t max_pressure(const FlowGraph& graph, const isa::Function& function);

}  // namespace gpumux::ptx
