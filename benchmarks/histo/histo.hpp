// The histogram of the application histo, on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::histo {

/// How many samples lie in each bin, at most 255.
[[nodiscard]] inline std::vector<std::uint8_t> reference(const std::vector<std::uint32_t>& samples,
                                                         std::uint32_t bins) {
  std::vector<std::uint8_t> counts(bins, 0);
  for (const std::uint32_t bin : samples)
    counts[bin] = static_cast<std::uint8_t>(std::min(counts[bin] + 1, 255));
  return counts;
}

}  // namespace gpumux::benchmarks::histo
