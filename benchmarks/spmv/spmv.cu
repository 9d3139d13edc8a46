// Sparse matrix-vector product in padded jagged-diagonal storage (JDS), as Parboil's spmv does it: rows
// are sorted by falling length, each group of 32 rows (a warp) is padded to the longest of its rows,
// and element k of all rows forms the contiguous "diagonal" k, so that a warp reads adjacent elements.

constexpr int kMaxDiagonals = 4096;
constexpr int kMaxGroups = 8192;

__constant__ int diagonal_start[kMaxDiagonals];  // index of each diagonal's first element
__constant__ int group_length[kMaxGroups];       // elements in each row of a group, padding included

// One thread per sorted row. y[permutation[row]] = sum of value[k] * x[column[k]] over the row.
extern "C" __global__ void spmv_jds(float* y, const float* value, const int* column, const int* permutation,
                                    const float* x, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int length = group_length[row / 32];
  float sum = 0.0f;
  if (length > 0) {
    // The next element's loads go out before the present one is used.
    int at = diagonal_start[0] + row;
    float present_value = value[at];
    int present_column = column[at];
    for (int k = 1; k < length; ++k) {
      at = diagonal_start[k] + row;
      const float next_value = value[at];
      const int next_column = column[at];
      sum += present_value * x[present_column];
      present_value = next_value;
      present_column = next_column;
    }
    sum += present_value * x[present_column];
  }
  y[permutation[row]] = sum;
}
