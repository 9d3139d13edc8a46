// Scores of alignments by rows, for the host program and its tests.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::needle {

/// (n + 1) x (n + 1) scores of two sequences of n letters; `similarity` has as many, of which row 0 and
/// column 0 are not used. Row 0 and column 0 of the result are multiples of -penalty.
[[nodiscard]] std::vector<std::int32_t> align(const std::vector<std::int32_t>& similarity, std::uint32_t n,
                                              std::int32_t penalty);

}  // namespace gpumux::benchmarks::needle
