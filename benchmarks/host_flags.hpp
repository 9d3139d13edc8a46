// What host programs go by between launches: flags and counts that kernels left.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "base/error.hpp"

namespace gpumux::benchmarks {

/// Throws SimulationFault when a flag or a count is larger than any that the kernels can leave.
template <typename T>
void check_at_most(std::string_view what, T value, T most) {
  if (!(value <= most))
    throw SimulationFault(fmt::format("{} is {}; at most {} is possible", what, value, most));
}

}  // namespace gpumux::benchmarks
