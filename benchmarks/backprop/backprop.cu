// backprop: one training step of a fully connected layer with 16 hidden units.
// Source of the algorithm: Rodinia's Back Propagation (Che et al., IISWC 2009).
// Weights are (inputs + 1) rows of (hidden + 1) columns. Row 0 is the bias, column 0 is unused. Block y, with
// 16x16 threads, processes the inputs 16 y + 1 to 16 y + 16; thread (x, y) processes hidden unit x + 1.

#define UNITS 16

template <bool kOverWeights, typename Weights>
__device__ __forceinline__ void forward(const float* input, Weights* weights, float* partial, int hidden) {
  __shared__ float node[UNITS];
  __shared__ float product[UNITS][UNITS];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int block = blockIdx.y;
  // Rodinia's kernel also computes the block's part of the index as a separate product.
  const int at = (hidden + 1) * (ty + 1) + tx + 1 + block * (UNITS * hidden + UNITS);
  if (tx == 0) node[ty] = input[UNITS * block + ty + 1];
  __syncthreads();
  product[ty][tx] = weights[at];
  __syncthreads();
  product[ty][tx] *= node[ty];
  __syncthreads();
  // A tree over the inputs: pass k adds to every 2^k-th row the row 2^(k-1) below it. In each pass Rodinia's
  // kernel computes the power in floating point and divides by it, which is a large part of its instructions. The
  // approximate functions are exact for these integers. The loop stays rolled, as the papers' compilers left it.
#pragma unroll 1
  for (int pass = 1; static_cast<float>(pass) <= __log2f(UNITS); ++pass) {
    const int group = static_cast<int>(__powf(2.0f, static_cast<float>(pass)));
    if (ty % group == 0) product[ty][tx] += product[ty + group / 2][tx];
    __syncthreads();
  }
  if constexpr (kOverWeights) {
    weights[at] = product[ty][tx];
    __syncthreads();  // not needed, but Rodinia's kernel has this barrier
  }
  if (tx == 0) partial[block * hidden + ty] = product[tx][ty];
}

// partial[block][h] = the sum over the block's inputs of input * weight to hidden unit h + 1.
extern "C" __global__ void layerforward(const float* input, const float* weights, float* partial, int hidden) {
  forward<false>(input, weights, partial, hidden);
}

// layerforward, which also stores the products and sums of the tree over the weights, as Rodinia's kernel does.
extern "C" __global__ void layerforward_over(const float* input, float* weights, float* partial, int hidden) {
  forward<true>(input, weights, partial, hidden);
}

// weights += rate * delta * input + momentum * (previous change), in double precision between loads and stores.
extern "C" __global__ void adjust_weights(const float* delta, const float* input, float* weights,
                                          float* changes, int hidden) {
  const double rate = 0.3;
  const double momentum = 0.3;
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = UNITS * blockIdx.y + ty + 1;
  const int unit = tx + 1;
  const int at = row * (hidden + 1) + unit;
  weights[at] += rate * delta[unit] * input[row] + momentum * changes[at];
  changes[at] = rate * delta[unit] * input[row] + momentum * changes[at];
  __syncthreads();
  if (ty == 0 && blockIdx.y == 0) {
    weights[unit] += rate * delta[unit] + momentum * changes[unit];
    changes[unit] = rate * delta[unit] + momentum * changes[unit];
  }
}
