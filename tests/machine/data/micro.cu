// Kernels whose best possible speed follows from the machine's parameters alone.
// nvcc -ptx -arch=sm_75 -O3 micro.cu -o micro.ptx

// Sixteen independent chains of fused multiply-adds: bound by issue or by the SP units.
extern "C" __global__ void fma_chains(float* out, int rounds, float a, float b) {
  float x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(threadIdx.x + i);
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 16; ++k) {
#pragma unroll
      for (int i = 0; i < 16; ++i) x[i] = fmaf(x[i], a, b);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += x[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Reads `per_thread` coalesced words per thread, four at a time; writes one word per thread at most.
extern "C" __global__ void stream_read(const float* __restrict__ in, float* out, int per_thread) {
  const int threads = gridDim.x * blockDim.x;
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < per_thread; i += 4) {
    const float a = in[id + (i + 0) * threads];
    const float b = in[id + (i + 1) * threads];
    const float c = in[id + (i + 2) * threads];
    const float d = in[id + (i + 3) * threads];
    sum += (a + b) + (c + d);
  }
  if (sum == -1.0f) out[id] = sum;  // never: inputs are not negative
}

extern "C" __global__ void stream_copy(const float* __restrict__ in, float* __restrict__ out, int per_thread) {
  const int threads = gridDim.x * blockDim.x;
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < per_thread; i += 4) {
    const float a = in[id + (i + 0) * threads];
    const float b = in[id + (i + 1) * threads];
    const float c = in[id + (i + 2) * threads];
    const float d = in[id + (i + 3) * threads];
    out[id + (i + 0) * threads] = a;
    out[id + (i + 1) * threads] = b;
    out[id + (i + 2) * threads] = c;
    out[id + (i + 3) * threads] = d;
  }
}
