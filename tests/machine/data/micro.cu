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

// Each block reads its own contiguous part, `per_thread` coalesced vectors of 16 bytes per thread, two loads
// at a time.
extern "C" __global__ void stream_read(const float4* __restrict__ in, float* out, int per_thread) {
  const int id = blockIdx.x * blockDim.x * per_thread + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < per_thread; i += 2) {
    const float4 a = in[id + i * blockDim.x];
    const float4 b = in[id + (i + 1) * blockDim.x];
    sum += (a.x + a.y + a.z + a.w) + (b.x + b.y + b.z + b.w);
  }
  if (sum == -1.0f) out[id] = sum;  // never: inputs are not negative
}

extern "C" __global__ void stream_copy(const float4* __restrict__ in, float4* __restrict__ out, int per_thread) {
  const int id = blockIdx.x * blockDim.x * per_thread + threadIdx.x;
  for (int i = 0; i < per_thread; i += 2) {
    const float4 a = in[id + i * blockDim.x];
    const float4 b = in[id + (i + 1) * blockDim.x];
    out[id + i * blockDim.x] = a;
    out[id + (i + 1) * blockDim.x] = b;
  }
}
