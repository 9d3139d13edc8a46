// The CPU reference of the application tpacf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpumux::benchmarks::tpacf {

inline constexpr std::uint32_t kBins = 20;

struct Point {
  float x, y, z;
};

/// The bin of a cosine: bin b is from bounds[b] (not included) down to bounds[b + 1]. kBins if the cosine is
/// in no bin.
[[nodiscard]] inline std::uint32_t bin_of(float cosine, std::span<const float> bounds) {
  if (cosine >= bounds[0]) return kBins;
  for (std::uint32_t bin = 0; bin < kBins; ++bin)
    if (cosine >= bounds[bin + 1]) return bin;
  return kBins;
}

/// Histogram of the pairs of a point of `a` and a point of `b`. If `a` and `b` are the same set, each pair of
/// different points counts once.
[[nodiscard]] inline std::vector<std::uint32_t> histogram(std::span<const Point> a, std::span<const Point> b,
                                                          std::span<const float> bounds) {
  std::vector<std::uint32_t> counts(kBins + 1, 0);
  const bool same = a.data() == b.data();
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = same ? i + 1 : 0; j < b.size(); ++j)
      ++counts[bin_of(a[i].x * b[j].x + a[i].y * b[j].y + a[i].z * b[j].z, bounds)];
  counts.resize(kBins);
  return counts;
}

}  // namespace gpumux::benchmarks::tpacf
