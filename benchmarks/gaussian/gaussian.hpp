// Gaussian elimination on the CPU, with a bound on what the roundings of floats do to each number.
#pragma once

#include <cstddef>
#include <vector>

namespace gpumux::benchmarks::gaussian {

/// A number in double precision; computed with floats, the same is at most `error` away.
struct Rounded {
  double value = 0;
  double error = 0;
};

/// The linear system a x = b; `a` lies row by row.
template <typename Number>
struct System {
  std::vector<Number> a, b;
};

struct Eliminated {
  System<Rounded> system;
  std::vector<Rounded> multipliers;  // below the diagonal; zeros elsewhere
};
[[nodiscard]] Eliminated eliminate(const System<float>& system);

/// x from an upper triangle.
[[nodiscard]] std::vector<Rounded> substitute(const System<Rounded>& upper);

}  // namespace gpumux::benchmarks::gaussian
