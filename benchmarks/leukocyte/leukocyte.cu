// Leukocytes in a video: detects them in the first frame, and computes for each frame the flow that leads a contour to
// each of them. Source of the algorithm: Rodinia's leukocyte (GICOV, dilation, MGVF), with its order of operations,
// textures and double precision. Images are stored column by column. Every rounding is fixed, so that a CPU can repeat
// it.

constexpr int kCircles = 7;
constexpr int kPoints = 150;   // per circle
constexpr int kMargin = 22;    // edge of the image without centres
constexpr int kElement = 25;   // most columns and rows of the structuring element

__constant__ int offset_x[kCircles * kPoints];
__constant__ int offset_y[kCircles * kPoints];
__constant__ float cosine[kPoints];
__constant__ float sine[kPoints];
__constant__ float element[kElement * kElement];

// For each pixel the gradient inverse coefficient of variation (GICOV): the maximum, over the circles around the pixel,
// of mean^2 / variance of the gradient along the radii (variance by Welford's update). One block per column.
extern "C" __global__ void gicov(cudaTextureObject_t gradient_x, cudaTextureObject_t gradient_y, int height,
                                 float* score) {
  const int x = blockIdx.x + kMargin;
  const int y = threadIdx.x + kMargin;
  float greatest = 0.0f;
#pragma unroll 1
  for (int circle = 0; circle < kCircles; ++circle) {
    float sum = 0.0f;
    float mean = 0.0f;
    float squares = 0.0f;
#pragma unroll 1
    for (int p = 0; p < kPoints; ++p) {
      const int at = (x + offset_x[circle * kPoints + p]) * height + y + offset_y[circle * kPoints + p];
      const float along = __fmaf_rn(tex1Dfetch<float>(gradient_x, at), cosine[p],
                                    __fmul_rn(tex1Dfetch<float>(gradient_y, at), sine[p]));
      sum = __fadd_rn(sum, along);
      const float away = __fsub_rn(along, mean);
      mean = __fadd_rn(mean, __fdiv_rn(away, static_cast<float>(p + 1)));
      squares = __fmaf_rn(away, __fsub_rn(along, mean), squares);
    }
    mean = __fdiv_rn(sum, static_cast<float>(kPoints));
    const float variance = __fdiv_rn(squares, static_cast<float>(kPoints - 1));
    if (variance > 0.0f) greatest = fmaxf(greatest, __fdiv_rn(__fmul_rn(mean, mean), variance));
  }
  score[x * height + y] = greatest;
}

// The greatest score in the structuring element around each pixel, one thread per pixel.
extern "C" __global__ void dilate(cudaTextureObject_t score, int width, int height, int size, float* dilated) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= width * height) return;
  const int x = at / height;
  const int y = at % height;
  const int half = size / 2;
  float greatest = 0.0f;
#pragma unroll 1
  for (int row = 0; row < size; ++row) {
    const int from_y = y - half + row;
    if (from_y < 0 || from_y >= height) continue;
#pragma unroll 1
    for (int column = 0; column < size; ++column) {
      const int from_x = x - half + column;
      if (from_x < 0 || from_x >= width || element[row * size + column] == 0.0f) continue;
      const float there = tex1Dfetch<float>(score, from_x * height + from_y);
      if (there > greatest) greatest = there;
    }
  }
  dilated[at] = greatest;
}

constexpr int kFlowWidth = 81;
constexpr int kFlowHeight = 41;
constexpr int kFlowPixels = kFlowWidth * kFlowHeight;
constexpr int kThreads = 320;
constexpr int kChunks = (kFlowPixels + kThreads - 1) / kThreads;

// Arc tangent, with an error below 2e-7. Up to 1 it is Chebyshev's polynomial of degree 17; above 1, pi/2 minus the arc
// tangent of the inverse.
__device__ __forceinline__ float arc_tangent(float x) {
  const float size = fabsf(x);
  const float z = size > 1.0f ? __fdiv_rn(1.0f, size) : size;
  const float s = __fmul_rn(z, z);
  float p = 0.00276628346f;
  p = __fmaf_rn(p, s, -0.015731249f);
  p = __fmaf_rn(p, s, 0.0421376228f);
  p = __fmaf_rn(p, s, -0.0745685473f);
  p = __fmaf_rn(p, s, 0.106183708f);
  p = __fmaf_rn(p, s, -0.141977981f);
  p = __fmaf_rn(p, s, 0.199918717f);
  p = __fmaf_rn(p, s, -0.333330363f);
  p = __fmaf_rn(p, s, 1.0f);
  p = __fmul_rn(p, z);
  if (size > 1.0f) p = __fsub_rn(1.57079637f, p);
  return x < 0.0f ? -p : p;
}

