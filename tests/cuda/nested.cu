// Kernels that launch kernels (nvcc -rdc=true): recursion, streams of grids and blocks, events, tail
// launches, what is fired and forgotten, copies and fills, and errors that the device gets.
#include <cstdio>

#include "nested/steps.hpp"

struct Results {
  unsigned sum;        // of a tree of launches
  unsigned in_order;   // of a named stream
  unsigned of_blocks;  // of NULL streams, one for each block
  unsigned by_event;   // over two streams
  unsigned tail;
  unsigned seen;  // by the tail: what fired kernels added
  unsigned copied[8];
  unsigned attributes[4];
  int errors[6];
  int depth;         // that a launch without an end came to
  unsigned limited;  // launches that a limit left
  unsigned refused;
};

__global__ void tree(unsigned* sum, int depth) {
  atomicAdd(sum, threadIdx.x + 1);
  if (threadIdx.x == 0 && depth > 0) {
    tree<<<1, 2>>>(sum, depth - 1);
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    tree<<<1, 2, 0, other>>>(sum, depth - 1);
    cudaStreamDestroy(other);
  }
}

__global__ void ordered(Results* to) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (unsigned i = 1; i <= 5; ++i) step<<<1, 1, 0, stream>>>(&to->in_order, 3, i);
  cudaStreamDestroy(stream);
}

__global__ void blocks(unsigned* values) {
  if (threadIdx.x == 0) step<<<1, 1>>>(values + blockIdx.x, 5, 1);
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) step<<<1, 1>>>(values + blockIdx.x, 7, blockIdx.x);
}

__global__ void with_events(Results* to) {
  cudaStream_t first, second;
  cudaEvent_t half;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&half, cudaEventDisableTiming);
  step<<<1, 1, 0, first>>>(&to->by_event, 3, 4);
  cudaEventRecord(half, first);
  cudaStreamWaitEvent(second, half, 0);
  step<<<1, 1, 0, second>>>(&to->by_event, 5, 6);
}

__global__ void add(unsigned* to, unsigned what) { atomicAdd(to, what); }
__global__ void look(Results* to) { to->seen = to->tail; }

__global__ void launched_last(Results* to, int rounds) {
  to->tail = to->tail * 2 + 1;
  if (rounds > 0) launched_last<<<1, 1, 0, cudaStreamTailLaunch>>>(to, rounds - 1);
}

__global__ void with_tail(Results* to) {
  look<<<1, 1, 0, cudaStreamTailLaunch>>>(to);
  launched_last<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 40);
  for (unsigned i = 0; i < 10; ++i) add<<<1, 32, 0, cudaStreamFireAndForget>>>(&to->tail, i);
}

__global__ void without_end(Results* to, int depth) {
  to->depth = depth;
  without_end<<<1, 1>>>(to, depth + 1);
  if (cudaGetLastError() != cudaSuccess) printf("no deeper than %d\n", depth);
}

/// Tail launches are pending until the grid's end.
__global__ void with_limit(Results* to) {
  for (int i = 0; i < 100; ++i) {
    step<<<1, 1, 0, cudaStreamTailLaunch>>>(&to->limited, 1, 1);
    if (cudaGetLastError() == cudaErrorLaunchPendingCountExceeded) ++to->refused;
  }
}

__global__ void with_errors(Results* to) {
  step<<<1, 2000>>>(&to->sum, 0, 0);
  to->errors[0] = cudaPeekAtLastError();
  to->errors[1] = cudaGetLastError();
  to->errors[2] = cudaGetLastError();
  step<<<1, 32, 1 << 20>>>(&to->sum, 0, 0);
  to->errors[3] = cudaGetLastError();
  step<<<1, 1, 0, reinterpret_cast<cudaStream_t>(0x777)>>>(&to->sum, 0, 0);
  to->errors[4] = cudaGetLastError();
  cudaStream_t blocking;
  to->errors[5] = cudaStreamCreateWithFlags(&blocking, cudaStreamDefault);
  printf("%s: %s\n", cudaGetErrorName(cudaErrorInvalidConfiguration),
         cudaGetErrorString(cudaErrorInvalidConfiguration));
}

