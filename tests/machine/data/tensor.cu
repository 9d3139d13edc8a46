// Matrix products on tensor cores, as programs write them: through nvcuda::wmma, and with mma and ldmatrix.
// nvcc -ptx -arch=sm_80 -O3 tensor.cu (CUDA 13.0 made the PTX in the tree; its comments are left out).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int kTile = 64;   // of C, by a block of four warps
constexpr int kDepth = 32;  // of the tiles in shared memory
constexpr int kPad = 8;     // so that rows begin in other banks

// C = A B: A m x k, B k x n, all by rows; sizes are multiples of the tiles.
extern "C" __global__ void __launch_bounds__(128) gemm_wmma(const half* a, const half* b, float* c, int n, int k) {
  __shared__ __align__(32) half ta[kTile][kDepth + kPad];
  __shared__ __align__(32) half tb[kDepth][kTile + kPad];
  const int row = blockIdx.y * kTile;
  const int column = blockIdx.x * kTile;
  const int warp = threadIdx.x / 32;
  const int wr = warp / 2 * 32;
  const int wc = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (auto& line : sum)
    for (auto& tile : line) wmma::fill_fragment(tile, 0.0f);
  for (int from = 0; from < k; from += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth / 8; i += 128) {
      const int ra = i / (kDepth / 8), ca = i % (kDepth / 8) * 8;
      *reinterpret_cast<uint4*>(&ta[ra][ca]) = *reinterpret_cast<const uint4*>(&a[(row + ra) * k + from + ca]);
      const int rb = i / (kTile / 8), cb = i % (kTile / 8) * 8;
      *reinterpret_cast<uint4*>(&tb[rb][cb]) = *reinterpret_cast<const uint4*>(&b[(from + rb) * n + column + cb]);
    }
    __syncthreads();
    for (int step = 0; step < kDepth; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &ta[wr + 16 * i][step], kDepth + kPad);
        wmma::load_matrix_sync(fb[i], &tb[step][wc + 16 * i], kTile + kPad);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(&c[(row + wr + 16 * i) * n + column + wc + 16 * j], sum[i][j], n, wmma::mem_row_major);
}

// The same with ldmatrix and mma.
extern "C" __global__ void __launch_bounds__(128) gemm_mma(const half* a, const half* b, float* c, int n, int k) {
  __shared__ __align__(32) half ta[kTile][kDepth + kPad];
  __shared__ __align__(32) half tb[kDepth][kTile + kPad];
  const int row = blockIdx.y * kTile;
  const int column = blockIdx.x * kTile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wr = warp / 2 * 32;
  const int wc = warp % 2 * 32;
  float sum[2][4][4] = {};
  for (int from = 0; from < k; from += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth / 8; i += 128) {
      const int ra = i / (kDepth / 8), ca = i % (kDepth / 8) * 8;
      *reinterpret_cast<uint4*>(&ta[ra][ca]) = *reinterpret_cast<const uint4*>(&a[(row + ra) * k + from + ca]);
      const int rb = i / (kTile / 8), cb = i % (kTile / 8) * 8;
      *reinterpret_cast<uint4*>(&tb[rb][cb]) = *reinterpret_cast<const uint4*>(&b[(from + rb) * n + column + cb]);
    }
    __syncthreads();
    for (int step = 0; step < kDepth; step += 16) {
      unsigned fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) {
        const auto at = static_cast<unsigned>(
            __cvta_generic_to_shared(&ta[wr + 16 * i + lane % 16][step + lane / 16 * 8]));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(at) : "memory");
        const auto bt = static_cast<unsigned>(
            __cvta_generic_to_shared(&tb[step + lane % 16][wc + 16 * i + lane / 16 * 8]));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fb[i][0]), "=r"(fb[i][1]), "=r"(fb[i][2]), "=r"(fb[i][3]) : "r"(bt) : "memory");
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                       "{%0, %1, %2, %3};"
                       : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                       : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j / 2][j % 2 * 2]),
                         "r"(fb[j / 2][j % 2 * 2 + 1]));
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e)
        c[(row + wr + 16 * i + lane / 4 + e / 2 * 8) * n + column + wc + 8 * j + lane % 4 * 2 + e % 2] = sum[i][j][e];
}

// A warp's tile of 16 x 16 of f32 matrices, multiplied as tf32.
extern "C" __global__ void gemm_tf32(const float* a, const float* b, float* c, int n, int k) {
  const int row = blockIdx.y * 16;
  const int column = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int from = 0; from < k; from += 8) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
    wmma::load_matrix_sync(fa, &a[row * k + from], k);
    wmma::load_matrix_sync(fb, &b[column * k + from], k);
    for (auto& x : fa.x) x = wmma::__float_to_tf32(x);
    for (auto& x : fb.x) x = wmma::__float_to_tf32(x);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(&c[row * n + column], sum, n, wmma::mem_row_major);
}

// Four independent sums, each of `count` products that wait for one another: a warp keeps its tensor unit busy with
// four, and not with one.
template <int kSums>
__device__ void chains(float* out, int count) {
  float sum[kSums][4] = {};
  const unsigned one = 0x3c003c00;
  for (int i = 0; i < count; ++i) {
#pragma unroll
    for (int j = 0; j < kSums; ++j)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, "
                   "%1, %2, %3};"
                   : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3]) : "r"(one));
  }
  float total = 0;
  for (int j = 0; j < kSums; ++j) total += sum[j][0] + sum[j][1] + sum[j][2] + sum[j][3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
extern "C" __global__ void one_chain(float* out, int count) { chains<1>(out, count); }
extern "C" __global__ void four_chains(float* out, int count) { chains<4>(out, count); }
