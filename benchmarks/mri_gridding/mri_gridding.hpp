// Samples spread onto a grid by the application mri-gridding, on the CPU.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::mri_gridding {

struct Sample {
  float x, y, z, real, imaginary, density;
};

/// Sums at each point of a grid, real and imaginary, and of the terms' magnitudes.
struct Spread {
  std::vector<double> values;      // two for each point
  std::vector<double> magnitudes;  // likewise
};

/// The modified Bessel function of order 0, by its series.
[[nodiscard]] double bessel(double x);
/// Each sample adds density x bessel(beta sqrt(1 - (distance / cutoff)^2)) x value to the points nearer than
/// the cutoff.
[[nodiscard]] Spread spread(const std::vector<Sample>& samples, std::uint32_t nx, std::uint32_t ny,
                            std::uint32_t nz, double cutoff, double beta);

}  // namespace gpumux::benchmarks::mri_gridding
