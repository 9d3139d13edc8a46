// A histogram of many bins that saturates at 255, of samples most of which lie in few of them. Source of the
// algorithm: Parboil's histo: where the samples lie is found first, and blocks count a range of bins each in shared
// memory.

constexpr int kRange = 4096;  // bins of a block

// Lowest and greatest bin of a part of the samples.
extern "C" __global__ void find_range(const unsigned* samples, int count, unsigned* low_high) {
  __shared__ unsigned low, high;
  if (threadIdx.x == 0) {
    low = 0xffffffffu;
    high = 0;
  }
  __syncthreads();
  unsigned mine_low = 0xffffffffu, mine_high = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned bin = samples[i];
    mine_low = min(mine_low, bin);
    mine_high = max(mine_high, bin);
  }
  atomicMin(&low, mine_low);
  atomicMax(&high, mine_high);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMin(&low_high[0], low);
    atomicMax(&low_high[1], high);
  }
}

// Samples two by two, from the lowest bin on: a word has both.
extern "C" __global__ void pack_samples(const unsigned* samples, int count, const unsigned* low_high,
                                        unsigned* packed) {
  const unsigned low = low_high[0];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < count) packed[i] = (samples[2 * i] - low) | (samples[2 * i + 1] - low) << 16;
}

// Block (b, r) counts what of the b-th part of the samples lies in the r-th range of bins.
extern "C" __global__ void count_range(const unsigned* packed, int words, const unsigned* low_high, unsigned* counts) {
  __shared__ unsigned part[kRange];
  const unsigned low = low_high[0], high = low_high[1];
  const unsigned first = blockIdx.y * kRange;
  if (first > high - low) return;
  for (int i = threadIdx.x; i < kRange; i += blockDim.x) part[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    const unsigned both = packed[i];
    const unsigned a = (both & 0xffffu) - first, b = (both >> 16) - first;
    if (a < kRange) atomicAdd(&part[a], 1u);
    if (b < kRange) atomicAdd(&part[b], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRange; i += blockDim.x)
    if (part[i] != 0) atomicAdd(&counts[low + first + i], part[i]);
}

// Four bins a thread, as bytes.
extern "C" __global__ void saturate(const uint4* counts, int quads, uchar4* result) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const uint4 four = counts[i];
  result[i] = make_uchar4(min(four.x, 255u), min(four.y, 255u), min(four.z, 255u), min(four.w, 255u));
}
