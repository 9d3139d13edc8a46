// Warped-Slicer's choice of the sweet spot on the kernels' scalability curves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/scalability_curve.hpp"
#include "policy/sm_share.hpp"

namespace gpumux::policy {

struct SweetSpot {
  std::vector<std::uint32_t> blocks;        // per SM, by kernel
  std::vector<double> normalized;           // fraction of each kernel's curve, by kernel
  double theoretical_weighted_speedup = 0;  // the sum of `normalized`
};

/// The value that a curve is divided by: its maximum, or its value at the last point.
enum class Normalize { Maximum, Full };

/// The blocks of each kernel at the sweet spot; nothing if one block of each does not fit.
/// Every kernel starts with one block. Repeatedly, the kernel with the lowest normalized performance advances
/// to the next point at which its curve exceeds all earlier points. A kernel stops when it has no such point
/// or its blocks do not fit. On ties, the kernel that gains most advances, then the first. Points beyond what
/// a kernel can use do not count.
/// Source: dai18 section 2.5 (the sweet spot); the procedure is water filling as in Warped-Slicer.
[[nodiscard]] std::optional<SweetSpot> water_filling(const SmAmounts& capacity,
                                                     const std::vector<Sharer>& sharers,
                                                     const std::vector<ScalabilityCurve>& curves,
                                                     Normalize normalize = Normalize::Maximum);

}  // namespace gpumux::policy
