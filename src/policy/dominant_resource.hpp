// Dominant resource fairness over an SM's static resources.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// Blocks per SM of each kernel by dominant resource fairness; nothing if a kernel would get no block. A
/// kernel's dominant share is the largest of its shares of registers, shared memory, threads and block slots.
/// One block at a time goes to the kernel with the smallest dominant share, on ties to the first. A kernel
/// drops out when its next block does not fit or it cannot use more.
/// Source: SMK-P as in dai18 section 1; wang17 section 2.3.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> dominant_resource_fairness(
    const SmAmounts& capacity, const std::vector<Sharer>& sharers);

}  // namespace gpumux::policy
