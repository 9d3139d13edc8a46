// Transpose by 32x32 tiles, 32x8 threads, a padded tile in shared memory; ragged edges.
extern "C" __global__ void transpose(const double* __restrict__ in, double* __restrict__ out, int rows, int columns) {
  __shared__ double tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) {
    if (x < columns && y + k < rows) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * columns + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) {
    if (x < rows && y + k < columns) out[(y + k) * rows + x] = tile[threadIdx.x][threadIdx.y + k];
  }
}
