// The kernels of the programs in calls/; kernels.ptx is nvcc's:
//   nvcc -ptx -arch=compute_75 -o kernels.ptx kernels.cu
#include <cassert>
#include <cstdio>

__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__managed__ int shared_word = 7;

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// Parameters of several sizes: their offsets come from the PTX.
struct Pair {
  short first;
  double second;
};
extern "C" __global__ void mix(char a, Pair b, int* out) { *out = a * 1000 + b.first * 10 + static_cast<int>(b.second); }

extern "C" __global__ void look(int* out) {
  out[threadIdx.x] = table[threadIdx.x] + 10 * counter + 100 * shared_word;
  if (threadIdx.x == 0) {
    counter += 1;
    shared_word += 1;
  }
}

extern "C" __global__ void say(int word) {
  printf("block %d says %d\n", static_cast<int>(blockIdx.x), word);
}

// Takes time, in one block.
extern "C" __global__ void spin(int* word, int rounds) {
  int value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 3 + 1;
  *word = value;
}

extern "C" __global__ void sum_shared(int* out) {
  extern __shared__ int values[];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += values[i];
    *out = sum;
  }
}

extern "C" __global__ void wild(int* out) { out[1 << 28] = 1; }
// Threads of several warps and blocks of which one goes wrong; the others wait for it.
extern "C" __global__ void stray(const int* in, int* out, int index) { out[0] = in[index]; }
extern "C" __global__ void misplaced(char* out) { *reinterpret_cast<int*>(out + threadIdx.x + 1) = 1; }
extern "C" __global__ void claim(int most) {
  assert(blockIdx.x * blockDim.x + threadIdx.x <= most);
  __syncthreads();
}

// Doubles what lies in a surface, and reads what a texture has of it.
extern "C" __global__ void double_surface(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(2 * surf2Dread<int>(surface, x * 4, y), surface, x * 4, y);
}
extern "C" __global__ void fetch(cudaTextureObject_t texture, int* out) {
  out[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<int>(texture, threadIdx.x, threadIdx.y);
}

// What conditions of graphs are told.
extern "C" __global__ void count_down(cudaGraphConditionalHandle handle, int* left, int* sum) {
  *sum += *left;
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0 ? 1 : 0);
}
extern "C" __global__ void decide(cudaGraphConditionalHandle handle, unsigned value) {
  cudaGraphSetConditional(handle, value);
}
extern "C" __global__ void append(int* number, int digit) { *number = *number * 10 + digit; }
