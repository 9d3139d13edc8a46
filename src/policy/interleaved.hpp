// Functions of the interleaved kernel scheduler: how many blocks of each kernel an SM holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/scalability_curve.hpp"
#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// Blocks per SM of each kernel, as equal as possible: each kernel in turn gets one more block until none
/// fits. Nothing if one block of each does not fit.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> in_equal_numbers(const SmAmounts& capacity,
                                                                         const std::vector<Sharer>& sharers);

/// How the wanted numbers of blocks are reduced to numbers that fit. Scale: all are multiplied by the same
/// factor, the largest that fits, and rounded down. Age: kernels are in order of arrival, and younger kernels
/// get fewer blocks. Each kernel keeps at least 1 block.
enum class Crowded { Scale, Age };

/// Blocks per SM of each kernel: wanted[i], at most what kernel i can use, reduced to numbers that fit an SM.
/// Nothing if one block of each does not fit.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> brought_down(const SmAmounts& capacity,
                                                                     const std::vector<Sharer>& sharers,
                                                                     const std::vector<std::uint32_t>& wanted,
                                                                     Crowded crowded);

/// The smallest number of blocks for which one more block improves performance by less than the fraction
/// `gain`.
[[nodiscard]] std::uint32_t optimal_blocks(const ScalabilityCurve& curve, double gain);

}  // namespace gpumux::policy
