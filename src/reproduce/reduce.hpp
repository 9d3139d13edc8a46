// One number of many samples.
#pragma once

#include <vector>

#include "reproduce/experiment.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {

/// `columns`: for each expression of the quantity (two for RankCorrelation, AtMax and Knee), its value of
/// every sample. Samples may be infinite; there is at least one, but for Count.
[[nodiscard]] Value reduce(Reduce how, const std::vector<std::vector<double>>& columns);

}  // namespace gpumux::reproduce
