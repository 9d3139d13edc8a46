// Two-point angular correlation: histograms of the angles between all pairs of points on the sky, of observed points
// among themselves, of each set of random points among themselves, and between the two. Source of the algorithm:
// Parboil's tpacf, with its order of operations. A block has one pair of sets; bins are found by their bounds on the
// cosine. Two neighbouring threads share a histogram.

constexpr unsigned kBins = 20;
constexpr unsigned kThreads = 256;
constexpr unsigned kSharing = 2;  // threads of a histogram
constexpr unsigned kHistograms = kThreads / kSharing;

struct Point {
  float x, y, z;
};

__constant__ float bounds[kBins + 1];  // of the cosine, falling

extern "C" __global__ void pair_histograms(const float* x, const float* y, const float* z, unsigned points,
                                           unsigned sets, unsigned long long* histograms) {
  __shared__ Point tile[kThreads];
  __shared__ unsigned counts[kBins][kHistograms];
  const unsigned thread = threadIdx.x;
  const unsigned block = blockIdx.x;
  for (unsigned first = 0; first < kBins * kHistograms; first += kThreads) {
    const unsigned i = first + thread;
    counts[i / kHistograms][i % kHistograms] = 0;
  }

  // Block 0: the observed points; 1 to sets: a random set; then the observed ones and a random set. Tiles are of the
  // one set, or of the observed points; a thread has points of the one set, or of the random one.
  const bool among = block < sets + 1;
  const unsigned tiled = (among ? block : 0) * points;
  const unsigned mine = (among ? block : block - sets) * points;
  const float* const tiled_x = x + tiled;
  const float* const tiled_y = y + tiled;
  const float* const tiled_z = z + tiled;
  const float* const my_x = x + mine;
  const float* const my_y = y + mine;
  const float* const my_z = z + mine;

  Point own = {0, 0, 0};
  for (unsigned i = 0; i < points; i += kThreads) {
    if (thread + i < points) tile[thread] = {tiled_x[thread + i], tiled_y[thread + i], tiled_z[thread + i]};
    __syncthreads();
    for (unsigned j = among ? i + 1 : 0; j < points; j += kThreads) {
      if (thread + j < points) own = {my_x[thread + j], my_y[thread + j], my_z[thread + j]};
      for (unsigned k = 0; k < kThreads && k + i < points; ++k) {
        const float cosine = tile[k].x * own.x + tile[k].y * own.y + tile[k].z * own.z;
        unsigned low = 0, high = kBins;
        while (high > low + 1) {
          const unsigned middle = (low + high) / 2;
          if (cosine >= bounds[middle])
            high = middle;
          else
            low = middle;
        }
        // Pairs of the same set once, of points that there are.
        if (cosine < bounds[low] && cosine >= bounds[high] && (!among || thread + j > i + k) && thread + j < points)
          atomicAdd(&counts[high - 1][thread / kSharing], 1u);
      }
    }
    __syncthreads();  // before the next tile; Parboil has none, and so a race
  }

  // The histograms become one, half of them at a time added to the other half.
  constexpr unsigned kHalf = kHistograms / 2;
  const unsigned histogram = thread % kHalf;
  for (unsigned half = kHalf; half > 0; half /= 2) {
    for (unsigned first = 0; first < kBins; first += kThreads / kHalf) {
      __syncthreads();
      const unsigned bin = first + thread / kHalf;
      if (histogram < half && bin < kBins) counts[bin][histogram] += counts[bin][histogram + half];
    }
  }
  __syncthreads();
  if (thread < kBins) histograms[block * kBins + thread] = counts[thread][0];
}
