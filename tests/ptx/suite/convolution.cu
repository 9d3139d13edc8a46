// Convolution along rows with a filter in constant memory, and a strip with its halo in shared memory.
#define RADIUS 8
__constant__ float filter[2 * RADIUS + 1];

extern "C" __global__ void convolve_rows(const float* in, float* out, int width) {
  __shared__ float strip[128 + 2 * RADIUS];
  const int x = blockIdx.x * 128 + threadIdx.x;
  const float* row = in + blockIdx.y * width;
  for (int i = threadIdx.x; i < 128 + 2 * RADIUS; i += 128) {
    const int from = (int)(blockIdx.x * 128) - RADIUS + i;
    strip[i] = from >= 0 && from < width ? row[from] : 0.0f;
  }
  __syncthreads();
  if (x >= width) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += filter[RADIUS - k] * strip[threadIdx.x + RADIUS + k];
  out[blockIdx.y * width + x] = sum;
}
