// Exclusive prefix sums of each block's 2 * blockDim.x elements: up-sweep and down-sweep in dynamic shared
// memory, one word of padding after every 32.
__device__ __forceinline__ int padded(int i) { return i + (i >> 5); }

extern "C" __global__ void scan_block(const int* in, int* out, int* sums) {
  extern __shared__ int data[];
  const int n = 2 * blockDim.x;
  const int t = threadIdx.x;
  const int first = blockIdx.x * n;
  data[padded(t)] = in[first + t];
  data[padded(t + n / 2)] = in[first + t + n / 2];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) {
      const int a = offset * (2 * t + 1) - 1;
      const int b = offset * (2 * t + 2) - 1;
      data[padded(b)] += data[padded(a)];
    }
    offset *= 2;
  }
  if (t == 0) {
    sums[blockIdx.x] = data[padded(n - 1)];
    data[padded(n - 1)] = 0;
  }
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      const int a = offset * (2 * t + 1) - 1;
      const int b = offset * (2 * t + 2) - 1;
      const int left = data[padded(a)];
      data[padded(a)] = data[padded(b)];
      data[padded(b)] += left;
    }
  }
  __syncthreads();
  out[first + t] = data[padded(t)];
  out[first + t + n / 2] = data[padded(t + n / 2)];
}
