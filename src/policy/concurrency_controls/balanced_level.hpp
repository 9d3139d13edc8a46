// CM-BAL's decision for one SM: which of a few numbers of warps may issue in the next interval. Source:
// kayiran14 section 4.2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/concurrency_controls/congestion.hpp"

namespace gpumux::policy {

/// Settings of CM-BAL for an SM, apart from its levels.
struct BalanceSettings {
  /// The rules of Part 2. (a) RaiseForLatency: go one level up if the SM stalls less there by more than k.
  /// (b) RefuseDecrease: do not go down if the SM stalls more there by more than k. (c) Refresh: after
  /// `refresh_after` intervals at one level, go up or down, so that averages of neighbouring levels do not
  /// get too old.
  enum class Rule : std::uint8_t { RaiseForLatency, RefuseDecrease, Refresh };
  double k = 32;  // scheduler cycles of an interval
  /// Order of the rules. The first rule whose condition holds decides; if none holds, Part 1 decides. The
  /// paper shows c before b (figure 14, C).
  std::array<Rule, 3> order = {Rule::RaiseForLatency, Rule::Refresh, Rule::RefuseDecrease};
  bool refreshes = true;
  std::uint32_t refresh_after = 4;
  std::uint32_t refresh_up_below = 6;  // warps; go up below this number, else down
  /// Averages are whole numbers up to this value; 0: unbounded and exact.
  std::uint64_t most_stall = 2047;
};

/// The levels, in warps per SM, of a machine with this many warps: for 48 warps, the paper's nine.
[[nodiscard]] std::vector<std::uint32_t> balance_levels(std::uint32_t most_warps);

/// The rule that decided in an interval.
enum class BalanceReason : std::uint8_t { Congestion, RaiseForLatency, RefuseDecrease, Refresh };

class BalancedLevel {
 public:
  /// `levels` are in ascending order. Starts at the highest level that is at most `start`, or at the first.
  BalancedLevel(const BalanceSettings& settings, std::span<const std::uint32_t> levels, std::uint32_t start);

  [[nodiscard]] std::uint32_t warps() const { return levels_[level_]; }
  /// Average stall at the level with this many warps; nothing: the level was not used since invalidate().
  [[nodiscard]] std::optional<double> average(std::uint32_t warps) const;
  /// Forgets the averages of all levels, when a kernel starts or ends.
  void invalidate();
  /// Ends an interval and selects the level of the next one. `stall`: scheduler cycles without an issue;
  /// `part1`: the change that congestion asks for.
  BalanceReason step(std::uint64_t stall, Change part1);

 private:
  using Rule = BalanceSettings::Rule;
  void learn(std::uint64_t stall);
  [[nodiscard]] bool has_upper() const { return level_ + 1 < levels_.size(); }
  /// Average stall at level `at` minus that at level `than`; nothing if either is not known.
  [[nodiscard]] std::optional<double> difference(std::size_t at, std::size_t than) const;
  /// The level of the next interval if the rule applies; else nothing.
  [[nodiscard]] std::optional<std::size_t> apply(Rule rule, Change part1) const;

  BalanceSettings settings_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::optional<double>> averages_;  // average stall, by level
  std::size_t level_ = 0;
  std::uint32_t stayed_ = 0;  // consecutive intervals at this level
};

}  // namespace gpumux::policy
