// Constants, device variables and managed ones, printf, and a loop that goes on until the device says so.
#include <cstdio>

__constant__ int weights[3];
__device__ int found;
__managed__ int rounds;

__global__ void step(int limit) {
  found += weights[0] + weights[1] * weights[2];
  if (found >= limit) printf("at %d\n", found);
  rounds += 1;
}

template <class T>
__global__ void fill(T* to, T value, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = value;
}

int main() {
  const int host[3] = {1, 2, 3};
  cudaMemcpyToSymbol(weights, host, sizeof(host));
  rounds = 10;
  int seen = 0;
  while (seen < 20) {
    step<<<1, 1>>>(20);
    cudaMemcpyFromSymbol(&seen, found, sizeof(seen));
  }
  double* managed = nullptr;
  cudaMallocManaged(&managed, 100 * sizeof(double));
  fill<double><<<1, 32>>>(managed, 2.5, 100);
  cudaDeviceSynchronize();
  bool right = seen == 21 && rounds == 13 && cudaGetLastError() == cudaSuccess;
  for (int i = 0; i < 100; ++i) right = right && managed[i] == 2.5;
  cudaDeviceProp of;
  cudaGetDeviceProperties(&of, 0);
  right = right && of.warpSize == 32 && of.multiProcessorCount == 30;
  int grid = 0, block = 0;
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill<double>, 0, 0);
  right = right && grid >= 30 && block >= 128;
  std::printf(right ? "right\n" : "wrong: %d %d\n", seen, rounds);
  return right ? 0 : 1;
}
