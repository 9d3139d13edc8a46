// Faults whose messages name lines of this file: nvcc -lineinfo writes them into the PTX.
#include <cstdio>

__device__ int lock;

extern "C" {

__global__ void use_after_free(int* y) {
  int* p = (int*)malloc(64);
  p[4] = threadIdx.x;
  free(p);
  y[threadIdx.x] = p[4];  // line 12
}

__global__ void double_free(int* y) {
  int* p = (int*)malloc(64);
  free(p);
  free(p);  // line 18
  y[0] = 1;
}

__global__ void atomic_beyond(unsigned* y, int n) {
  atomicAdd(y + n + threadIdx.x, 1u);  // line 23
}

__global__ void all_of_the_heap(int* y) {
  int n = 0;
  while (void* p = malloc(1 << 20)) {
    ((int*)p)[0] = 1;
    if (++n > 4096) break;
  }
  y[threadIdx.x] = n;
}

__device__ __noinline__ int deeper(int n, volatile int* p) {
  int a[32];
  for (int i = 0; i < 32; ++i) a[i] = p[i] + n;
  int r = n > 1000000 ? 0 : deeper(n + 1, p);
  for (int i = 0; i < 32; ++i) r += a[i];
  return r;
}
__global__ void recurses(int* y) { y[threadIdx.x] = deeper(0, y); }

__global__ void wild_call(int* y, unsigned long long f) {
  ((void (*)(int*))f)(y);  // line 45
}

__global__ void lock_in_warp(int* y) {
  while (atomicCAS(&lock, 0, 1) != 0) {  // line 49
  }
  __threadfence();
  *(volatile int*)y = *(volatile int*)y + 1;
  __threadfence();
  atomicExch(&lock, 0);
}

__global__ void wide_print(int* y) {
  printf("%*d\n", y[0] + 1000000000, 7);  // line 58
  y[0] = 1;
}

typedef int (*Function)(int);
__device__ int plus_one(int x) { return x + 1; }
__device__ Function functions[2] = {plus_one, nullptr};
__global__ void calls_null(int* y, int at) {
  y[at] = functions[at](41);  // line 66
}
__global__ void first_is_null(int* y) { y[0] = functions[0] == nullptr ? 1 : functions[0](41); }

// Its frame is used through an index that only the run knows.
__device__ __noinline__ int deeper_by_index(int n, volatile int* p) {
  int a[32];
  for (int i = 0; i < 32; ++i) a[(i * 7 + n) & 31] = p[i] + n;
  int r = n > 1000000 ? 0 : deeper_by_index(n + 1, p);
  for (int i = 0; i < 32; ++i) r += a[(i * n) & 31];
  return r;
}
__global__ void recurses_by_index(int* y) { y[threadIdx.x] = deeper_by_index(0, y); }

// Beyond its array, with room for calls: no stack overflow.
__device__ __noinline__ int beyond(int n, volatile int* p) {
  int a[32];
  for (int i = 0; i < 32; ++i) a[(i * 7 + n) & 31] = p[i] + n;
  a[p[0] + 100000] = 5;
  int r = n == 0 ? 0 : beyond(n - 1, p);
  for (int i = 0; i < 32; ++i) r += a[(i * n) & 31];
  return r;
}
__global__ void beyond_an_array(int* y) { y[threadIdx.x] = beyond(3, y); }

}  // extern "C"
