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
