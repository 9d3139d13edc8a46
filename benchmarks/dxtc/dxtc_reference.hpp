// dxtc: the table of cuts, the CPU reference (rounded as the kernel does) and a decoder.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gpumux::benchmarks::dxtc {

inline constexpr std::size_t kPixels = 16;  // per block
inline constexpr std::size_t kThreads = 64;

/// A compressed block: two 5-6-5-bit colours, the first in the low half of `colours`, and 2 bits per pixel in
/// `indices`.
struct Compressed {
  std::uint32_t colours = 0;
  std::uint32_t indices = 0;
};

/// Every way to cut a row of 16 into clusters 0, 1, 2, 3 in this order, with 2 bits per place. Clusters can
/// be empty.
inline std::vector<std::uint32_t> all_cuts() {
  std::vector<std::uint32_t> cuts;
  for (std::size_t i = 0; i <= kPixels; ++i) {
    for (std::size_t j = i; j <= kPixels; ++j) {
      for (std::size_t k = j; k <= kPixels; ++k) {
        std::uint32_t cut = 0;
        for (std::size_t p = 0; p < kPixels; ++p) {
          const std::uint32_t cluster = p < i ? 0U : p < j ? 1U : p < k ? 2U : 3U;
          cut |= cluster << (2 * p);
        }
        cuts.push_back(cut);
      }
    }
  }
  return cuts;
}

namespace detail {

using Channel = std::array<float, kPixels>;

struct Fit {
  std::uint32_t start = 0;
  std::uint32_t end = 0;
  float error = std::numeric_limits<float>::max();
};

inline std::uint32_t quantize(float& value, float levels) {
  const float level = std::floor(std::fma(std::clamp(value, 0.0F, 1.0F), levels, 0.5F));
  value = level / levels;
  return static_cast<std::uint32_t>(level);
}

inline Fit fit(std::uint32_t cut, const std::array<Channel, 3>& sorted, const std::array<float, 3>& sum) {
  float aa = 0;
  float bb = 0;
  float ab = 0;
  std::array<float, 3> ax{};
  for (std::size_t i = 0; i < kPixels; ++i) {
    const auto b = static_cast<float>((cut >> (2 * i)) & 3U);
    const float a = 3 - b;
    aa = std::fma(a, a, aa);
    bb = std::fma(b, b, bb);
    ab = std::fma(a, b, ab);
    for (std::size_t c = 0; c < 3; ++c) ax[c] = std::fma(a, sorted[c][i], ax[c]);
  }
  const float squared = ab * ab;
  const float determinant = std::fma(aa, bb, -squared);
  const float factor = determinant > 0 ? 3 / determinant : 0;
  Fit result;
  result.error = 0;
  constexpr std::array<float, 3> kLevels = {31, 63, 31};
  constexpr std::array<std::uint32_t, 3> kShift = {11, 5, 0};
  for (std::size_t c = 0; c < 3; ++c) {
    const float bx = std::fma(3.0F, sum[c], -ax[c]);
    const float b_part = bx * ab;
    const float a_part = ax[c] * ab;
    float start = std::fma(ax[c], bb, -b_part) * factor;
    float end = std::fma(bx, aa, -a_part) * factor;
    result.start |= quantize(start, kLevels[c]) << kShift[c];
    result.end |= quantize(end, kLevels[c]) << kShift[c];
    const float end_linear = end * bx;
    const float linear = std::fma(start, ax[c], end_linear);
    const float end_square = end * end;
    const float end_squares = end_square * bb;
    const float start_square = start * start;
    const float squares = std::fma(start_square, aa, end_squares);
    const float product = start * end;
    const float minus_linear = -3 * linear;
    const float mixed = std::fma(product, ab, minus_linear);
    result.error += std::fma(2.0F, mixed, squares);
  }
  return result;
}

}  // namespace detail

