// spmv: the sparse matrix in rows, its conversion to padded jagged diagonals, and the CPU reference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gpumux::benchmarks {

/// A matrix in compressed sparse rows. Row r holds elements [start[r], start[r + 1]).
struct SparseRows {
  std::vector<std::size_t> start{0};
  std::vector<std::int32_t> column;
  std::vector<float> value;
  [[nodiscard]] std::size_t rows() const { return start.size() - 1; }
  [[nodiscard]] std::size_t length(std::size_t row) const { return start[row + 1] - start[row]; }
};

/// A matrix in jagged diagonals. Rows are sorted by falling length (equal lengths keep their order), in
/// groups of 32 that are padded to their longest row. Element k of sorted row r is at diagonal_start[k] + r.
/// Padding has value 0 and column 0.
struct JaggedDiagonals {
  static constexpr std::size_t kGroup = 32;
  std::vector<std::int32_t> permutation;     // sorted row -> row
  std::vector<std::int32_t> diagonal_start;  // by k
  std::vector<std::int32_t> group_length;    // by sorted row / 32
  std::vector<std::int32_t> column;
  std::vector<float> value;
};

inline JaggedDiagonals to_jagged_diagonals(const SparseRows& matrix) {
  const std::size_t rows = matrix.rows();
  JaggedDiagonals jds;
  jds.permutation.resize(rows);
  std::iota(jds.permutation.begin(), jds.permutation.end(), 0);
  const auto length = [&](std::int32_t row) { return matrix.length(static_cast<std::size_t>(row)); };
  std::stable_sort(jds.permutation.begin(), jds.permutation.end(),
                   [&](std::int32_t a, std::int32_t b) { return length(a) > length(b); });
  for (std::size_t first = 0; first < rows; first += JaggedDiagonals::kGroup) {
    jds.group_length.push_back(static_cast<std::int32_t>(length(jds.permutation[first])));
  }
  // Group lengths fall, so diagonal k covers the groups from the first to the last group longer than k.
  std::size_t groups = jds.group_length.size();
  std::size_t elements = 0;
  for (std::int32_t k = 0; groups > 0 && k < jds.group_length[0]; ++k) {
    while (jds.group_length[groups - 1] <= k) --groups;
    jds.diagonal_start.push_back(static_cast<std::int32_t>(elements));
    elements += groups * JaggedDiagonals::kGroup;
  }
  jds.column.assign(elements, 0);
  jds.value.assign(elements, 0.0F);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t from = matrix.start[static_cast<std::size_t>(jds.permutation[row])];
    for (std::size_t k = 0; k < length(jds.permutation[row]); ++k) {
      const std::size_t at = static_cast<std::size_t>(jds.diagonal_start[k]) + row;
      jds.column[at] = matrix.column[from + k];
      jds.value[at] = matrix.value[from + k];
    }
  }
  return jds;
}

inline std::vector<double> spmv_reference(const SparseRows& matrix, const std::vector<float>& x) {
  std::vector<double> y(matrix.rows(), 0.0);
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t i = matrix.start[row]; i < matrix.start[row + 1]; ++i) {
      y[row] += double{matrix.value[i]} * double{x[static_cast<std::size_t>(matrix.column[i])]};
    }
  }
  return y;
}

}  // namespace gpumux::benchmarks
