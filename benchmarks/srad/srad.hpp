// Speckle reducing anisotropic diffusion on the CPU. Images are stored column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/tolerance.hpp"

namespace gpumux::benchmarks::srad {

inline constexpr std::uint32_t kThreads = 256;
inline constexpr float kRate = 0.5F;

/// An image of dark and bright squares with speckle.
[[nodiscard]] std::vector<float> speckled(std::uint32_t columns, std::uint32_t rows, std::uint64_t seed);
/// For each place along an axis, the place `distance` (1 or -1) away. At the edge, the place itself.
[[nodiscard]] std::vector<std::int32_t> neighbours(std::uint32_t places, std::int32_t distance);

/// Results of the kernels extract and compress for an image.
[[nodiscard]] std::vector<double> extracted(const std::vector<float>& image);
[[nodiscard]] std::vector<double> compressed(const std::vector<float>& image);
/// Tolerance of one division or product, and of one function with an error of two units in the last place,
/// which is four roundings.
inline constexpr Tolerance kOfFunction{.relative = 8 * kFloatRounding, .absolute = 0};

/// Square of the coefficient of variation: variance over squared mean. It is at least 1e-6, because the
/// kernel divides by it.
[[nodiscard]] float spread_of(double sum, double squares, std::size_t cells);

/// The differences of each cell to its neighbours, and each cell's coefficient of diffusion, from 0 to 1.
struct Differences {
  std::vector<double> north, south, west, east;
  std::vector<double> coefficient;
};
[[nodiscard]] Differences differences(const std::vector<float>& image, std::uint32_t rows, float spread);
/// Error of a coefficient, in roundings, for images with values from 1 to e. `below` is then at least 1/e,
/// and the numerator of `variation` at least a quarter of the gradient, so about fifty roundings of the terms
/// reach it. The relative error of a coefficient that is not clamped to 1 is hardly larger.
inline constexpr double kCoefficientRoundings = 64;

struct Stepped {
  std::vector<double> image;
  std::vector<double> allowed;  // allowed errors of floats
};
/// The image after one step with the differences and coefficients `to`. `allowed` includes coefficients that
/// are off by `coefficient_roundings` roundings.
[[nodiscard]] Stepped diffuse(const std::vector<float>& image, std::uint32_t rows, const Differences& to,
                              float rate, double coefficient_roundings);
/// One iteration: differences() and diffuse().
[[nodiscard]] Stepped step(const std::vector<float>& image, std::uint32_t rows, float spread, float rate);

}  // namespace gpumux::benchmarks::srad
