// pathfinder: the CPU reference. Tests call it, too.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::pathfinder {

/// For each column of the last row, the lowest sum of cells on a path from the first row. Each step of a path
/// goes down one row, to the same or a neighbouring column. `grid` is row by row.
[[nodiscard]] std::vector<std::int32_t> reference(const std::vector<std::int32_t>& grid,
                                                  std::uint32_t columns);

}  // namespace gpumux::benchmarks::pathfinder
