// Input and CPU reference of lud: LU decomposition without pivoting, unblocked, in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/common.hpp"

namespace gpumux::benchmarks {

/// The matrix after the first `pivots` steps, row-major n x n: columns of L (unit diagonal, not stored) below
/// the diagonal, rows of U on and above the diagonal, and the rest that remains to be decomposed.
inline std::vector<double> lud_steps(const std::vector<float>& matrix, std::size_t n, std::size_t pivots) {
  std::vector<double> lu(matrix.begin(), matrix.end());
  for (std::size_t pivot = 0; pivot < pivots; ++pivot) {
    const double* upper = &lu[pivot * n];
    for (std::size_t row = pivot + 1; row < n; ++row) {
      double* lower = &lu[row * n];
      lower[pivot] /= upper[pivot];
      const double factor = lower[pivot];
      for (std::size_t column = pivot + 1; column < n; ++column) lower[column] -= factor * upper[column];
    }
  }
  return lu;
}

/// The whole decomposition: L below the diagonal, U on and above the diagonal.
inline std::vector<double> lud_reference(const std::vector<float>& matrix, std::size_t n) {
  return lud_steps(matrix, n, n);
}

/// A random diagonally dominant matrix: no pivoting is needed and no number grows.
inline std::vector<float> lud_matrix(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> matrix = random_floats(random, n * n, -1.0F, 1.0F);
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += static_cast<float>(n);
  return matrix;
}

}  // namespace gpumux::benchmarks
