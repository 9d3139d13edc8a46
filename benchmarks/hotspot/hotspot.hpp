// hotspot: the physical model and the CPU reference, apart from the host program so that tests can call them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::hotspot {

/// What one cell of the grid stores and conducts. Units: J/K, K/W, s.
struct Model {
  float cap;   // heat capacity of a cell
  float rx;    // thermal resistance to a neighbour in the row
  float ry;    // thermal resistance to a neighbour in the column
  float rz;    // thermal resistance to the surroundings
  float step;  // length of a time step
};

/// Of the surroundings, in the unit of the temperatures; `ambient` of hotspot.cu is the same.
inline constexpr float kAmbient = 80.0F;

/// The silicon of Rodinia's HotSpot with cells as large as in its 512 x 512 grid (1/32 mm), whatever the
/// grid's size, so that a time step is stable at any size.
[[nodiscard]] Model chip();

/// Temperatures after `steps` time steps, row by row, in double precision. Cells at the edge exchange no
/// heat with the outside of the grid.
[[nodiscard]] std::vector<double> reference(const std::vector<float>& temperature,
                                            const std::vector<float>& power, std::uint32_t rows,
                                            std::uint32_t columns, std::uint32_t steps, const Model& model);

}  // namespace gpumux::benchmarks::hotspot
