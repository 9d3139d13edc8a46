// Global alignment scores: one 16x16 tile per block, anti-diagonals inside the tile, one launch per
// anti-diagonal of tiles. score is (n + 1) x (n + 1) with its first row and column set.
extern "C" __global__ void align_tiles(const int* similarity, int* score, int columns, int penalty, int diagonal,
                                       int first_tile) {
  __shared__ int cell[17][17];
  __shared__ int similar[16][16];
  const int t = threadIdx.x;
  const int tile_x = first_tile + blockIdx.x;
  const int tile_y = diagonal - tile_x;
  const int corner = columns * 16 * tile_y + 16 * tile_x;
  for (int r = 0; r < 16; ++r) similar[r][t] = similarity[corner + columns * (r + 1) + t + 1];
  if (t == 0) cell[0][0] = score[corner];
  cell[t + 1][0] = score[corner + columns * (t + 1)];
  cell[0][t + 1] = score[corner + t + 1];
  __syncthreads();
  for (int d = 0; d < 16; ++d) {
    if (t <= d) {
      const int x = t + 1;
      const int y = d - t + 1;
      cell[y][x] = max(cell[y - 1][x - 1] + similar[y - 1][x - 1],
                       max(cell[y][x - 1] - penalty, cell[y - 1][x] - penalty));
    }
    __syncthreads();
  }
  for (int d = 14; d >= 0; --d) {
    if (t <= d) {
      const int x = t + 16 - d;
      const int y = 16 - t;
      cell[y][x] = max(cell[y - 1][x - 1] + similar[y - 1][x - 1],
                       max(cell[y][x - 1] - penalty, cell[y - 1][x] - penalty));
    }
    __syncthreads();
  }
  for (int r = 0; r < 16; ++r) score[corner + columns * (r + 1) + t + 1] = cell[r + 1][t + 1];
}
