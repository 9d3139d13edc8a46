// Sorts keys with their values; equal keys keep their order. Tiles are sorted in shared memory, then pairs of sorted
// segments are merged until one segment remains. Samples of both segments cut a pair into intervals, which blocks merge
// by the ranks of their elements. Source: mergeSort of the CUDA SDK (Satish, Harris and Garland, IPDPS 2009).

constexpr int kTile = 1024;  // elements per block of merge_sort_tile, two per thread
constexpr int kStep = 128;   // distance between two samples, in elements

// The number of elements of `sorted` that are less than `number`; with `equal_too`, that are less or equal.
template <bool equal_too>
__device__ __forceinline__ int rank(unsigned number, const unsigned* sorted, int count) {
  if (count <= 0) return 0;
  int below = 0;
#pragma unroll 1
  for (int step = 1 << (31 - __clz(count)); step > 0; step >>= 1) {
    if (below + step > count) continue;
    const unsigned other = sorted[below + step - 1];
    if (equal_too ? other <= number : other < number) below += step;
  }
  return below;
}

extern "C" __global__ void merge_sort_tile(unsigned* keys_out, unsigned* values_out, const unsigned* keys_in,
                                           const unsigned* values_in) {
  __shared__ unsigned keys[kTile], values[kTile];
  constexpr int kThreads = kTile / 2;
  const int thread = threadIdx.x;
  const int at = blockIdx.x * kTile + thread;
  keys[thread] = keys_in[at];
  values[thread] = values_in[at];
  keys[thread + kThreads] = keys_in[at + kThreads];
  values[thread + kThreads] = values_in[at + kThreads];
  for (int length = 1; length < kTile; length <<= 1) {
    const int low = thread & (length - 1);
    const int left = 2 * (thread - low), right = left + length;  // the segments that are merged
    __syncthreads();
    const unsigned key_a = keys[left + low], value_a = values[left + low];
    const unsigned key_b = keys[right + low], value_b = values[right + low];
    const int to_a = left + low + rank<false>(key_a, keys + right, length);
    const int to_b = left + low + rank<true>(key_b, keys + left, length);
    __syncthreads();
    keys[to_a] = key_a;
    values[to_a] = value_a;
    keys[to_b] = key_b;
    values[to_b] = value_b;
  }
  __syncthreads();
  keys_out[at] = keys[thread];
  values_out[at] = values[thread];
  keys_out[at + kThreads] = keys[thread + kThreads];
  values_out[at + kThreads] = values[thread + kThreads];
}

// The places of the samples of each pair of segments, in the first and in the second segment. The samples of the first
// segment come first. `samples`: number of pairs of samples.
extern "C" __global__ void sample_ranks(unsigned* ranks_first, unsigned* ranks_second, const unsigned* keys, int length,
                                        int samples) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= samples) return;
  const int of_segment = length / kStep;
  const int i = thread & (of_segment - 1);
  const int pair = 2 * (thread - i);
  const unsigned* first = keys + pair * kStep;
  const unsigned* second = first + length;
  ranks_first[pair + i] = i * kStep;
  ranks_second[pair + i] = rank<false>(first[i * kStep], second, length);
  ranks_first[pair + of_segment + i] = rank<true>(second[i * kStep], first, length);
  ranks_second[pair + of_segment + i] = i * kStep;
}

// Sorts the ranks of each pair of segments. The pair is cut at these ranks.
extern "C" __global__ void merge_ranks(unsigned* cuts, const unsigned* ranks, int length, int samples) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= samples) return;
  const int of_segment = length / kStep;
  const int i = thread & (of_segment - 1);
  const unsigned* first = ranks + 2 * (thread - i);
  const unsigned* second = first + of_segment;
  unsigned* mine = cuts + 2 * (thread - i);
  const unsigned a = first[i], b = second[i];
  mine[i + rank<false>(a, second, of_segment)] = a;
  mine[i + rank<true>(b, first, of_segment)] = b;
}

// Merges the elements between two cuts, at most kStep of each segment, one block per interval.
extern "C" __global__ void merge_intervals(unsigned* keys_out, unsigned* values_out, const unsigned* keys_in,
                                           const unsigned* values_in, const unsigned* cuts_first,
                                           const unsigned* cuts_second, int length) {
  __shared__ unsigned keys[2 * kStep], values[2 * kStep];
  __shared__ int begin_first, begin_second, end_first, end_second;
  const int thread = threadIdx.x;
  const int intervals = 2 * length / kStep;  // per pair of segments
  const int i = blockIdx.x & (intervals - 1);
  const int pair = (blockIdx.x - i) * kStep;
  if (thread == 0) {
    begin_first = cuts_first[blockIdx.x];
    begin_second = cuts_second[blockIdx.x];
    end_first = i + 1 < intervals ? cuts_first[blockIdx.x + 1] : length;
    end_second = i + 1 < intervals ? cuts_second[blockIdx.x + 1] : length;
  }
  __syncthreads();
  const int firsts = end_first - begin_first, seconds = end_second - begin_second;
  const int from_first = pair + begin_first, from_second = pair + length + begin_second;
  const bool has_a = thread < firsts, has_b = thread < seconds;
  unsigned key_a = 0, value_a = 0, key_b = 0, value_b = 0;
  if (has_a) {
    keys[thread] = key_a = keys_in[from_first + thread];
    value_a = values_in[from_first + thread];
  }
  if (has_b) {
    keys[kStep + thread] = key_b = keys_in[from_second + thread];
    value_b = values_in[from_second + thread];
  }
  __syncthreads();
  int to_a = 0, to_b = 0;
  if (has_a) to_a = thread + rank<false>(key_a, keys + kStep, seconds);
  if (has_b) to_b = thread + rank<true>(key_b, keys, firsts);
  __syncthreads();
  if (has_a) {
    keys[to_a] = key_a;
    values[to_a] = value_a;
  }
  if (has_b) {
    keys[to_b] = key_b;
    values[to_b] = value_b;
  }
  __syncthreads();
  const int to = pair + begin_first + begin_second;
#pragma unroll
  for (int j = thread; j < 2 * kStep; j += kStep) {
    if (j >= firsts + seconds) break;
    keys_out[to + j] = keys[j];
    values_out[to + j] = values[j];
  }
}
