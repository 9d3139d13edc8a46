// Quotas: how many thread instructions a kernel may issue in an epoch. Source: wang17 sections 3.4 and 3.5.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// The factor by which a kernel behind its goal may exceed the goal: goal / history, from 1 to `most`.
/// Without history (0) the factor is 1; the paper does not treat this case. Section 3.4.2.
[[nodiscard]] double catch_up(double goal, double history, double most);

/// The progress of an application with a goal in the last epoch.
struct GoalProgress {
  double goal = 0;       // thread instructions per cycle
  double catch_up = 1;   // the factor in that epoch
  double epoch_ipc = 0;  // reached in that epoch
};
/// The factor for the artificial goal of an application without a goal: the product of section 3.5, limited
/// to 1/2 to 2. The paper gives no bounds.
[[nodiscard]] double others_factor(const std::vector<GoalProgress>& with_goals);

/// Thread instructions in an epoch of `epoch` cycles, from `least` to `most`: equation 1.
[[nodiscard]] std::uint64_t quota(double ipc, Cycle epoch, std::uint64_t least, std::uint64_t most);

/// Divides `quota` among places in proportion to their blocks. The parts add up to `quota`: the remainder of
/// the division goes to places with the largest fractions, on ties to the first. All parts are 0 if no place
/// has a block. Section 3.4.1.
[[nodiscard]] std::vector<std::uint64_t> divide_quota(std::uint64_t quota,
                                                      const std::vector<std::uint32_t>& blocks);

}  // namespace gpumux::policy
