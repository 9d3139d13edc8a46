// Discrete cosine transform (type II, orthonormal) of all 8 x 8 squares of an image, as two matrix products, C X C^T.
// Pixels are read through a texture. Source of the algorithm: dct8x8 of the CUDA SDK, its first kernel. A block keeps
// one square in shared memory, and each thread computes one coefficient.

constexpr int kSide = 8;

__constant__ float cosines[kSide * kSide];  // C: row k has the k-th cosine

extern "C" __global__ void dcttex_8x8(float* result, cudaTextureObject_t image, int width) {
  __shared__ float pixels[kSide][kSide];
  __shared__ float half[kSide][kSide];
  const int column = threadIdx.x, row = threadIdx.y;
  const int x = static_cast<int>(blockIdx.x) * kSide + column;
  const int y = static_cast<int>(blockIdx.y) * kSide + row;
  pixels[row][column] = tex2D<float>(image, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kSide; ++i) sum += cosines[row * kSide + i] * pixels[i][column];
  half[row][column] = sum;
  __syncthreads();
  sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kSide; ++i) sum += half[row][i] * cosines[column * kSide + i];
  result[y * width + x] = sum;
}
