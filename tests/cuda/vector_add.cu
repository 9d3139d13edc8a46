// The smallest whole program: allocations, copies, a launch, events.
#include <cstdio>
#include <vector>
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  const int n = 10000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) { a[i] = i; b[i] = 2 * i; }
  float *da, *db, *dc;
  cudaMalloc(&da, n * 4); cudaMalloc(&db, n * 4); cudaMalloc(&dc, n * 4);
  cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice);
  cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
  cudaEventRecord(e0);
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  cudaEventRecord(e1);
  cudaError_t e = cudaGetLastError();
  if (e != cudaSuccess) { std::printf("launch: %s\n", cudaGetErrorString(e)); return 1; }
  cudaDeviceSynchronize();
  float ms = -1; cudaEventElapsedTime(&ms, e0, e1);
  cudaMemcpy(c.data(), dc, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != 3.0f * i;
  if (wrong != 0 || !(ms > 0)) std::printf("%d wrong, %g ms\n", wrong, ms);
  else std::printf("right\n");
  cudaFree(da); cudaFree(db); cudaFree(dc);
  return wrong != 0 ? 1 : 0;
}
