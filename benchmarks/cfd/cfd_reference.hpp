// cfd: the mesh and the CPU reference. Tests call them, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::cfd {

inline constexpr std::size_t kFaces = 4;
inline constexpr std::size_t kVariables = 5;  // density, momentum x y z, energy
inline constexpr std::int32_t kWall = -1;     // marks a face without a neighbour
inline constexpr std::int32_t kFarField = -2;

/// A mesh of cells with four faces, in the layout of the kernel: one array over all cells for each face (of
/// normals: for each face and axis).
struct Mesh {
  std::size_t cells = 0;
  std::vector<std::int32_t> neighbours;
  std::vector<float> normals;  // normals point outwards; their length is the area of the face
};

/// A brick of `side` x `side` x `cells / side^2` cells, linked like a diamond lattice: each cell has four
/// neighbours. At the edge of the brick a neighbour is missing: below and above there is a wall, elsewhere
/// far field. Cells are numbered along x, y, z and then shuffled within runs of `window` numbers, because a
/// mesh generator gives neighbours close numbers, but not consecutive ones. Normals are random, and equal on
/// both sides of a face. `cells` is a multiple of side^2.
[[nodiscard]] Mesh diamond_mesh(std::size_t cells, std::size_t side, std::size_t window, std::uint64_t seed);

/// Random subsonic states around `far_field`, one array per variable.
[[nodiscard]] std::vector<float> random_states(std::size_t cells, std::uint64_t seed);
/// The state of the surroundings: density 1, Mach number 0.4 along x.
[[nodiscard]] std::array<float, kVariables> far_field();

/// The flux out of each cell, and the sum of the magnitudes of its terms, which bounds the rounding error.
/// One array per variable.
struct Fluxes {
  std::vector<double> value;
  std::vector<double> magnitude;
};
[[nodiscard]] Fluxes reference(const Mesh& mesh, const std::vector<float>& variables,
                               const std::array<float, kVariables>& surroundings);

}  // namespace gpumux::benchmarks::cfd
