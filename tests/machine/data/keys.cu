// One kernel that uses every part of the machine, so that each parameter has something to act on.
// nvcc -ptx -arch=sm_75 -O3 keys.cu -o keys.ptx (then comments are removed)

__constant__ int table[4096];  // zeroes; 16 KB, more than a constant cache

// words: at least 8192 of each buffer per block.
extern "C" __global__ void everything(const float4* __restrict__ in, float* __restrict__ out, unsigned* counts,
                                      int rounds) {
  __shared__ float tile[1024];
  const int thread = threadIdx.x;
  const int base = blockIdx.x * 8192;
  const float* words = reinterpret_cast<const float*>(in);
  float f = thread * 0.5f;
  double d = thread + 1.5;
  int i = thread + 3;
  float y[12];
#pragma unroll
  for (int k = 0; k < 12; ++k) y[k] = thread + k;
  for (int r = 0; r < rounds; ++r) {
    // Loads: coalesced vectors, then scattered over the lines of the block's part and of its neighbour's.
    const float4 v = in[(base + ((thread * 4 + r * 512) & 8191)) / 4];
    const float far = words[(base + thread * 132 + r * 36) & 65535];
    const float again = words[base + (thread & 31)];
    // Arithmetic of each kind, four chains that depend on themselves and twelve that do not.
    f = fmaxf(f * 1.25f + v.x, v.y - far);
    f = f * 0.75f;
    f = f + again;
    f = fminf(f, 1e6f);
    f = __sinf(f) + rsqrtf(f * f + 1.0f);
    f = v.z / (f + 3.0f);
    d = fmax(d * 1.5 + v.w, d + 0.25);
    d = d * 0.875;
    if ((r & 3) == 0) d = 1.0 / d;
    i = max(i * 5 + r, i >> 1);
    i = i * thread;
    i = i + (i / (r + 3)) % 7;
#pragma unroll
    for (int k = 0; k < 12; ++k) y[k] = fmaf(y[k], 0.5f, 1.0f);
#pragma unroll
    for (int k = 0; k < 12; ++k) y[k] = y[k] * y[(k + 1) % 12] + y[(k + 5) % 12];
    // Constants: one for all, and one per lane over several lines.
    i += table[(r * 64) & 4095] + table[(thread * 16 + r * 512) & 4095];
    // Shared memory with conflicts, and barriers.
    tile[(thread * 8 + r) & 1023] = f;
    __syncthreads();
    f += tile[(thread * 33 + 1) & 1023];
    __syncthreads();
    if ((thread + r) % 5 == 0) f += 1.0f;  // lanes diverge
    // Stores, scattered and not, and atomics on few and on many lines.
    out[base + ((thread + r * 256) & 8191)] = f + static_cast<float>(d);
    out[(base + thread * 72 + r * 40) & 65535] = far;
    __syncthreads();
    // What was just stored, through the L1 twice.
    for (int k = 0; k < 2; ++k) {
      float stored;
      asm volatile("ld.global.f32 %0, [%1];"
                   : "=f"(stored)
                   : "l"(&out[base + (((thread ^ 32) + r * 256) & 8191)]));
      f += stored;
    }
    if ((r & 1) == 0) atomicAdd(&counts[thread & 7], 1U);
    atomicAdd(&counts[(base + thread * 32 + r * 8) & 65535], static_cast<unsigned>(i));
  }
  float sum = f;
#pragma unroll
  for (int k = 0; k < 12; ++k) sum += y[k];
  out[base + thread] = sum + i;
}