/// Compresses one block of 16 pixels (red in the lowest byte). Each operation is rounded as in the kernel.
inline Compressed compress(const std::uint32_t* pixels, const std::vector<std::uint32_t>& cuts) {
  std::array<detail::Channel, 3> colour{};
  std::array<float, 3> sum{};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < kPixels; ++i) {
      colour[c][i] = static_cast<float>((pixels[i] >> (8 * c)) & 255U) / 255;
      sum[c] += colour[c][i];
    }
  }
  std::array<std::array<float, 3>, 3> covariance{};
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t q = p; q < 3; ++q) {
      const float mean_p = sum[p] * 0.0625F;
      const float mean_q = sum[q] * 0.0625F;
      float total = 0;
      for (std::size_t i = 0; i < kPixels; ++i) {
        total = std::fma(colour[p][i] - mean_p, colour[q][i] - mean_q, total);
      }
      covariance[p][q] = covariance[q][p] = total;
    }
  }
  std::array<float, 3> axis = {1, 1, 1};
  for (int step = 0; step < 8; ++step) {
    std::array<float, 3> next{};
    for (std::size_t c = 0; c < 3; ++c) {
      const float last = covariance[c][2] * axis[2];
      next[c] = std::fma(covariance[c][0], axis[0], std::fma(covariance[c][1], axis[1], last));
    }
    const float largest = std::max({std::abs(next[0]), std::abs(next[1]), std::abs(next[2])});
    const float scale = largest > 0 ? 1 / largest : 0;
    for (std::size_t c = 0; c < 3; ++c) axis[c] = next[c] * scale;
  }
  detail::Channel position{};
  for (std::size_t i = 0; i < kPixels; ++i) {
    const float blue = colour[2][i] * axis[2];
    position[i] = std::fma(colour[0][i], axis[0], std::fma(colour[1][i], axis[1], blue));
  }
  std::array<std::size_t, kPixels> place{};
  std::array<detail::Channel, 3> sorted{};
  for (std::size_t i = 0; i < kPixels; ++i) {
    for (std::size_t j = 0; j < kPixels; ++j) {
      if (position[j] < position[i] || (position[j] == position[i] && j < i)) ++place[i];
    }
    for (std::size_t c = 0; c < 3; ++c) sorted[c][place[i]] = colour[c][i];
  }
  // Thread t tries the cuts t, t + 64, and so on, then the threads' best cuts are compared pair by pair. Of
  // equal cuts a thread keeps the first; of two equal threads the comparison keeps the lower.
  std::array<detail::Fit, kThreads> best_of;
  std::array<std::uint32_t, kThreads> cut_of{};
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    for (std::size_t i = thread; i < cuts.size(); i += kThreads) {
      const detail::Fit tried = detail::fit(cuts[i], sorted, sum);
      if (tried.error < best_of[thread].error) {
        best_of[thread] = tried;
        cut_of[thread] = cuts[i];
      }
    }
  }
  for (std::size_t distance = kThreads / 2; distance > 0; distance /= 2) {
    for (std::size_t thread = 0; thread < distance; ++thread) {
      if (!(best_of[thread + distance].error < best_of[thread].error)) continue;
      best_of[thread] = best_of[thread + distance];
      cut_of[thread] = cut_of[thread + distance];
    }
  }
  const detail::Fit& best = best_of[0];
  const std::uint32_t chosen = cut_of[0];
  Compressed result;
  const bool swap = best.start < best.end;
  result.colours = swap ? best.end | best.start << 16U : best.start | best.end << 16U;
  if (best.start == best.end) return result;
  for (std::size_t i = 0; i < kPixels; ++i) {
    const std::uint32_t cluster = (chosen >> (2 * place[i])) & 3U;
    const std::uint32_t index = cluster == 0 ? 0U : cluster == 3 ? 1U : cluster + 1;
    result.indices |= (swap ? index ^ 1U : index) << (2 * i);
  }
  return result;
}

/// The colours of the 16 pixels, 0 to 1, channel by channel, as a decoder of the four-colour mode shows them.
/// If both colours are equal, compress() uses only index 0.
inline std::array<std::array<double, 3>, kPixels> decode(const Compressed& block) {
  const auto channels = [](std::uint32_t c) -> std::array<double, 3> {
    return {(c >> 11U & 31U) / 31.0, (c >> 5U & 63U) / 63.0, (c & 31U) / 31.0};
  };
  const std::array<double, 3> first = channels(block.colours & 0xffffU);
  const std::array<double, 3> second = channels(block.colours >> 16U);
  constexpr std::array<double, 4> kShareOfFirst = {1, 0, 2.0 / 3, 1.0 / 3};
  std::array<std::array<double, 3>, kPixels> result{};
  for (std::size_t i = 0; i < kPixels; ++i) {
    const double share = kShareOfFirst[(block.indices >> (2 * i)) & 3U];
    for (std::size_t c = 0; c < 3; ++c) result[i][c] = share * first[c] + (1 - share) * second[c];
  }
  return result;
}

}  // namespace gpumux::benchmarks::dxtc
