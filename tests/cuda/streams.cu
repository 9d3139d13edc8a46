// Two kernels in two streams, an event between them, a third stream that asks until it is over, and memory in
// stream order.
#include <cstdint>
#include <cstdio>
#include <vector>

__global__ void add(int* to, int value, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < rounds; ++r) to[i] += value;
}
__global__ void sum(const int* a, const int* b, int* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 512;
  cudaStream_t one, two;
  cudaStreamCreate(&one);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEvent_t ready, done;
  cudaEventCreate(&ready);
  cudaEventCreate(&done);
  int *a, *b, *c;
  cudaMallocAsync(&a, kCount * sizeof(int), one);
  cudaMallocAsync(&b, kCount * sizeof(int), two);
  cudaMalloc(&c, kCount * sizeof(int));
  cudaMemsetAsync(a, 0, kCount * sizeof(int), one);
  cudaMemsetAsync(b, 0, kCount * sizeof(int), two);
  add<<<kCount / 128, 128, 0, one>>>(a, 3, 20);
  add<<<kCount / 128, 128, 0, two>>>(b, 5, 10);
  cudaEventRecord(ready, one);
  cudaStreamWaitEvent(two, ready, 0);
  sum<<<kCount / 128, 128, 0, two>>>(a, b, c);
  cudaFreeAsync(a, two);
  cudaEventRecord(done, two);
  while (cudaEventQuery(done) == cudaErrorNotReady) cudaGetLastError();  // which it is, too
  std::vector<int> back(kCount);
  cudaMemcpy(back.data(), c, kCount * sizeof(int), cudaMemcpyDeviceToHost);
  bool right = cudaStreamQuery(one) == cudaSuccess && cudaGetLastError() == cudaSuccess;
  for (const int value : back) right = right && value == 110;
  // The default stream waits for `one` and not for `two`.
  add<<<kCount / 128, 128, 0, one>>>(c, 1, 1);
  add<<<kCount / 128, 128>>>(c, 1, 1);
  cudaMemcpyAsync(back.data(), c, kCount * sizeof(int), cudaMemcpyDeviceToHost, 0);
  cudaStreamSynchronize(0);
  for (const int value : back) right = right && value == 112;
  // Of two pools; what is freed counts no longer.
  cudaMemPool_t usual, own;
  cudaDeviceGetDefaultMemPool(&usual, 0);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPoolCreate(&own, &properties);
  std::uint64_t threshold = 4096, kept = 0, used = 0, of_usual = 1;
  cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold);
  cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &kept);
  int* from_own;
  cudaMallocFromPoolAsync(&from_own, 1 << 20, own, one);
  cudaMemsetAsync(from_own, 1, 1 << 20, one);
  cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used);
  cudaFreeAsync(b, two);
  cudaFreeAsync(from_own, one);
  cudaMemPoolGetAttribute(usual, cudaMemPoolAttrUsedMemCurrent, &of_usual);
  right = right && kept == 4096 && used == 1 << 20 && of_usual == 0 && cudaMemPoolDestroy(own) == cudaSuccess &&
          cudaMemPoolDestroy(usual) == cudaErrorInvalidValue;
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
