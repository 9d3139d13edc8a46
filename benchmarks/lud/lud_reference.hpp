// CPU reference of lud: LU decomposition without pivoting, unblocked, in double precision.
#pragma once

#include <cstddef>
#include <vector>

namespace gpumux::benchmarks {

/// L (unit diagonal, not stored) below and U on and above the diagonal of a row-major n x n matrix.
inline std::vector<double> lud_reference(const std::vector<float>& matrix, std::size_t n) {
  std::vector<double> lu(matrix.begin(), matrix.end());
  for (std::size_t pivot = 0; pivot < n; ++pivot) {
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

}  // namespace gpumux::benchmarks
