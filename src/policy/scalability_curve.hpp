// Scalability curves: performance of a kernel by its number of blocks on an SM.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/control.hpp"

namespace gpumux::policy {

/// Performance with 1, 2, 3... resident blocks per SM, in any unit; at least one point, none negative.
using ScalabilityCurve = std::vector<double>;

/// The key of a kernel's curve: application and kernel name.
using CurveKey = std::pair<AppId, std::string>;
[[nodiscard]] inline CurveKey curve_key(const RunningKernel& kernel) { return {kernel.app, kernel.name}; }

}  // namespace gpumux::policy
