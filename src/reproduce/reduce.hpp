// One number of many samples.
#pragma once

#include <vector>

#include "reproduce/experiment.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {

/// `columns`: for each expression of the quantity (two for RankCorrelation and what follows it), its value of
/// every sample. Samples may be infinite; there is at least one, but for Count.
/// What comes out is finite, or undefined; or missing when there are too few or too many samples.
[[nodiscard]] Value reduce(Reduce how, const std::vector<std::vector<double>>& columns);

}  // namespace gpumux::reproduce
