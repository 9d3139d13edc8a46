// sad: sums of absolute differences (SADs) of larger blocks of a video frame from those of its 4x4 blocks, as motion
// estimation needs them. Source of the algorithm: the second kernel of Parboil's sad (block sizes of H.264).
//
// For each macroblock of 16x16 pixels there are 16 rows of 4x4 SADs, one for each 4x4 block (quadrant by quadrant,
// within a quadrant row by row), and a row holds the SADs of all search positions as unsigned shorts.

constexpr int kPositions = 1089;       // 33 x 33 of a search range of 16 pixels each way
constexpr int kPairs = 1096 / 2;       // of positions in a row, which is padded to 16 bytes

// Blocks are 32x4: thread row q serves quadrant q of macroblock blockIdx. Each thread adds two positions at a time.
// wide: 8x4 blocks, 8 rows a macroblock; tall: 4x8, 8 rows; square: 8x8, 4 rows.
extern "C" __global__ void sad_larger(const ushort2* small, ushort2* wide, ushort2* tall, ushort2* square) {
  const int quadrant = 4 * (blockIdx.y * gridDim.x + blockIdx.x) + threadIdx.y;
  const ushort2* in = small + 4 * quadrant * kPairs;
  ushort2* out_wide = wide + 2 * quadrant * kPairs;
  ushort2* out_tall = tall + 2 * quadrant * kPairs;
  ushort2* out_square = square + quadrant * kPairs;
#pragma unroll 1
  for (int pair = threadIdx.x; pair < (kPositions + 1) / 2; pair += 32) {
    const ushort2 a = in[pair];               // top left
    const ushort2 b = in[kPairs + pair];      // top right
    const ushort2 c = in[2 * kPairs + pair];  // bottom left
    const ushort2 d = in[3 * kPairs + pair];  // bottom right
    const ushort2 top = make_ushort2(a.x + b.x, a.y + b.y);
    const ushort2 bottom = make_ushort2(c.x + d.x, c.y + d.y);
    out_wide[pair] = top;
    out_wide[kPairs + pair] = bottom;
    out_tall[pair] = make_ushort2(a.x + c.x, a.y + c.y);
    out_tall[kPairs + pair] = make_ushort2(b.x + d.x, b.y + d.y);
    out_square[pair] = make_ushort2(top.x + bottom.x, top.y + bottom.y);
  }
}

// The first kernel: SADs of all 4x4 blocks of a frame with the blocks of the frame before at all search positions. A
// block of threads has a 4x4 block of pixels, and a thread 18 positions, one after the other. Beyond its borders, the
// frame before has their pixels.
constexpr int kRange = 16;       // pixels each way
constexpr int kSpan = 33;        // positions along an axis
constexpr int kEach = 18;        // positions of a thread: 61 threads have all

extern "C" __global__ void sad_small(const unsigned char* frame, const unsigned char* before, int width, int height,
                                     unsigned short* small) {
  __shared__ int pixel[16];
  const int x = 4 * blockIdx.x;
  const int y = 4 * blockIdx.y;
  if (threadIdx.x < 16) pixel[threadIdx.x] = frame[(y + threadIdx.x / 4) * width + x + threadIdx.x % 4];
  __syncthreads();
  // Quadrant by quadrant of the macroblock, and row by row within one.
  const int macroblock = (blockIdx.y / 4) * (gridDim.x / 4) + blockIdx.x / 4;
  const int quadrant = (blockIdx.y / 2 % 2) * 2 + blockIdx.x / 2 % 2;
  const int within = (blockIdx.y % 2) * 2 + blockIdx.x % 2;
  unsigned short* row = small + ((macroblock * 4 + quadrant) * 4 + within) * (2 * kPairs);
#pragma unroll 1
  for (int i = 0; i < kEach; ++i) {
    const int position = threadIdx.x * kEach + i;
    if (position >= kPositions) return;
    const int left = x + position % kSpan - kRange;
    const int top = y + position / kSpan - kRange;
    int sum = 0;
#pragma unroll
    for (int dy = 0; dy < 4; ++dy) {
      const int line = min(max(top + dy, 0), height - 1) * width;
#pragma unroll
      for (int dx = 0; dx < 4; ++dx) {
        const int other = before[line + min(max(left + dx, 0), width - 1)];
        sum += abs(pixel[4 * dy + dx] - other);
      }
    }
    row[position] = static_cast<unsigned short>(sum);
  }
}

// The third kernel: from 8x8 blocks to 16x8, 8x16 and 16x16, a macroblock a block of 32 threads.
extern "C" __global__ void sad_largest(const ushort2* square, ushort2* wide, ushort2* tall, ushort2* whole) {
  const int macroblock = blockIdx.y * gridDim.x + blockIdx.x;
  const ushort2* in = square + 4 * macroblock * kPairs;
#pragma unroll 1
  for (int pair = threadIdx.x; pair < (kPositions + 1) / 2; pair += 32) {
    const ushort2 a = in[pair];
    const ushort2 b = in[kPairs + pair];
    const ushort2 c = in[2 * kPairs + pair];
    const ushort2 d = in[3 * kPairs + pair];
    const ushort2 top = make_ushort2(a.x + b.x, a.y + b.y);
    const ushort2 bottom = make_ushort2(c.x + d.x, c.y + d.y);
    wide[2 * macroblock * kPairs + pair] = top;
    wide[(2 * macroblock + 1) * kPairs + pair] = bottom;
    tall[2 * macroblock * kPairs + pair] = make_ushort2(a.x + c.x, a.y + c.y);
    tall[(2 * macroblock + 1) * kPairs + pair] = make_ushort2(b.x + d.x, b.y + d.y);
    whole[macroblock * kPairs + pair] = make_ushort2(top.x + bottom.x, top.y + bottom.y);
  }
}
