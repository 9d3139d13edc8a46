// The discrete cosine transform of the application dct in double precision, for the host program and its
// tests.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::dct {

inline constexpr std::uint32_t kSide = 8;

/// The matrix of the transform, by definition: row k has the k-th cosine.
[[nodiscard]] inline std::array<std::array<double, kSide>, kSide> basis() {
  std::array<std::array<double, kSide>, kSide> rows{};
  for (std::size_t k = 0; k < kSide; ++k)
    for (std::size_t i = 0; i < kSide; ++i)
      rows[k][i] = k == 0
                       ? std::sqrt(0.125)
                       : 0.5 * std::cos(3.14159265358979323846 / 16 * static_cast<double>(k * (2 * i + 1)));
  return rows;
}

struct Transform {
  std::vector<double> coefficients;
  std::vector<double> scales;  // by coefficient: the sum of the magnitudes of its square's pixels
};

/// Transforms all 8 x 8 squares of an image with `width` pixels per row, each in place.
[[nodiscard]] inline Transform reference(const std::vector<float>& image, std::size_t width) {
  const auto cosines = basis();
  Transform result;
  result.coefficients.resize(image.size());
  result.scales.resize(image.size());
  for (std::size_t top = 0; top < image.size() / width; top += kSide) {
    for (std::size_t left = 0; left < width; left += kSide) {
      std::array<std::array<double, kSide>, kSide> rows{};
      double sum = 0;
      for (std::size_t y = 0; y < kSide; ++y) {
        for (std::size_t x = 0; x < kSide; ++x) {
          const auto pixel = static_cast<double>(image[(top + y) * width + left + x]);
          sum += std::abs(pixel);
          for (std::size_t k = 0; k < kSide; ++k) rows[y][k] += cosines[k][x] * pixel;
        }
      }
      for (std::size_t k = 0; k < kSide; ++k) {
        for (std::size_t x = 0; x < kSide; ++x) {
          const std::size_t at = (top + k) * width + left + x;
          for (std::size_t y = 0; y < kSide; ++y) result.coefficients[at] += cosines[k][y] * rows[y][x];
          result.scales[at] = sum;
        }
      }
    }
  }
  return result;
}

}  // namespace gpumux::benchmarks::dct
