// Checks of the flags and counts that kernels leave for their host programs between launches.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "base/error.hpp"

namespace gpumux::benchmarks {

/// Throws SimulationFault if a flag or a count is larger than the kernels can make it.
template <typename T>
void check_at_most(std::string_view what, T value, T most) {
  if (!(value <= most))
    throw SimulationFault(fmt::format("{} is {}; at most {} is possible", what, value, most));
}

}  // namespace gpumux::benchmarks
