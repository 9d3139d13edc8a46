// Kernels with C++ names, and variables of the module. nvcc -ptx -arch=sm_75 symbols.cu
__constant__ float factors[4];
static __constant__ int offset = 5;
__device__ unsigned int launches = 7;

template <typename T, int kStride>
__global__ void strided(T* y, const T* x) {
  y[threadIdx.x] = x[threadIdx.x * kStride];
}
template __global__ void strided<float, 1>(float*, const float*);
template __global__ void strided<float, 2>(float*, const float*);

namespace deep {
__global__ void weigh(float* y, const float* x, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[i] * factors[i % 4] + offset;
  if (i == 0) atomicAdd(&launches, 1U);
}
}  // namespace deep

__global__ void twice(float* y) { y[threadIdx.x] *= 2; }
__global__ void twice(int* y) { y[threadIdx.x] *= 2; }
