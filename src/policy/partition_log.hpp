// The partitions of the SMs that a policy has used, and for how long.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/policy.hpp"

namespace gpumux::policy {

/// One division of every SM among the running kernels.
struct Partition {
  struct Part {
    AppId app = 0;
    std::string kernel;
    std::uint32_t blocks = 0;  // per SM
    double normalized = 0;     // predicted fraction of its isolated performance; 0: no prediction
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  bool operator==(const Partition&) const = default;
};

class PartitionLog {
 public:
  /// Records that `partition` is in use from cycle `now` on; an empty partition: none is.
  void use(Cycle now, Partition partition);
  /// Reports the partition with the most kernels; among equals, the one that was in use longest. Numbers per
  /// application: `blocks_per_sm` (of its first kernel) and, if predicted, `predicted_normalized_ipc`.
  /// Numbers of the run: `partition_cycles`, the number of different `partitions` and, if predicted,
  /// `theoretical_weighted_speedup`.
  void report(Cycle now, Report& to) const;

 private:
  struct Entry {
    Partition partition;
    Cycle cycles = 0;
  };
  [[nodiscard]] std::size_t find(const Partition& partition) const;

  std::vector<Entry> used_;
  std::optional<std::size_t> current_;
  Cycle since_ = 0;
};

}  // namespace gpumux::policy
