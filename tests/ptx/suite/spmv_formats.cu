// Sparse matrix-vector products: compressed rows with one warp per row, and ELLPACK with one thread per row.
extern "C" __global__ void spmv_csr_warp(const int* row_start, const int* column, const float* value, const float* x,
                                         float* y, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = row_start[row] + lane; i < row_start[row + 1]; i += 32) sum += value[i] * __ldg(x + column[i]);
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void spmv_ell(const int* column, const float* value, const float* __restrict__ x, float* y,
                                    int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < width; ++k) {
    const int c = column[k * rows + row];
    if (c >= 0) sum += value[k * rows + row] * x[c];
  }
  y[row] = sum;
}
