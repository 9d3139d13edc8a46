// Calls through pointers to device functions, chosen by data: a divergent indirect call.
typedef float (*Function)(float, float);
__device__ __noinline__ float plus(float a, float b) { return a + b; }
__device__ __noinline__ float times(float a, float b) { return a * b; }
__device__ __noinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __noinline__ float power(float a, float b) {
  float result = 1.0f;
  for (int i = 0; i < (int)b; ++i) result *= a;
  return result;
}
__device__ Function table[4] = {plus, times, larger, power};

extern "C" __global__ void apply(const int* which, const float* a, const float* b, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = table[which[i]](a[i], b[i]);
}

// A call that is not inlined, and recursion with a frame in local memory.
__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recurse(int* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 5); }
