// Sum of an array: grid-stride loop, tree in shared memory, last warp by shuffles, one atomic per block.
extern "C" __global__ void reduce_sum(const float* in, int count, float* block_sums, float* total) {
  __shared__ float partial[256];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half >= 32; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    sum = partial[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x == 0) {
      block_sums[blockIdx.x] = sum;
      atomicAdd(total, sum);
    }
  }
}
