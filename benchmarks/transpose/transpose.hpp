// The CPU references of the application transpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::transpose {

inline constexpr std::uint32_t kTile = 16;  // kTile of transpose.cu

/// The transpose of a matrix with `width` columns.
[[nodiscard]] inline std::vector<float> transposed(const std::vector<float>& matrix, std::size_t width) {
  const std::size_t height = matrix.size() / width;
  std::vector<float> result(matrix.size());
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) result[x * height + y] = matrix[y * width + x];
  return result;
}

/// The matrix with each tile transposed in its place.
[[nodiscard]] inline std::vector<float> tiles_transposed(const std::vector<float>& matrix,
                                                         std::size_t width) {
  std::vector<float> result(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::size_t x = i % width, y = i / width;
    result[i] = matrix[(y - y % kTile + x % kTile) * width + x - x % kTile + y % kTile];
  }
  return result;
}

}  // namespace gpumux::benchmarks::transpose
