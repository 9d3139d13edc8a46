// dxtc: DXT1 texture compression. Each block of 4x4 pixels becomes two 16-bit colours, and 2 bits per pixel that select
// one of these colours or one of two mixtures of them. Source of the algorithm: the dxtc sample of the CUDA SDK
// (cluster fit: Simon Brown's squish; Castano, "High Quality DXT Compression using CUDA", 2007).
//
// The pixels are sorted along the block's main axis of colour. Then the kernel tries every way to cut the sorted row
// into four clusters. For each cut it computes the best colours in the least-squares sense, rounded to 16 bits, and
// their error. 64 threads process one block of pixels and share the cuts. Each operation's rounding is fixed, so
// that a CPU can repeat it bit by bit.

constexpr int kPixels = 16;
constexpr int kThreads = 64;
constexpr int kPowerSteps = 8;

// The colours of clusters 0 and 3 after rounding to 5, 6 and 5 bits, and the error without the part that all cuts
// share.
struct Fit {
  unsigned start;
  unsigned end;
  float error;
};

// Rounds to `levels` + 1 levels. Returns the number of the level and sets `value` to the value of the level.
__device__ unsigned quantize(float& value, float levels) {
  const float level = floorf(__fmaf_rn(fminf(fmaxf(value, 0.0f), 1.0f), levels, 0.5f));
  value = __fdiv_rn(level, levels);
  return static_cast<unsigned>(level);
}

__device__ Fit fit(unsigned cut, const float* red, const float* green, const float* blue, float sum_red,
                   float sum_green, float sum_blue) {
  // Weights in thirds: a pixel of cluster w is (3 - w) thirds of the start colour and w thirds of the end colour.
  float aa = 0.0f;
  float bb = 0.0f;
  float ab = 0.0f;
  float ar = 0.0f;
  float ag = 0.0f;
  float ablue = 0.0f;
#pragma unroll 4
  for (int i = 0; i < kPixels; ++i) {
    const float b = static_cast<float>((cut >> (2 * i)) & 3u);
    const float a = 3.0f - b;
    aa = __fmaf_rn(a, a, aa);
    bb = __fmaf_rn(b, b, bb);
    ab = __fmaf_rn(a, b, ab);
    ar = __fmaf_rn(a, red[i], ar);
    ag = __fmaf_rn(a, green[i], ag);
    ablue = __fmaf_rn(a, blue[i], ablue);
  }
  const float br = __fmaf_rn(3.0f, sum_red, -ar);
  const float bg = __fmaf_rn(3.0f, sum_green, -ag);
  const float bblue = __fmaf_rn(3.0f, sum_blue, -ablue);
  const float determinant = __fmaf_rn(aa, bb, -__fmul_rn(ab, ab));
  const float factor = determinant > 0.0f ? __fdiv_rn(3.0f, determinant) : 0.0f;
  float start[3];
  float end[3];
  start[0] = __fmul_rn(__fmaf_rn(ar, bb, -__fmul_rn(br, ab)), factor);
  start[1] = __fmul_rn(__fmaf_rn(ag, bb, -__fmul_rn(bg, ab)), factor);
  start[2] = __fmul_rn(__fmaf_rn(ablue, bb, -__fmul_rn(bblue, ab)), factor);
  end[0] = __fmul_rn(__fmaf_rn(br, aa, -__fmul_rn(ar, ab)), factor);
  end[1] = __fmul_rn(__fmaf_rn(bg, aa, -__fmul_rn(ag, ab)), factor);
  end[2] = __fmul_rn(__fmaf_rn(bblue, aa, -__fmul_rn(ablue, ab)), factor);
  Fit result;
  result.start = quantize(start[0], 31.0f) << 11;
  result.start |= quantize(start[1], 63.0f) << 5;
  result.start |= quantize(start[2], 31.0f);
  result.end = quantize(end[0], 31.0f) << 11;
  result.end |= quantize(end[1], 63.0f) << 5;
  result.end |= quantize(end[2], 31.0f);
  // Nine times the sum of squared differences, without the squares of the pixels, which all cuts share.
  const float ax[3] = {ar, ag, ablue};
  const float bx[3] = {br, bg, bblue};
  result.error = 0.0f;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const float linear = __fmaf_rn(start[c], ax[c], __fmul_rn(end[c], bx[c]));
    const float squares = __fmaf_rn(__fmul_rn(start[c], start[c]), aa, __fmul_rn(__fmul_rn(end[c], end[c]), bb));
    const float mixed = __fmaf_rn(__fmul_rn(start[c], end[c]), ab, __fmul_rn(-3.0f, linear));
    result.error = __fadd_rn(result.error, __fmaf_rn(2.0f, mixed, squares));
  }
  return result;
}

