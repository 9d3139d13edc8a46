// Convolution of an image with a separable kernel of 17 x 17, along rows and then along columns, with all pixels read
// through a texture. Beyond an edge, the image repeats the pixels of the edge. Source of the algorithm:
// convolutionTexture of the CUDA SDK. Each thread computes one result, without shared memory.

constexpr int kRadius = 8;

__constant__ float weights[2 * kRadius + 1];

extern "C" __global__ void convtex_rows(float* result, cudaTextureObject_t image, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const float middle = static_cast<float>(x) + 0.5f;
  const float row = static_cast<float>(y) + 0.5f;
  float sum = 0.0f;
#pragma unroll
  for (int j = -kRadius; j <= kRadius; ++j)
    sum += weights[kRadius - j] * tex2D<float>(image, middle + static_cast<float>(j), row);
  result[y * width + x] = sum;
}

extern "C" __global__ void convtex_columns(float* result, cudaTextureObject_t image, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const float column = static_cast<float>(x) + 0.5f;
  const float middle = static_cast<float>(y) + 0.5f;
  float sum = 0.0f;
#pragma unroll
  for (int j = -kRadius; j <= kRadius; ++j)
    sum += weights[kRadius - j] * tex2D<float>(image, column, middle + static_cast<float>(j));
  result[y * width + x] = sum;
}
