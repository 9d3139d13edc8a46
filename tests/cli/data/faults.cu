// Kernels that are at fault, one fault each; the others help to build the case.
// regenerate.sh makes faults.ptx of it.
#include <cassert>

// Element 64 of 64 by thread 64: thread 0 of block 2 when blocks have 32 threads.
extern "C" __global__ void global_read(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i % 64] = x[i];
}

extern "C" __global__ void global_write(int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = i;
}

extern "C" __global__ void null_read(int* y) {
  const int* const* where = reinterpret_cast<const int* const*>(y);
  y[0] = *where[0];
}

extern "C" __global__ void global_atomic(unsigned* y) { atomicAdd(&y[threadIdx.x * 2], 1U); }

// A word at an odd address by thread 3.
extern "C" __global__ void misaligned(char* y) {
  int* at = reinterpret_cast<int*>(y + threadIdx.x * 4 + (threadIdx.x == 3 ? 1 : 0));
  *at = 1;
}

extern "C" __global__ void shared_outside(int* y, int where) {
  __shared__ int words[32];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = words[threadIdx.x + where];
}

extern "C" __global__ void local_outside(int* y, int where) {
  int words[8];
  for (int i = 0; i < 8; ++i) words[i] = y[i];
  words[where + y[8]] = 7;
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += words[(i + y[9]) & 7];
  y[0] = sum;
}

extern "C" __global__ void stops(int* y) {
  if (y[threadIdx.x] == 0 && threadIdx.x == 5) __trap();
  y[threadIdx.x] = 1;
}

extern "C" __global__ void asserts(const int* y) { assert(y[threadIdx.x] != 0 || threadIdx.x < 7); }

// Half of the warps wait at barrier 1, half at barrier 2, each for all 64 threads.
extern "C" __global__ void block_deadlock(int* y) {
  if (threadIdx.x < 32) {
    asm volatile("barrier.sync 1, 64;");
  } else {
    asm volatile("barrier.sync 2, 64;");
  }
  y[threadIdx.x] = 1;
}

// Waits for a flag that nobody sets, and counts its rounds: else it would be seen to come back to the same state.
extern "C" __global__ void endless(volatile int* flag) {
  int rounds = 0;
  while (*flag == 0) ++rounds;
  flag[1] = rounds;
}

// A barrier of the whole grid, made by hand: it opens when all blocks are resident.
extern "C" __global__ void grid_barrier(int* arrived, volatile int* y) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (*reinterpret_cast<volatile int*>(arrived) < static_cast<int>(gridDim.x)) {
    }
  }
  __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// Does what it should, for tests of its arguments.
extern "C" __global__ void fine(int* y, int i, float f) { y[threadIdx.x] = i + static_cast<int>(f); }
