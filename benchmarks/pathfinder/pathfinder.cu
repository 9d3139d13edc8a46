// pathfinder: the cheapest way down a grid, one row at a time, moving straight or diagonally: dynamic programming.
// Ghost zones as in hotspot: a block loads a strip with a halo as wide as the number of rows that one launch goes down.
// Source of the algorithm: Rodinia's PathFinder (Che et al., IISWC 2010).

#define WIDTH 256

// to[c] = the cheapest cost of a way that ends in column c of row first_row + rows - 1, where `from` has the
// costs above first_row. rows <= halo; block x writes the 256 - 2 halo columns from x * (256 - 2 halo).
extern "C" __global__ void dynproc(int rows, const int* wall, const int* from, int* to, int columns,
                                   int first_row, int halo) {
  __shared__ int above[WIDTH];
  __shared__ int here[WIDTH];
  const int tx = threadIdx.x;
  const int inner = WIDTH - 2 * halo;
  const int first_column = inner * blockIdx.x - halo;
  const int column = first_column + tx;
  const bool inside = column >= 0 && column < columns;
  if (inside) above[tx] = from[column];
  __syncthreads();

  // Beyond the grid's edge the neighbour is the cell itself.
  const int left = max(tx - 1, max(0, -first_column));
  const int right = min(tx + 1, min(WIDTH - 1, columns - 1 - first_column));

  bool valid = false;
  for (int i = 0; i < rows; ++i) {
    const int margin = halo - rows + 1 + i;
    valid = inside && tx >= margin && tx < WIDTH - margin;
    if (valid) {
      const int cheapest = min(above[tx], min(above[left], above[right]));
      here[tx] = cheapest + wall[(first_row + i) * columns + column];
    }
    __syncthreads();
    if (i == rows - 1) break;
    if (valid) above[tx] = here[tx];
    __syncthreads();
  }
  if (valid) to[column] = here[tx];
}
