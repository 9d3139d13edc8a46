// sad: sizes, layout and the CPU reference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace gpumux::benchmarks::sad {

inline constexpr std::size_t kPositions = 1089;      // 33 x 33: a search range of 16 pixels each way
inline constexpr std::size_t kRow = 1096;            // shorts per row of SADs, padding included
inline constexpr std::size_t kQuadrants = 4;         // per macroblock
inline constexpr std::uint32_t kLargest = 16 * 255;  // largest SAD of a 4x4 block

/// SADs of larger blocks, in rows of kRow elements. Per quadrant two rows of 8x4 blocks (top, bottom), two
/// rows of 4x8 blocks (left, right) and one row of the 8x8 block. Padding is 0.
struct Sads {
  std::vector<std::uint16_t> wide;
  std::vector<std::uint16_t> tall;
  std::vector<std::uint16_t> square;
};

/// Adds rows of 4x4 SADs, which are per quadrant top left, top right, bottom left, bottom right.
inline Sads larger_sads(const std::vector<std::uint16_t>& small) {
  const std::size_t quadrants = small.size() / (4 * kRow);
  Sads result;
  result.wide.resize(2 * quadrants * kRow);
  result.tall.resize(2 * quadrants * kRow);
  result.square.resize(quadrants * kRow);
  for (std::size_t q = 0; q < quadrants; ++q) {
    for (std::size_t p = 0; p < kPositions; ++p) {
      const auto of = [&](std::size_t row) -> std::uint32_t { return small[(4 * q + row) * kRow + p]; };
      const auto sum = [](std::uint32_t x, std::uint32_t y) { return static_cast<std::uint16_t>(x + y); };
      result.wide[2 * q * kRow + p] = sum(of(0), of(1));
      result.wide[(2 * q + 1) * kRow + p] = sum(of(2), of(3));
      result.tall[2 * q * kRow + p] = sum(of(0), of(2));
      result.tall[(2 * q + 1) * kRow + p] = sum(of(1), of(3));
      result.square[q * kRow + p] = sum(of(0) + of(1), of(2) + of(3));
    }
  }
  return result;
}

/// A frame of bytes. Width and height are multiples of 16.
struct Frame {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels;
  /// The pixel at (x, y). Beyond a border, the frame repeats the pixels of the border.
  [[nodiscard]] int at(int x, int y) const {
    const int column = std::clamp(x, 0, static_cast<int>(width) - 1);
    const int row = std::clamp(y, 0, static_cast<int>(height) - 1);
    return pixels[static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column)];
  }
};

/// Rows of 4x4 SADs: macroblock by macroblock, quadrant by quadrant, row by row within a quadrant. Position p
/// of a row is p % 33 - 16 pixels to the right and p / 33 - 16 pixels down in the previous frame. Padding is
/// 0.
inline std::vector<std::uint16_t> small_sads(const Frame& frame, const Frame& before) {
  std::vector<std::uint16_t> rows;
  for (std::uint32_t m = 0; m < frame.width / 16 * (frame.height / 16); ++m) {
    for (std::uint32_t block = 0; block < 16; ++block) {
      const auto x = static_cast<int>(m % (frame.width / 16) * 16 + block / 4 % 2 * 8 + block % 2 * 4);
      const auto y = static_cast<int>(m / (frame.width / 16) * 16 + block / 8 * 8 + block % 4 / 2 * 4);
      for (int p = 0; p < static_cast<int>(kRow); ++p) {
        int sum = 0;
        for (int i = 0; i < 16 && p < static_cast<int>(kPositions); ++i)
          sum += std::abs(frame.at(x + i % 4, y + i / 4) -
                          before.at(x + i % 4 + p % 33 - 16, y + i / 4 + p / 33 - 16));
        rows.push_back(static_cast<std::uint16_t>(sum));
      }
    }
  }
  return rows;
}

}  // namespace gpumux::benchmarks::sad
