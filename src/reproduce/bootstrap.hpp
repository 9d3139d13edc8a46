// How much a number depends on which workloads were chosen: it is made again of as many workloads, drawn with
// replacement.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reproduce/experiment.hpp"

namespace gpumux::reproduce {

/// In which 95 of 100 of them lie, in the unit of the number.
struct Interval {
  double low = 0;
  double high = 0;
};

inline constexpr std::size_t kReplicates = 1000;
/// A number for each draw; NaN where a draw gives none. Empty: no draw changes it.
using Replicates = std::vector<double>;

/// Of a quantity: `columns` as reduce() has them, `workloads` by sample. Quantities of the same set of
/// workloads have the same draws, so that what one policy has of a draw is compared with what another has of
/// it. The draws depend on nothing but the workloads' names. Empty where there is one workload.
/// `others`: workloads of which no sample counts, and which might have been drawn as well.
[[nodiscard]] Replicates replicates(Reduce how, const std::vector<std::vector<double>>& columns,
                                    const std::vector<std::string>& workloads,
                                    const std::vector<std::string>& others = {});

/// From the 2.5th to the 97.5th percentile. None where they are empty, or more than a tenth gives no number.
[[nodiscard]] std::optional<Interval> interval_of(Replicates replicates);

}  // namespace gpumux::reproduce
