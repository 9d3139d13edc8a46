// The kernels of docs/tutorial.md. kernels.ptx: nvcc -ptx -arch=sm_75 -lineinfo kernels.cu

// Arithmetic: n multiplications and additions per element.
__global__ void polynomial(float* x, int n, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  for (int k = 0; k < n; ++k) v = v * a + 0.5f;
  x[i] = v;
}

// Memory: each lane of a warp reads a line of its own.
__global__ void gather(const float* from, float* to, int stride, int mask) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += from[(i * stride + k * 4099) & mask];
  to[i] = sum;
}
