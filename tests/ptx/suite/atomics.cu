// Double-precision addition by compare-and-swap, a lock per bucket, and the last block that finishes.
__device__ void add_double(double* to, double value) {
  unsigned long long* bits = (unsigned long long*)to;
  unsigned long long old = *bits;
  unsigned long long assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
}

__device__ unsigned finished = 0;

extern "C" __global__ void accumulate(const double* in, double* total, int* locks, int* counts, int* last_block,
                                      int buckets) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  add_double(total, in[i]);
  // One lane at a time: a lock that diverges within a warp.
  bool done = false;
  const int bucket = i % buckets;
  while (!done) {
    if (atomicCAS(&locks[bucket], 0, 1) == 0) {
      ((volatile int*)counts)[bucket] += 1;
      __threadfence();
      atomicExch(&locks[bucket], 0);
      done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned ticket = atomicInc(&finished, gridDim.x - 1);
    if (ticket == gridDim.x - 1) *last_block = blockIdx.x;
  }
}
