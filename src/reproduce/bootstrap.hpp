// How much a number depends on the choice of workloads: bootstrap replicates compute the number again from
// equally many workloads, drawn with replacement.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "reproduce/experiment.hpp"

namespace gpumux::reproduce {

/// The interval that contains 95% of the replicates, in the unit of the number.
struct Interval {
  double low = 0;
  double high = 0;
};

inline constexpr std::size_t kReplicates = 1000;
/// The number of each draw; NaN if a draw gives none. Empty: draws do not change the number.
using Replicates = std::vector<double>;

/// The workloads of each replicate. They depend only on the names.
class Draws {
 public:
  /// `names`: sorted, each once; at least one.
  explicit Draws(const std::vector<std::string>& names);
  /// Of the next replicate: as many indices of names as there are names.
  [[nodiscard]] const std::vector<std::size_t>& next();

 private:
  Random random_;
  std::vector<std::size_t> drawn_;
};

/// Replicates of a quantity; empty for a single workload. `columns`: as for reduce(); `workloads`: the
/// workload of each sample; `others`: workloads without a sample that counts, which might have been drawn as
/// well.
/// Quantities of the same set of workloads have the same draws, so that policies are compared on equal draws.
/// The draws depend only on the workloads' names.
[[nodiscard]] Replicates replicates(Reduce how, const std::vector<std::vector<double>>& columns,
                                    const std::vector<std::string>& workloads,
                                    const std::vector<std::string>& others = {});

/// From the 2.5th to the 97.5th percentile. Nothing if there are no replicates, or more than a tenth give no
/// number.
[[nodiscard]] std::optional<Interval> interval_of(Replicates replicates);

}  // namespace gpumux::reproduce
