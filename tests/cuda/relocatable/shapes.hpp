// Declarations for both translation units of relocatable.cu.
#pragma once

using Function = int (*)(int);

extern __constant__ int weights[4];
extern __device__ int calls;
extern __device__ int offset;
extern __managed__ int* list;
extern __shared__ int staged[];

__device__ int area(int side);
__device__ Function chosen(int which);
void fill_list(int count);
inline int measured_weight(int i) {
  int weight = 1;
  for (int n = i % 4; n > 0; --n) weight *= 10;
  return weight;
}

/// Defined in both translation units. The program contains one copy.
template <class T>
__device__ __noinline__ T larger(T a, T b) {
  return a > b ? a : b;
}
