// The CPU reference of the application needle.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::needle {

/// The (n + 1) x (n + 1) scores of two sequences of n letters. `similarity` has the same size; its row 0 and
/// column 0 are not used. Row 0 and column 0 of the result are multiples of -penalty.
[[nodiscard]] std::vector<std::int32_t> align(const std::vector<std::int32_t>& similarity, std::uint32_t n,
                                              std::int32_t penalty);

}  // namespace gpumux::benchmarks::needle
