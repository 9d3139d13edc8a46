// Of the interleaved kernel scheduler: how many blocks of each kernel an SM holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/scalability_curve.hpp"
#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// One more block of each in turn, until no more fits: as many of each as far as they go. Nothing when one
/// block of each does not fit.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> in_equal_numbers(const SmAmounts& capacity,
                                                                         const std::vector<Sharer>& sharers);

/// How the numbers that kernels want come down to what fits: all by the same factor, the greatest that does,
/// rounded down; or the younger ones have fewer: kernels then come in order of arrival. Each keeps 1 at
/// least.
enum class Crowded { Scale, Age };

/// wanted[i] blocks of each, no more than it can use, brought down to what fits an SM. Nothing when one block
/// of each does not.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> brought_down(const SmAmounts& capacity,
                                                                     const std::vector<Sharer>& sharers,
                                                                     const std::vector<std::uint32_t>& wanted,
                                                                     Crowded crowded);

/// The first number of blocks after which one more gains less than this share of the performance.
[[nodiscard]] std::uint32_t optimal_blocks(const ScalabilityCurve& curve, double gain);

}  // namespace gpumux::policy
