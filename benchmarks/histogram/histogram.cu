// A histogram of bytes. Each warp counts in its own bins in shared memory, each block adds up the bins of its warps,
// and a second kernel adds up the bins of the blocks. Source of the algorithm: histogram (of 256 bins) of the CUDA SDK.

constexpr int kBins = 256;
constexpr int kWarps = 6;  // warps per block of count_bytes
constexpr int kMergeThreads = 256;

// Counts bytes with a grid of fixed size, four bytes per thread at a time.
extern "C" __global__ void count_bytes(unsigned* partial, const unsigned* words, int count) {
  __shared__ unsigned bins[kWarps * kBins];
#pragma unroll
  for (int i = 0; i < kBins / 32; ++i) bins[i * kWarps * 32 + threadIdx.x] = 0;
  __syncthreads();
  unsigned* mine = bins + threadIdx.x / 32 * kBins;
#pragma unroll 1
  for (int i = blockIdx.x * kWarps * 32 + threadIdx.x; i < count; i += gridDim.x * kWarps * 32) {
    const unsigned word = words[i];
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8) atomicAdd(&mine[word >> shift & 0xffu], 1u);
  }
  __syncthreads();
#pragma unroll 1
  for (int bin = threadIdx.x; bin < kBins; bin += kWarps * 32) {
    unsigned sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += bins[warp * kBins + bin];
    partial[blockIdx.x * kBins + bin] = sum;
  }
}

// Adds up the blocks' counts, one block per bin.
extern "C" __global__ void merge_counts(unsigned* counts, const unsigned* partial, int blocks) {
  __shared__ unsigned sums[kMergeThreads];
  unsigned sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < blocks; i += kMergeThreads) sum += partial[i * kBins + blockIdx.x];
  sums[threadIdx.x] = sum;
  for (int half = kMergeThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = sums[0];
}
