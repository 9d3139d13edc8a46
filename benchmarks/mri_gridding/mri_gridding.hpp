// The CPU reference of the application mri-gridding.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::mri_gridding {

/// A sample, in the layout of mri_gridding.cu. The constructor takes its place, value and density.
struct Sample {
  Sample(float at_x, float at_y, float at_z, float real_part, float imaginary_part, float its_density)
      : real(real_part), imaginary(imaginary_part), x(at_x), y(at_y), z(at_z), density(its_density) {}
  float real, imaginary, x, y, z, density;
};

/// Sums of the samples' contributions at each grid point.
struct Spread {
  std::vector<double> values;               // two per point: real part, imaginary part
  std::vector<double> magnitudes;           // sums of the terms' magnitudes, in the same order
  std::vector<std::uint32_t> near_samples;  // number of terms per point
};

/// The modified Bessel function of order 0, by its series.
[[nodiscard]] double bessel(double x);
/// Each sample adds density x bessel(beta sqrt(1 - (distance / cutoff)^2)) x value to the points nearer than
/// the cutoff.
[[nodiscard]] Spread spread(const std::vector<Sample>& samples, std::uint32_t nx, std::uint32_t ny,
                            std::uint32_t nz, double cutoff, double beta);

}  // namespace gpumux::benchmarks::mri_gridding
