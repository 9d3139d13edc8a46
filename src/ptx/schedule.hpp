// List scheduling for an in-order warp.
#pragma once

#include <cstdint>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// How many 32-bit registers hoisted loads may bring the live ones to.
struct RegisterTarget {
  std::uint32_t usual = 32;
  std::uint32_t long_region = 64;  // of at least kLongRegion instructions without a barrier or branch
};
inline constexpr std::uint32_t kLongRegion = 128;

/// Reorders each block: loads as early as dependences allow while the registers live at once stay
/// under the target, other work by its distance to the block's end in cycles. Memory accesses keep their
/// order where they may touch the same bytes and one of them writes.
void schedule(FlowGraph& graph, const isa::Function& function, const RegisterTarget& target);

/// True when two memory accesses may not change places. `same_base`: their base registers hold the
/// same number (or they have none).
[[nodiscard]] bool must_keep_order(const isa::Instruction& first, const isa::Instruction& second,
                                   bool same_base);

}  // namespace gpumux::ptx
