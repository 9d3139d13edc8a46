// pathfinder: the CPU reference, apart from the host program so that tests can call it.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::pathfinder {

/// For each column of the last row, the cheapest sum of cells on a way from the first row, where a way goes
/// down one row at a time to the same or a neighbouring column. `grid` is row by row.
[[nodiscard]] std::vector<std::int32_t> reference(const std::vector<std::int32_t>& grid,
                                                  std::uint32_t columns);

}  // namespace gpumux::benchmarks::pathfinder
