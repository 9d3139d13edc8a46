// Lanes of a warp that wait for each other. Made into PTX by regenerate.sh.
#include <cuda/atomic>

__device__ int lock_word;
__device__ int ticket_next;
__device__ int ticket_now;

// Each thread adds 1 to *count under a lock: in a loop that the holder leaves with the others,
extern "C" __global__ void lock_lane(int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock_word, 0, 1) == 0) {
      __threadfence();
      *(volatile int*)count = *(volatile int*)count + 1;
      __threadfence();
      atomicExch(&lock_word, 0);
      done = true;
    }
  }
}
// in one that it leaves alone,
extern "C" __global__ void lock_spin(int* count) {
  while (atomicCAS(&lock_word, 0, 1) != 0);
  __threadfence();
  *(volatile int*)count = *(volatile int*)count + 1;
  __threadfence();
  atomicExch(&lock_word, 0);
}
// and in the order of tickets, with a growing pause.
extern "C" __global__ void lock_ticket(int* count) {
  const int mine = atomicAdd(&ticket_next, 1);
  unsigned pause = 8;
  while (*(volatile int*)&ticket_now != mine) {
#if __CUDA_ARCH__ >= 700
    __nanosleep(pause);
#endif
    pause = pause < 256 ? pause * 2 : pause;
  }
  *(volatile int*)count = *(volatile int*)count + 1;
  __threadfence();
  atomicExch(&ticket_now, mine + 1);
}
// The odd lanes hand a value each to the even ones: out[t] = 100 + t of the odd neighbour.
extern "C" __global__ void hand_over(int* out) {
  __shared__ int value[64];
  __shared__ int full[64];
  const int t = threadIdx.x;
  full[t] = 0;
  __syncthreads();
  if (t % 2 == 0) {
    while (atomicAdd(&full[t], 0) == 0);
    __threadfence_block();
    out[t] = value[t];
  } else {
    value[t - 1] = 100 + t;
    __threadfence_block();
    atomicExch(&full[t - 1], 1);
    out[t] = t;
  }
}
// The two halves of a warp meet inside a branch: out[t] = value of the other half before and after.
extern "C" __global__ void halves(int* out) {
  __shared__ int value[32];
  const int t = threadIdx.x;
  int got = 0;
  if (t < 16) {
    value[t] = 10 + t;
    __syncwarp();
    got = value[t + 16];
    __syncwarp();
    value[t] = got;
  } else {
    __syncwarp();
    got = value[t - 16];
    value[t] = got + 100;
    __syncwarp();
  }
  __syncwarp();
  out[t] = got;
  out[32 + t] = value[t];
}
// After a lock that lanes take one by one, the warp meets: out[t] = the sum of the order in which they had it.
extern "C" __global__ void lock_and_meet(int* count, int* out) {
  while (atomicCAS(&lock_word, 0, 1) != 0);
  __threadfence();
  const int order = *(volatile int*)count;
  *(volatile int*)count = order + 1;
  __threadfence();
  atomicExch(&lock_word, 0);
  __syncwarp();
  int sum = order;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  out[threadIdx.x] = sum;
}
// A lane waits for what another one does behind a call.
__device__ __noinline__ int wait_for(volatile int* flag, int t) {
  if (t != 3)
    while (*flag == 0);
  return *flag + t;
}
extern "C" __global__ void wait_in_call(int* flag, int* out) {
  const int t = threadIdx.x;
  const int got = wait_for(flag, t);
  if (t == 3) {
    *(volatile int*)flag = 50;
  }
  out[t] = got;
}
