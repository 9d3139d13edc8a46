// Prices of European options by the closed form of Black and Scholes. A grid of fixed size walks through all options,
// one option per thread at a time. Source of the algorithm: BlackScholes of the CUDA SDK, with its approximate
// functions.

// Cumulative normal distribution, by the polynomial of Abramowitz and Stegun (26.2.17).
__device__ __forceinline__ float normal(float x) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
  const float tail = 0.39894228040143267794f * __expf(-0.5f * x * x) *
                     (k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return x > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(float* call, float* put, const float* price, const float* strike,
                                         const float* years, float rate, float volatility, int options) {
  const int threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < options; i += threads) {
    const float root = sqrtf(years[i]);
    const float d1 = (__logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
    const float d2 = d1 - volatility * root;
    const float at_d1 = normal(d1);
    const float at_d2 = normal(d2);
    const float discount = __expf(-rate * years[i]);
    call[i] = price[i] * at_d1 - strike[i] * discount * at_d2;
    put[i] = strike[i] * discount * (1.0f - at_d2) - price[i] * (1.0f - at_d1);
  }
}
