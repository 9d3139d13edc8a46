// CPU references of the dense products of sgemm, atax and 3mm, in double precision.
#pragma once

#include <cstddef>
#include <vector>

namespace gpumux::benchmarks {

/// Product of left (rows x inner) and right (inner x columns), all row-major.
template <typename Left, typename Right>
std::vector<double> product_reference(const std::vector<Left>& left, const std::vector<Right>& right,
                                      std::size_t rows, std::size_t inner, std::size_t columns) {
  std::vector<double> result(rows * columns, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    double* out = &result[row * columns];
    for (std::size_t k = 0; k < inner; ++k) {
      const auto factor = static_cast<double>(left[row * inner + k]);
      const Right* in = &right[k * columns];
      for (std::size_t column = 0; column < columns; ++column)
        out[column] += factor * static_cast<double>(in[column]);
    }
  }
  return result;
}

/// y = A^T (A x) for a row-major A of nx rows and ny columns.
inline std::vector<double> atax_reference(const std::vector<float>& a, const std::vector<float>& x,
                                          std::size_t nx, std::size_t ny) {
  const std::vector<double> tmp = product_reference(a, x, nx, ny, 1);
  return product_reference(tmp, a, 1, nx, ny);
}

/// c = alpha * a * b^T + beta * c, all column-major without gaps. a is m x k, b is n x k, c is m x n.
inline std::vector<double> sgemm_reference(const std::vector<float>& a, const std::vector<float>& b,
                                           const std::vector<float>& c, std::size_t m, std::size_t n,
                                           std::size_t k, double alpha, double beta) {
  std::vector<double> result(m * n);
  for (std::size_t column = 0; column < n; ++column) {
    double* out = &result[column * m];
    for (std::size_t row = 0; row < m; ++row) out[row] = beta * double{c[column * m + row]};
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = alpha * double{b[i * n + column]};
      for (std::size_t row = 0; row < m; ++row) out[row] += factor * double{a[i * m + row]};
    }
  }
  return result;
}

}  // namespace gpumux::benchmarks
