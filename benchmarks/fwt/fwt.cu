// Walsh-Hadamard transforms of natural order, in place, and the product of two transformed sequences. Source of the
// algorithm: fastWalshTransform of the CUDA SDK.

// One radix-4 step on four elements that are `stride` apart. `position`: the number of this group of four.
__device__ __forceinline__ void radix4(float* data, int position, int stride) {
  const int low = position & (stride - 1);
  float* at = data + ((position - low) << 2) + low;
  const float d0 = at[0], d1 = at[stride], d2 = at[2 * stride], d3 = at[3 * stride];
  const float s02 = d0 + d2, s13 = d1 + d3, t02 = d0 - d2, t13 = d1 - d3;
  at[0] = s02 + s13;
  at[stride] = s02 - s13;
  at[2 * stride] = t02 + t13;
  at[3 * stride] = t02 - t13;
}

// One radix-4 step of the whole sequence, on groups of four elements that are `stride` apart.
extern "C" __global__ void radix4_global(float* data, int stride) {
  const int position = blockIdx.x * blockDim.x + threadIdx.x;
  radix4(data, position, stride);
}

// The transform of 2^log2 contiguous elements (at most 2048) in shared memory, four elements per thread.
extern "C" __global__ void transform_shared(float* data, int log2) {
  extern __shared__ float part[];
  const int elements = 1 << log2;
  float* mine = data + (blockIdx.x << log2);
  for (int i = threadIdx.x; i < elements; i += blockDim.x) part[i] = mine[i];
  const int position = threadIdx.x;
  int stride = elements >> 2;
  for (; stride > 0; stride >>= 2) {
    __syncthreads();
    radix4(part, position, stride);
  }
  if ((log2 & 1) != 0) {  // if the number of bits is odd, one radix-2 step remains
    __syncthreads();
    for (int i = threadIdx.x; i < elements / 2; i += blockDim.x) {
      const float a = part[2 * i], b = part[2 * i + 1];
      part[2 * i] = a + b;
      part[2 * i + 1] = a - b;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < elements; i += blockDim.x) mine[i] = part[i];
}

// a *= b / elements, by a grid of fixed size.
extern "C" __global__ void modulate(float* a, const float* b, int elements) {
  const int threads = blockDim.x * gridDim.x;
  const float scale = 1.0f / static_cast<float>(elements);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += threads) a[i] *= b[i] * scale;
}
