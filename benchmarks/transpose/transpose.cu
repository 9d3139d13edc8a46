// Transposes a matrix by tiles in shared memory, or each tile of a matrix in place. Source of the algorithm: transpose
// of the CUDA SDK.

constexpr int kTile = 16;

// Transposes the whole matrix. Rows of a tile are 17 words apart, so the words of a column are in different banks.
extern "C" __global__ void transpose_tiles(float* result, const float* matrix, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = matrix[y * width + x];
  __syncthreads();
  const int to_x = blockIdx.y * kTile + threadIdx.x;
  const int to_y = blockIdx.x * kTile + threadIdx.y;
  result[to_y * height + to_x] = tile[threadIdx.x][threadIdx.y];
}

// Transposes each tile in its place.
extern "C" __global__ void transpose_coarse(float* result, const float* matrix, int width) {
  __shared__ float tile[kTile][kTile + 1];
  const int at = (blockIdx.y * kTile + threadIdx.y) * width + blockIdx.x * kTile + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = matrix[at];
  __syncthreads();
  result[at] = tile[threadIdx.x][threadIdx.y];
}
