// The histogram of the application histogram, on the CPU.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::histogram {

inline constexpr std::uint32_t kBins = 256;

/// Number of bytes with each value.
[[nodiscard]] inline std::vector<std::uint32_t> reference(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint32_t> counts(kBins, 0);
  for (const std::uint8_t byte : bytes) ++counts[byte];
  return counts;
}

}  // namespace gpumux::benchmarks::histogram
