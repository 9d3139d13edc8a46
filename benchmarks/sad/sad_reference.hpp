// sad: sizes, layout and the CPU reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::sad {

inline constexpr std::size_t kPositions = 1089;      // 33 x 33: a search range of 16 pixels each way
inline constexpr std::size_t kRow = 1096;            // shorts of a row of SADs, padding included
inline constexpr std::size_t kQuadrants = 4;         // of a macroblock
inline constexpr std::uint32_t kLargest = 16 * 255;  // SAD of a 4x4 block

/// SADs of larger blocks: rows of kRow, per quadrant two of 8x4 blocks (top, bottom), two of 4x8 blocks
/// (left, right), one of the 8x8 block. Padding is 0.
struct Sads {
  std::vector<std::uint16_t> wide;
  std::vector<std::uint16_t> tall;
  std::vector<std::uint16_t> square;
};

/// From rows of 4x4 SADs: per quadrant top left, top right, bottom left, bottom right.
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

}  // namespace gpumux::benchmarks::sad
