// Which partitions of the SMs a policy has used, and for how long.
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
    double normalized = 0;     // predicted, of its performance alone; 0: no prediction
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  bool operator==(const Partition&) const = default;
};

class PartitionLog {
 public:
  /// In use from now on; an empty one: none is.
  void use(Cycle now, Partition partition);
  /// The one that was in use for longest, of those with the most kernels:
  ///   per application `blocks_per_sm` (of its first kernel) and, where it was predicted,
  ///   `predicted_normalized_ipc`; of the run `theoretical_weighted_speedup`, `partition_cycles`, and the
  ///   number of different `partitions`.
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
