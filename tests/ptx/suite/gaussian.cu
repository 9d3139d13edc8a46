// Gaussian elimination without pivoting: multipliers of one column, then the rest of the matrix.
extern "C" __global__ void multipliers(float* m, const float* a, int n, int column) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - 1 - column) return;
  const int row = i + column + 1;
  m[n * row + column] = a[n * row + column] / a[n * column + column];
}

extern "C" __global__ void eliminate(const float* m, float* a, float* b, int n, int column) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n - 1 - column || y >= n - column) return;
  const int row = x + 1 + column;
  a[n * row + y + column] -= m[n * row + column] * a[n * column + y + column];
  if (y == 0) b[row] -= m[n * row + column] * b[column];
}
