// Library functions, conversions and rounding modes: their PTX inlines long code.
__global__ void single_math(float* x, int n) {
  const int i = threadIdx.x;
  const float a = x[i], b = x[i + 1], c = x[i + 2];
  x[i] = sinf(a) + cosf(b) + tanf(c) + expf(a) + logf(b) + powf(a, b) + sqrtf(c) + rsqrtf(a) + cbrtf(b) + atan2f(a, b) + tanhf(a) +
         asinf(a) + erff(b) + tgammaf(c) + lgammaf(a) + fmodf(a, b) + floorf(a) + ceilf(b) + truncf(c) + roundf(a) + rintf(b) + hypotf(a, b) +
         exp2f(a) + log2f(b) + log10f(c) + fminf(a, b) + fmaxf(b, c) + fabsf(a) + copysignf(a, b) + ldexpf(a, n) + a / b + 1.0f / c +
         __fdividef(a, b) + __expf(a) + __sinf(b) + __cosf(c) + __logf(a) + __powf(a, b) + __saturatef(c) + j0f(a) + normcdff(b) + remainderf(a, b) + fdimf(a, b) + nextafterf(a, b);
}
__global__ void double_math(double* x, int n) {
  const int i = threadIdx.x;
  const double a = x[i], b = x[i + 1], c = x[i + 2];
  x[i] = sin(a) + cos(b) + tan(c) + exp(a) + log(b) + pow(a, b) + sqrt(c) + rsqrt(a) + cbrt(b) + atan2(a, b) + tanh(a) + asin(a) + erf(b) +
         tgamma(c) + lgamma(a) + fmod(a, b) + floor(a) + ceil(b) + trunc(c) + round(a) + rint(b) + hypot(a, b) + exp2(a) + log2(b) + log10(c) +
         fmin(a, b) + fmax(b, c) + fabs(a) + copysign(a, b) + ldexp(a, n) + a / b + 1.0 / c + expm1(a) + log1p(b) + sinh(a) + acosh(b) + fma(a, b, c);
}
__global__ void conversions(float* f, double* d, int* i, unsigned* u, long long* l, unsigned long long* ul, short* s, unsigned char* c, signed char* sc) {
  const int t = threadIdx.x;
  const float x = f[t];
  const double y = d[t];
  i[t] = __float2int_rn(x) + __float2int_rz(x) + __float2int_ru(x) + __float2int_rd(x) + __double2int_rn(y) + __double2int_rz(y) + __double2loint(y) + __double2hiint(y) + __float_as_int(x);
  u[t] = __float2uint_rn(x) + __float2uint_ru(x) + __double2uint_rz(y) + static_cast<unsigned>(x) + static_cast<unsigned>(y);
  l[t] = __float2ll_rn(x) + __double2ll_rd(y) + static_cast<long long>(x) + __double_as_longlong(y);
  ul[t] = __float2ull_ru(x) + __double2ull_rz(y) + static_cast<unsigned long long>(x);
  f[t] = __int2float_rn(i[t]) + __int2float_rz(i[t]) + __uint2float_ru(u[t]) + __ll2float_rd(l[t]) + __ull2float_rn(ul[t]) + __double2float_rn(y) + __double2float_rz(y) + s[t] + c[t] + sc[t] +
         __fadd_rz(x, 1) + __fmul_ru(x, 2) + __fmaf_rd(x, x, x) + __fdiv_rn(x, 3) + __fsqrt_rz(x) + __frcp_ru(x) + __fsub_rd(x, 1);
  d[t] = __int2double_rn(i[t]) + __ll2double_rz(l[t]) + __ull2double_ru(ul[t]) + x + __hiloint2double(i[t], i[t + 1]) + __dadd_rd(y, 1) + __dmul_rz(y, y) + __fma_ru(y, y, y) + __ddiv_rd(y, 3) + __dsqrt_ru(y) + __drcp_rn(y) + s[t];
  s[t] = static_cast<short>(x) + static_cast<short>(i[t]) * s[t + 1] - static_cast<short>(c[t]);
  c[t] = static_cast<unsigned char>(x) + c[t + 1] / 3;
  sc[t] = static_cast<signed char>(y) + (sc[t + 1] >> 2);
  l[t] = l[t] * l[t + 1] + l[t] / 13 + l[t] % 17 + min(l[t], l[t + 2]) + abs(l[t]) + (l[t] << (t & 7)) + (l[t] >> 3);
  i[t] = i[t] / i[t + 1] + i[t] % i[t + 2] + abs(i[t]) + max(i[t], 3) + __mulhi(i[t], i[t + 1]) + (isnan(x) ? 1 : 0) + (isinf(y) ? 2 : 0) + signbit(x) + __rhadd(i[t], 3) + __hadd(i[t], 5);
}
