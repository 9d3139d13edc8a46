// C = alpha A B + beta C in double precision, 16x16 tiles.
extern "C" __global__ void dgemm(const double* a, const double* b, double* c, int n, double alpha, double beta) {
  __shared__ double ta[16][16];
  __shared__ double tb[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  double sum = 0.0;
  for (int k = 0; k < n; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// exp, log, division and square root in double precision.
extern "C" __global__ void double_math(const double* x, double* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = exp(-x[i]) + log(x[i]) / sqrt(x[i]) + pow(x[i], 1.5) + fmod(x[i], 0.7);
}
