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
  std::vector<double> normalized;           // of its curve there, by kernel
  double theoretical_weighted_speedup = 0;  // their sum
};

/// What a curve is divided by: its maximum, or its value at the last point.
enum class Normalize { Maximum, Full };

/// Every kernel starts with one block; again and again the kernel with the lowest normalized performance goes
/// on to the next point at which its curve grows beyond all before, until it has none or the blocks do not
/// fit any more. Of equally low ones first the one that gains most, then the first. Points beyond what a
/// kernel can use do not count. Nothing when one block of each does not fit.
/// Source: dai18 section 2.5 (the sweet spot); the procedure is water filling as in Warped-Slicer.
[[nodiscard]] std::optional<SweetSpot> water_filling(const SmAmounts& capacity,
                                                     const std::vector<Sharer>& sharers,
                                                     const std::vector<ScalabilityCurve>& curves,
                                                     Normalize normalize = Normalize::Maximum);

}  // namespace gpumux::policy
