// Convolution of an image with a separable kernel of 17 x 17, along rows and then along columns. The image is zero
// beyond its edges. Source of the algorithm: convolutionSeparable of the CUDA SDK. A block keeps its pixels in shared
// memory, with a halo as wide as the block on either side. Each thread computes eight results.

constexpr int kRadius = 8;
constexpr int kResults = 8;  // per thread

__constant__ float weights[2 * kRadius + 1];

// Along rows: 16 x 4 threads compute 128 x 4 pixels.
extern "C" __global__ void convsep_rows(float* result, const float* image, int width) {
  constexpr int kX = 16, kY = 4;
  __shared__ float part[kY][(kResults + 2) * kX];
  const int x = (static_cast<int>(blockIdx.x) * kResults - 1) * kX + static_cast<int>(threadIdx.x);  // in the halo
  const int at = (blockIdx.y * kY + threadIdx.y) * width + x;
  float* mine = &part[threadIdx.y][threadIdx.x];
  mine[0] = x >= 0 ? image[at] : 0.0f;
#pragma unroll
  for (int i = 1; i <= kResults; ++i) mine[i * kX] = image[at + i * kX];
  constexpr int kLast = (kResults + 1) * kX;
  mine[kLast] = x + kLast < width ? image[at + kLast] : 0.0f;
  __syncthreads();
#pragma unroll
  for (int i = 1; i <= kResults; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int j = -kRadius; j <= kRadius; ++j) sum += weights[kRadius - j] * mine[i * kX + j];
    result[at + i * kX] = sum;
  }
}

// Along columns: 16 x 8 threads compute 16 x 64 pixels. In shared memory, the pixels of a column are contiguous.
extern "C" __global__ void convsep_columns(float* result, const float* image, int width, int height) {
  constexpr int kX = 16, kY = 8;
  __shared__ float part[kX][(kResults + 2) * kY + 1];
  const int y = (static_cast<int>(blockIdx.y) * kResults - 1) * kY + static_cast<int>(threadIdx.y);  // in the halo
  const int at = y * width + static_cast<int>(blockIdx.x * kX + threadIdx.x);
  float* mine = &part[threadIdx.x][threadIdx.y];
  mine[0] = y >= 0 ? image[at] : 0.0f;
#pragma unroll
  for (int i = 1; i <= kResults; ++i) mine[i * kY] = image[at + i * kY * width];
  constexpr int kLast = (kResults + 1) * kY;
  mine[kLast] = y + kLast < height ? image[at + kLast * width] : 0.0f;
  __syncthreads();
#pragma unroll
  for (int i = 1; i <= kResults; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int j = -kRadius; j <= kRadius; ++j) sum += weights[kRadius - j] * mine[i * kY + j];
    result[at + i * kY * width] = sum;
  }
}
