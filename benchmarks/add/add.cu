// add: each thread multiplies two elements in a loop and stores their sum.
// Source of the workload: awatramani17 section 5.3.1 (the compute benchmark add_x_loops).

// Multiplications per element in one pass of the loop (ADD_MULTIPLIES: kMultiplies of add.hpp).
#define MULTIPLIES 16

extern "C" __global__ void add_loops(const float* a, const float* b, float* sum, float factor, int loops) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i];
  float y = b[i];
#pragma unroll 1
  for (int loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < MULTIPLIES; ++k) {
      x = __fmul_rn(x, factor);
      y = __fmul_rn(y, factor);
    }
  }
  sum[i] = __fadd_rn(x, y);
}
