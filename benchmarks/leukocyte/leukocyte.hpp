// leukocyte: sizes, tables and the CPU references, which round as the kernels do.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::leukocyte {

inline constexpr std::uint32_t kCircles = 7;
inline constexpr std::uint32_t kPoints = 150;  // per circle
inline constexpr std::uint32_t kMargin = 22;
inline constexpr std::uint32_t kFlowWidth = 81;
inline constexpr std::uint32_t kFlowHeight = 41;
inline constexpr std::uint32_t kFlowPixels = kFlowWidth * kFlowHeight;
inline constexpr float kSharpness = 1e10F;  // of the regularised Heaviside function

/// An image, stored column by column.
struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<float> pixels;
  [[nodiscard]] float& at(std::uint32_t x, std::uint32_t y) { return pixels[std::size_t{x} * height + y]; }
  [[nodiscard]] float at(std::uint32_t x, std::uint32_t y) const {
    return pixels[std::size_t{x} * height + y];
  }
};
/// The gradient of an image, by central differences; 0 at the borders.
struct Gradient {
  Image x, y;
};
[[nodiscard]] Gradient gradient(const Image& image);

/// The points of circles of radius 8, 10, ... 20, and the cosine and sine of their directions.
struct Circles {
  std::vector<std::int32_t> x, y;
  std::vector<float> cosine, sine;
};
[[nodiscard]] Circles circles();

[[nodiscard]] Image gicov(const Gradient& of, const Circles& circles);
/// Greatest score in the structuring element around each pixel. `element`: size x size, row by row; a pixel
/// counts if its element is not 0.
[[nodiscard]] Image dilate(const Image& score, const std::vector<float>& element, std::uint32_t size);
/// Computes the flow of one cell in place, row by row. Returns the number of iterations.
std::int32_t gradient_flow(std::vector<float>& flow, const std::vector<float>& edges, float motion_x,
                           float motion_y, std::int32_t most_iterations, float cutoff);

}  // namespace gpumux::benchmarks::leukocyte
