// Relocatable device code (nvcc -rdc=true): with relocatable/shapes.cu one program, of which each unit uses
// what the other defines: functions, by name and by pointer, variables in each kind of memory, and names that
// both have.
#include <cstdio>

#include "relocatable/shapes.hpp"

__constant__ int weights[4] = {1, 10, 100, 1000};
__device__ int calls = 3;
__managed__ int* list;
static __device__ int seed = 5;  // as the other unit's

static __device__ __noinline__ int scale(int x) { return x * seed; }

__global__ void measure(int* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    staged[threadIdx.x] = i;
    to[i] = area(i) + scale(i) + offset + chosen(i & 1)(i) + larger(i, 7);
  }
  if (threadIdx.x == 0) {
    atomicAdd(&calls, 1);
    printf("measured %d, %d\n", to[1], calls);
  }
}

int main() {
  const int count = 100;
  int* on_device = nullptr;
  cudaMalloc(&on_device, count * sizeof(int));
  const int four = 4;
  cudaMemcpyToSymbol(offset, &four, sizeof(four));
  measure<<<1, 32, 32 * sizeof(int)>>>(on_device, count);
  cudaMallocManaged(&list, count * sizeof(int));
  fill_list(count);
  int measured[count];
  cudaMemcpy(measured, on_device, sizeof(measured), cudaMemcpyDeviceToHost);
  int called = 0;
  cudaMemcpyFromSymbol(&called, calls, sizeof(called));
  bool right = called == 5 && cudaGetLastError() == cudaSuccess;
  for (int i = 0; i < count; ++i) {
    const int picked = i % 2 != 0 ? -i : i + 1;
    right = right && measured[i] == i * i * 2 + i * 5 + 4 + picked + (i > 7 ? i : 7);
    right = right && list[i] == i * 9 + measured_weight(i) + 4 + (i > 3 ? i : 3);
  }
  std::printf(right ? "right\n" : "wrong: %d calls, %d, %d\n", called, measured[1], list[1]);
  return right ? 0 : 1;
}