// Compresses kSquares blocks of pixels per thread block, with 64 threads each. image: 16 pixels per block, red in the
// lowest byte. cuts: for each cut, the cluster of each sorted pixel, 2 bits each. compressed: the two colours (first in
// the low half), then the pixels' indices.
template <int kSquares>
__device__ __forceinline__ void compress(const unsigned* image, const unsigned* cuts, uint2* compressed, int cut_count) {
  __shared__ float colours[kSquares][3][kPixels];
  __shared__ float sorted_colours[kSquares][3][kPixels];
  __shared__ float positions[kSquares][kPixels];
  __shared__ int places[kSquares][kPixels];  // place of each pixel in the sorted row
  __shared__ float covariances[kSquares][6];
  __shared__ float sums[kSquares][3];
  __shared__ float errors[kSquares][kThreads];
  __shared__ unsigned best_cuts[kSquares][kThreads];
  __shared__ unsigned best_colours_of[kSquares][kThreads];
  const int square = kSquares == 1 ? 0 : threadIdx.x / kThreads;
  const int thread = kSquares == 1 ? threadIdx.x : threadIdx.x % kThreads;
  float(&colour)[3][kPixels] = colours[square];
  float(&sorted)[3][kPixels] = sorted_colours[square];
  float(&position)[kPixels] = positions[square];
  int(&place)[kPixels] = places[square];
  float(&covariance)[6] = covariances[square];
  float(&sum)[3] = sums[square];
  float(&error)[kThreads] = errors[square];
  unsigned(&best_cut)[kThreads] = best_cuts[square];
  unsigned(&best_colours)[kThreads] = best_colours_of[square];

  if (thread < kPixels) {
    const unsigned pixel = image[(blockIdx.x * kSquares + square) * kPixels + thread];
#pragma unroll
    for (int c = 0; c < 3; ++c) colour[c][thread] = __fdiv_rn(static_cast<float>((pixel >> (8 * c)) & 255u), 255.0f);
  }
  __syncthreads();
  if (thread < 3) {
    float total = 0.0f;
    for (int i = 0; i < kPixels; ++i) total = __fadd_rn(total, colour[thread][i]);
    sum[thread] = total;
  }
  __syncthreads();
  if (thread < 6) {  // rr rg rb gg gb bb
    const int p = thread < 3 ? 0 : thread < 5 ? 1 : 2;
    const int q = thread < 3 ? thread : thread < 5 ? thread - 2 : 2;
    const float mean_p = __fmul_rn(sum[p], 0.0625f);
    const float mean_q = __fmul_rn(sum[q], 0.0625f);
    float total = 0.0f;
    for (int i = 0; i < kPixels; ++i) {
      total = __fmaf_rn(__fadd_rn(colour[p][i], -mean_p), __fadd_rn(colour[q][i], -mean_q), total);
    }
    covariance[thread] = total;
  }
  __syncthreads();
  if (thread < kPixels) {
    // The main axis: the covariance matrix is applied repeatedly to (1, 1, 1).
    float x = 1.0f;
    float y = 1.0f;
    float z = 1.0f;
#pragma unroll 1
    for (int step = 0; step < kPowerSteps; ++step) {
      const float nx =
          __fmaf_rn(covariance[0], x, __fmaf_rn(covariance[1], y, __fmul_rn(covariance[2], z)));
      const float ny =
          __fmaf_rn(covariance[1], x, __fmaf_rn(covariance[3], y, __fmul_rn(covariance[4], z)));
      const float nz =
          __fmaf_rn(covariance[2], x, __fmaf_rn(covariance[4], y, __fmul_rn(covariance[5], z)));
      const float largest = fmaxf(fmaxf(fabsf(nx), fabsf(ny)), fabsf(nz));
      const float scale = largest > 0.0f ? __fdiv_rn(1.0f, largest) : 0.0f;
      x = __fmul_rn(nx, scale);
      y = __fmul_rn(ny, scale);
      z = __fmul_rn(nz, scale);
    }
    position[thread] =
        __fmaf_rn(colour[0][thread], x, __fmaf_rn(colour[1][thread], y, __fmul_rn(colour[2][thread], z)));
  }
  __syncthreads();
  if (thread < kPixels) {
    int before = 0;
    const float here = position[thread];
    for (int i = 0; i < kPixels; ++i) before += position[i] < here || (position[i] == here && i < thread);
    place[thread] = before;
#pragma unroll
    for (int c = 0; c < 3; ++c) sorted[c][before] = colour[c][thread];
  }
  __syncthreads();

  Fit best = {0, 0, 3.402823466e38f};
  unsigned chosen = 0;
#pragma unroll 1
  for (int i = thread; i < cut_count; i += kThreads) {
    const unsigned cut = cuts[i];
    const Fit tried = fit(cut, sorted[0], sorted[1], sorted[2], sum[0], sum[1], sum[2]);
    if (tried.error < best.error) {
      best = tried;
      chosen = cut;
    }
  }
  error[thread] = best.error;
  best_cut[thread] = chosen;
  best_colours[thread] = best.start | best.end << 16;
  __syncthreads();
  // Finds the smallest error. Of two equal errors, the lower half's error stays.
#pragma unroll 1
  for (int distance = kThreads / 2; distance > 0; distance /= 2) {
    if (thread < distance && error[thread + distance] < error[thread]) {
      error[thread] = error[thread + distance];
      best_cut[thread] = best_cut[thread + distance];
      best_colours[thread] = best_colours[thread + distance];
    }
    __syncthreads();
  }
  if (thread == 0) {
    const unsigned cut = best_cut[0];
    const unsigned start = best_colours[0] & 0xffffu;
    const unsigned end = best_colours[0] >> 16;
    // Index 0 is the first colour, 1 the second, 2 and 3 the mixtures. The larger colour number must come first. Equal
    // colours select another mode of the format, in which only index 0 is the colour itself.
    unsigned indices = 0;
    for (int i = 0; i < kPixels; ++i) {
      const unsigned cluster = (cut >> (2 * place[i])) & 3u;
      const unsigned index = cluster == 0 ? 0u : cluster == 3 ? 1u : cluster + 1;
      indices |= (start < end ? index ^ 1u : index) << (2 * i);
    }
    if (start == end) indices = 0;
    compressed[blockIdx.x * kSquares + square] =
        make_uint2(start < end ? end | start << 16 : start | end << 16, indices);
  }
}

extern "C" __global__ void dxtc_compress(const unsigned* image, const unsigned* cuts, uint2* compressed,
                                         int cut_count) {
  compress<1>(image, cuts, compressed, cut_count);
}

extern "C" __global__ void dxtc_compress_four(const unsigned* image, const unsigned* cuts, uint2* compressed,
                                              int cut_count) {
  compress<4>(image, cuts, compressed, cut_count);
}
