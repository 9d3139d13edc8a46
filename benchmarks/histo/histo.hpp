// The histogram of the application histo, on the CPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::histo {

inline constexpr std::uint32_t kRange = 24576;  // bins per block (kRange of histo.cu)
inline constexpr std::uint32_t kFindBlocks = 64;
inline constexpr std::uint32_t kFindThreads = 512;

/// Number of samples in each bin, at most 255.
[[nodiscard]] inline std::vector<std::uint8_t> reference(const std::vector<std::uint32_t>& samples,
                                                         std::uint32_t bins) {
  std::vector<std::uint8_t> counts(bins, 0);
  for (const std::uint32_t bin : samples)
    counts[bin] = static_cast<std::uint8_t>(std::min(counts[bin] + 1, 255));
  return counts;
}

/// Conversion to unsigned as on the device: NaN and negative numbers become 0.
[[nodiscard]] inline std::uint32_t to_unsigned(float value) {
  return value > 0 ? static_cast<std::uint32_t>(value) : 0;
}

/// The lowest and the highest range that the kernel finds, computed in the kernel's order of operations.
[[nodiscard]] inline std::vector<std::uint32_t> find_range(const std::vector<std::uint32_t>& samples) {
  std::vector<std::uint32_t> low_high = {~0U, 0};
  const std::size_t part = samples.size() / kFindBlocks;
  for (std::size_t block = 0; block < kFindBlocks; ++block) {
    std::vector<float> means(kFindThreads);
    std::vector<float> deviations(kFindThreads);
    const std::size_t end = block * part + part / 8;
    for (std::size_t t = 0; t < kFindThreads; ++t) {
      float sum = 0;
      float mine = 0;
      for (std::size_t i = block * part + t; i < end; i += kFindThreads) {
        sum += static_cast<float>(samples[i]);
        ++mine;
      }
      means[t] = sum / mine;
      float squares = 0;
      for (std::size_t i = block * part + t; i < end; i += kFindThreads) {
        const float away = static_cast<float>(samples[i]) - means[t];
        squares = std::fma(away, away, squares);
      }
      deviations[t] = std::sqrt(squares / mine);
    }
    for (std::size_t half = kFindThreads / 2; half > 0; half /= 2) {
      for (std::size_t t = 0; t < half; ++t) {
        means[t] += means[t + half];
        deviations[t] += deviations[t + half];
      }
    }
    const float middle = means[0] / kFindThreads;
    const float reach = 10 * (deviations[0] / kFindThreads);
    low_high[0] = std::min(low_high[0], to_unsigned(middle - reach) / kRange);
    low_high[1] = std::max(low_high[1], to_unsigned(middle + reach) / kRange);
  }
  return low_high;
}

}  // namespace gpumux::benchmarks::histo
