// hotspot: the physical model and the CPU reference. Tests call them, too.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::hotspot {

/// Heat capacity and thermal resistances of a cell of the grid, and the time step. Units: J/K, K/W, s.
struct Model {
  float cap;   // heat capacity of a cell
  float rx;    // thermal resistance to a neighbour in the row
  float ry;    // thermal resistance to a neighbour in the column
  float rz;    // thermal resistance to the surroundings
  float step;  // length of a time step
};

/// Temperature of the surroundings, in the unit of the temperatures (`ambient` of hotspot.cu).
inline constexpr float kAmbient = 80.0F;

/// The silicon of Rodinia's HotSpot. A cell is always as large as in Rodinia's 512 x 512 grid (1/32 mm), so a
/// time step is stable for grids of any size.
[[nodiscard]] Model chip();

/// Temperatures after `steps` time steps, row by row, in double precision. Cells at the edge exchange no heat
/// with the outside of the grid.
[[nodiscard]] std::vector<double> reference(const std::vector<float>& temperature,
                                            const std::vector<float>& power, std::uint32_t rows,
                                            std::uint32_t columns, std::uint32_t steps, const Model& model);

}  // namespace gpumux::benchmarks::hotspot
