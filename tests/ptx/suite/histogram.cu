// 256 bins of bytes, four at a time: atomics in shared memory, then in global memory.
extern "C" __global__ void histogram256(const unsigned* words, int count, unsigned* bins) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned word = words[i];
    atomicAdd(&local[word & 0xff], 1u);
    atomicAdd(&local[word >> 8 & 0xff], 1u);
    atomicAdd(&local[word >> 16 & 0xff], 1u);
    atomicAdd(&local[word >> 24], 1u);
  }
  __syncthreads();
  if (local[threadIdx.x] != 0) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// 8-bit counters packed in words: shared atomics of another kind, with a ragged end.
extern "C" __global__ void extremes(const int* values, int count, int* low, int* high, unsigned* seen) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  atomicMin(low, values[i]);
  atomicMax(high, values[i]);
  atomicOr(&seen[(unsigned)values[i] >> 5 & 7], 1u << (values[i] & 31));
}
