// List scheduling for an in-order warp.
#pragma once

#include <cstdint>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Targets for the number of live 32-bit registers when loads are hoisted.
struct RegisterTarget {
  std::uint32_t usual = 32;
  std::uint32_t long_region = 64;  // regions of at least kLongRegion instructions without barrier or branch
};
inline constexpr std::uint32_t kLongRegion = 128;

/// Reorders each block. Loads are issued as early as dependences allow, while the number of live registers is
/// below the target. Other instructions are ordered by their distance in cycles to the block's end. Memory
/// accesses keep their order if they may touch the same bytes and one of them writes.
void schedule(FlowGraph& graph, const isa::Function& function, const RegisterTarget& target);

/// True if two memory accesses must not be exchanged. `same_base`: their base registers hold the same value,
/// or they have none.
[[nodiscard]] bool must_keep_order(const isa::Instruction& first, const isa::Instruction& second,
                                   bool same_base);

}  // namespace gpumux::ptx
