// Sparse matrix-vector product in padded jagged-diagonal storage (JDS), as in Parboil's spmv. Rows are sorted by
// falling length. Each group of 32 rows (a warp) is padded to the longest of its rows. Element k of all rows forms
// the contiguous "diagonal" k, so that a warp reads adjacent elements.

constexpr int kMaxDiagonals = 4096;
constexpr int kMaxGroups = 8192;

__constant__ int diagonal_start[kMaxDiagonals];  // index of each diagonal's first element
__constant__ int group_length[kMaxGroups];       // elements in each row of a group, padding included

// One thread per sorted row. y[permutation[row]] = sum of value[k] * x[column[k]] over the row. The loads of three
// elements overlap, as in Parboil's kernel: one step loads the column of element k, then value and x of element k -
// 1, and adds element k - 2.
extern "C" __global__ void spmv_jds(float* y, const float* value, const int* column, const int* permutation,
                                    const float* x, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int length = group_length[row / 32];
  float sum = 0.0f;
  if (length > 0) {
    int at = diagonal_start[0] + row;
    float ready_value = value[at];
    float ready_x = x[column[at]];
    if (length > 1) {
      at = diagonal_start[1] + row;
      int next_column = column[at];
      for (int k = 2; k < length; ++k) {
        const float next_value = value[at];
        at = diagonal_start[k] + row;
        const int column_after = column[at];
        const float next_x = x[next_column];
        sum += ready_value * ready_x;
        next_column = column_after;
        ready_value = next_value;
        ready_x = next_x;
      }
      const float last_value = value[at];
      const float last_x = x[next_column];
      sum += ready_value * ready_x;
      ready_value = last_value;
      ready_x = last_x;
    }
    sum += ready_value * ready_x;
  }
  y[permutation[row]] = sum;
}
