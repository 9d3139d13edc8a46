// CPU reference of stencil: 7-point Jacobi steps in double precision.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace gpumux::benchmarks {

/// The grid (x fastest) after `steps` steps; boundary points keep their values.
inline std::vector<double> stencil_reference(const std::vector<float>& grid, std::size_t nx, std::size_t ny,
                                             std::size_t nz, double centre_weight, double neighbour_weight,
                                             std::size_t steps) {
  std::vector<double> now(grid.begin(), grid.end());
  std::vector<double> next = now;
  const std::size_t plane = nx * ny;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t z = 1; z + 1 < nz; ++z) {
      for (std::size_t y = 1; y + 1 < ny; ++y) {
        for (std::size_t x = 1; x + 1 < nx; ++x) {
          const std::size_t at = z * plane + y * nx + x;
          const double neighbours =
              now[at - 1] + now[at + 1] + now[at - nx] + now[at + nx] + now[at - plane] + now[at + plane];
          next[at] = centre_weight * now[at] + neighbour_weight * neighbours;
        }
      }
    }
    std::swap(now, next);
  }
  return now;
}

}  // namespace gpumux::benchmarks
