// Speckle reducing anisotropic diffusion (Yu and Acton, IEEE Trans. Image Processing 11(11), 2002): smooths the even
// parts of an image and keeps its edges. Source of the algorithm: Rodinia's SRAD, version 1, in six kernels. Images are
// stored column by column. The neighbours of a cell are in rows north[row] and south[row], and in columns west[column]
// and east[column].

constexpr int kThreads = 256;

__device__ __forceinline__ int cell_of_thread() { return blockIdx.x * kThreads + threadIdx.x; }

extern "C" __global__ void extract(float* image, int cells) {
  const int i = cell_of_thread();
  if (i < cells) image[i] = expf(image[i] / 255.0f);
}

extern "C" __global__ void prepare(const float* image, float* sums, float* squares, int cells) {
  const int i = cell_of_thread();
  if (i >= cells) return;
  const float value = image[i];
  sums[i] = value;
  squares[i] = value * value;
}

// Replaces the first of 256 numbers by their sum. The `count` numbers are `stride` elements apart.
extern "C" __global__ void reduce(float* sums, float* squares, int count, int stride) {
  __shared__ float sum[kThreads];
  __shared__ float square[kThreads];
  const int t = threadIdx.x;
  const int i = cell_of_thread();
  const bool inside = i < count;
  sum[t] = inside ? sums[i * stride] : 0.0f;
  square[t] = inside ? squares[i * stride] : 0.0f;
  for (int distance = 1; distance < kThreads; distance *= 2) {
    __syncthreads();
    if (t % (2 * distance) == 0) {
      sum[t] += sum[t + distance];
      square[t] += square[t + distance];
    }
  }
  if (t == 0) {
    sums[i * stride] = sum[0];
    squares[i * stride] = square[0];
  }
}

// Differences to the four neighbours, and the coefficient of diffusion of each cell: 1 where the cell varies as much as
// the image (`spread`, the square of the coefficient of variation), less at edges.
extern "C" __global__ void srad1(const float* image, const int* north, const int* south, const int* west, const int* east,
                                 float* to_north, float* to_south, float* to_west, float* to_east, float* coefficient,
                                 int rows, int cells, float spread) {
  const int i = cell_of_thread();
  if (i >= cells) return;
  const int row = i % rows;
  const int column = i / rows;
  const float here = image[i];
  const float n = image[north[row] + rows * column] - here;
  const float s = image[south[row] + rows * column] - here;
  const float w = image[row + rows * west[column]] - here;
  const float e = image[row + rows * east[column]] - here;
  const float gradient = (n * n + s * s + w * w + e * e) / (here * here);
  const float laplacian = (n + s + w + e) / here;
  const float above = 0.5f * gradient - (1.0f / 16.0f) * laplacian * laplacian;
  const float below = 1.0f + 0.25f * laplacian;
  const float variation = above / (below * below);
  const float c = 1.0f / (1.0f + (variation - spread) / (spread * (1.0f + spread)));
  to_north[i] = n;
  to_south[i] = s;
  to_west[i] = w;
  to_east[i] = e;
  coefficient[i] = fminf(fmaxf(c, 0.0f), 1.0f);
}

extern "C" __global__ void srad2(float* image, const int* south, const int* east, const float* to_north,
                                 const float* to_south, const float* to_west, const float* to_east,
                                 const float* coefficient, int rows, int cells, float rate) {
  const int i = cell_of_thread();
  if (i >= cells) return;
  const int row = i % rows;
  const int column = i / rows;
  const float here = coefficient[i];
  const float in_south = coefficient[south[row] + rows * column];
  const float in_east = coefficient[row + rows * east[column]];
  const float divergence = here * to_north[i] + in_south * to_south[i] + here * to_west[i] + in_east * to_east[i];
  image[i] += 0.25f * rate * divergence;
}

extern "C" __global__ void compress(float* image, int cells) {
  const int i = cell_of_thread();
  if (i < cells) image[i] = logf(image[i]) * 255.0f;
}
