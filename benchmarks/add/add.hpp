// add: the CPU reference. Tests call it, too.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::add {

/// Multiplications per element in one pass of the loop (MULTIPLIES of add.cu).
inline constexpr std::uint32_t kMultiplies = 16;

/// sum[i] = a[i] * factor^(16 * loops) + b[i] * factor^(16 * loops), rounded after each operation.
[[nodiscard]] std::vector<float> reference(const std::vector<float>& a, const std::vector<float>& b,
                                           float factor, std::uint32_t loops);

}  // namespace gpumux::benchmarks::add
