// Needleman-Wunsch: scores of the best alignments of all prefixes of two sequences, in place. Tiles are computed along
// the anti-diagonals of the matrix of tiles. A block of 16 threads computes a tile of 16 x 16 cells, along the
// anti-diagonals of the tile. Source of the algorithm: Rodinia's nw, with its order of operations.

constexpr int kTile = 16;

__device__ __forceinline__ void align_cell(int (*score)[kTile + 1], const int (*alike)[kTile], int y, int x, int penalty) {
  const int matched = score[y - 1][x - 1] + alike[y - 1][x - 1];
  const int skipped = score[y][x - 1] - penalty;
  const int inserted = score[y - 1][x] - penalty;
  score[y][x] = max(max(matched, skipped), inserted);
}

// Computes one tile. `columns`: cells per row of `scores`, whose row 0 and column 0 are given, and of `similarity`.
__device__ __forceinline__ void align_tile(int* scores, const int* similarity, int columns, int penalty, int tile_x,
                                           int tile_y) {
  __shared__ int score[kTile + 1][kTile + 1];
  __shared__ int alike[kTile][kTile];
  const int t = threadIdx.x;
  int* corner = scores + tile_y * kTile * columns + tile_x * kTile;
  const int* like = similarity + (tile_y * kTile + 1) * columns + tile_x * kTile + 1;
  if (t == 0) score[0][0] = corner[0];
  for (int row = 0; row < kTile; ++row) alike[row][t] = like[row * columns + t];
  __syncthreads();
  score[t + 1][0] = corner[(t + 1) * columns];
  __syncthreads();
  score[0][t + 1] = corner[t + 1];
  __syncthreads();
  // The upper left triangle, then the lower right triangle. In both, thread t computes a column.
  for (int last = 0; last < kTile; ++last) {
    if (t <= last) align_cell(score, alike, last - t + 1, t + 1, penalty);
    __syncthreads();
  }
  for (int last = kTile - 2; last >= 0; --last) {
    if (t <= last) align_cell(score, alike, kTile - t, t + kTile - last, penalty);
    __syncthreads();
  }
  for (int row = 0; row < kTile; ++row) corner[(row + 1) * columns + t + 1] = score[row + 1][t + 1];
}

// Computes anti-diagonal `diagonal` of the upper left half, which has `diagonal` tiles.
extern "C" __global__ void needle_first(int* scores, const int* similarity, int columns, int penalty, int diagonal) {
  align_tile(scores, similarity, columns, penalty, blockIdx.x, diagonal - 1 - blockIdx.x);
}

// Computes the anti-diagonal of the lower right half with `diagonal` tiles, in a square of `tiles` x `tiles` tiles.
extern "C" __global__ void needle_second(int* scores, const int* similarity, int columns, int penalty, int diagonal,
                                         int tiles) {
  align_tile(scores, similarity, columns, penalty, blockIdx.x + tiles - diagonal, tiles - 1 - blockIdx.x);
}
