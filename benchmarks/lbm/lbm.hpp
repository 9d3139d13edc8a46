// The lattice Boltzmann fluid of the application lbm, on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::lbm {

inline constexpr std::uint32_t kVelocities = 19;
enum Flag : std::uint32_t { kFluid = 0, kSolid = 1, kDriven = 2 };

/// A box of cells in an array of fields: one field per velocity, then the field of flags (bits of Flag).
struct Lattice {
  std::uint32_t nx, ny, nz;
  std::uint32_t rows, planes;  ///< rows of a plane and planes of a field; at least the box's

  static constexpr std::size_t kRow = 128;
  static constexpr std::uint32_t kFields = kVelocities + 1;
  /// Planes of padding before the first cell; at least as many follow the last cell. Populations that leave
  /// the box are written there.
  static constexpr std::size_t kPlanesBefore = 2;

  [[nodiscard]] std::size_t plane() const { return kRow * rows; }
  [[nodiscard]] std::size_t field() const { return plane() * planes; }
  [[nodiscard]] std::size_t first() const { return kPlanesBefore * plane(); }
  /// Size of the array, as in Parboil's program. It is larger than needed, and decides which parts of the
  /// DRAM two arrays share.
  [[nodiscard]] std::size_t elements() const { return kFields * (field() + 2 * kPlanesBefore * plane()); }
  [[nodiscard]] std::size_t at(std::uint32_t field_number, std::uint32_t x, std::uint32_t y,
                               std::uint32_t z) const {
    return first() + field_number * field() + (std::size_t{z} * rows + y) * kRow + x;
  }
};

[[nodiscard]] const std::array<std::array<int, 3>, kVelocities>& velocities();
[[nodiscard]] std::uint32_t opposite(std::uint32_t velocity);
[[nodiscard]] double weight(std::uint32_t velocity);

/// Flag of a cell: cells at the edges of the box are solid, and cells beside two of the walls drive the
/// fluid.
[[nodiscard]] Flag flag(const Lattice& lattice, std::uint32_t x, std::uint32_t y, std::uint32_t z);

/// One step of all cells. Elements of `to` to which no cell of the box sends keep their values.
void step(const Lattice& lattice, const std::vector<double>& from, std::vector<double>& to);

}  // namespace gpumux::benchmarks::lbm