__global__ void moving(Results* to) {
  unsigned* of_heap;
  if (cudaMalloc(&of_heap, 8 * sizeof(unsigned)) != cudaSuccess) return;
  for (unsigned i = 0; i < 8; ++i) of_heap[i] = 100 + i;
  cudaMemcpyAsync(to->copied, of_heap, 8 * sizeof(unsigned), cudaMemcpyDeviceToDevice, 0);
  step<<<1, 1>>>(to->copied + 7, 2, 0);
  cudaMemsetAsync(to->copied, 1, 2 * sizeof(unsigned), 0);
  int value = 0;
  cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
  to->attributes[0] = value;
  cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0);
  to->attributes[1] = value;
  cudaFuncAttributes of;
  to->attributes[2] = cudaFuncGetAttributes(&of, step) == cudaSuccess && of.maxThreadsPerBlock == 1024;
  to->attributes[3] =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, step, 64, 0) == cudaSuccess && value > 0;
}

static bool check(const char* what, unsigned is, unsigned expected) {
  if (is != expected) std::printf("%s: %u instead of %u\n", what, is, expected);
  return is == expected;
}

int main() {
  Results* to = nullptr;
  unsigned* of_blocks = nullptr;
  const unsigned count = 8;
  cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 64);
  size_t pending = 0;
  cudaDeviceGetLimit(&pending, cudaLimitDevRuntimePendingLaunchCount);
  cudaMalloc(&to, sizeof(Results));
  cudaMemset(to, 0, sizeof(Results));
  cudaMalloc(&of_blocks, count * sizeof(unsigned));
  cudaMemset(of_blocks, 0, count * sizeof(unsigned));
  tree<<<1, 2>>>(&to->sum, 3);
  add<<<1, 1>>>(&to->sum, 1000);  // behind all of the tree
  ordered<<<1, 1>>>(to);
  blocks<<<count, 64>>>(of_blocks);
  with_events<<<1, 1>>>(to);
  with_tail<<<1, 1>>>(to);
  with_errors<<<1, 1>>>(to);
  without_end<<<1, 1>>>(to, 0);
  with_limit<<<1, 1>>>(to);
  moving<<<1, 1>>>(to);
  Results results;
  unsigned each[count];
  cudaMemcpy(&results, to, sizeof(results), cudaMemcpyDeviceToHost);
  cudaMemcpy(each, of_blocks, sizeof(each), cudaMemcpyDeviceToHost);
  bool right = cudaGetLastError() == cudaSuccess;
  right &= check("sum", results.sum, 15 * 3 + 1000);
  right &= check("order", results.in_order, ((((1 * 3) + 2) * 3 + 3) * 3 + 4) * 3 + 5);
  for (unsigned b = 0; b < count; ++b) right &= check("block", each[b], 7 + b);
  right &= check("event", results.by_event, 4 * 5 + 6);
  right &= check("seen by the first tail launch", results.seen, 45 * 32);
  unsigned tail = 45 * 32;
  for (int i = 0; i <= 40; ++i) tail = tail * 2 + 1;
  right &= check("tail", results.tail, tail);
  const int errors[6] = {
      cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration,  cudaSuccess,
      cudaErrorLaunchOutOfResources, cudaErrorInvalidResourceHandle, cudaErrorInvalidValue};
  for (int i = 0; i < 6; ++i) right &= check("error", results.errors[i], errors[i]);
  right &= check("depth", results.depth, 24);
  right &= check("limit", static_cast<unsigned>(pending), 64);
  right &= check("launches within the limit", results.limited, 64);
  right &= check("launches beyond the limit", results.refused, 36);
  const unsigned copied[8] = {0x01010101, 0x01010101, 102, 103, 104, 105, 106, 214};
  for (int i = 0; i < 8; ++i) right &= check("copied", results.copied[i], copied[i]);
  const unsigned attributes[4] = {32, 1024, 1, 1};
  for (int i = 0; i < 4; ++i) right &= check("attribute", results.attributes[i], attributes[i]);
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
