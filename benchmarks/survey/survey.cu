// Survey propagation on a random 3-SAT formula, as in LonestarGPU (Burtscher, Nasre and Pingali, IISWC 2012). Source of
// the equations: Braunstein, Mezard and Zecchina, Random Structures and Algorithms 27(2), 2005, section 4. Each
// operation is rounded separately, so that the result is known bit by bit.
//
// Place 3 c + p is literal p of clause c. literals[] has twice the number of its variable, plus 1 if it is negated.
// eta[] has the survey that the clause sends to that variable. places[first[v]] to places[first[v + 1] - 1] are the
// places of variable v. assigned[v] is 0 while v is free, otherwise 1 or -1.

// The chances that no clause forces a variable to be true (x), and that no clause forces it to be false (y). Place
// `except` is not counted.
__device__ float2 quiet(const unsigned* __restrict__ literals, const unsigned* __restrict__ first,
                        const unsigned* __restrict__ places, const float* __restrict__ eta, unsigned variable,
                        unsigned except) {
  float2 result = make_float2(1.0F, 1.0F);
  const unsigned end = first[variable + 1];
  for (unsigned i = first[variable]; i < end; ++i) {
    const unsigned place = places[i];
    if (place == except) continue;
    const float factor = __fsub_rn(1.0F, eta[place]);
    if ((literals[place] & 1) == 0) {
      result.x = __fmul_rn(result.x, factor);
    } else {
      result.y = __fmul_rn(result.y, factor);
    }
  }
  return result;
}

// New surveys of each clause. The surveys of a satisfied clause are 0, and so are surveys to an assigned variable.
extern "C" __global__ void sp_survey(const unsigned* __restrict__ literals, const unsigned* __restrict__ first,
                                     const unsigned* __restrict__ places, const int* __restrict__ assigned,
                                     const float* __restrict__ eta, float* next, unsigned* unsettled, float epsilon,
                                     unsigned clauses) {
  const unsigned clause = blockIdx.x * blockDim.x + threadIdx.x;
  if (clause >= clauses) return;
  float unwilling[3];  // chance that a literal cannot satisfy the clause
  bool free[3];
  bool satisfied = false;
#pragma unroll
  for (unsigned p = 0; p < 3; ++p) {
    const unsigned literal = literals[3 * clause + p];
    const int value = assigned[literal / 2];
    free[p] = value == 0;
    unwilling[p] = 1.0F;
    if (!free[p]) {
      satisfied = satisfied || (value > 0) == ((literal & 1) == 0);
      continue;
    }
    const float2 none = quiet(literals, first, places, eta, literal / 2, 3 * clause + p);
    const float same = (literal & 1) == 0 ? none.x : none.y;
    const float opposite = (literal & 1) == 0 ? none.y : none.x;
    const float forced_against = __fmul_rn(__fsub_rn(1.0F, opposite), same);
    const float forced_for = __fmul_rn(__fsub_rn(1.0F, same), opposite);
    const float sum = __fadd_rn(__fadd_rn(forced_against, forced_for), __fmul_rn(same, opposite));
    unwilling[p] = sum > 0.0F ? __fdiv_rn(forced_against, sum) : 0.0F;
  }
#pragma unroll
  for (unsigned p = 0; p < 3; ++p) {
    float survey = __fmul_rn(unwilling[(p + 1) % 3], unwilling[(p + 2) % 3]);
    if (satisfied || !free[p]) survey = 0.0F;
    if (fabsf(__fsub_rn(survey, eta[3 * clause + p])) > epsilon) *unsettled = 1;
    next[3 * clause + p] = survey;
  }
}

// bias[v]: the chance that free variable v is forced to be true, minus the chance that it is forced to be false.
// *largest: the bits of the largest magnitude.
extern "C" __global__ void sp_bias(const unsigned* __restrict__ literals, const unsigned* __restrict__ first,
                                   const unsigned* __restrict__ places, const int* __restrict__ assigned,
                                   const float* __restrict__ eta, float* bias, unsigned* largest, unsigned variables) {
  const unsigned variable = blockIdx.x * blockDim.x + threadIdx.x;
  if (variable >= variables) return;
  float result = 0.0F;
  if (assigned[variable] == 0) {
    const float2 none = quiet(literals, first, places, eta, variable, 0xffffffffU);
    const float to_true = __fmul_rn(__fsub_rn(1.0F, none.x), none.y);
    const float to_false = __fmul_rn(__fsub_rn(1.0F, none.y), none.x);
    const float sum = __fadd_rn(__fadd_rn(to_true, to_false), __fmul_rn(none.x, none.y));
    if (sum > 0.0F) result = __fdiv_rn(__fsub_rn(to_true, to_false), sum);
  }
  bias[variable] = result;
  const unsigned bits = __float_as_uint(fabsf(result));
  if (bits > *largest) atomicMax(largest, bits);
}

// Decimation: the most biased variables are assigned the value that they are forced to.
extern "C" __global__ void sp_decimate(const float* __restrict__ bias, int* assigned, float threshold,
                                       unsigned variables) {
  const unsigned variable = blockIdx.x * blockDim.x + threadIdx.x;
  if (variable >= variables || assigned[variable] != 0) return;
  if (fabsf(bias[variable]) >= threshold) assigned[variable] = bias[variable] > 0.0F ? 1 : -1;
}
