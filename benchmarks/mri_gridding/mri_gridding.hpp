// Samples spread onto a grid by the application mri-gridding, on the CPU.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::mri_gridding {

/// Laid out as in mri_gridding.cu; made from its place, its value and its density.
struct Sample {
  Sample(float at_x, float at_y, float at_z, float real_part, float imaginary_part, float its_density)
      : real(real_part), imaginary(imaginary_part), x(at_x), y(at_y), z(at_z), density(its_density) {}
  float real, imaginary, x, y, z, density;
};

/// Sums at each point of a grid, real and imaginary, and of the terms' magnitudes.
struct Spread {
  std::vector<double> values;               // two for each point
  std::vector<double> magnitudes;           // likewise
  std::vector<std::uint32_t> near_samples;  // how many terms a point has
};

/// The modified Bessel function of order 0, by its series.
[[nodiscard]] double bessel(double x);
/// Each sample adds density x bessel(beta sqrt(1 - (distance / cutoff)^2)) x value to the points nearer than
/// the cutoff.
[[nodiscard]] Spread spread(const std::vector<Sample>& samples, std::uint32_t nx, std::uint32_t ny,
                            std::uint32_t nz, double cutoff, double beta);

}  // namespace gpumux::benchmarks::mri_gridding
