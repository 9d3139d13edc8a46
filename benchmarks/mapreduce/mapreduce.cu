// MapReduce over text, as in Mars (He and others, Mars: A MapReduce Framework on Graphics Processors, PACT 2008), and
// its applications page view count, page view rank and inverted index. GPUs of that time had no allocation in kernels,
// so a stage runs in three passes: threads count what they will emit, a prefix sum gives the places, and threads emit.
// A bitonic sort, which compares the text of keys, groups the pairs. Each thread processes one record.

// A pair that a map emits. The key is `length` letters of the text from `start` on. `hash` is the hash of these
// letters, or the key itself if it is a number.
struct __align__(16) Pair {
  unsigned hash;
  unsigned start;
  unsigned length;
  unsigned value;
};
constexpr unsigned kNowhere = 0xffffffffU;  // start of the pairs that pad the array to a power of two
constexpr unsigned kTile = 512;             // pairs per block that are sorted in shared memory
constexpr unsigned kSumThreads = 256;

// --- text ---------------------------------------------------------------------------------------------------

// FNV-1a hash (Fowler, Noll and Vo), of which only the bits in `mask` are kept.
__device__ unsigned hash_of(const unsigned char* __restrict__ text, unsigned start, unsigned length, unsigned mask) {
  unsigned hash = 2166136261U;
  for (unsigned i = 0; i < length; ++i) hash = (hash ^ text[start + i]) * 16777619U;
  return hash & mask;
}

// Negative, zero or positive if key a is before, equal to or behind key b in the order of letters.
__device__ int compare_keys(const unsigned char* __restrict__ text, const Pair& a, const Pair& b) {
  const unsigned common = min(a.length, b.length);
  for (unsigned i = 0; i < common; ++i) {
    const int difference = static_cast<int>(text[a.start + i]) - static_cast<int>(text[b.start + i]);
    if (difference != 0) return difference;
  }
  return static_cast<int>(a.length) - static_cast<int>(b.length);
}

// --- prefix sum ---------------------------------------------------------------------------------------------

// sums[i]: the exclusive prefix sum of in[i] within its tile of 256. totals[tile]: the sum of a tile.
extern "C" __global__ void prefix_sum_tiles(const unsigned* __restrict__ in, unsigned* sums, unsigned* totals,
                                            unsigned count) {
  __shared__ unsigned tile[kSumThreads];
  const unsigned i = blockIdx.x * kSumThreads + threadIdx.x;
  const unsigned mine = i < count ? in[i] : 0;
  unsigned sum = mine;
  tile[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned distance = 1; distance < kSumThreads; distance *= 2) {
    if (threadIdx.x >= distance) sum += tile[threadIdx.x - distance];
    __syncthreads();
    tile[threadIdx.x] = sum;
    __syncthreads();
  }
  if (i < count) sums[i] = sum - mine;
  if (threadIdx.x == kSumThreads - 1) totals[blockIdx.x] = sum;
}

// Adds to each tile the sum of the tiles before it.
extern "C" __global__ void prefix_sum_add(unsigned* sums, const unsigned* __restrict__ before, unsigned count) {
  const unsigned i = blockIdx.x * kSumThreads + threadIdx.x;
  if (i < count) sums[i] += before[blockIdx.x];
}

// --- sort ---------------------------------------------------------------------------------------------------

// Order of pairs by text: by hash, then by key text, then by start. No two pairs are equal.
struct ByText {
  const unsigned char* text;
  __device__ bool behind(const Pair& a, const Pair& b) const {
    if (a.start == kNowhere || b.start == kNowhere) return a.start > b.start;
    if (a.hash != b.hash) return a.hash > b.hash;
    const int order = compare_keys(text, a, b);
    return order != 0 ? order > 0 : a.start > b.start;
  }
};

// Order of pairs by number: the largest numbers first, equal numbers by start.
struct ByNumber {
  __device__ bool behind(const Pair& a, const Pair& b) const {
    if (a.start == kNowhere || b.start == kNowhere) return a.start > b.start;
    return a.hash != b.hash ? a.hash < b.hash : a.start > b.start;
  }
};

// One comparison of Batcher's bitonic sorter. Runs have `run` pairs, and every other run is descending.
template <typename Order>
__device__ void exchange(Pair& low, Pair& high, bool descending, const Order& order) {
  const Pair a = low, b = high;
  if (order.behind(a, b) != descending) {
    low = b;
    high = a;
  }
}

