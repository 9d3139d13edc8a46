// Haar wavelet decomposition of a signal, several levels per launch. Source of the algorithm: dwtHaar1D of the CUDA
// SDK. A block takes two elements per thread and keeps the sums of neighbours in shared memory.

constexpr float kRoot = 0.70710678118654752440f;  // square root of 1/2

// Index in shared memory. One word in seventeen is unused, so that accesses with strides of powers of two have few bank
// conflicts.
__device__ __forceinline__ int padded(int index) { return index + (index >> 4); }

// Computes `levels` levels of `signal`, at most log2(threads per block) + 1. Details of the first level go to
// coefficients[half], half as many of the second level to coefficients[half / 2], and so on. The last sum of each block
// goes to `rest`.
extern "C" __global__ void haar_levels(const float* signal, float* coefficients, float* rest, int levels, int half) {
  extern __shared__ float sums[];
  const int thread = threadIdx.x;
  const int threads = blockDim.x;
  const int first = blockIdx.x * threads;  // first detail of this block on the first level
  sums[thread] = signal[2 * first + thread];
  sums[threads + thread] = signal[2 * first + threads + thread];
  __syncthreads();
  const float a = sums[2 * thread], b = sums[2 * thread + 1];
  __syncthreads();
  coefficients[half + first + thread] = (a - b) * kRoot;
  sums[padded(thread)] = (a + b) * kRoot;
  int active = threads >> 1;
  int details = half >> 1;
  for (int level = 1, stride = 1; level < levels; ++level, stride <<= 1) {
    __syncthreads();
    if (thread < active) {
      const int left = 2 * thread * stride;
      const float c = sums[padded(left)], d = sums[padded(left + stride)];
      coefficients[details + blockIdx.x * active + thread] = (c - d) * kRoot;
      sums[padded(left)] = (c + d) * kRoot;
    }
    active >>= 1;
    details >>= 1;
  }
  if (thread == 0) rest[blockIdx.x] = sums[0];
}
