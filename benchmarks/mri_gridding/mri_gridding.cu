// Spreads samples that are off a grid onto the grid, by a Kaiser-Bessel window. Source of the algorithm and of its
// steps: Parboil's mri-gridding. First, each sample takes a place at its grid point, unless the point is full. Then
// the samples are sorted by point and stored in that order. A prefix sum of the points' counts gives the start of
// each point's samples. Finally, each block gathers, for its part of the points, from the samples around them.

struct Sample {
  float real, imaginary, x, y, z, density;
};

__constant__ int grid_size[3];
__constant__ int plane_points;  // points per plane of the grid, along x and y
__constant__ float cutoff;
__constant__ float cutoff_square;
__constant__ float inverse_square;  // 1 / cutoff^2

// keys[i]: the point of sample i, or `points` if `most` samples have taken that point already. A thread that finds
// its point full undoes its addition. The plain read can return an earlier count; it only saves atomic operations.
// Which samples find their point full depends on the order of the blocks, but their number does not: a count is above
// `most` only at a point with that many samples.
extern "C" __global__ void bin_samples(unsigned count, const Sample* samples, unsigned* keys, unsigned* indices,
                                       unsigned* counts, unsigned most, unsigned points) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Sample sample = samples[i];
  const unsigned point = static_cast<unsigned>(sample.z) * plane_points +
                         static_cast<unsigned>(sample.y) * grid_size[0] + static_cast<unsigned>(sample.x);
  unsigned key = points;
  if (counts[point] < most) {
    if (atomicAdd(&counts[point], 1) < most)
      key = point;
    else
      atomicSub(&counts[point], 1);
  }
  keys[i] = key;
  indices[i] = i;
}

// Place of a scan's element in shared memory. Against bank conflicts, Parboil adds index >> 4 + index >> 8. C
// evaluates this sum before the shifts, so the result is always 0: Parboil's scans have the conflicts, and the
// arithmetic. This function does the same in PTX, in which shifts by more than 31 are defined, unlike in C.
__device__ __forceinline__ unsigned place(unsigned index) {
  unsigned shifted;
  asm("shr.u32 %0, %1, %2;" : "=r"(shifted) : "r"(index), "r"(index + 4));
  return index + (shifted >> 8);
}

// Upward half of an exclusive prefix sum in a tree: sums neighbours that are `stride` elements apart, then twice as
// far, and so on. Returns the stride of the level above, where sweep_down() begins.
__device__ __forceinline__ unsigned sweep_up(unsigned* sums, unsigned stride) {
  const unsigned t = threadIdx.x;
  for (unsigned active = blockDim.x; active > 0; active /= 2) {
    __syncthreads();
    if (t < active) {
      const unsigned index = 2 * stride * t + stride - 1;
      const unsigned left = place(index), right = place(index + stride);
      sums[right] += sums[left];
    }
    stride *= 2;
  }
  return stride;
}

// Downward half of an exclusive prefix sum in a tree: each node passes its value to its left half, and its value plus
// the sum of the left half to its right half.
__device__ __forceinline__ void sweep_down(unsigned* sums, unsigned stride) {
  const unsigned t = threadIdx.x;
  for (unsigned active = 1; active <= blockDim.x; active *= 2) {
    stride /= 2;
    __syncthreads();
    if (t < active) {
      const unsigned index = 2 * stride * t + stride - 1;
      const unsigned left = place(index), right = place(index + stride);
      const unsigned sum = sums[left];
      sums[left] = sums[right];
      sums[right] += sum;
    }
  }
  __syncthreads();
}

// --- sorting by digits -------------------------------------------------------------------------------------------

constexpr int kSortThreads = 256;
constexpr int kTile = 4 * kSortThreads;  // keys per block
constexpr int kBits = 4;                 // per digit
constexpr int kDigits = 1 << kBits;
constexpr unsigned kNoKey = 0xffffffff;  // behind the last key; greater than all keys

__device__ __forceinline__ unsigned digit_of(unsigned key, int digit) {
  return (key & ((1u << (kBits * (digit + 1))) - 1)) >> (kBits * digit);
}

