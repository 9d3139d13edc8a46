// leukocyte: sizes, tables and the CPU references, which round as the kernels do.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::leukocyte {

inline constexpr std::uint32_t kCircles = 7;
inline constexpr std::uint32_t kPoints = 150;  // of a circle
inline constexpr std::uint32_t kMargin = 22;
inline constexpr std::uint32_t kFlowWidth = 81;
inline constexpr std::uint32_t kFlowHeight = 41;
inline constexpr std::uint32_t kFlowPixels = kFlowWidth * kFlowHeight;
inline constexpr float kSharpness = 1e10F;  // of the regularised Heaviside function

/// Column by column.
struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<float> pixels;
  [[nodiscard]] float& at(std::uint32_t x, std::uint32_t y) { return pixels[std::size_t{x} * height + y]; }
  [[nodiscard]] float at(std::uint32_t x, std::uint32_t y) const {
    return pixels[std::size_t{x} * height + y];
  }
};
/// Central differences; 0 at the borders.
struct Gradient {
  Image x, y;
};
[[nodiscard]] Gradient gradient(const Image& image);

/// Points of circles of radius 8, 10, ... 20, and the directions to them.
struct Circles {
  std::vector<std::int32_t> x, y;
  std::vector<float> cosine, sine;
};
[[nodiscard]] Circles circles();

[[nodiscard]] Image gicov(const Gradient& of, const Circles& circles);
/// `element`: size x size, row by row, not 0 where it counts.
[[nodiscard]] Image dilate(const Image& score, const std::vector<float>& element, std::uint32_t size);
/// Of one cell, row by row, in place; the iterations that it took.
std::int32_t gradient_flow(std::vector<float>& flow, const std::vector<float>& edges, float motion_x,
                           float motion_y, std::int32_t most_iterations, float cutoff);

}  // namespace gpumux::benchmarks::leukocyte
