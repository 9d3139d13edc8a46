// Dominant resource fairness over an SM's static resources.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// Blocks per SM of each kernel: one block after another goes to the kernel whose dominant share is the
/// smallest, that is the greatest of its shares of registers, shared memory, threads and block slots. A
/// kernel whose block does not fit, or which can use no more, is passed over; ends when all are. Of equal
/// shares the first kernel's is the smallest. Nothing when a kernel is left without a block.
/// Source: SMK-P as in dai18 section 1; wang17 section 2.3.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> dominant_resource_fairness(
    const SmAmounts& capacity, const std::vector<Sharer>& sharers);

}  // namespace gpumux::policy
