// pathfinder: the cheapest path down a grid, one row at a time, straight or diagonally, by dynamic programming.
// Ghost zones: a block loads a strip with a halo as wide as the number of rows per launch.
// Source of the algorithm: Rodinia's PathFinder (Che et al., IISWC 2010).

#define WIDTH 256

// to[c]: the lowest cost of a path to column c of row first_row + rows - 1. `from` has the costs above first_row. rows
// <= halo. Block x writes the 256 - 2 rows columns from x * (256 - 2 rows) + rows - halo on, so a grid that covers all
// columns with rows = halo also covers them with fewer rows.
extern "C" __global__ void dynproc(int rows, const int* wall, const int* from, int* to, int columns,
                                   int first_row, int halo) {
  __shared__ int above[WIDTH];
  __shared__ int here[WIDTH];
  const int tx = threadIdx.x;
  const int first_column = (WIDTH - 2 * rows) * blockIdx.x - halo;
  const int column = first_column + tx;
  // The range of threads whose columns are in the grid. Beyond the edge, the neighbour is the cell itself.
  const int first = first_column < 0 ? -first_column : 0;
  const int beyond = first_column + WIDTH - columns;
  const int last = beyond > 0 ? WIDTH - 1 - beyond : WIDTH - 1;
  const int left = tx - 1 < first ? first : tx - 1;
  const int right = tx + 1 > last ? last : tx + 1;
  const bool inside = tx >= first && tx <= last;
  if (column >= 0 && column < columns) above[tx] = from[column];
  __syncthreads();

  // Rodinia's kernel tests the range of a row separately from the range of the grid, and remembers in a flag whether
  // the thread computed. This kernel keeps the instructions of both.
  bool has_value = false;
  for (int i = 0; i < rows; ++i) {
    has_value = false;
    if (tx >= i + 1 && tx <= WIDTH - 2 - i && inside) {
      has_value = true;
      int cheapest = above[left];
      if (above[tx] < cheapest) cheapest = above[tx];
      if (above[right] < cheapest) cheapest = above[right];
      here[tx] = cheapest + wall[(first_row + i) * columns + column];
    }
    __syncthreads();
    if (i == rows - 1) break;
    if (has_value) above[tx] = here[tx];
    __syncthreads();
  }
  if (has_value) to[column] = here[tx];
}
