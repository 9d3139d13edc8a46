// Prices of European call options by Monte Carlo, one block per option: sums of payoffs, and of their squares,
// over samples of a normal distribution in global memory. Source of the algorithm: MonteCarlo of the CUDA SDK.

constexpr int kThreads = 256;
constexpr int kMostOptions = 2048;

struct Option {
  float price, strike;
  float drift, spread;  // of the logarithm of the price over the option's life
};
__constant__ Option options[kMostOptions];

extern "C" __global__ void price_options(float2* sums, const float* samples, int paths) {
  __shared__ float value[kThreads], square[kThreads];
  const Option option = options[blockIdx.x];
  float sum = 0.0f, squares = 0.0f;
  for (int i = threadIdx.x; i < paths; i += kThreads) {
    const float end = option.price * __expf(option.drift + option.spread * samples[i]);
    const float payoff = fmaxf(end - option.strike, 0.0f);
    sum += payoff;
    squares += payoff * payoff;
  }
  value[threadIdx.x] = sum;
  square[threadIdx.x] = squares;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      value[threadIdx.x] += value[threadIdx.x + half];
      square[threadIdx.x] += square[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = make_float2(value[0], square[0]);
}
