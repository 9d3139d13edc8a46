// Samples off a grid, spread onto it by a Kaiser-Bessel window. Source of the algorithm: Parboil's mri-gridding:
// samples are sorted by the bin in which they lie (counted, summed, put in place), then each block gathers, for the
// points of its bin, from the samples of that bin and those around it.

constexpr int kSide = 8;   // points of a bin along x and y
constexpr int kDepth = 4;  // and along z
constexpr int kScan = 512;  // threads that sum counts
constexpr int kTile = 64;   // samples in shared memory, and threads that gather

struct Sample {
  float x, y, z, real, imaginary, density;
};

__device__ int bin_of(const Sample& sample, int bins_x, int bins_y, int bins_z) {
  const int x = min(static_cast<int>(sample.x) / kSide, bins_x - 1);
  const int y = min(static_cast<int>(sample.y) / kSide, bins_y - 1);
  const int z = min(static_cast<int>(sample.z) / kDepth, bins_z - 1);
  return (z * bins_y + y) * bins_x + x;
}

extern "C" __global__ void bin_samples(const Sample* samples, int count, int bins_x, int bins_y, int bins_z,
                                       int* counts, int* rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) rank[i] = atomicAdd(&counts[bin_of(samples[i], bins_x, bins_y, bins_z)], 1);
}

// Exclusive sums of kScan counts each, and their total.
extern "C" __global__ void scan_counts(const int* counts, int bins, int* starts, int* totals) {
  __shared__ int part[kScan];
  const int i = blockIdx.x * kScan + threadIdx.x;
  const int mine = i < bins ? counts[i] : 0;
  part[threadIdx.x] = mine;
  for (int step = 1; step < kScan; step *= 2) {
    __syncthreads();
    const int before = threadIdx.x >= step ? part[threadIdx.x - step] : 0;
    __syncthreads();
    part[threadIdx.x] += before;
  }
  if (i < bins) starts[i] = part[threadIdx.x] - mine;
  if (threadIdx.x == kScan - 1) totals[blockIdx.x] = part[threadIdx.x];
}

// Adds what the blocks before have.
extern "C" __global__ void add_totals(int* starts, int bins, const int* totals) {
  int before = 0;
  for (int b = 0; b < blockIdx.x; ++b) before += totals[b];
  const int i = blockIdx.x * kScan + threadIdx.x;
  if (i < bins) starts[i] += before;
}

extern "C" __global__ void place_samples(const Sample* samples, int count, int bins_x, int bins_y, int bins_z,
                                         const int* starts, const int* rank, Sample* sorted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Sample sample = samples[i];
  sorted[starts[bin_of(sample, bins_x, bins_y, bins_z)] + rank[i]] = sample;
}

// Modified Bessel function of order 0 (Abramowitz and Stegun, 9.8.1 and 9.8.2), of sqrt(square).
__device__ __forceinline__ float bessel(float square) {
  const float x = sqrtf(square);
  if (x < 3.75f) {
    const float t = square * (1.0f / (3.75f * 3.75f));
    return 1.0f +
           t * (3.5156229f +
                t * (3.0899424f + t * (1.2067492f + t * (0.2659732f + t * (0.0360768f + t * 0.0045813f)))));
  }
  const float t = 3.75f / x;
  return __expf(x) * rsqrtf(x) *
         (0.39894228f +
          t * (0.01328592f +
               t * (0.00225319f +
                    t * (-0.00157565f +
                         t * (0.00916281f +
                              t * (-0.02057706f + t * (0.02635537f + t * (-0.01647633f + t * 0.00392377f))))))));
}

// A block has a bin, a thread a column of its points.
extern "C" __global__ void gather(const Sample* sorted, const int* starts, const int* counts, int bins_x, int bins_y,
                                  int bins_z, float cutoff, float beta, float2* grid) {
  __shared__ Sample tile[kTile];
  const int x = blockIdx.x * kSide + threadIdx.x % kSide;
  const int y = blockIdx.y * kSide + threadIdx.x / kSide;
  const int z = blockIdx.z * kDepth;
  const float reach = cutoff * cutoff;
  float real[kDepth] = {}, imaginary[kDepth] = {};
  for (int bz = max(static_cast<int>(blockIdx.z) - 1, 0); bz <= min(static_cast<int>(blockIdx.z) + 1, bins_z - 1); ++bz) {
    for (int by = max(static_cast<int>(blockIdx.y) - 1, 0); by <= min(static_cast<int>(blockIdx.y) + 1, bins_y - 1);
         ++by) {
      for (int bx = max(static_cast<int>(blockIdx.x) - 1, 0);
           bx <= min(static_cast<int>(blockIdx.x) + 1, bins_x - 1); ++bx) {
        const int bin = (bz * bins_y + by) * bins_x + bx;
        const int begin = starts[bin], end = begin + counts[bin];
        for (int first = begin; first < end; first += kTile) {
          const int some = min(kTile, end - first);
          __syncthreads();
          if (threadIdx.x < some) tile[threadIdx.x] = sorted[first + threadIdx.x];
          __syncthreads();
          for (int s = 0; s < some; ++s) {
            const float dx = tile[s].x - static_cast<float>(x), dy = tile[s].y - static_cast<float>(y);
            const float flat = dx * dx + dy * dy;
            if (flat >= reach) continue;
#pragma unroll
            for (int k = 0; k < kDepth; ++k) {
              const float dz = tile[s].z - static_cast<float>(z + k);
              const float square = flat + dz * dz;
              if (square >= reach) continue;
              const float w = tile[s].density * bessel(beta * beta * (1.0f - square / reach));
              real[k] += w * tile[s].real;
              imaginary[k] += w * tile[s].imaginary;
            }
          }
        }
      }
    }
  }
  const int nx = bins_x * kSide, ny = bins_y * kSide;
#pragma unroll
  for (int k = 0; k < kDepth; ++k)
    grid[(static_cast<long long>(z + k) * ny + y) * nx + x] = make_float2(real[k], imaginary[k]);
}
