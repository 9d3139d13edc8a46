// Haar wavelet decomposition of a signal, several levels in a launch. Source of the algorithm: dwtHaar1D of the CUDA SDK:
// a block takes two elements a thread, and works on the sums of neighbours in shared memory.

constexpr float kRoot = 0.70710678118654752440f;  // of one half

// One word in seventeen stays free, so that accesses with strides of powers of two have few conflicts.
__device__ __forceinline__ int padded(int index) { return index + (index >> 4); }

// `levels` levels of `signal`, at most log2 of the threads of a block and one. Details of the first go to
// coefficients[half], half as many of the next to coefficients[half / 2], and so on; a block's last sum goes to `rest`.
extern "C" __global__ void haar_levels(const float* signal, float* coefficients, float* rest, int levels, int half) {
  extern __shared__ float sums[];
  const int thread = threadIdx.x;
  const int threads = blockDim.x;
  const int first = blockIdx.x * threads;  // of this block's details of the first level
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
