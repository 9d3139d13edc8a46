// Gaussian elimination on the CPU, with a bound on the rounding error of each number in single precision.
#pragma once

#include <cstddef>
#include <vector>

namespace gpumux::benchmarks::gaussian {

/// A number in double precision. A computation in single precision gives a number that differs from `value`
/// by at most `error`.
struct Rounded {
  double value = 0;
  double error = 0;
};

/// The linear system a x = b, with `a` row by row.
template <typename Number>
struct System {
  std::vector<Number> a, b;
};

struct Eliminated {
  System<Rounded> system;
  std::vector<Rounded> multipliers;  // below the diagonal; zero elsewhere
};
[[nodiscard]] Eliminated eliminate(const System<float>& system);

/// Solves an upper triangular system for x.
[[nodiscard]] std::vector<Rounded> substitute(const System<Rounded>& upper);

}  // namespace gpumux::benchmarks::gaussian
