#include "policy/qos/quotas.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpumux::policy {

double catch_up(double goal, double history, double most) {
  return history <= 0 ? 1.0 : std::clamp(goal / history, 1.0, most);
}

double others_factor(const std::vector<GoalProgress>& with_goals) {
  constexpr double kLeast = 0.5;
  constexpr double kMost = 2;
  double product = 1;
  for (const GoalProgress& app : with_goals) product *= app.epoch_ipc / (app.catch_up * app.goal);
  return std::clamp(product, kLeast, kMost);
}

std::uint64_t quota(double ipc, Cycle epoch, std::uint64_t least, std::uint64_t most) {
  const double instructions = std::round(ipc * static_cast<double>(epoch));
  return static_cast<std::uint64_t>(
      std::clamp(instructions, static_cast<double>(least), static_cast<double>(std::max(least, most))));
}

std::vector<std::uint64_t> divide_quota(std::uint64_t quota, const std::vector<std::uint32_t>& blocks) {
  std::vector<std::uint64_t> parts(blocks.size(), 0);
  const auto all = std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
  if (all == 0) return parts;
  std::vector<std::pair<std::uint64_t, std::size_t>> remainders;
  std::uint64_t left = quota;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    parts[i] = quota * blocks[i] / all;
    left -= parts[i];
    remainders.emplace_back(quota * blocks[i] % all, i);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < left; ++i) ++parts[remainders[i].second];
  return parts;
}

}  // namespace gpumux::policy
