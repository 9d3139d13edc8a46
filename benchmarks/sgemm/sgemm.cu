// C = alpha * A * B^T + beta * C in single precision, column-major, register-tiled (Volkov and Demmel, SC
// 2008; Parboil's sgemm). A block of 128 threads computes a tile of 128x16 elements of C. Each thread has one
// row of the tile, as 16 sums in registers. The block stages 8x16 elements of B in shared memory. Each
// element of B is loaded separately, and the compiler decides on unrolling, both as in Parboil's program.

constexpr int kThreads = 128;  // rows of the tile
constexpr int kColumns = 16;   // columns of the tile
constexpr int kDepth = 8;      // k-steps per staged piece of B

// A: m x k, leading dimension lda; B: n x k, ldb; C: m x n, ldc. m is a multiple of 128, n of 16, k of 8.
// The order of the index computations decides whether a thread needs at most 32 registers.
extern "C" __global__ void sgemm_nt(const float* a, int lda, const float* b, int ldb, float* c, int ldc,
                                    int k, float alpha, float beta) {
  __shared__ float b_tile[kDepth][kColumns];
  const int row = blockIdx.x * kThreads + (threadIdx.y * blockDim.x + threadIdx.x);
  const int column = blockIdx.y * kColumns + threadIdx.x;  // column of the staged element

  float sum[kColumns];
  for (int j = 0; j < kColumns; ++j) sum[j] = 0.0f;

  for (int step = 0; step < k; step += kDepth) {
    b_tile[threadIdx.y][threadIdx.x] = b[column + (step + threadIdx.y) * ldb];
    __syncthreads();
    for (int i = 0; i < kDepth; ++i) {
      const float a_value = a[row + (step + i) * lda];
      for (int j = 0; j < kColumns; ++j) sum[j] += a_value * b_tile[i][j];
    }
    __syncthreads();
  }

  const int first = ldc * blockIdx.y * kColumns + row;
  for (int j = 0; j < kColumns; ++j) {
    const int at = first + j * ldc;
    c[at] = c[at] * beta + alpha * sum[j];
  }
}
