// The lattice Boltzmann fluid of the application lbm, on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::lbm {

inline constexpr std::uint32_t kVelocities = 19;
enum Flag : std::uint8_t { kFluid = 0, kSolid = 1, kLid = 2 };

struct Lattice {
  std::uint32_t nx, ny, nz;
  [[nodiscard]] std::size_t cells() const { return std::size_t{nx} * ny * nz; }
};
/// Velocities lie in pairs of opposites behind the first, which is none.
[[nodiscard]] const std::array<std::array<int, 3>, kVelocities>& velocities();
[[nodiscard]] double weight(std::uint32_t velocity);

/// One step of all cells; the field of each velocity lies for itself.
[[nodiscard]] std::vector<double> step(const Lattice& lattice, const std::vector<double>& from,
                                       const std::vector<std::uint8_t>& flags, double omega,
                                       double lid_speed);

}  // namespace gpumux::benchmarks::lbm