// The weight of a difference along the motion: the regularised Heaviside function, in double precision.
__device__ __forceinline__ float taken(float difference, float direction, float sharpness) {
  const float x = __fmul_rn(__fmul_rn(difference, direction), sharpness);
  return __double2float_rn(__fma_rn(static_cast<double>(arc_tangent(x)), 0.31830988618379067, 0.5));
}

// Motion gradient vector flow (MGVF) of one cell per block, in place. Each step adds to a pixel its weighted
// differences to its neighbours, and pulls the pixel back to the edge map. The kernel ends when the mean change is
// below `cutoff`. The cell's whole neighbourhood is in shared memory, row by row, and the block processes it in chunks.
// The new values of a chunk wait in `buffer` until the next chunk has been computed, because that chunk needs the old
// values.
extern "C" __global__ void gradient_flow(float* flows, const float* edges, float vx, float vy, float sharpness,
                                         int most_iterations, float cutoff, int* iterations) {
  __shared__ float flow[kFlowPixels];
  __shared__ float buffer[kThreads];
  __shared__ int converged;
  const int thread = threadIdx.x;
  float* mine = flows + blockIdx.x * kFlowPixels;
  const float* edge = edges + blockIdx.x * kFlowPixels;
#pragma unroll 1
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const int i = thread + chunk * kThreads;
    if (i < kFlowPixels) flow[i] = mine[i];
  }
  if (thread == 0) converged = 0;
  __syncthreads();
  const float rows_of = 1.0f / static_cast<float>(kFlowWidth);
  int done = 0;
  while (converged == 0 && done < most_iterations) {
    float changed = 0.0f;
    int x = thread % kFlowWidth - kThreads % kFlowWidth;
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int i = thread + chunk * kThreads;
      const int y = static_cast<int>(__fmul_rn(static_cast<float>(i), rows_of));  // i / kFlowWidth for all these i
      x += kThreads % kFlowWidth;
      if (x >= kFlowWidth) x -= kFlowWidth;
      float old = 0.0f;
      float value = 0.0f;
      if (y < kFlowHeight) {
        const int north = y == 0 ? 0 : y - 1;
        const int south = y == kFlowHeight - 1 ? y : y + 1;
        const int west = x == 0 ? 0 : x - 1;
        const int east = x == kFlowWidth - 1 ? x : x + 1;
        old = flow[y * kFlowWidth + x];
        float total = 0.0f;
        const auto take = [&](int from_x, int from_y, float direction) {
          const float difference = __fsub_rn(flow[from_y * kFlowWidth + from_x], old);
          total = __fmaf_rn(taken(difference, direction, sharpness), difference, total);
        };
        take(x, north, -vy);
        take(x, south, vy);
        take(west, y, -vx);
        take(east, y, vx);
        take(east, north, __fsub_rn(vx, vy));
        take(east, south, __fadd_rn(vx, vy));
        take(west, north, __fsub_rn(-vx, vy));
        take(west, south, __fsub_rn(vy, vx));
        // mu = 0.5, lambda = 8 mu + 1: 0.1 is mu / lambda, 0.2 is 1 / lambda.
        value = __double2float_rn(__fma_rn(static_cast<double>(total), 0.1, static_cast<double>(old)));
        const float pulled = edge[y * kFlowWidth + x];
        const double back =
            __dmul_rn(__dmul_rn(0.2, static_cast<double>(pulled)), static_cast<double>(__fsub_rn(value, pulled)));
        value = __double2float_rn(__dsub_rn(static_cast<double>(value), back));
      }
      __syncthreads();  // all threads have read the old values for this chunk
      if (chunk > 0) flow[i - kThreads] = buffer[thread];
      if (chunk < kChunks - 1)
        buffer[thread] = value;
      else if (y < kFlowHeight)
        flow[i] = value;
      changed = __fadd_rn(changed, fabsf(__fsub_rn(value, old)));
    }
    buffer[thread] = changed;
    __syncthreads();
    if (thread >= 256) buffer[thread - 256] = __fadd_rn(buffer[thread - 256], buffer[thread]);
    __syncthreads();
#pragma unroll 1
    for (int half = 128; half > 0; half /= 2) {
      if (thread < half) buffer[thread] = __fadd_rn(buffer[thread], buffer[thread + half]);
      __syncthreads();
    }
    if (thread == 0 && __fdiv_rn(buffer[0], static_cast<float>(kFlowPixels)) < cutoff) converged = 1;
    __syncthreads();
    ++done;
  }
#pragma unroll 1
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const int i = thread + chunk * kThreads;
    if (i < kFlowPixels) mine[i] = flow[i];
  }
  if (thread == 0) iterations[blockIdx.x] = done;
}