// The steps within tiles: for each run length from `run` to `longest`, the distances from run / 2, or half a tile, down
// to 1.
template <typename Order>
__device__ void sort_tile(Pair* pairs, unsigned run, unsigned longest, const Order& order) {
  __shared__ Pair tile[kTile];
  Pair* mine = pairs + blockIdx.x * kTile;
  tile[threadIdx.x] = mine[threadIdx.x];
  tile[threadIdx.x + kTile / 2] = mine[threadIdx.x + kTile / 2];
  for (; run <= longest; run *= 2) {
    const bool descending = ((blockIdx.x * kTile + 2 * threadIdx.x) & run) != 0;
    for (unsigned distance = min(run, kTile) / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const unsigned low = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
      exchange(tile[low], tile[low + distance], descending, order);
    }
  }
  __syncthreads();
  mine[threadIdx.x] = tile[threadIdx.x];
  mine[threadIdx.x + kTile / 2] = tile[threadIdx.x + kTile / 2];
}

// One step of a run that is longer than a tile.
template <typename Order>
__device__ void sort_step(Pair* pairs, unsigned run, unsigned distance, const Order& order) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned low = 2 * thread - (thread & (distance - 1));
  exchange(pairs[low], pairs[low + distance], (low & run) != 0, order);
}

extern "C" __global__ void bitonic_tiles_text(const unsigned char* __restrict__ text, Pair* pairs, unsigned run,
                                              unsigned longest) {
  sort_tile(pairs, run, longest, ByText{text});
}
extern "C" __global__ void bitonic_step_text(const unsigned char* __restrict__ text, Pair* pairs, unsigned run,
                                             unsigned distance) {
  sort_step(pairs, run, distance, ByText{text});
}
extern "C" __global__ void bitonic_tiles_number(Pair* pairs, unsigned run, unsigned longest) {
  sort_tile(pairs, run, longest, ByNumber{});
}
extern "C" __global__ void bitonic_step_number(Pair* pairs, unsigned run, unsigned distance) {
  sort_step(pairs, run, distance, ByNumber{});
}

// Pads the array to a power of two, behind the last pair that was emitted.
extern "C" __global__ void fill_up(Pair* pairs, unsigned count, unsigned capacity) {
  const unsigned i = count + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < capacity) pairs[i] = Pair{kNowhere, kNowhere, 0, 0};
}

// --- groups -------------------------------------------------------------------------------------------------

// heads[i]: 1 if the key of pair i differs from the key of the pair before it, otherwise 0.
extern "C" __global__ void group_heads(const unsigned char* __restrict__ text, const Pair* __restrict__ pairs,
                                       unsigned* heads, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  bool same = false;
  if (i > 0) {
    const Pair mine = pairs[i], before = pairs[i - 1];
    same = mine.hash == before.hash && compare_keys(text, mine, before) == 0;
  }
  heads[i] = same ? 0 : 1;
}

// groups[g]: the index of the first pair of group g.
extern "C" __global__ void group_starts(const unsigned* __restrict__ heads, const unsigned* __restrict__ sums,
                                        unsigned* groups, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && heads[i] != 0) groups[sums[i]] = i;
}

// A reduction: the number of pairs in each group.
extern "C" __global__ void reduce_count(const unsigned* __restrict__ groups, unsigned* counts, unsigned group_count,
                                        unsigned pairs) {
  const unsigned g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g < group_count) counts[g] = (g + 1 < group_count ? groups[g + 1] : pairs) - groups[g];
}

// --- page view count: lines "URL ADDRESS COOKIE" of a log -------------------------------------------------------

// Number of letters before the first blank.
__device__ unsigned word_length(const unsigned char* __restrict__ text, unsigned start, unsigned end) {
  unsigned at = start;
  while (at < end && text[at] != ' ') ++at;
  return at - start;
}

// True for views of pages. Directives, which begin with '#', and pictures, whose names end in ".gif", are no views.
__device__ bool is_view(const unsigned char* __restrict__ text, unsigned start, unsigned length) {
  if (length == 0 || text[start] == '#') return false;
  const unsigned end = start + length;
  return length < 4 || text[end - 4] != '.' || text[end - 3] != 'g' || text[end - 2] != 'i' || text[end - 1] != 'f';
}

