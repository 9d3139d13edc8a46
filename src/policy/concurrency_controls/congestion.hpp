// Metrics of memory congestion in an interval, and the change of concurrency that follows. Source: kayiran14
// sections 3.2.1 (the metrics), 4.1 (the decision), 5 (the counters).
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {

struct CongestionSettings {
  Cycle interval = 1024;  // core cycles
  double high = 1;        // thresholds t_H and t_L: mean number of partitions over the interval
  double low = 0.25;      // in which a request, or a reply, is stalled
  bool high_at = true;    // a metric equal to t_H counts as high; false: as medium. The paper does not say.
  /// What stall_MC counts. False: a miss that waits for a place in the DRAM queue (section 3.2.1: "as the
  /// memory queue is full"). True: a partition that takes no packet from the request network, for any reason.
  bool whole_partition = false;
  bool saturates = true;  // counters have as many bits as in the paper; false: counters are exact
  /// Options interval=, high=, low=, at_high=, stall_mc= and counters= of a concurrency control.
  static CongestionSettings read(LevelArguments& arguments);
};

enum class Change : std::uint8_t { Decrease, Keep, Increase };

/// The counters of an interval: two in each partition, and two sums over partitions. The paper's have 10 and
/// 13 bits, for 1024 cycles and 8 partitions. This is one count too few: a partition that is stalled
/// throughout counts 1023 instead of 1024.
class CongestionCounters {
 public:
  CongestionCounters(const CongestionSettings& settings, std::uint32_t partitions);

  /// Adds the counts of one partition: cycles in which a request was stalled because the memory controller
  /// was full, and cycles in which a reply was stalled because the reply network was full.
  void add(std::uint64_t controller, std::uint64_t network);
  /// stall_MC and stall_net: stalled partitions per cycle.
  [[nodiscard]] double controller() const { return per_cycle(controller_); }
  [[nodiscard]] double network() const { return per_cycle(network_); }
  /// Decrease if a metric is high; Increase if both are low; else Keep.
  [[nodiscard]] Change decide() const;
  void clear() { controller_ = network_ = 0; }

  /// Bits of one counter in a partition.
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

/// The largest value of a counter with this many bits.
[[nodiscard]] constexpr std::uint64_t most_of_bits(std::uint32_t bits) {
  return (std::uint64_t{1} << bits) - 1;
}

}  // namespace gpumux::policy
