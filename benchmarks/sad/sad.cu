// sad: sums of absolute differences (SADs) between the blocks of a video frame and blocks of the previous frame, for
// motion estimation (block sizes of H.264). Source of the algorithm: Parboil's sad, with its order of operations.
//
// Each macroblock of 16x16 pixels has 16 rows of 4x4 SADs, one per 4x4 block (quadrant by quadrant, within a quadrant
// row by row). A row holds the SADs of all search positions as unsigned shorts. The sums of larger blocks add two
// positions at a time, in one integer: no sum exceeds 16 bits.

constexpr int kPositions = 1089;       // 33 x 33: a search range of 16 pixels each way
constexpr int kPadded = 1096;          // positions per row, padding included
constexpr int kPairs = kPadded / 2;    // pairs of positions per row
constexpr int kRange = 16;             // pixels each way
constexpr int kSpan = 33;              // positions along an axis
constexpr int kEach = 18;              // positions per thread; 61 threads cover all positions

// The first kernel: SADs of all 4x4 blocks at all search positions. A block of threads processes one 4x4 block of
// pixels. Each thread processes 18 positions, three neighbours at a time, which share the pixels that they read.
// `before` repeats the pixels of its borders beyond them.
extern "C" __global__ void sad_small(const unsigned short* frame, cudaTextureObject_t before, int width,
                                     unsigned short* small) {
  __shared__ unsigned short pixel[16];
  __shared__ __align__(8) unsigned short sads[kPadded];
  const int x = 4 * blockIdx.x;
  const int y = 4 * blockIdx.y;
  if (threadIdx.x < 16) pixel[threadIdx.x] = frame[(y + threadIdx.x / 4) * width + x + threadIdx.x % 4];
  __syncthreads();

  const int first = threadIdx.x * kEach;
  const int end = min(first + kEach, kPositions);
  int column = first % kSpan;
  int top = y - kRange + first / kSpan;
#pragma unroll 1
  for (int position = first; position < end; position += 3) {
    unsigned short sum[3] = {0, 0, 0};
    const int left = x - kRange + column;
#pragma unroll
    for (int dy = 0; dy < 4; ++dy) {
#pragma unroll
      for (int dx = 0; dx < 6; ++dx) {
        const int other =
            tex2D<unsigned short>(before, static_cast<float>(left + dx), static_cast<float>(top + dy));
#pragma unroll
        for (int p = 0; p < 3; ++p)
          if (dx >= p && dx - p < 4) sum[p] += abs(other - pixel[4 * dy + dx - p]);
      }
    }
    sads[position] = sum[0];
    sads[position + 1] = sum[1];
    sads[position + 2] = sum[2];
    column += 3;
    if (column >= kSpan) {
      column -= kSpan;
      ++top;
    }
  }
  __syncthreads();

  if (threadIdx.x >= 32) return;
  // The order of rows: quadrant by quadrant of the macroblock, row by row within a quadrant.
  const int macroblock = (blockIdx.y / 4) * (gridDim.x / 4) + blockIdx.x / 4;
  const int quadrant = (blockIdx.y / 2 % 2) * 2 + blockIdx.x / 2 % 2;
  const int within = (blockIdx.y % 2) * 2 + blockIdx.x % 2;
  // The content behind the last position is copied as it is, because the padding of a row is not used.
  uint2* row = reinterpret_cast<uint2*>(small) + ((macroblock * 4 + quadrant) * 4 + within) * (kPadded / 4);
#pragma unroll 1
  for (int i = threadIdx.x; i < kPadded / 4; i += 32) row[i] = reinterpret_cast<const uint2*>(sads)[i];
}

// The second kernel, with blocks of 32x4 threads: thread row q processes quadrant q of macroblock blockIdx.
// Results: wide: 8x4 blocks, 8 rows per macroblock; tall: 4x8, 8 rows; square: 8x8, 4 rows.
extern "C" __global__ void sad_larger(const unsigned* small, unsigned* wide, unsigned* tall, unsigned* square) {
  const int quadrant = 4 * (blockIdx.y * gridDim.x + blockIdx.x) + threadIdx.y;
  const unsigned* in = small + 4 * quadrant * kPairs;
  unsigned* out_wide = wide + 2 * quadrant * kPairs;
  unsigned* out_tall = tall + 2 * quadrant * kPairs;
  unsigned* out_square = square + quadrant * kPairs;
  for (int pair = threadIdx.x; pair < (kPositions + 1) / 2; pair += 32) {
    const unsigned a = in[pair];               // top left
    const unsigned b = in[kPairs + pair];      // top right
    const unsigned c = in[2 * kPairs + pair];  // bottom left
    const unsigned d = in[3 * kPairs + pair];  // bottom right
    out_tall[pair] = a + c;
    out_tall[kPairs + pair] = b + d;
    out_wide[pair] = a + b;
    out_wide[kPairs + pair] = c + d;
    out_square[pair] = (a + b) + (c + d);
  }
}

// The third kernel: from 8x8 blocks to 16x8, 8x16 and 16x16, one block of 32 threads per macroblock.
extern "C" __global__ void sad_largest(const unsigned* square, unsigned* wide, unsigned* tall, unsigned* whole) {
  const int macroblock = blockIdx.y * gridDim.x + blockIdx.x;
  const unsigned* in = square + 4 * macroblock * kPairs;
  for (int pair = threadIdx.x; pair < (kPositions + 1) / 2; pair += 32) {
    const unsigned a = in[pair];
    const unsigned b = in[kPairs + pair];
    const unsigned c = in[2 * kPairs + pair];
    const unsigned d = in[3 * kPairs + pair];
    tall[2 * macroblock * kPairs + pair] = a + c;
    tall[(2 * macroblock + 1) * kPairs + pair] = b + d;
    wide[2 * macroblock * kPairs + pair] = a + b;
    wide[(2 * macroblock + 1) * kPairs + pair] = c + d;
    whole[macroblock * kPairs + pair] = (a + b) + (c + d);
  }
}
