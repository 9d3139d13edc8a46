// Gaussian elimination without pivoting, two kernels for each column. Source of the algorithm: Rodinia's gaussian.
// Matrices are size x size, row by row.

// multipliers[row][step] = a[row][step] / a[step][step] for the rows below `step`.
extern "C" __global__ void column_multipliers(const float* a, float* multipliers, int size, int step) {
  const int below = blockIdx.x * blockDim.x + threadIdx.x;
  if (below >= size - 1 - step) return;
  const int row = step + 1 + below;
  multipliers[row * size + step] = a[row * size + step] / a[step * size + step];
}

// Subtracts multiples of row `step` from the rows below it. Threads along x take different rows, so neighbouring
// threads access elements that are a row apart.
extern "C" __global__ void update_rows(float* a, float* b, const float* multipliers, int size, int step) {
  const int below = blockIdx.x * blockDim.x + threadIdx.x;
  const int right = blockIdx.y * blockDim.y + threadIdx.y;
  if (below >= size - 1 - step || right >= size - step) return;
  const int row = step + 1 + below;
  const int column = step + right;
  const float multiplier = multipliers[row * size + step];
  a[row * size + column] -= multiplier * a[step * size + column];
  if (right == 0) b[row] -= multiplier * b[step];
}
