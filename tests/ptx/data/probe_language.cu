// Language features: templates, switch, device functions, function pointers, recursion, printf, assert,
// aggregates, constant and shared memory, inline assembly, volatile.
#include <assert.h>
#include <stdio.h>

struct Matrix {
  double scale;
  int rows;
  float cells[5];
  char tag;
};

__constant__ float weights[16] = {1.0f, -2.5f, 3.25f};
__constant__ Matrix constant_matrix = {2.5, 3, {1, 2, 3, 4, 5}, 'x'};
__device__ int counter = 7;
__device__ double table[3] = {0.5, -1.25, 1e300};
__device__ int* pointer_to_counter = &counter;
__device__ const char* names[2] = {"first", "second"};
__device__ int* into_array[2];
__managed__ unsigned managed_word = 3;
__device__ volatile int flag;

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ Operation operations[2] = {plus, minus};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ Matrix make_matrix(int seed) {
  Matrix m;
  m.scale = seed * 0.5;
  m.rows = seed;
  for (int i = 0; i < 5; ++i) m.cells[i] = seed + i;
  m.tag = static_cast<char>(seed);
  return m;
}
__device__ __noinline__ float sum_matrix(Matrix m) {
  float sum = m.tag;
  for (int i = 0; i < 5; ++i) sum += m.cells[i] * static_cast<float>(m.scale);
  return sum;
}
__device__ __noinline__ void store_pair(float2* where, float2 what, bool condition) {
  if (condition) *where = what;
}

template <typename T, int N>
__global__ void reduce(const T* __restrict__ in, T* out) {
  __shared__ T buffer[N];
  const int t = threadIdx.x;
  buffer[t] = in[blockIdx.x * N + t];
  __syncthreads();
  for (int s = N / 2; s > 0; s /= 2) {
    if (t < s) buffer[t] += buffer[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = buffer[0];
}
template __global__ void reduce<float, 128>(const float*, float*);
template __global__ void reduce<double, 64>(const double*, double*);
template __global__ void reduce<int, 256>(const int*, int*);
template __global__ void reduce<unsigned char, 32>(const unsigned char*, unsigned char*);

extern __shared__ float dynamic_memory[];
__shared__ int module_counter;

__global__ void switches(int* data, int n, char c, short s, unsigned char u, bool b, float f, double d) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = data[i];
  switch (v) {
    case 0: v = c; break;
    case 1: v = s + 3; break;
    case 2: v = u * 5; break;
    case 3: v = b ? 1 : -1; break;
    case 4: v = static_cast<int>(f); break;
    case 5: v = static_cast<int>(d); break;
    case 6: v = data[(i + 1) % n]; break;
    case 7: v = -v; break;
    case 9: v = v << 3; break;
    case 11: v = v / 7; break;
    case 30: v = __brev(v); break;
    default: v ^= 0x55; break;
  }
  dynamic_memory[threadIdx.x] = v;
  if (threadIdx.x == 0) module_counter = n;
  __syncthreads();
  data[i] = static_cast<int>(dynamic_memory[blockDim.x - 1 - threadIdx.x]) + module_counter;
}

__global__ void __launch_bounds__(128, 2) calls(int* out, int which, Matrix m, float2* pairs) {
  const int t = threadIdx.x;
  Matrix mine = make_matrix(t);
  int v = operations[which & 1](t, which);
  Operation op = t & 1 ? plus : minus;
  v += op(v, 3);
  v += fibonacci(t & 7);
  store_pair(pairs + t, make_float2(t, v), t > 3);
  out[t] = v + static_cast<int>(sum_matrix(mine) + sum_matrix(m) + sum_matrix(constant_matrix)) + counter;
  mine.cells[which % 5] = 3;
  out[t + 1] = static_cast<int>(mine.cells[(which + 1) % 5] + m.cells[which % 5]);
}

__global__ void prints(const int* in, int n) {
  const int t = threadIdx.x;
  assert(n > 0);
  if (t < n) printf("thread %d value %d weight %f %s\n", t, in[t], weights[t & 15], names[t & 1]);
  if (t == 999) __trap();
  int* heap = static_cast<int*>(malloc(16));
  if (heap != nullptr) {
    heap[0] = t + *pointer_to_counter;
    table[t % 3] = heap[0];
    free(heap);
  }
  flag = 3;
  while (flag != 3) {
  }
}

__global__ void assembly(unsigned* data, unsigned long long* wide) {
  const unsigned t = threadIdx.x;
  unsigned lo, hi, r;
  asm("{ .reg .u32 t1, t2; .reg .pred p; mov.u32 t1, %1; { .reg .b32 t1; mov.u32 t1, 5; add.u32 t2, t1, 1; }\n"
      " setp.ne.u32 p, t1, t2; @p add.u32 %0, t1, t2; @!p mov.u32 %0, 0; }"
      : "=r"(r)
      : "r"(data[t]));
  asm volatile("add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 0;" : "=r"(lo), "=r"(hi) : "r"(data[t]), "r"(r));
  asm volatile("mad.lo.cc.u32 %0, %2, %3, %1; madc.hi.cc.u32 %1, %2, %3, %0; addc.cc.u32 %0, %0, 7; subc.u32 %1, %1, 9;"
               : "+r"(lo), "+r"(hi)
               : "r"(data[t]), "r"(r));
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  unsigned long long clock;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock)::"memory");
  data[t] = lo + hi + lane + __funnelshift_l(lo, hi, t) + __byte_perm(lo, hi, 0x1234) + __clz(lo) + __popc(hi) +
            __ffs(lo) + __sad(static_cast<int>(lo), static_cast<int>(hi), t) + __dp4a(static_cast<int>(lo), static_cast<int>(hi), 1) + __umulhi(lo, hi) +
            __mul24(static_cast<int>(lo), 3) + __usad(lo, hi, 1) + __funnelshift_rc(lo, hi, 3) + __vadd4(lo, hi);
  wide[t] = clock + __umul64hi(wide[t], clock) + __clzll(wide[t]) + __brevll(clock) + wide[t] / clock + wide[t] % 10;
}
