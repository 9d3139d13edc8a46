// G = (A B)(C D) by three naive products (PolyBench's 3mm), row-major. Blocks have 32x8 threads, one thread
// per element of the result, which it accumulates in global memory. The loop stays rolled, as the papers'
// compilers left it: an unrolled loop executes fewer instructions per memory access.

// result (rows x columns) = left (rows x inner) * right (inner x columns)
__device__ void multiply(const float* left, const float* right, float* result, int rows, int columns,
                         int inner) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  result[row * columns + column] = 0.0f;
#pragma unroll 1
  for (int k = 0; k < inner; ++k) {
    result[row * columns + column] += left[row * inner + k] * right[k * columns + column];
  }
}

extern "C" __global__ void mm3_first(const float* a, const float* b, float* e, int ni, int nj, int nk) {
  multiply(a, b, e, ni, nj, nk);
}

extern "C" __global__ void mm3_second(const float* c, const float* d, float* f, int nj, int nl, int nm) {
  multiply(c, d, f, nj, nl, nm);
}

extern "C" __global__ void mm3_third(const float* e, const float* f, float* g, int ni, int nl, int nj) {
  multiply(e, f, g, ni, nl, nj);
}
