// How many blocks of each kernel an SM holds at first: kernels with a goal are on all SMs, the others divide
// the SMs among them, and on each SM all have as many threads. Source: wang17 section 3.6.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

struct QosSharer {
  Sharer sharer;
  std::uint32_t threads = 0;  // of a block
  bool has_goal = false;
};

/// Which of the kernels are on SM `sm` of `sms`: those with a goal, and of the others one, or more where
/// there are more of them than SMs.
[[nodiscard]] std::vector<std::size_t> kernels_on(std::uint32_t sm, std::uint32_t sms,
                                                  const std::vector<QosSharer>& kernels);

/// Blocks of each of the kernels that share one SM: as many as fit an equal part of its threads, at least 1,
/// then fewer of who takes most of what is scarce until all fit. Nothing: one block of each does not fit.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> symmetric_blocks(
    const SmAmounts& capacity, const std::vector<QosSharer>& kernels);

}  // namespace gpumux::policy
