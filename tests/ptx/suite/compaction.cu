// Keeps the elements above a threshold in order, block by block: ballots, population counts and shuffles.
extern "C" __global__ void compact(const int* in, int count, int threshold, int* out, int* kept) {
  __shared__ int warp_first[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int value = i < count ? in[i] : threshold;
  const bool keep = value > threshold;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  if (lane == 0) warp_first[warp] = __popc(votes);
  __syncthreads();
  if (warp == 0) {
    const int own = lane < (int)blockDim.x / 32 ? warp_first[lane] : 0;
    int sum = own;
    for (int d = 1; d < 32; d *= 2) {
      const int left = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += left;
    }
    warp_first[lane] = sum - own;
    if (lane == 31) kept[blockIdx.x] = sum;
  }
  __syncthreads();
  if (keep) out[blockIdx.x * blockDim.x + warp_first[warp] + __popc(votes & ((1u << lane) - 1))] = value;
}

// Votes and broadcasts of a warp, with part of its lanes gone.
extern "C" __global__ void warp_votes(const int* in, int* out) {
  const int lane = threadIdx.x;
  if (lane >= 24) return;
  const unsigned mask = __activemask();
  const int value = in[blockIdx.x * 32 + lane];
  const int all = __all_sync(mask, value > 0);
  const int any = __any_sync(mask, value > 0);
  const unsigned odd = __ballot_sync(mask, value & 1);
  const int leader = __ffs(odd) - 1;
  const int chosen = __shfl_sync(mask, value, leader < 0 ? 0 : leader);
  out[blockIdx.x * 32 + lane] = all * 1000000 + any * 100000 + chosen * 100 + __popc(odd);
}
