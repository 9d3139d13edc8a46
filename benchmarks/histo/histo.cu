// A histogram of a picture's samples that saturates at 255, where most bins are empty. Source of the algorithm:
// Parboil's histo. Ranges of bins around the mean are counted in shared memory, as bytes, four to a word. Other bins
// are counted in 16-bit counters in global memory.

constexpr unsigned kRange = 24576;  // bins per block of count_range, one byte each
constexpr unsigned kWords = 256;    // words per row of these bins
constexpr unsigned kRows = kRange / 4 / kWords;
constexpr unsigned kParts = 14;  // sub-histograms that saturate adds up
constexpr unsigned kLines = 16;  // lines of the picture per block of pack_samples
constexpr unsigned kFindThreads = 512;
constexpr unsigned kMost = 255;

// Estimates mean and deviation from the first eighth of a block's samples, as means of the threads' means and
// deviations. The estimate is good enough for the ranges within ten deviations. A thread without samples makes NaN,
// which converts to 0.
extern "C" __global__ void find_range(const unsigned* samples, int count, unsigned* low_high) {
  __shared__ float means[kFindThreads], deviations[kFindThreads];
  const unsigned t = threadIdx.x;
  const int part = count / gridDim.x;
  const int first = blockIdx.x * part + t, end = blockIdx.x * part + part / 8;

  float mean = 0;
  unsigned mine = 0;
  for (int i = first; i < end; i += blockDim.x) {
    mean += samples[i];
    ++mine;
  }
  mean /= mine;
  means[t] = mean;
  float squares = 0;
  for (int i = first; i < end; i += blockDim.x) {
    const float away = samples[i] - mean;
    squares = __fmaf_rn(away, away, squares);
  }
  deviations[t] = sqrtf(squares / mine);

  for (unsigned half = kFindThreads / 2; half >= 32; half /= 2) {
    __syncthreads();
    if (t < half) {
      means[t] += means[t + half];
      deviations[t] += deviations[t + half];
    }
  }
  for (unsigned half = 16; half >= 2; half /= 2) {
    __syncwarp();  // only the first warp still adds
    if (t < half) {
      means[t] += means[t + half];
      deviations[t] += deviations[t + half];
    }
  }
  __syncwarp();
  if (t == 0) {
    const float middle = (means[0] + means[1]) / kFindThreads;
    const float reach = __fmul_rn(10, (deviations[0] + deviations[1]) / kFindThreads);
    atomicMin(&low_high[0], __float2uint_rz(__fsub_rn(middle, reach)) / kRange);
    atomicMax(&low_high[1], __float2uint_rz(__fadd_rn(middle, reach)) / kRange);
  }
}

// The counter of a bin: its range, the row and the word in the range, and the shift of its byte in the word.
__device__ uchar4 place_of(unsigned bin) {
  return make_uchar4(bin / kRange, bin / (4 * kWords) % kRows, bin / 4 % kWords, bin % 4 * 8);
}

// Each thread packs two neighbouring samples of each of the block's lines. Their results are half a line apart, so that
// warps store consecutive words. If the width is odd, the last sample of a padded line has no result.
extern "C" __global__ void pack_samples(const uint2* samples, unsigned width, unsigned pitch, uchar4* places) {
  const unsigned line = kLines * blockIdx.x;
  const uint2* pair = samples + line * pitch + threadIdx.x;
  unsigned place = line * width + threadIdx.x;
  const bool alone = width % 2 != 0 && threadIdx.x == blockDim.x - 1;
#pragma unroll
  for (unsigned i = 0; i < kLines; ++i) {
    const uint2 both = *pair;
    places[place] = place_of(both.x);
    if (!alone) places[place + blockDim.x] = place_of(both.y);
    pair += pitch;
    place += width;
  }
}

using Part = unsigned[kRows][kWords];

struct Place {
  unsigned range, row, word, shift;
  __device__ explicit Place(uchar4 packed) : range(packed.x), row(packed.y), word(packed.z), shift(packed.w) {}
  __device__ unsigned bin() const { return range * kRange + shift / 8 + word * 4 + row * 4 * kWords; }
};

