// The first division of an SM's blocks: kernels with a goal are on all SMs, the other kernels divide the SMs
// among themselves, and on each SM all kernels have equally many threads. Source: wang17 section 3.6.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

struct QosSharer {
  Sharer sharer;
  std::uint32_t threads = 0;  // of one block
  bool has_goal = false;
};

/// The kernels on SM `sm` of `sms`: all with a goal, and one without a goal (or several, if there are more of
/// them than SMs).
[[nodiscard]] std::vector<std::size_t> kernels_on(std::uint32_t sm, std::uint32_t sms,
                                                  const std::vector<QosSharer>& kernels);

/// Blocks of each kernel on one SM; nothing if one block of each does not fit. Each kernel gets as many
/// blocks as fit an equal part of the SM's threads, at least 1. Then the kernel that takes most of a scarce
/// resource loses blocks until all fit.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> symmetric_blocks(
    const SmAmounts& capacity, const std::vector<QosSharer>& kernels);

}  // namespace gpumux::policy
