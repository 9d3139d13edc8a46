// Tracks points on the walls of a heart through an ultrasound video, one block per point. A point moves to the piece of
// the frame that is most like the point's template, by normalised cross-correlation. Source of the algorithm: Rodinia's
// heartwall. Every rounding is fixed, so that a CPU can repeat it.

constexpr int kTemplate = 51;                        // pixels per side
constexpr int kWindow = 81;                          // pixels per side of the search window
constexpr int kPlaces = kWindow - kTemplate + 1;     // places of the template in the window, along an axis
constexpr int kTemplatePixels = kTemplate * kTemplate;
constexpr int kSums = kWindow + 1;                   // sums of pixels above and to the left, along an axis

struct Best {
  float value;
  int place;
};

__device__ __forceinline__ Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
}

// The best of the values of all threads, kThreads. Only thread 0 gets the result.
template <int kThreads>
__device__ __forceinline__ Best best_of_block(Best mine, Best* shared) {
  const int thread = threadIdx.x;
  if (thread >= kThreads / 2) shared[thread - kThreads / 2] = mine;
  __syncthreads();
  if (thread < kThreads / 2) mine = better(mine, shared[thread]);
  __syncthreads();
  for (int half = kThreads / 4; half > 0; half /= 2) {
    if (thread >= half && thread < 2 * half) shared[thread] = mine;
    __syncthreads();
    if (thread < half) mine = better(mine, shared[thread + half]);
    __syncthreads();
  }
  return mine;
}

// The sum of the values of all threads, kThreads. All threads get the result.
template <int kThreads>
__device__ __forceinline__ float sum_of_block(float mine, float* shared) {
  const int thread = threadIdx.x;
  if (thread >= kThreads / 2) shared[thread - kThreads / 2] = mine;
  __syncthreads();
  if (thread < kThreads / 2) mine = __fadd_rn(mine, shared[thread]);
  __syncthreads();
  for (int half = kThreads / 4; half > 0; half /= 2) {
    if (thread >= half && thread < 2 * half) shared[thread] = mine;
    __syncthreads();
    if (thread < half) mine = __fadd_rn(mine, shared[thread + half]);
    __syncthreads();
  }
  if (thread == 0) shared[0] = mine;
  __syncthreads();
  const float sum = shared[0];
  __syncthreads();
  return sum;
}

__device__ __forceinline__ float pixel(const float* frame, int width, int height, int x, int y) {
  return frame[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)];
}

