// Two-point angular correlation: histograms of the angles between all pairs of points on the sky. The pairs are of
// observed points, of the points of each random set, and of an observed and a random point. Source of the algorithm:
// Parboil's tpacf, with its order of operations. A block processes one pair of sets. A binary search over the bounds
// on the cosine finds the bin. Two neighbouring threads share a histogram.

constexpr unsigned kBins = 20;
constexpr unsigned kThreads = 256;
constexpr unsigned kSharing = 2;  // threads per histogram
constexpr unsigned kHistograms = kThreads / kSharing;

struct Point {
  float x, y, z;
};

__constant__ float bounds[kBins + 1];  // of the cosine, in falling order

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

  // Block 0 has the observed points; blocks 1 to `sets` have a random set each; the other blocks have the observed
  // points and a random set. With one set, both the tiles and a thread's points are from this set. Otherwise the
  // tiles are from the observed points, and a thread's points from the random set.
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
        // Counts pairs within a set once, and only points that exist.
        if (cosine < bounds[low] && cosine >= bounds[high] && (!among || thread + j > i + k) && thread + j < points)
          atomicAdd(&counts[high - 1][thread / kSharing], 1u);
      }
    }
    __syncthreads();  // before the next tile is stored; Parboil's kernel has a race here
  }

  // Adds up the histograms, in each step one half to the other half.
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