// Replaces the elements of a tile by their exclusive prefix sums, and stores their total behind them. A thread adds
// two pairs on the first level, and at most one pair on the other levels.
__device__ __forceinline__ void scan_tile(unsigned* sums) {
  const unsigned pair = 2 * threadIdx.x, other = 2 * (blockDim.x + threadIdx.x);
  unsigned& first_left = sums[place(pair)];
  unsigned& first_right = sums[place(pair + 1)];
  unsigned& second_left = sums[place(other)];
  unsigned& second_right = sums[place(other + 1)];
  __syncthreads();
  first_right += first_left;
  second_right += second_left;
  const unsigned stride = sweep_up(sums, 2);
  if (threadIdx.x == 0) {
    unsigned& last = sums[place(4 * blockDim.x - 1)];
    sums[place(4 * blockDim.x)] = last;
    last = 0;
  }
  sweep_down(sums, stride);
  const unsigned first = first_left;
  first_left = first_right;
  first_right += first;
  const unsigned second = second_left;
  second_left = second_right;
  second_right += second;
  __syncthreads();
}

// Sorts each tile by one digit, in place, by one split per bit, and counts the tile's digits. Arrays have room for a
// multiple of 4 keys; the keys from `count` on are kNoKey. A key stays in its thread, and its index changes. Zeros
// are counted in the lower half of a word, ones in the upper half.
extern "C" __global__ void sort_tiles(int count, int digit, unsigned* keys, unsigned* values, unsigned* histograms) {
  __shared__ unsigned flags[kTile + 1 + (kTile + 1) / 16 + (kTile + 1) / 64];
  __shared__ unsigned histogram[kDigits];
  const unsigned t = threadIdx.x;
  const unsigned first = blockIdx.x * kTile;
  const unsigned mine = first + 4 * t;
  uint4 key = {kNoKey, kNoKey, kNoKey, kNoKey};
  uint4 value;
  if (mine < count) {
    key = *reinterpret_cast<const uint4*>(keys + mine);
    value = *reinterpret_cast<const uint4*>(values + mine);
  }
  if (t < kDigits) histogram[t] = 0;
  __syncthreads();
  atomicAdd(&histogram[digit_of(key.x, digit)], 1);
  atomicAdd(&histogram[digit_of(key.y, digit)], 1);
  atomicAdd(&histogram[digit_of(key.z, digit)], 1);
  atomicAdd(&histogram[digit_of(key.w, digit)], 1);

  uint4 index = {4 * t, 4 * t + 1, 4 * t + 2, 4 * t + 3};
  for (int bit = kBits * digit; bit < kBits * (digit + 1); ++bit) {
    const uint4 one = {key.x >> bit & 1, key.y >> bit & 1, key.z >> bit & 1, key.w >> bit & 1};
    const uint4 at = {place(index.x), place(index.y), place(index.z), place(index.w)};
    flags[at.x] = 1 << 16 * one.x;
    flags[at.y] = 1 << 16 * one.y;
    flags[at.z] = 1 << 16 * one.z;
    flags[at.w] = 1 << 16 * one.w;
    scan_tile(flags);
    index.x = flags[at.x] >> 16 * one.x & 0xffff;
    index.y = flags[at.y] >> 16 * one.y & 0xffff;
    index.z = flags[at.z] >> 16 * one.z & 0xffff;
    index.w = flags[at.w] >> 16 * one.w & 0xffff;
    const unsigned zeros = flags[place(4 * blockDim.x)] & 0xffff;
    index.x += one.x ? zeros : 0;
    index.y += one.y ? zeros : 0;
    index.z += one.z ? zeros : 0;
    index.w += one.w ? zeros : 0;
    __syncthreads();
  }

  if (mine < count) {
    keys[first + index.x] = key.x;
    keys[first + index.y] = key.y;
    keys[first + index.z] = key.z;
    keys[first + index.w] = key.w;
    values[first + index.x] = value.x;
    values[first + index.y] = value.y;
    values[first + index.z] = value.z;
    values[first + index.w] = value.w;
  }
  if (t < kDigits) histograms[gridDim.x * t + blockIdx.x] = histogram[t];
}

// Moves the elements of sorted tiles to the places of their digits; `starts` has the first place for each digit and
// tile. A thread walks back to the first key of the tile with the same digit as its own first key.
extern "C" __global__ void move_tiles(int count, int digit, const unsigned* keys, unsigned* to_keys,
                                      const unsigned* values, unsigned* to_values, const unsigned* starts) {
  __shared__ unsigned start[kDigits];
  __shared__ __align__(16) unsigned digits[kTile];
  const unsigned t = threadIdx.x;
  const int mine = blockIdx.x * kTile + 4 * t;
  if (t < kDigits) start[t] = starts[gridDim.x * t + blockIdx.x];
  uint4 key = {kNoKey, kNoKey, kNoKey, kNoKey};
  uint4 value;
  if (mine < count) {
    key = *reinterpret_cast<const uint4*>(keys + mine);
    value = *reinterpret_cast<const uint4*>(values + mine);
  }
  const uint4 own = {digit_of(key.x, digit), digit_of(key.y, digit), digit_of(key.z, digit), digit_of(key.w, digit)};
  reinterpret_cast<uint4*>(digits)[t] = own;
  __syncthreads();
  uint4 to = {start[own.x], start[own.y], start[own.z], start[own.w]};
  int before = 4 * t - 1;
  while (before >= 0) {
    if (digits[before] != own.x) break;
    ++to.x;
    --before;
  }
  if (own.y == own.x) to.y = to.x + 1;
  if (own.z == own.y) to.z = to.y + 1;
  if (own.w == own.z) to.w = to.z + 1;
  if (mine < count) {
    to_keys[to.x] = key.x;
    to_values[to.x] = value.x;
    to_keys[to.y] = key.y;
    to_values[to.y] = value.y;
    to_keys[to.z] = key.z;
    to_values[to.z] = value.z;
    to_keys[to.w] = key.w;
    to_values[to.w] = value.w;
  }
}

