// y = A^T (A x) for a row-major A of nx rows and ny columns (PolyBench's atax). Two kernels, with one thread per
// element of the result, which they accumulate in global memory. Both loops stay rolled, as the papers'
// compilers left them: unrolled loops execute fewer instructions per memory access.

// tmp = A x. Each thread walks along a row, so a load of A touches 32 lines per warp.
extern "C" __global__ void atax_product(const float* a, const float* x, float* tmp, int nx, int ny) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= nx) return;
  tmp[row] = 0.0f;
#pragma unroll 1
  for (int column = 0; column < ny; ++column) tmp[row] += a[row * ny + column] * x[column];
}

// y = A^T tmp. Each thread walks down a column, so a load of A touches one line per warp.
extern "C" __global__ void atax_transposed(const float* a, const float* tmp, float* y, int nx, int ny) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= ny) return;
  y[column] = 0.0f;
#pragma unroll 1
  for (int row = 0; row < nx; ++row) y[column] += a[row * ny + column] * tmp[row];
}
