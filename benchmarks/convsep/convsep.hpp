// The separable convolution of the application convsep in double precision, for the host program and its
// tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::convsep {

inline constexpr std::int64_t kRadius = 8;

/// Convolution of lines that begin at `starts`, with `length` elements that are `stride` apart. A line is
/// zero beyond its ends. result[x] = sum over j of weights[radius - j] * line[x + j].
[[nodiscard]] inline std::vector<double> convolve(const std::vector<double>& image,
                                                  const std::vector<std::size_t>& starts, std::size_t length,
                                                  std::size_t stride, const std::vector<float>& weights) {
  std::vector<double> result(image.size(), 0);
  const auto end = static_cast<std::int64_t>(length);
  for (const std::size_t start : starts) {
    for (std::int64_t x = 0; x < end; ++x) {
      double sum = 0;
      for (std::int64_t j = -kRadius; j <= kRadius; ++j) {
        if (x + j < 0 || x + j >= end) continue;
        sum += static_cast<double>(weights[static_cast<std::size_t>(kRadius - j)]) *
               image[start + static_cast<std::size_t>(x + j) * stride];
      }
      result[start + static_cast<std::size_t>(x) * stride] = sum;
    }
  }
  return result;
}

/// Convolution along the rows of an image with `width` pixels per row.
[[nodiscard]] inline std::vector<double> convolve_rows(const std::vector<double>& pixels, std::size_t width,
                                                       const std::vector<float>& weights) {
  std::vector<std::size_t> rows;
  for (std::size_t first = 0; first < pixels.size(); first += width) rows.push_back(first);
  return convolve(pixels, rows, width, 1, weights);
}
[[nodiscard]] inline std::vector<double> convolve_columns(const std::vector<double>& pixels,
                                                          std::size_t width,
                                                          const std::vector<float>& weights) {
  std::vector<std::size_t> columns;
  for (std::size_t x = 0; x < width; ++x) columns.push_back(x);
  return convolve(pixels, columns, pixels.size() / width, width, weights);
}

/// Convolution along the rows, then along the columns.
[[nodiscard]] inline std::vector<double> reference(const std::vector<float>& image, std::size_t width,
                                                   const std::vector<float>& weights) {
  const std::vector<double> pixels(image.begin(), image.end());
  return convolve_columns(convolve_rows(pixels, width, weights), width, weights);
}

}  // namespace gpumux::benchmarks::convsep