// counts[i]: 1 if line i is a view of a page. Line i is lines[i] to lines[i + 1] - 1, with the line feed.
extern "C" __global__ void pvc_map_count(const unsigned char* __restrict__ text, const unsigned* __restrict__ lines,
                                         unsigned* counts, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned start = lines[i];
  counts[i] = is_view(text, start, word_length(text, start, lines[i + 1] - 1)) ? 1 : 0;
}

// Emits views: the whole line is the key, and the length of its URL is the value.
extern "C" __global__ void pvc_map(const unsigned char* __restrict__ text, const unsigned* __restrict__ lines,
                                   const unsigned* __restrict__ counts, const unsigned* __restrict__ sums, Pair* pairs,
                                   unsigned count, unsigned mask) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || counts[i] == 0) return;
  const unsigned start = lines[i], end = lines[i + 1] - 1;
  pairs[sums[i]] = Pair{hash_of(text, start, end - start, mask), start, end - start, word_length(text, start, end)};
}

// The map of the second MapReduce: for each different line, the URL is the key.
extern "C" __global__ void pvc_map_url(const unsigned char* __restrict__ text, const Pair* __restrict__ lines,
                                       const unsigned* __restrict__ groups, Pair* pairs, unsigned count, unsigned mask) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Pair line = lines[groups[i]];
  pairs[i] = Pair{hash_of(text, line.start, line.value, mask), line.start, line.value, 0};
}

// --- page view rank: lines "URL VIEWS" ----------------------------------------------------------------------------

extern "C" __global__ void pvr_map_count(const unsigned char* __restrict__ text, const unsigned* __restrict__ lines,
                                         unsigned* counts, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) counts[i] = text[lines[i]] != '#' ? 1 : 0;
}

// Emits pages: the number of views is the key.
extern "C" __global__ void pvr_map(const unsigned char* __restrict__ text, const unsigned* __restrict__ lines,
                                   const unsigned* __restrict__ counts, const unsigned* __restrict__ sums, Pair* pairs,
                                   unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || counts[i] == 0) return;
  const unsigned start = lines[i], end = lines[i + 1] - 1;
  const unsigned length = word_length(text, start, end);
  unsigned views = 0;
  for (unsigned at = start + length + 1; at < end; ++at) views = 10 * views + (text[at] - '0');
  pairs[sums[i]] = Pair{views, start, length, i};
}

// --- inverted index: links of HTML pages --------------------------------------------------------------------------

__constant__ const char kMark[] = "<a href=\"";
constexpr unsigned kMarkLetters = sizeof(kMark) - 1;

// Calls emit(start, length) for each link of a page, which is the text between the quotation marks of <a href="...">.
template <typename Emit>
__device__ void for_each_link(const unsigned char* __restrict__ text, unsigned start, unsigned end, const Emit& emit) {
  unsigned matched = 0;
  for (unsigned at = start; at < end; ++at) {
    const unsigned char letter = text[at];
    // The mark contains '<' only as its first letter, so a new match can only start at a '<'.
    matched = letter == static_cast<unsigned char>(kMark[matched]) ? matched + 1 : letter == '<' ? 1 : 0;
    if (matched < kMarkLetters) continue;
    const unsigned link = at + 1;
    for (at = link; at < end && text[at] != '"'; ++at) {}
    emit(link, at - link);
    matched = 0;
  }
}

// counts[i]: the number of links of page i, which is pages[i] to pages[i + 1] - 1.
extern "C" __global__ void iix_map_count(const unsigned char* __restrict__ text, const unsigned* __restrict__ pages,
                                         unsigned* counts, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned links = 0;
  for_each_link(text, pages[i], pages[i + 1], [&](unsigned, unsigned) { ++links; });
  counts[i] = links;
}

// Emits links: the link is the key, its page is the value.
extern "C" __global__ void iix_map(const unsigned char* __restrict__ text, const unsigned* __restrict__ pages,
                                   const unsigned* __restrict__ sums, Pair* pairs, unsigned count, unsigned mask) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned place = sums[i];
  for_each_link(text, pages[i], pages[i + 1], [&](unsigned start, unsigned length) {
    pairs[place++] = Pair{hash_of(text, start, length, mask), start, length, i};
  });
}
