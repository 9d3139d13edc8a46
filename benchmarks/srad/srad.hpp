// Speckle reducing anisotropic diffusion on the CPU. Images lie column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/tolerance.hpp"

namespace gpumux::benchmarks::srad {

inline constexpr std::uint32_t kThreads = 256;
inline constexpr float kRate = 0.5F;

/// Squares, dark and bright, under speckle.
[[nodiscard]] std::vector<float> speckled(std::uint32_t columns, std::uint32_t rows, std::uint64_t seed);
/// By place along an axis: the one before it, or behind it; those at the edge are their own neighbours.
[[nodiscard]] std::vector<std::int32_t> neighbours(std::uint32_t places, std::int32_t distance);

/// What the kernels extract and compress make of an image.
[[nodiscard]] std::vector<double> extracted(const std::vector<float>& image);
[[nodiscard]] std::vector<double> compressed(const std::vector<float>& image);
/// A division or a product, and a function good to two units in the last place, which are four roundings.
inline constexpr Tolerance kOfFunction{.relative = 8 * kFloatRounding, .absolute = 0};

/// Square of the coefficient of variation: variance over squared mean. At least 1e-6, so that it may divide.
[[nodiscard]] float spread_of(double sum, double squares, std::size_t cells);

/// To the neighbours, and how far a cell takes part in the diffusion.
struct Differences {
  std::vector<double> north, south, west, east;
  std::vector<double> coefficient;
};
[[nodiscard]] Differences differences(const std::vector<float>& image, std::uint32_t rows, float spread);
/// Roundings of a coefficient, from 0 to 1, for images with values from 1 to e: `below` is then at least 1/e,
/// and what `variation` divides at least a quarter of the gradient, so that some fifty roundings of the terms
/// reach it. A coefficient that is not cut off at 1 is off by hardly more, relatively.
inline constexpr double kCoefficientRoundings = 64;

struct Stepped {
  std::vector<double> image;
  std::vector<double> allowed;  // how far floats may be off
};
/// What coefficients that are off by so many roundings make of the image.
[[nodiscard]] Stepped diffuse(const std::vector<float>& image, std::uint32_t rows, const Differences& to,
                              float rate, double coefficient_roundings);
/// One iteration.
[[nodiscard]] Stepped step(const std::vector<float>& image, std::uint32_t rows, float spread, float rate);

}  // namespace gpumux::benchmarks::srad