// Processes one frame. In frame 0, each point takes its template. In later frames the point moves, and one tenth of the
// pixels that it finds enters its template. `templates` has one template per point. `windows`, `sums`, `squares` and
// their column sums are scratch space for one frame, one part per point.
template <int kThreads>
__device__ __forceinline__ void track(const float* frame, int width, int height, int number, int* points_x, int* points_y,
                                      float* templates, float* windows, float* column_sums, float* column_squares, float* sums,
                                      float* squares) {
  __shared__ Best shared[kThreads / 2];
  const int thread = threadIdx.x;
  const int point = blockIdx.x;
  float* own = templates + point * kTemplatePixels;
  const int x = points_x[point];
  const int y = points_y[point];
  if (number == 0) {
    for (int i = thread; i < kTemplatePixels; i += kThreads)
      own[i] = pixel(frame, width, height, x - kTemplate / 2 + i % kTemplate, y - kTemplate / 2 + i / kTemplate);
    return;
  }

  float* window = windows + point * kWindow * kWindow;
  float* column_sum = column_sums + point * kSums * kSums;
  float* column_square = column_squares + point * kSums * kSums;
  float* sum = sums + point * kSums * kSums;
  float* square = squares + point * kSums * kSums;
  for (int i = thread; i < kWindow * kWindow; i += kThreads)
    window[i] = pixel(frame, width, height, x - kWindow / 2 + i % kWindow, y - kWindow / 2 + i / kWindow);
  __syncthreads();
  // Sums of all pixels above and to the left: first down the columns, then along the rows.
  if (thread <= kWindow) {
    float total = 0.0f;
    float total_square = 0.0f;
    column_sum[thread] = column_square[thread] = 0.0f;
    for (int row = 0; row < kWindow; ++row) {
      const float value = thread == 0 ? 0.0f : window[row * kWindow + thread - 1];
      total = __fadd_rn(total, value);
      total_square = __fmaf_rn(value, value, total_square);
      column_sum[(row + 1) * kSums + thread] = total;
      column_square[(row + 1) * kSums + thread] = total_square;
    }
  }
  __syncthreads();
  if (thread <= kWindow) {
    float total = 0.0f;
    float total_square = 0.0f;
    for (int column = 0; column < kSums; ++column) {
      total = __fadd_rn(total, column_sum[thread * kSums + column]);
      total_square = __fadd_rn(total_square, column_square[thread * kSums + column]);
      sum[thread * kSums + column] = total;
      square[thread * kSums + column] = total_square;
    }
  }
  float mine = 0.0f;
  float mine_square = 0.0f;
  for (int i = thread; i < kTemplatePixels; i += kThreads) {
    mine = __fadd_rn(mine, own[i]);
    mine_square = __fmaf_rn(own[i], own[i], mine_square);
  }
  const float template_sum = sum_of_block<kThreads>(mine, &shared[0].value);
  const float template_square = sum_of_block<kThreads>(mine_square, &shared[0].value);
  constexpr float kInverse = 1.0f / kTemplatePixels;
  const float mean = __fmul_rn(template_sum, kInverse);
  const float template_variance = __fmaf_rn(-mean, template_sum, template_square);

  Best best = {-1e30f, kPlaces * kPlaces};
  for (int place = thread; place < kPlaces * kPlaces; place += kThreads) {
    const int left = place % kPlaces;
    const int top = place / kPlaces;
    float cross = 0.0f;
    for (int row = 0; row < kTemplate; ++row) {
      const float* line = window + (top + row) * kWindow + left;
#pragma unroll 3
      for (int column = 0; column < kTemplate; ++column) cross = __fmaf_rn(line[column], own[row * kTemplate + column], cross);
    }
    const auto within = [&](const float* of) {
      const float* above = of + top * kSums + left;
      const float* below = above + kTemplate * kSums;
      return __fsub_rn(__fsub_rn(below[kTemplate], below[0]), __fsub_rn(above[kTemplate], above[0]));
    };
    const float window_sum = within(sum);
    const float window_variance = __fmaf_rn(__fmul_rn(-kInverse, window_sum), window_sum, within(square));
    const float together = __fmaf_rn(-mean, window_sum, cross);
    const float scale = __fmul_rn(template_variance, window_variance);
    // Places near the previous place get a higher weight.
    const int far = abs(left - kPlaces / 2) + abs(top - kPlaces / 2);
    const float weight = __fmaf_rn(-1.0f / 256, static_cast<float>(far), 1.0f);
    const float value = scale > 0.0f ? __fmul_rn(__fdiv_rn(together, __fsqrt_rn(scale)), weight) : 0.0f;
    best = better(best, {value, place});
  }
  best = best_of_block<kThreads>(best, shared);
  if (thread == 0) {
    points_x[point] = x + best.place % kPlaces - kPlaces / 2;
    points_y[point] = y + best.place / kPlaces - kPlaces / 2;
  }
  __syncthreads();
  const int left = points_x[point] - x + kPlaces / 2;
  const int top = points_y[point] - y + kPlaces / 2;
  for (int i = thread; i < kTemplatePixels; i += kThreads)
    own[i] = __fmaf_rn(0.9f, own[i], __fmul_rn(0.1f, window[(top + i / kTemplate) * kWindow + left + i % kTemplate]));
}

extern "C" __global__ void track_points(const float* frame, int width, int height, int number, int* points_x, int* points_y,
                                        float* templates, float* windows, float* column_sums, float* column_squares, float* sums,
                                        float* squares) {
  track<512>(frame, width, height, number, points_x, points_y, templates, windows, column_sums, column_squares, sums, squares);
}

extern "C" __global__ void track_points_by_256(const float* frame, int width, int height, int number, int* points_x, int* points_y,
                                               float* templates, float* windows, float* column_sums, float* column_squares, float* sums,
                                               float* squares) {
  track<256>(frame, width, height, number, points_x, points_y, templates, windows, column_sums, column_squares, sums, squares);
}
