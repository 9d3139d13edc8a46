// stream: each thread loads some words and stores them at another place.
// Source of the workload: awatramani17 section 5.3.2 (the memory benchmark stream_x_words).

// One kernel per number of words, because registers hold the words between loads and stores.
// Word w of all threads is contiguous, so that each access of a warp touches one line.
template <int WORDS>
__device__ __forceinline__ void stream(const float* in, float* out) {
  const int threads = gridDim.x * blockDim.x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float word[WORDS];
#pragma unroll
  for (int w = 0; w < WORDS; ++w) word[w] = in[i + w * threads];
#pragma unroll
  for (int w = 0; w < WORDS; ++w) out[i + w * threads] = word[w];
}

#define STREAM_KERNEL(WORDS)                                                                 \
  extern "C" __global__ void stream_##WORDS##_words(const float* in, float* out) { \
    stream<WORDS>(in, out);                                                                  \
  }

STREAM_KERNEL(1)
STREAM_KERNEL(2)
STREAM_KERNEL(3)
STREAM_KERNEL(4)
STREAM_KERNEL(5)
STREAM_KERNEL(6)
STREAM_KERNEL(7)
STREAM_KERNEL(8)
