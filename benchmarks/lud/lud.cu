// Blocked LU decomposition without pivoting, in place, in tiles of 16x16 (the algorithm of Rodinia's lud, in its
// order of operations). Step k uses three kernels: the first factors the diagonal tile, the second solves the tiles
// to its right and below it, and the third updates the remaining square.
//
// The matrix is row-major with `n` columns. `offset` is the row and column of the diagonal tile.

constexpr int kTile = 16;

// Factors the diagonal tile in shared memory (left-looking), with one block of 16 threads. At each pivot, thread t
// first completes its element of the pivot's column of L, then its element of the next row of U.
extern "C" __global__ void lud_diagonal(float* matrix, int n, int offset) {
  __shared__ float tile[kTile][kTile];
  const int t = threadIdx.x;
  float* corner = matrix + offset * n + offset;
  for (int row = 0; row < kTile; ++row) tile[row][t] = corner[row * n + t];
  __syncthreads();
  for (int pivot = 0; pivot < kTile - 1; ++pivot) {
    if (t > pivot) {
      for (int k = 0; k < pivot; ++k) tile[t][pivot] -= tile[t][k] * tile[k][pivot];
      tile[t][pivot] /= tile[pivot][pivot];
    }
    __syncthreads();
    if (t > pivot) {
      for (int k = 0; k <= pivot; ++k) tile[pivot + 1][t] -= tile[pivot + 1][k] * tile[k][t];
    }
    __syncthreads();
  }
  // The first row of U equals the first row of the matrix.
  for (int row = 1; row < kTile; ++row) corner[row * n + t] = tile[row][t];
}

// Solves the tiles beside and below the diagonal tile, one block of 32 threads per position. Block b solves the
// tile b+1 places to the right of the diagonal tile (threads 0-15, one column each: L X = A) and the tile b+1
// places below it (threads 16-31, one row each: X U = A). Sums accumulate in shared memory.
extern "C" __global__ void lud_perimeter(float* matrix, int n, int offset) {
  __shared__ float diagonal[kTile][kTile];
  __shared__ float right[kTile][kTile];
  __shared__ float below[kTile][kTile];
  const int distance = (blockIdx.x + 1) * kTile;
  const float* corner = matrix + offset * n + offset;
  float* right_corner = matrix + offset * n + offset + distance;
  float* below_corner = matrix + (offset + distance) * n + offset;
  const bool is_right = threadIdx.x < kTile;
  const int t = is_right ? threadIdx.x : threadIdx.x - kTile;

  if (is_right) {
    for (int row = 0; row < kTile / 2; ++row) diagonal[row][t] = corner[row * n + t];
    for (int row = 0; row < kTile; ++row) right[row][t] = right_corner[row * n + t];
  } else {
    for (int row = kTile / 2; row < kTile; ++row) diagonal[row][t] = corner[row * n + t];
    for (int row = 0; row < kTile; ++row) below[row][t] = below_corner[row * n + t];
  }
  __syncthreads();

  if (is_right) {  // column t of U: forward substitution; L has a unit diagonal
    for (int row = 1; row < kTile; ++row)
      for (int k = 0; k < row; ++k) right[row][t] -= diagonal[row][k] * right[k][t];
  } else {  // row t of L
    for (int column = 0; column < kTile; ++column) {
      for (int k = 0; k < column; ++k) below[t][column] -= below[t][k] * diagonal[k][column];
      below[t][column] /= diagonal[column][column];
    }
  }
  __syncthreads();

  if (is_right) {
    for (int row = 1; row < kTile; ++row) right_corner[row * n + t] = right[row][t];
  } else {
    for (int row = 0; row < kTile; ++row) below_corner[row * n + t] = below[row][t];
  }
}

// Updates the remaining square, one block of 16x16 threads per tile: A -= L(its rows) * U(its columns).
extern "C" __global__ void lud_internal(float* matrix, int n, int offset) {
  __shared__ float upper[kTile][kTile];
  __shared__ float lower[kTile][kTile];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int row = offset + (blockIdx.y + 1) * kTile + y;
  const int column = offset + (blockIdx.x + 1) * kTile + x;
  upper[y][x] = matrix[(offset + y) * n + column];
  lower[y][x] = matrix[row * n + offset + x];
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < kTile; ++k) sum += lower[y][k] * upper[k][x];
  matrix[row * n + column] -= sum;
}
