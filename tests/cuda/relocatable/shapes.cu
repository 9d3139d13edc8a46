#include "shapes.hpp"

#include <cstdio>

__device__ int offset = 1;
static __device__ int seed = 9;

static __device__ __noinline__ int scale(int x) { return x * seed; }
static __device__ int negated(int x) { return -x; }
static __device__ int next(int x) { return x + 1; }
__device__ Function functions[2] = {next, negated};

/// Through dynamic shared memory, which is one for all units.
__device__ int area(int side) { return staged[threadIdx.x] * side * 2; }
__device__ Function chosen(int which) { return functions[which]; }

__global__ void fill(int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    list[i] = scale(i) + weights[i % 4] + offset + larger(i, 3);
  if (threadIdx.x == 0) {
    atomicAdd(&calls, 1);
    printf("filled %d\n", calls);
  }
}

void fill_list(int count) {
  fill<<<1, 64>>>(count);
  cudaDeviceSynchronize();
}