// Counts a sample in shared memory. A byte that was full becomes 0 and carries into the next byte of its word.
// `overflow` has, for each bin, the correction of its count, modulo 2^32: +256 for a byte that was full, -1 for the
// next byte, or +255 if the next byte was full, too, and carried on. The carry out of a word's last byte is lost.
__device__ void count_inside(Part& part, const Place& place, unsigned* overflow) {
  const unsigned before = atomicAdd(&part[place.row][place.word], 1u << place.shift);
  if ((before >> place.shift & kMost) != kMost) return;
  unsigned* at = overflow + place.bin();
  atomicAdd(at, kMost + 1);
  for (unsigned next = place.shift + 8; next < 32; next += 8) {
    const bool full = (before >> next & kMost) == kMost;
    atomicAdd(++at, full ? kMost : ~0u);
    if (!full) break;
  }
}

// Counts a sample in global memory, with two counters per word. Full counters are left alone, so that none reaches
// 2^16: each thread that has read less than 255 adds at most 1. How far a counter exceeds 255 depends on the order of
// blocks, and has no effect on the result. The read is volatile, unlike Parboil's, so that it is no race and no cache
// returns an old value.
__device__ void count_outside(const Place& place, unsigned* counters) {
  const unsigned bin = place.bin();
  const unsigned shift = bin % 2 * 16;
  volatile unsigned* seen = counters + bin / 2;
  if ((*seen >> shift & 0xffffu) < kMost) atomicAdd(counters + bin / 2, 1u << shift);
}

// Block (b, r) counts the samples of part b that are in range low + r. The blocks with r = 0 also count the samples of
// part b that are in none of the ranges.
extern "C" __global__ void count_range(const uchar4* places, unsigned count, unsigned low, unsigned high, unsigned bins,
                                       unsigned* parts, unsigned* counters, unsigned* overflow) {
  __shared__ Part part;
  unsigned* const words = &part[0][0];
  const unsigned range = low + blockIdx.y;
  unsigned next = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = threadIdx.x; i < kRange / 4; i += blockDim.x) words[i] = 0;
  __syncthreads();
  if (blockIdx.y == 0) {
    while (next < count) {
      const Place place(places[next]);
      next += blockDim.x * gridDim.x;
      if (place.range == range) count_inside(part, place, overflow);
      if (place.range < low || place.range > high) count_outside(place, counters);
    }
  } else {
    while (next < count) {
      const Place place(places[next]);
      next += blockDim.x * gridDim.x;
      if (place.range == range) count_inside(part, place, overflow);
    }
  }
  unsigned* const to = parts + blockIdx.x * (bins / 4) + range * (kRange / 4);
  __syncthreads();
  for (int i = threadIdx.x; i < kRange / 4; i += blockDim.x) to[i] = words[i];
}

// Four bins of the result. Their counters are cleared for the next histogram.
__device__ uchar4 take(ushort4* counters) {
  const ushort4 four = *counters;
  *counters = make_ushort4(0, 0, 0, 0);
  return make_uchar4(min(four.x, kMost), min(four.y, kMost), min(four.z, kMost), min(four.w, kMost));
}

// Computes the result: bins below the counted ranges, in the ranges, and above the ranges.
extern "C" __global__ void saturate(unsigned low, unsigned high, unsigned bins, const unsigned* parts,
                                    ushort4* counters, uint4* overflow, uchar4* result) {
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const unsigned begin = low * kRange / 4, end = (high + 1) * kRange / 4;
  for (unsigned i = first; i < begin; i += stride) result[i] = take(&counters[i]);
  for (unsigned i = begin + first; i < end; i += stride) {
    uint4 sum = overflow[i];
    overflow[i] = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (unsigned b = 0; b < kParts; ++b) {
      const unsigned word = parts[i + b * bins / 4];
      sum.x += word & 0xffu;
      sum.y += word >> 8 & 0xffu;
      sum.z += word >> 16 & 0xffu;
      sum.w += word >> 24;
    }
    result[i] = make_uchar4(min(sum.x, kMost), min(sum.y, kMost), min(sum.z, kMost), min(sum.w, kMost));
  }
  for (unsigned i = end + first; i < bins / 4; i += stride) result[i] = take(&counters[i]);
}
