#include "policy/concurrency_controls/balanced_level.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace gpumux::policy {

std::vector<std::uint32_t> balance_levels(std::uint32_t most_warps) {
  constexpr std::uint32_t kLevels[] = {1, 2, 3, 4, 6, 8, 16, 24, 48};
  std::vector<std::uint32_t> levels;
  for (const std::uint32_t warps : kLevels)
    if (warps < most_warps) levels.push_back(warps);
  levels.push_back(most_warps);
  return levels;
}

BalancedLevel::BalancedLevel(const BalanceSettings& settings, std::span<const std::uint32_t> levels,
                             std::uint32_t start)
    : settings_(settings), levels_(levels.begin(), levels.end()), averages_(levels.size()) {
  GPUMUX_CHECK(!levels_.empty());
  while (has_upper() && levels_[level_ + 1] <= start) ++level_;
}

std::optional<double> BalancedLevel::average(std::uint32_t warps) const {
  const auto at = std::find(levels_.begin(), levels_.end(), warps);
  return at == levels_.end() ? std::nullopt : averages_[static_cast<std::size_t>(at - levels_.begin())];
}

void BalancedLevel::invalidate() { std::fill(averages_.begin(), averages_.end(), std::nullopt); }

void BalancedLevel::learn(std::uint64_t stall) {
  std::optional<double>& average = averages_[level_];
  const bool exact = settings_.most_stall == 0;
  const auto now = static_cast<double>(exact ? stall : std::min(stall, settings_.most_stall));
  if (!average) {
    average = now;
    return;
  }
  const double next = *average * 0.25 + now * 0.75;
  average = exact ? next : std::floor(next);  // the paper's hardware: adders and shifters of whole numbers
}

std::optional<double> BalancedLevel::difference(std::size_t at, std::size_t than) const {
  if (!averages_[at] || !averages_[than]) return std::nullopt;
  return *averages_[at] - *averages_[than];
}

std::optional<std::size_t> BalancedLevel::apply(Rule rule, Change part1) const {
  switch (rule) {
    case Rule::RaiseForLatency:
      if (!has_upper()) break;
      if (difference(level_, level_ + 1).value_or(0) > settings_.k) return level_ + 1;
      break;
    case Rule::Refresh:
      if (!settings_.refreshes || stayed_ < settings_.refresh_after) break;
      if (levels_[level_] < settings_.refresh_up_below) {
        if (has_upper()) return level_ + 1;
      } else if (level_ > 0) {
        return level_ - 1;
      }
      break;
    case Rule::RefuseDecrease:
      if (part1 != Change::Decrease || level_ == 0) break;
      if (difference(level_ - 1, level_).value_or(0) > settings_.k) return level_;
      break;
  }
  return std::nullopt;
}

BalanceReason BalancedLevel::step(std::uint64_t stall, Change part1) {
  learn(stall);
  ++stayed_;
  std::size_t next = level_;
  BalanceReason reason = BalanceReason::Congestion;
  std::optional<std::size_t> decided;
  for (const Rule rule : settings_.order) {
    decided = apply(rule, part1);
    if (!decided) continue;
    reason = rule == Rule::RaiseForLatency  ? BalanceReason::RaiseForLatency
             : rule == Rule::RefuseDecrease ? BalanceReason::RefuseDecrease
                                            : BalanceReason::Refresh;
    break;
  }
  if (decided) {
    next = *decided;
  } else if (part1 == Change::Increase && has_upper()) {
    next = level_ + 1;
  } else if (part1 == Change::Decrease && level_ > 0) {
    next = level_ - 1;
  }
  if (next != level_) stayed_ = 0;
  level_ = next;
  return reason;
}

}  // namespace gpumux::policy
