// C = alpha * A * B^T + beta * C in single precision, column-major, register-tiled (Volkov and Demmel,
// SC 2008; Parboil's sgemm): a block of 128 threads computes a tile of 128x16 of C. Each thread owns one
// row of the tile, 16 sums in registers; the block stages 8x16 elements of B in shared memory.

constexpr int kThreads = 128;  // rows of the tile
constexpr int kColumns = 16;   // columns of the tile
constexpr int kDepth = 8;      // k-steps per staged piece of B

// A: m x k, leading dimension lda; B: n x k, ldb; C: m x n, ldc. m is a multiple of 128, n of 16, k of 8.
extern "C" __global__ void sgemm_nt(const float* a, int lda, const float* b, int ldb, float* c, int ldc,
                                    int k, float alpha, float beta) {
  __shared__ float4 b_tile[kDepth][kColumns / 4];
  const int thread = threadIdx.y * kColumns + threadIdx.x;
  const int row = blockIdx.x * kThreads + thread;
  const int first_column = blockIdx.y * kColumns;
  float sum[kColumns];
  for (int j = 0; j < kColumns; ++j) sum[j] = 0.0f;

  for (int step = 0; step < k; step += kDepth) {
    reinterpret_cast<float*>(b_tile[threadIdx.y])[threadIdx.x] =
        b[first_column + threadIdx.x + (step + threadIdx.y) * ldb];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const float a_value = a[row + (step + i) * lda];
#pragma unroll
      for (int j = 0; j < kColumns; j += 4) {
        const float4 b_values = b_tile[i][j / 4];
        sum[j] += a_value * b_values.x;
        sum[j + 1] += a_value * b_values.y;
        sum[j + 2] += a_value * b_values.z;
        sum[j + 3] += a_value * b_values.w;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const int at = row + (first_column + j) * ldc;
    c[at] = c[at] * beta + alpha * sum[j];
  }
}
