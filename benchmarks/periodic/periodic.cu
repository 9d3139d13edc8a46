// A task of known length. Each thread computes a quadratic sequence; each step is an integer multiply-add that
// waits for the step before. A block takes the shared memory of a whole SM, so each block has an SM alone.
#include <cstdint>

extern "C" __global__ void walk_sequence(std::uint32_t* values, std::uint32_t steps) {
  __shared__ std::uint32_t whole[12288];
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t value = values[at];
#pragma unroll 16
  for (std::uint32_t step = 0; step < steps; ++step) value = value * value + 1013904223u;
  whole[threadIdx.x] = value;
  values[at] = whole[threadIdx.x];
}
