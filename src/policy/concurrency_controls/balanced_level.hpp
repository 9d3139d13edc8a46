// The decision of CM-BAL for one SM: which of a few numbers of warps may issue in the next interval. Source:
// kayiran14 section 4.2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/concurrency_controls/congestion.hpp"

namespace gpumux::policy {

/// Of an SM, beside its levels.
struct BalanceSettings {
  /// (a) One level more where that has stalled the SM less by more than k. (b) No level fewer where that has
  /// stalled it more by more than k. (c) After `refresh_after` intervals at one level, one more or fewer, so
  /// that what is known of neighbours is not too old.
  enum class Rule : std::uint8_t { RaiseForLatency, RefuseDecrease, Refresh };
  double k = 32;  // scheduler cycles of an interval
  /// The first whose condition holds decides; if none does, Part 1. The paper shows c before b (figure 14,
  /// C).
  std::array<Rule, 3> order = {Rule::RaiseForLatency, Rule::Refresh, Rule::RefuseDecrease};
  bool refreshes = true;
  std::uint32_t refresh_after = 4;
  std::uint32_t refresh_up_below = 6;  // warps; else down
  /// Averages are whole numbers up to this; 0: of any size and exact.
  std::uint64_t most_stall = 2047;
};

/// The levels, warps of an SM, that a machine with so many has: the paper's nine for 48.
[[nodiscard]] std::vector<std::uint32_t> balance_levels(std::uint32_t most_warps);

/// What has decided in an interval.
enum class BalanceReason : std::uint8_t { Congestion, RaiseForLatency, RefuseDecrease, Refresh };

class BalancedLevel {
 public:
  /// `levels` rise. It begins at the greatest that is no more than `start` (or at the first).
  BalancedLevel(const BalanceSettings& settings, std::span<const std::uint32_t> levels, std::uint32_t start);

  [[nodiscard]] std::uint32_t warps() const { return levels_[level_]; }
  /// Of the level with so many warps; nothing: it has not been used since invalidate().
  [[nodiscard]] std::optional<double> average(std::uint32_t warps) const;
  /// A kernel begins or ends.
  void invalidate();
  /// An interval at this level has ended, in which schedulers could not issue in `stall` of their cycles;
  /// congestion asks for `part1`.
  BalanceReason step(std::uint64_t stall, Change part1);

 private:
  using Rule = BalanceSettings::Rule;
  void learn(std::uint64_t stall);
  [[nodiscard]] bool has_upper() const { return level_ + 1 < levels_.size(); }
  /// How much more it stalls at one level than at another; nothing: one of them is not known.
  [[nodiscard]] std::optional<double> difference(std::size_t at, std::size_t than) const;
  /// The rule decides: the level of the next interval.
  [[nodiscard]] std::optional<std::size_t> apply(Rule rule, Change part1) const;

  BalanceSettings settings_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::optional<double>> averages_;  // of stall, by level
  std::size_t level_ = 0;
  std::uint32_t stayed_ = 0;  // intervals at this level, one after the other
};

}  // namespace gpumux::policy
