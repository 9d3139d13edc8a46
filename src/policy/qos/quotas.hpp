// How many thread instructions a kernel may issue in an epoch. Source: wang17 sections 3.4 and 3.5.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// By how much more than its goal a kernel that is behind may issue: goal / history, from 1 to `most`. A
/// kernel that has done nothing yet (history 0) gets 1: the paper says nothing of it. Section 3.4.2.
[[nodiscard]] double catch_up(double goal, double history, double most);

/// An application with a goal in the epoch that has passed.
struct GoalProgress {
  double goal = 0;       // thread instructions per cycle
  double catch_up = 1;   // in that epoch
  double epoch_ipc = 0;  // reached in it
};
/// What the artificial goal of an application without one is multiplied with: the product of section 3.5,
/// kept within 1/2 and 2 where the paper has no bounds.
[[nodiscard]] double others_factor(const std::vector<GoalProgress>& with_goals);

/// Thread instructions in an epoch of so many cycles: equation 1. At least `least`, at most `most`.
[[nodiscard]] std::uint64_t quota(double ipc, Cycle epoch, std::uint64_t least, std::uint64_t most);

/// `quota` divided among places in proportion to their blocks, so that the parts add up to it: what a
/// division leaves over goes to those with the greatest remainders, the first ones in ties. All 0 where
/// nobody has a block. Section 3.4.1.
[[nodiscard]] std::vector<std::uint64_t> divide_quota(std::uint64_t quota,
                                                      const std::vector<std::uint32_t>& blocks);

}  // namespace gpumux::policy
