// Leukocytes in a video: where they are in its first frame, and the flow that leads a contour to each of them in the
// frames that follow. Source of the algorithm: Rodinia's leukocyte (GICOV, dilation, MGVF). Images are stored column by
// column. Every rounding is fixed, so that a CPU can repeat them.

constexpr int kCircles = 7;
constexpr int kPoints = 150;   // of a circle
constexpr int kMargin = 22;    // of the image, in which no centre is looked for
constexpr int kElement = 25;   // columns and rows of the structuring element at most

__constant__ int offset_x[kCircles * kPoints];
__constant__ int offset_y[kCircles * kPoints];
__constant__ float cosine[kPoints];
__constant__ float sine[kPoints];
__constant__ unsigned char element[kElement * kElement];

// For each pixel the gradient inverse coefficient of variation: of the circles around it, the greatest square of the
// mean over the variance of the gradient along their radii. A block has a column.
extern "C" __global__ void gicov(const float* gradient_x, const float* gradient_y, int height, float* score) {
  const int x = blockIdx.x + kMargin;
  const int y = threadIdx.x + kMargin;
  float greatest = 0.0f;
  for (int circle = 0; circle < kCircles; ++circle) {
    float sum = 0.0f;
    float squares = 0.0f;
#pragma unroll 2
    for (int p = 0; p < kPoints; ++p) {
      const int at = (x + offset_x[circle * kPoints + p]) * height + y + offset_y[circle * kPoints + p];
      const float along = __fmaf_rn(gradient_x[at], cosine[p], __fmul_rn(gradient_y[at], sine[p]));
      sum = __fadd_rn(sum, along);
      squares = __fmaf_rn(along, along, squares);
    }
    const float mean = __fdiv_rn(sum, static_cast<float>(kPoints));
    const float variance = __fdiv_rn(__fmaf_rn(-mean, sum, squares), static_cast<float>(kPoints - 1));
    if (variance > 0.0f) greatest = fmaxf(greatest, __fdiv_rn(__fmul_rn(mean, mean), variance));
  }
  score[x * height + y] = greatest;
}

// The greatest score in the structuring element around each pixel, a thread a pixel.
extern "C" __global__ void dilate(const float* score, int width, int height, int size, float* dilated) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= width * height) return;
  const int x = at / height;
  const int y = at % height;
  const int half = size / 2;
  float greatest = 0.0f;
  for (int column = 0; column < size; ++column) {
    const int from_x = x - half + column;
    if (from_x < 0 || from_x >= width) continue;
    for (int row = 0; row < size; ++row) {
      const int from_y = y - half + row;
      if (from_y < 0 || from_y >= height || element[column * size + row] == 0) continue;
      greatest = fmaxf(greatest, score[from_x * height + from_y]);
    }
  }
  dilated[at] = greatest;
}

__device__ __forceinline__ float step(float x) { return x > 1e-4f ? 1.0f : x < -1e-4f ? 0.0f : 0.5f; }

constexpr int kFlowWidth = 81;
constexpr int kFlowHeight = 41;
constexpr int kFlowPixels = kFlowWidth * kFlowHeight;
constexpr int kThreads = 320;

// Motion gradient vector flow of one cell, a block each, over its input: each pixel takes in what its neighbours in the
// direction of the cell's motion differ by, and is drawn back to the edge map, until it changes by less than `cutoff` on
// average. The whole neighbourhood of the cell is in shared memory.
extern "C" __global__ void gradient_flow(float* flows, const float* edges, const float* motion_x, const float* motion_y,
                                         int most_iterations, float cutoff, int* iterations) {
  __shared__ float flow[kFlowPixels];
  __shared__ float change[kThreads];
  const int thread = threadIdx.x;
  float* mine = flows + blockIdx.x * kFlowPixels;
  const float* edge = edges + blockIdx.x * kFlowPixels;
  const float vx = motion_x[blockIdx.x];
  const float vy = motion_y[blockIdx.x];
  for (int i = thread; i < kFlowPixels; i += kThreads) flow[i] = mine[i];
  __syncthreads();
  int done = 0;
  while (done < most_iterations) {
    float next[(kFlowPixels + kThreads - 1) / kThreads];
    float changed = 0.0f;
#pragma unroll
    for (int k = 0; k < (kFlowPixels + kThreads - 1) / kThreads; ++k) {
      const int i = thread + k * kThreads;
      if (i >= kFlowPixels) continue;
      const int x = i / kFlowHeight;
      const int y = i % kFlowHeight;
      const int west = x > 0 ? -kFlowHeight : 0;
      const int east = x < kFlowWidth - 1 ? kFlowHeight : 0;
      const int north = y > 0 ? -1 : 0;
      const int south = y < kFlowHeight - 1 ? 1 : 0;
      const float here = flow[i];
      float total = 0.0f;
      const auto take = [&](int to, float direction) {
        const float difference = __fsub_rn(flow[i + to], here);
        total = __fmaf_rn(step(__fmul_rn(difference, direction)), difference, total);
      };
      take(west + north, __fsub_rn(-vx, vy));
      take(north, -vy);
      take(east + north, __fsub_rn(vx, vy));
      take(west, -vx);
      take(east, vx);
      take(west + south, __fsub_rn(vy, vx));
      take(south, vy);
      take(east + south, __fadd_rn(vx, vy));
      const float pulled = edge[i];
      float value = __fmaf_rn(0.0625f, total, here);
      value = __fmaf_rn(-0.125f, __fmul_rn(pulled, __fsub_rn(value, pulled)), value);
      next[k] = value;
      changed = __fadd_rn(changed, fabsf(__fsub_rn(value, here)));
    }
    change[thread] = changed;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < (kFlowPixels + kThreads - 1) / kThreads; ++k)
      if (thread + k * kThreads < kFlowPixels) flow[thread + k * kThreads] = next[k];
    if (thread < kThreads - 256) change[thread] = __fadd_rn(change[thread], change[thread + 256]);
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (thread < half) change[thread] = __fadd_rn(change[thread], change[thread + half]);
      __syncthreads();
    }
    ++done;
    const bool converged = change[0] < __fmul_rn(cutoff, static_cast<float>(kFlowPixels));
    __syncthreads();
    if (converged) break;
  }
  for (int i = thread; i < kFlowPixels; i += kThreads) mine[i] = flow[i];
  if (thread == 0) iterations[blockIdx.x] = done;
}
