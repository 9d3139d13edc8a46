// Pinned and managed memory that both sides write, copies of rows, and dynamic shared memory beyond 48 KB.
#include <cstdio>
#include <cstring>

__global__ void reverse(const int* from, int* to, int count) {
  extern __shared__ int values[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = values[count - 1 - i];
}
__global__ void count_up(int* counters) { counters[threadIdx.x] += 1; }

int main() {
  constexpr int kCount = 14000;  // 56 KB
  int *pinned, *managed, *device;
  cudaMallocHost(&pinned, kCount * sizeof(int));
  cudaMallocManaged(&managed, kCount * sizeof(int));
  cudaMalloc(&device, kCount * sizeof(int));
  for (int i = 0; i < kCount; ++i) pinned[i] = i;
  cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, kCount * sizeof(int));
  cudaMemcpyAsync(device, pinned, kCount * sizeof(int), cudaMemcpyHostToDevice);
  pinned[0] = 5;  // before its turn comes: the copy has it
  reverse<<<1, 256, kCount * sizeof(int)>>>(device, managed, kCount);
  cudaMemcpyAsync(pinned, device, kCount * sizeof(int), cudaMemcpyDeviceToHost);
  cudaDeviceSynchronize();
  bool right = managed[kCount - 1] == 5 && managed[0] == kCount - 1 && pinned[7] == 7;
  // The host writes between launches.
  for (int round = 0; round < 3; ++round) {
    managed[100 * round] = -1;
    count_up<<<1, 256>>>(managed);
    cudaDeviceSynchronize();
  }
  right = right && managed[0] == 2 && managed[100] == 1 && managed[200] == 0 && managed[1] == kCount - 2 + 3;
  // The kernel reads pinned memory where it lies, and the host's copy of a row of it.
  std::memset(pinned, 0, 1024);
  count_up<<<1, 256>>>(pinned);
  int rows[2][3];
  cudaMemcpy2D(rows, sizeof(rows[0]), managed, 100 * sizeof(int), sizeof(rows[0]), 2, cudaMemcpyDefault);
  cudaDeviceSynchronize();
  right = right && pinned[255] == 1 && pinned[256] == 256 && rows[0][0] == 2 && rows[1][0] == 1 &&
          rows[1][2] == managed[102];
  right = right && cudaFreeHost(pinned) == cudaSuccess && cudaFree(managed) == cudaSuccess;
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
