// y = A^T (A x), row-major A of nx rows and ny columns (PolyBench's atax): two kernels of one thread per
// element of the result, which accumulate in global memory. Both loops stay rolled, as the compilers of the time
// of the papers that run them left them: unrolled, they have fewer instructions beside each access.

// tmp = A x: a thread walks along a row, so the lanes of a warp touch 32 lines at a time.
extern "C" __global__ void atax_product(const float* a, const float* x, float* tmp, int nx, int ny) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= nx) return;
  tmp[row] = 0.0f;
#pragma unroll 1
  for (int column = 0; column < ny; ++column) tmp[row] += a[row * ny + column] * x[column];
}

// y = A^T tmp: a thread walks down a column, so a warp reads one line at a time.
extern "C" __global__ void atax_transposed(const float* a, const float* tmp, float* y, int nx, int ny) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= ny) return;
  y[column] = 0.0f;
#pragma unroll 1
  for (int row = 0; row < nx; ++row) y[column] += a[row * ny + column] * tmp[row];
}
