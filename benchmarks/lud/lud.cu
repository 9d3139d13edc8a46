// Blocked LU decomposition without pivoting, in place, tiles of 16x16 (the algorithm of Rodinia's lud, in its
// order of operations). Step k uses three kernels: the diagonal tile is factored, the tiles to its right and
// below are solved against it, and the remaining square is updated.
//
// The matrix is row-major, `n` columns; `offset` is the row and column of the diagonal tile.

constexpr int kTile = 16;

// One block of 16 threads, left-looking in shared memory: at each pivot thread t first completes its element of the
// pivot's column of L, then its element of the next row of U, from all that is to their left and above.
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
  // The first row of U is the matrix's own.
  for (int row = 1; row < kTile; ++row) corner[row * n + t] = tile[row][t];
}

// One block of 32 threads per tile position. Block b serves the tile b+1 places to the right of the
// diagonal tile (threads 0-15, one column each: solve L X = A) and the tile b+1 places below it
// (threads 16-31, one row each: solve X U = A); sums grow in shared memory.
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

  if (is_right) {  // column t of U: forward substitution, L has a unit diagonal
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

// One block of 16x16 threads per remaining tile: A -= L(its rows) * U(its columns).
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
