// cfd: the mesh and the CPU reference, apart from the host program so that tests can call them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::cfd {

inline constexpr std::size_t kFaces = 4;
inline constexpr std::size_t kVariables = 5;  // density, momentum x y z, energy
inline constexpr std::int32_t kWall = -1;     // in place of a neighbour
inline constexpr std::int32_t kFarField = -2;

/// A mesh of cells with four faces. Lies in memory as the kernel wants it: face by face (normals: then x, y,
/// z), for each all cells.
struct Mesh {
  std::size_t cells = 0;
  std::vector<std::int32_t> neighbours;
  std::vector<float> normals;  // outwards, as long as the face is large
};

/// A brick of `side` x `side` x `cells / side^2` places, linked like a diamond lattice (every cell to four
/// others, or to the surroundings at the brick's edge: a wall below and above, far field elsewhere). Cells
/// are numbered place by place along x, y, z, then shuffled within runs of `window` numbers, as a mesh
/// generator numbers neighbours near each other but not in a row. Normals are drawn at random; the two sides
/// of a face agree. cells: a multiple of side^2.
[[nodiscard]] Mesh diamond_mesh(std::size_t cells, std::size_t side, std::size_t window, std::uint64_t seed);

/// Subsonic states around `far_field`, variable by variable.
[[nodiscard]] std::vector<float> random_states(std::size_t cells, std::uint64_t seed);
/// Density 1, Mach number 0.4 along x.
[[nodiscard]] std::array<float, kVariables> far_field();

/// What flows out of each cell, and the sum of the magnitudes of the terms that it is the sum of (which
/// bounds the rounding error), variable by variable.
struct Fluxes {
  std::vector<double> value;
  std::vector<double> magnitude;
};
[[nodiscard]] Fluxes reference(const Mesh& mesh, const std::vector<float>& variables,
                               const std::array<float, kVariables>& surroundings);

}  // namespace gpumux::benchmarks::cfd
