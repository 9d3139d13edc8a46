// Discrete cosine transform (type II, orthonormal) of all 8 x 8 squares of an image. Source of the algorithm: dct8x8 of
// the CUDA SDK, its second kernel. A block of 8 x 4 x 2 threads keeps 4 x 2 squares in shared memory. Each thread
// transforms one row and then one column.

constexpr int kSide = 8;
constexpr int kAcross = 4, kDown = 2;  // squares per block

// kCi = cos(i pi / 16) / 2.
constexpr float kC1 = 0.49039264020161522f, kC2 = 0.46193976625564337f, kC3 = 0.41573480615127262f,
                kC4 = 0.35355339059327376f, kC5 = 0.27778511650980111f, kC6 = 0.19134171618254489f,
                kC7 = 0.09754516100806413f;

// Transform of eight elements. The even coefficients depend on the sums of opposite elements, the odd coefficients on
// their differences.
__device__ __forceinline__ void transform(float (&x)[kSide]) {
  const float s0 = x[0] + x[7], s1 = x[1] + x[6], s2 = x[2] + x[5], s3 = x[3] + x[4];
  const float d0 = x[0] - x[7], d1 = x[1] - x[6], d2 = x[2] - x[5], d3 = x[3] - x[4];
  const float outer = s0 + s3, inner = s1 + s2;
  const float outer_d = s0 - s3, inner_d = s1 - s2;
  x[0] = kC4 * (outer + inner);
  x[4] = kC4 * (outer - inner);
  x[2] = kC2 * outer_d + kC6 * inner_d;
  x[6] = kC6 * outer_d - kC2 * inner_d;
  x[1] = kC1 * d0 + kC3 * d1 + kC5 * d2 + kC7 * d3;
  x[3] = kC3 * d0 - kC7 * d1 - kC1 * d2 - kC5 * d3;
  x[5] = kC5 * d0 - kC1 * d1 + kC7 * d2 + kC3 * d3;
  x[7] = kC7 * d0 - kC5 * d1 + kC3 * d2 - kC1 * d3;
}

extern "C" __global__ void dct_8x8(float* result, const float* image, int width) {
  __shared__ float part[kDown * kSide][kAcross * kSide + 1];
  const int left = threadIdx.y * kSide, top = threadIdx.z * kSide, mine = threadIdx.x;
  const int at = (blockIdx.y * kDown * kSide + top) * width + blockIdx.x * kAcross * kSide + left + mine;
  float x[kSide];
#pragma unroll
  for (int i = 0; i < kSide; ++i) part[top + i][left + mine] = image[at + i * width];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSide; ++i) x[i] = part[top + mine][left + i];
  transform(x);
#pragma unroll
  for (int i = 0; i < kSide; ++i) part[top + mine][left + i] = x[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSide; ++i) x[i] = part[top + i][left + mine];
  transform(x);
#pragma unroll
  for (int i = 0; i < kSide; ++i) result[at + i * width] = x[i];
}
