// Haar wavelet decomposition in double precision, for the host program and its tests.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace gpumux::benchmarks::dwt {

struct Decomposition {
  /// The scaled sum of all elements, then the details of all levels, starting with the last level. The second
  /// half of the array holds the details of the first level.
  std::vector<double> coefficients;
  /// By coefficient: the same sum over the magnitudes of the elements that enter it, times the number of
  /// levels that they pass.
  std::vector<double> scales;
};

/// Decomposition of a signal of 2^n elements.
[[nodiscard]] inline Decomposition reference(const std::vector<float>& signal) {
  Decomposition result;
  result.coefficients.resize(signal.size());
  result.scales.resize(signal.size());
  std::vector<double> sums(signal.begin(), signal.end());
  std::vector<double> magnitudes;
  for (const double value : sums) magnitudes.push_back(std::abs(value));
  const double root = std::sqrt(0.5);
  double level = 1;
  for (std::size_t half = signal.size() / 2; half > 0; half /= 2, ++level) {
    for (std::size_t i = 0; i < half; ++i) {
      const double a = sums[2 * i], b = sums[2 * i + 1];
      sums[i] = (a + b) * root;
      magnitudes[i] = (magnitudes[2 * i] + magnitudes[2 * i + 1]) * root;
      result.coefficients[half + i] = (a - b) * root;
      result.scales[half + i] = level * magnitudes[i];
    }
  }
  result.coefficients[0] = sums[0];
  result.scales[0] = level * magnitudes[0];
  return result;
}

}  // namespace gpumux::benchmarks::dwt
