// Cooperative groups: tiles of 2 to 32 threads, coalesced threads and partitions by label. Each thread writes kResults words;
// tests/benchmarks/primitives_test.cpp works out the same on the host.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int kResults = 12;

template <int N>
__device__ void tile(const unsigned* in, unsigned* out) {
  const auto group = cg::tiled_partition<N>(cg::this_thread_block());
  const unsigned value = in[threadIdx.x];
  unsigned* mine = out + threadIdx.x * kResults;
  mine[0] = group.ballot(value & 1);
  mine[1] = group.any(value % 16 == 3);
  mine[2] = group.all(value % 16 != 3);
  mine[3] = group.match_any(value & 3);
  int same = 0;
  mine[4] = group.match_all(value & 4, same);
  mine[5] = same;
  mine[6] = group.shfl(value, value % N);
  mine[7] = group.shfl_down(value, 1);
  mine[8] = group.shfl_xor(value, N / 2);
  mine[9] = cg::reduce(group, value, cg::plus<unsigned>());
  mine[10] = cg::reduce(group, static_cast<int>(value) - 500, cg::less<int>());
  mine[11] = cg::inclusive_scan(group, value, cg::plus<unsigned>());
}
extern "C" __global__ void tile2(const unsigned* in, unsigned* out) { tile<2>(in, out); }
extern "C" __global__ void tile4(const unsigned* in, unsigned* out) { tile<4>(in, out); }
extern "C" __global__ void tile8(const unsigned* in, unsigned* out) { tile<8>(in, out); }
extern "C" __global__ void tile16(const unsigned* in, unsigned* out) { tile<16>(in, out); }
extern "C" __global__ void tile32(const unsigned* in, unsigned* out) { tile<32>(in, out); }

/// Those whose value is odd meet as coalesced threads: size, rank and sum.
extern "C" __global__ void odd_ones(const unsigned* in, unsigned* out) {
  const unsigned value = in[threadIdx.x];
  unsigned* mine = out + threadIdx.x * 3;
  if (value & 1) {
    const auto group = cg::coalesced_threads();
    mine[0] = group.size();
    mine[1] = group.thread_rank();
    mine[2] = cg::reduce(group, value, cg::plus<unsigned>());
  }
}

/// Threads of a warp with the same label: how many they are, and their sum.
extern "C" __global__ void by_label(const unsigned* in, unsigned* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned value = in[threadIdx.x];
  const auto group = cg::labeled_partition(warp, value % 5);
  out[threadIdx.x * 2] = group.size();
  out[threadIdx.x * 2 + 1] = cg::reduce(group, value, cg::plus<unsigned>());
}

/// Half of each tile of 8 leaves; the rest of it votes on.
extern "C" __global__ void half_tiles(const unsigned* in, unsigned* out) {
  const auto group = cg::tiled_partition<8>(cg::this_thread_block());
  const unsigned value = in[threadIdx.x];
  out[threadIdx.x] = 0;
  if (group.thread_rank() < 4) {
    const auto half = cg::coalesced_threads();
    const unsigned member = 0xfU << (threadIdx.x & 24);
    out[threadIdx.x] = __ballot_sync(member, value & 1) + (half.size() << 16);
    return;
  }
}
