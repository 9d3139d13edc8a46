// Reduces many samples to one number.
#pragma once

#include <vector>

#include "reproduce/experiment.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {

/// Reduces samples to a number. `columns`: for each expression of the quantity (two for RankCorrelation and
/// the later members), its value for every sample. Samples may be infinite. At least one sample is required,
/// except for Count.
/// The result is finite, undefined, or, with too few or too many samples, missing.
[[nodiscard]] Value reduce(Reduce how, const std::vector<std::vector<double>>& columns);

}  // namespace gpumux::reproduce
