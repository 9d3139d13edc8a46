// 256-point FFT of each block's signal: bit-reversed loads, eight radix-2 stages in shared memory.
extern "C" __global__ void fft256(const float2* in, float2* out) {
  __shared__ float2 data[256];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) data[__brev(i) >> 24] = in[blockIdx.x * 256 + i];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    const int k = t & (half - 1);
    const int a = 2 * t - k;
    const int b = a + half;
    float s, c;
    sincospif(-(float)k / (float)half, &s, &c);
    const float2 u = data[a];
    const float2 v = data[b];
    const float re = v.x * c - v.y * s;
    const float im = v.x * s + v.y * c;
    data[a] = make_float2(u.x + re, u.y + im);
    data[b] = make_float2(u.x - re, u.y - im);
  }
  __syncthreads();
  for (int i = t; i < 256; i += 128) out[blockIdx.x * 256 + i] = data[i];
}