// --- sums over arrays of any length --------------------------------------------------------------------------------

constexpr int kScan = 1024;  // elements per block

// Replaces each kScan elements by their exclusive prefix sums, and stores their totals.
extern "C" __global__ void scan_parts(unsigned count, unsigned* data, unsigned* totals) {
  __shared__ unsigned sums[kScan + kScan / 16 + kScan / 256];
  const unsigned t = threadIdx.x;
  const unsigned first = blockIdx.x * 2 * blockDim.x + t;
  const unsigned second = first + blockDim.x;
  unsigned& first_sum = sums[place(t)];
  unsigned& second_sum = sums[place(t + blockDim.x)];
  first_sum = first < count ? data[first] : 0;
  second_sum = second < count ? data[second] : 0;
  const unsigned stride = sweep_up(sums, 1);
  if (t == 0) {
    unsigned& last = sums[place(2 * blockDim.x - 1)];
    totals[blockIdx.x] = last;
    last = 0;
  }
  sweep_down(sums, stride);
  if (first < count) data[first] = first_sum;
  if (second < count) data[second] = second_sum;
}

extern __shared__ unsigned level[];

// Upward half of the totals' tree, for the levels that fit in a block's shared memory. The elements are `apart`
// elements apart from each other.
extern "C" __global__ void scan_up(unsigned* totals, unsigned apart) {
  const unsigned t = threadIdx.x;
  const unsigned left = 2 * apart * (blockIdx.x * blockDim.x + t) + apart - 1;
  const unsigned right = left + apart;
  unsigned& left_sum = level[place(2 * t)];
  unsigned& right_sum = level[place(2 * t + 1)];
  left_sum = totals[left];
  right_sum = totals[right];
  sweep_up(level, 1);
  __syncthreads();
  totals[left] = left_sum;
  totals[right] = right_sum;
}

// Downward half of the totals' tree, for the levels of one launch of scan_up.
extern "C" __global__ void scan_down(unsigned* totals, unsigned apart) {
  const unsigned t = threadIdx.x;
  const unsigned left = 2 * apart * (blockIdx.x * blockDim.x + t) + apart - 1;
  const unsigned right = left + apart;
  unsigned& left_sum = level[place(2 * t)];
  unsigned& right_sum = level[place(2 * t + 1)];
  left_sum = totals[left];
  right_sum = totals[right];
  sweep_down(level, 2 * blockDim.x);
  totals[left] = left_sum;
  totals[right] = right_sum;
}

// Adds to each part the sum of all parts before it.
extern "C" __global__ void add_totals(unsigned count, unsigned* data, const unsigned* totals) {
  __shared__ unsigned before;
  if (threadIdx.x == 0) before = totals[blockIdx.x];
  __syncthreads();
  const unsigned first = blockIdx.x * 2 * blockDim.x + threadIdx.x;
  const unsigned second = first + blockDim.x;
  if (first < count) data[first] += before;
  if (second < count) data[second] += before;
}

// --- samples in order, and the grid --------------------------------------------------------------------------------

// Stores the samples in order: their values in one array, their places with the density in another array.
extern "C" __global__ void reorder_samples(int count, const unsigned* indices, const Sample* samples, float2* values,
                                           float4* places) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Sample sample = samples[indices[i]];
  values[i] = make_float2(sample.real, sample.imaginary);
  places[i] = make_float4(sample.x, sample.y, sample.z, sample.density);
}

