// How congested memory was in an interval, and what that asks of concurrency. Source: kayiran14 sections
// 3.2.1 (the metrics), 4.1 (the decision), 5 (the counters).
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {

struct CongestionSettings {
  Cycle interval = 1024;  // core cycles
  double high = 1;        // t_H and t_L: partitions of which a request, or a reply, is stalled, on average
  double low = 0.25;      // over the interval
  bool high_at = true;    // a metric that is t_H counts as high; false: as medium. The paper does not say.
  bool saturates = true;  // counters have so many bits as the paper gives them; false: they hold everything
  /// Options interval=, high=, low=, at_high= and counters= of a concurrency control.
  static CongestionSettings read(LevelArguments& arguments);
};

enum class Change : std::uint8_t { Decrease, Keep, Increase };

/// The counters of an interval: two in each partition, two sums over these. The paper's have 10 and 13 bits,
/// for 1024 cycles and 8 partitions: one too few for a partition that is stalled throughout, which then
/// counts 1023.
class CongestionCounters {
 public:
  CongestionCounters(const CongestionSettings& settings, std::uint32_t partitions);

  /// In a partition a request was stalled because the memory controller's queue was full for so many of the
  /// interval's cycles, and a reply because the reply network was.
  void add(std::uint64_t controller, std::uint64_t network);
  /// stall_MC and stall_net: stalled partitions per cycle.
  [[nodiscard]] double controller() const { return per_cycle(controller_); }
  [[nodiscard]] double network() const { return per_cycle(network_); }
  /// One of them high: fewer warps. Both low: more.
  [[nodiscard]] Change decide() const;
  void clear() { controller_ = network_ = 0; }

  /// Of one counter.
  [[nodiscard]] std::uint32_t partition_bits() const { return partition_bits_; }
  [[nodiscard]] std::uint32_t sum_bits() const { return sum_bits_; }

 private:
  [[nodiscard]] double per_cycle(std::uint64_t sum) const {
    return static_cast<double>(sum) / static_cast<double>(settings_.interval);
  }

  CongestionSettings settings_;
  std::uint32_t partition_bits_, sum_bits_;
  std::uint64_t controller_ = 0, network_ = 0;
};

/// The greatest that a counter of so many bits holds.
[[nodiscard]] constexpr std::uint64_t most_of_bits(std::uint32_t bits) {
  return (std::uint64_t{1} << bits) - 1;
}

}  // namespace gpumux::policy
