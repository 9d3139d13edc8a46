// CUB's primitives of a warp and of a block. Device-wide ones are in cub_device.cu.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

template <int N>
__device__ void warp_level(const int* in, int* sums, int* scans) {
  using Reduce = cub::WarpReduce<int, N>;
  using Scan = cub::WarpScan<int, N>;
  constexpr int kWarps = (128 + N - 1) / N;
  __shared__ typename Reduce::TempStorage reduce[kWarps];
  __shared__ typename Scan::TempStorage scan[kWarps];
  const int warp = threadIdx.x / N;
  const int value = in[threadIdx.x];
  const int sum = Reduce(reduce[warp]).Sum(value);
  int prefix = 0;
  Scan(scan[warp]).ExclusiveSum(value, prefix);
  if (threadIdx.x % N == 0) sums[warp] = sum;
  scans[threadIdx.x] = prefix;
}
extern "C" __global__ void warp32(const int* in, int* sums, int* scans) { warp_level<32>(in, sums, scans); }
extern "C" __global__ void warp16(const int* in, int* sums, int* scans) { warp_level<16>(in, sums, scans); }
extern "C" __global__ void warp8(const int* in, int* sums, int* scans) { warp_level<8>(in, sums, scans); }
extern "C" __global__ void warp4(const int* in, int* sums, int* scans) { warp_level<4>(in, sums, scans); }

template <cub::BlockReduceAlgorithm Algorithm>
__device__ void reduce_block(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128, Algorithm>;
  __shared__ typename Reduce::TempStorage storage;
  const int most = Reduce(storage).Reduce(in[threadIdx.x], [](int a, int b) { return a > b ? a : b; });
  __syncthreads();
  const int sum = Reduce(storage).Sum(in[threadIdx.x], 100);
  if (threadIdx.x == 0) {
    out[0] = most;
    out[1] = sum;
  }
}
extern "C" __global__ void reduce_warps(const int* in, int* out) {
  reduce_block<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out);
}
extern "C" __global__ void reduce_raking(const int* in, int* out) { reduce_block<cub::BLOCK_REDUCE_RAKING>(in, out); }

template <cub::BlockScanAlgorithm Algorithm>
__device__ void scan_block(const int* in, int* out, int* total) {
  using Scan = cub::BlockScan<int, 128, Algorithm>;
  __shared__ typename Scan::TempStorage storage;
  int items[2] = {in[2 * threadIdx.x], in[2 * threadIdx.x + 1]};
  int sum = 0;
  Scan(storage).ExclusiveSum(items, items, sum);
  out[2 * threadIdx.x] = items[0];
  out[2 * threadIdx.x + 1] = items[1];
  if (threadIdx.x == 0) *total = sum;
}
extern "C" __global__ void scan_warps(const int* in, int* out, int* total) {
  scan_block<cub::BLOCK_SCAN_WARP_SCANS>(in, out, total);
}
extern "C" __global__ void scan_raking(const int* in, int* out, int* total) {
  scan_block<cub::BLOCK_SCAN_RAKING>(in, out, total);
}

/// Sorts 256 keys with their values by the bits 0 to 11.
extern "C" __global__ void sort_block(unsigned* keys, int* values) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 2, int>;
  __shared__ typename Sort::TempStorage storage;
  unsigned key[2] = {keys[2 * threadIdx.x], keys[2 * threadIdx.x + 1]};
  int value[2] = {values[2 * threadIdx.x], values[2 * threadIdx.x + 1]};
  Sort(storage).Sort(key, value, 0, 12);
  for (int i = 0; i < 2; ++i) {
    keys[2 * threadIdx.x + i] = key[i];
    values[2 * threadIdx.x + i] = value[i];
  }
}
