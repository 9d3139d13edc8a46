// A launch whose blocks wait for each other, groups within a warp, and a loop on the host that ends when the
// device says so.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <vector>

namespace groups = cooperative_groups;

/// Each round adds to every element its right neighbour.
__global__ void rounds(int* from, int* to, int count, int times) {
  const groups::grid_group grid = groups::this_grid();
  for (int t = 0; t < times; ++t) {
    for (int i = grid.thread_rank(); i < count; i += grid.size()) to[i] = from[i] + from[(i + 1) % count];
    grid.sync();
    int* const other = from;
    from = to;
    to = other;
  }
}
__global__ void largest(const int* from, int count, int* result) {
  const auto tile = groups::tiled_partition<32>(groups::this_thread_block());
  int most = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) most = max(most, from[i]);
  most = groups::reduce(tile, most, groups::greater<int>());
  if (tile.thread_rank() == 0) atomicMax(result, most);
}

int main() {
  int count = 3000, times = 4;
  std::vector<int> host(count, 0);
  host[10] = 1;
  int *a, *b, *result;
  cudaMalloc(&a, count * sizeof(int));
  cudaMalloc(&b, count * sizeof(int));
  cudaMalloc(&result, sizeof(int));
  cudaMemcpy(a, host.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(result, 0, sizeof(int));
  int most = 0, loops = 0;
  while (most < 70) {  // 6 and 70 are the middle binomial coefficients of 4 and 8
    void* arguments[] = {&a, &b, &count, &times};
    if (cudaLaunchCooperativeKernel((void*)rounds, dim3(12), dim3(256), arguments) != cudaSuccess) break;
    largest<<<1, 256>>>(a, count, result);
    cudaMemcpy(&most, result, sizeof(int), cudaMemcpyDeviceToHost);
    ++loops;
  }
  cudaMemcpy(host.data(), a, count * sizeof(int), cudaMemcpyDeviceToHost);
  const bool right = most == 70 && loops == 2 && host[10] == 1 && host[6] == 70 && host[2] == 1 && host[1] == 0;
  // More blocks than there is room for are refused.
  void* arguments[] = {&a, &b, &count, &times};
  const bool refused = cudaLaunchCooperativeKernel((void*)rounds, dim3(100000), dim3(256), arguments) ==
                       cudaErrorCooperativeLaunchTooLarge;
  std::printf(right && refused ? "right\n" : "wrong: %d after %d\n", most, loops);
  return right && refused ? 0 : 1;
}
