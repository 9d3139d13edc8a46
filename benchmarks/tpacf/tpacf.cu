// Two-point angular correlation: histograms of the angles between all pairs of points on the sky, of observed points
// among themselves, of each set of random points among themselves, and between the two. Source of the algorithm:
// Parboil's tpacf. A block has one pair of sets; bins are found by their bounds on the cosine.

constexpr int kBins = 20;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__constant__ float bounds[kBins + 1];  // of the cosine, falling

extern "C" __global__ void pair_histograms(const float* x, const float* y, const float* z, int points, int sets,
                                           unsigned* histograms) {
  __shared__ float tile_x[kThreads], tile_y[kThreads], tile_z[kThreads];
  __shared__ unsigned counts[kWarps][kBins];
  for (int i = threadIdx.x; i < kWarps * kBins; i += kThreads) counts[i / kBins][i % kBins] = 0;
  // Block 0: the observed points; 1 to sets: a random set; then the observed ones and a random set.
  const int block = blockIdx.x;
  const bool among = block <= sets;
  const int mine = (among ? block : 0) * points;
  const int others = (among ? block : block - sets) * points;
  unsigned* const own = counts[threadIdx.x / 32];
  for (int first = 0; first < points; first += kThreads) {
    __syncthreads();
    if (first + threadIdx.x < points) {
      tile_x[threadIdx.x] = x[others + first + threadIdx.x];
      tile_y[threadIdx.x] = y[others + first + threadIdx.x];
      tile_z[threadIdx.x] = z[others + first + threadIdx.x];
    }
    __syncthreads();
    const int in_tile = min(kThreads, points - first);
    for (int i = threadIdx.x; i < points; i += kThreads) {
      const float my_x = x[mine + i], my_y = y[mine + i], my_z = z[mine + i];
      // Each pair of the same set once.
      const int from = among ? max(i + 1 - first, 0) : 0;
      for (int j = from; j < in_tile; ++j) {
        const float cosine = my_x * tile_x[j] + my_y * tile_y[j] + my_z * tile_z[j];
        int low = 0, high = kBins;
        while (high > low + 1) {
          const int middle = (low + high) / 2;
          if (cosine >= bounds[middle])
            high = middle;
          else
            low = middle;
        }
        if (cosine >= bounds[kBins] && cosine < bounds[0]) atomicAdd(&own[low], 1u);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < kBins) {
    unsigned sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += counts[w][threadIdx.x];
    histograms[block * kBins + threadIdx.x] = sum;
  }
}
