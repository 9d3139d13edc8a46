// Kernels for `gpumux bench`, which measures the speed of the simulator; their results have no meaning.
// `compute` is bound by arithmetic, `stream` by memory bandwidth, `diverge` by uncoalesced accesses.
extern "C" {

// Four loads, then ten rounds of 32 FMAs in four dependent chains and 8 integer operations, then one store.
__global__ void compute(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = in[i];
  float b = in[i + n];
  float c = in[i + 2 * n];
  float d = in[i + 3 * n];
  int p = i, q = n, r = 3 * i, s = 5;
#pragma unroll 1
  for (int round = 0; round < 10; ++round) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      a = a * b + 0.5f;
      b = b * c + 0.25f;
      c = c * d + 0.125f;
      d = d * a + 0.0625f;
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      p += q ^ round;
      q += r ^ k;
      r += s ^ round;
      s += p ^ k;
    }
  }
  out[i] = a + b + c + d + static_cast<float>(p + q + r + s);
}

// Eight times: two coalesced loads, an addition and a store. No line is accessed twice.
__global__ void stream(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 8; ++k) z[i + k * n] = x[i + k * n] + y[i + k * n];
}

// Eight times: a load that touches 8 lines of a small table, and a load that touches 16 lines of a large
// table.
__global__ void diverge(const int* small, const int* large, int* out, int small_mask, int large_mask) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31;
  unsigned h = (i >> 5) * 2654435761u;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 8; ++k) {
    h = h * 1664525u + 1013904223u;
    sum += small[((h >> 8) + (lane >> 2) * 32 + (lane & 3)) & small_mask];
    sum ^= large[((h >> 4) + (lane >> 1) * 4096 + (lane & 1)) & large_mask];
  }
  out[i] = sum;
}
}