// The modified Bessel function of order 0, by a ratio of polynomials in the square of the argument.
__device__ __forceinline__ float window(float argument) {
  constexpr float kAbove[] = {0.210580722890567e-22f, 0.380715242345326e-19f, 0.479440257548300e-16f,
                              0.435125971262668e-13f, 0.300931127112960e-10f, 0.160224679395361e-7f,
                              0.654858370096785e-5f,  0.202591084143397e-2f,  0.463076284721000e0f,
                              0.754337328948189e2f,   0.830792541809429e4f,   0.571661130563785e6f,
                              0.216415572361227e8f,   0.356644482244025e9f,   0.144048298227235e10f};
  const float square = argument * argument;
  float above = kAbove[0];
#pragma unroll
  for (int i = 1; i < 15; ++i) above = square * above + kAbove[i];
  const float below =
      square * (square * (square - 0.307646912682801e4f) + 0.347626332405882e7f) - 0.144048298227235e10f;
  return __fdividef(-above, below);
}

constexpr int kGatherTile = 64;  // samples in shared memory, and threads
constexpr int kDeep = 4;         // points per thread, along z

// Computes 8x4x8 points per block. For each line of points along x within the cutoff, the block processes the samples
// from the first point within the cutoff to the last. Besides the sums, it counts the samples near each point.
extern "C" __global__ void gather(const float2* values, const float4* places, const unsigned* starts, float2* grid,
                                  float* near_samples, float beta) {
  __shared__ float real[kGatherTile];
  __shared__ float imaginary[kGatherTile];
  __shared__ float at_x[kGatherTile];
  __shared__ float at_y[kGatherTile];
  __shared__ float at_z[kGatherTile];
  __shared__ float densities[kGatherTile];
  const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int blocks_y = grid_size[1] / blockDim.y;
  const int first_x = blockIdx.x * blockDim.x;
  const int first_y = blockIdx.y % blocks_y * blockDim.y;
  const int first_z = blockIdx.y / blocks_y * (kDeep * blockDim.z);
  const int x = first_x + threadIdx.x;
  const int y = first_y + threadIdx.y;
  const int z = first_z + threadIdx.z;
  const int from_x = max(static_cast<int>(first_x - ceilf(cutoff)), 0);
  const int to_x = min(static_cast<int>(first_x + blockDim.x + cutoff), grid_size[0] - 1);
  const int from_y = max(static_cast<int>(first_y - ceilf(cutoff)), 0);
  const int to_y = min(static_cast<int>(first_y + blockDim.y + cutoff), grid_size[1] - 1);
  const int from_z = max(static_cast<int>(first_z - ceilf(cutoff)), 0);
  const int to_z = min(static_cast<int>(first_z + kDeep * blockDim.z + cutoff), grid_size[2] - 1);
  float2 sum[kDeep] = {};
  float near[kDeep] = {};
  for (int line_z = from_z; line_z <= to_z; ++line_z) {
    for (int line_y = from_y; line_y <= to_y; ++line_y) {
      const unsigned* const line = starts + line_z * plane_points + line_y * grid_size[0];
      const unsigned start = line[from_x];
      const unsigned count = line[to_x + 1] - start;
      for (int tile = 0; tile < (count + kGatherTile - 1) / kGatherTile; ++tile) {
        const int some = min(count - tile * kGatherTile, kGatherTile);
        __syncthreads();
        if (t < some) {
          const float2 value = values[start + t + tile * kGatherTile];
          const float4 place = places[start + t + tile * kGatherTile];
          real[t] = value.x;
          imaginary[t] = value.y;
          at_x[t] = place.x;
          at_y[t] = place.y;
          at_z[t] = place.z;
          densities[t] = place.w;
        }
        __syncthreads();
        for (int s = 0; s < some; ++s) {
          const float2 value = make_float2(real[s], imaginary[s]);
          const float density = densities[s];
          const bool adds = (value.x != 0 || value.y != 0) && density != 0;
          if (!adds) continue;
          const float dx = at_x[s] - x;
          const float dy = at_y[s] - y;
          const float flat = dx * dx + dy * dy;
#pragma unroll
          for (int k = 0; k < kDeep; ++k) {
            const float dz = at_z[s] - static_cast<int>(z + k * blockDim.z);
            const float square = flat + dz * dz;
            if (square >= cutoff_square) continue;
            // The product is rounded before the subtraction, as in Parboil's kernel, which uses double precision
            // here.
            const float weight = window(beta * sqrtf(1.0f - __fmul_rn(square, inverse_square))) * density;
            sum[k].x += weight * value.x;
            sum[k].y += weight * value.y;
            near[k] += 1.0f;
          }
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kDeep; ++k) {
    const int point = (z + k * blockDim.z) * plane_points + y * grid_size[0] + x;
    grid[point] = sum[k];
    near_samples[point] = near[k];
  }
}
