// heartwall: the CPU reference, which rounds as the kernel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::heartwall {

inline constexpr std::int32_t kTemplate = 51;
inline constexpr std::int32_t kWindow = 81;
inline constexpr std::int32_t kPlaces = kWindow - kTemplate + 1;
inline constexpr std::int32_t kSums = kWindow + 1;

/// A frame of the video, with its pixels row by row.
struct Frame {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::vector<float> pixels;
  /// The pixel at (x, y). Beyond a border, the frame repeats the pixels of the border.
  [[nodiscard]] float at(std::int32_t x, std::int32_t y) const;
};

struct Point {
  std::int32_t x, y;
  std::vector<float> pixels;  // pixels of the point's template
};
/// Sets the point's template to the pixels around the point.
void begin(Point& point, const Frame& frame);
/// Moves the point to the best match in the frame, and updates the point's template. Sums are in the order of
/// a thread block of `threads` threads, a power of two.
void track(Point& point, const Frame& frame, std::size_t threads = 512);

}  // namespace gpumux::benchmarks::heartwall
