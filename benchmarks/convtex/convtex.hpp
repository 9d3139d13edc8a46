// The separable convolution of the application convtex in double precision, for the host program and its
// tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::convtex {

inline constexpr std::int64_t kRadius = 8;

/// Convolution along the rows (`rows`) or the columns of an image with `width` pixels per row. Beyond an
/// edge, the image repeats the pixels of the edge. result[x] = sum over j of weights[radius - j] * line[x +
/// j].
[[nodiscard]] inline std::vector<double> convolve(const std::vector<double>& pixels, std::size_t width,
                                                  const std::vector<float>& weights, bool rows) {
  const auto across = static_cast<std::int64_t>(width);
  const auto down = static_cast<std::int64_t>(pixels.size() / width);
  std::vector<double> result(pixels.size());
  for (std::int64_t y = 0; y < down; ++y) {
    for (std::int64_t x = 0; x < across; ++x) {
      double sum = 0;
      for (std::int64_t j = -kRadius; j <= kRadius; ++j) {
        const std::int64_t from_x = rows ? std::clamp<std::int64_t>(x + j, 0, across - 1) : x;
        const std::int64_t from_y = rows ? y : std::clamp<std::int64_t>(y + j, 0, down - 1);
        sum += static_cast<double>(weights[static_cast<std::size_t>(kRadius - j)]) *
               pixels[static_cast<std::size_t>(from_y * across + from_x)];
      }
      result[static_cast<std::size_t>(y * across + x)] = sum;
    }
  }
  return result;
}

/// Convolution along the rows, then along the columns.
[[nodiscard]] inline std::vector<double> reference(const std::vector<float>& image, std::size_t width,
                                                   const std::vector<float>& weights) {
  const std::vector<double> pixels(image.begin(), image.end());
  return convolve(convolve(pixels, width, weights, true), width, weights, false);
}

}  // namespace gpumux::benchmarks::convtex
