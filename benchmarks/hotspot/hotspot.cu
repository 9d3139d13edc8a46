// hotspot: temperature of a chip by explicit time steps of the heat equation, a 5-point stencil.
// Ghost zones ("pyramids"): a block loads a tile with a halo as wide as the number of steps per launch. Each step
// leaves valid results in a region that is one cell narrower on each side.
// Source of the algorithm: Rodinia's HotSpot (Che et al., IISWC 2009); Meng and Skadron, ICS 2009, for the ghost zones.

#define TILE 16

// temp_out = temp_in after `steps` <= `halo` steps. Blocks are 16x16; block (x, y) writes the
// (16 - 2 halo)^2 cells from (x, y) * (16 - 2 halo). cap: heat capacity of a cell; rx, ry, rz: thermal
// resistance to the neighbours in a row, in a column, and to the surroundings; step: seconds.
extern "C" __global__ void calculate_temp(int steps, const float* power, const float* temp_in, float* temp_out,
                                          int columns, int rows, int halo, float cap, float rx, float ry,
                                          float rz, float step) {
  __shared__ float now[TILE][TILE];
  __shared__ float next[TILE][TILE];
  __shared__ float heat[TILE][TILE];
  const float ambient = 80.0f;
  const float step_over_cap = step / cap;
  const float to_row = 1.0f / rx;
  const float to_column = 1.0f / ry;
  const float to_ambient = 1.0f / rz;

  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int inner = TILE - 2 * halo;
  const int first_row = inner * blockIdx.y - halo;
  const int first_column = inner * blockIdx.x - halo;
  const int row = first_row + ty;
  const int column = first_column + tx;
  const int cell = row * columns + column;
  const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
  if (inside) {
    now[ty][tx] = temp_in[cell];
    heat[ty][tx] = power[cell];
  }
  __syncthreads();

  // The neighbour of a cell at the chip's edge is the cell itself: no heat flows there.
  const int north = max(ty - 1, max(0, -first_row));
  const int south = min(ty + 1, min(TILE - 1, rows - 1 - first_row));
  const int west = max(tx - 1, max(0, -first_column));
  const int east = min(tx + 1, min(TILE - 1, columns - 1 - first_column));

  bool valid = false;
  for (int margin = halo - steps + 1; margin <= halo; ++margin) {
    valid = inside && tx >= margin && tx < TILE - margin && ty >= margin && ty < TILE - margin;
    if (valid) {
      // 2.0 is a double, so both sums of differences are computed in double precision, as in Rodinia's kernel.
      const float here = now[ty][tx];
      next[ty][tx] = here + step_over_cap * (heat[ty][tx] +
                                             (now[south][tx] + now[north][tx] - 2.0 * here) * to_column +
                                             (now[ty][east] + now[ty][west] - 2.0 * here) * to_row +
                                             (ambient - here) * to_ambient);
    }
    __syncthreads();
    if (margin == halo) break;
    if (valid) now[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (valid) temp_out[cell] = next[ty][tx];
}
