// Speckle reducing anisotropic diffusion on the CPU. Images lie column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::srad {

/// Square of the coefficient of variation: variance over squared mean. At least 1e-6, so that it may divide.
[[nodiscard]] float spread_of(double sum, double squares, std::size_t cells);

struct Stepped {
  std::vector<double> image;
  std::vector<double> allowed;  // how far floats may be off
};
/// One iteration.
[[nodiscard]] Stepped step(const std::vector<float>& image, std::uint32_t rows, float spread, float rate);

}  // namespace gpumux::benchmarks::srad
