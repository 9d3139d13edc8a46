// Small functions on f32 and f64 values for the handlers: flushing, clamping, rules for NaN.
#pragma once

#include <bit>
#include <cmath>

#include "emulator/lanes.hpp"
#include "emulator/rounding.hpp"

namespace gpumux::emulator {

/// The NaN result of every f32 operation.
inline constexpr u32 kNan32 = 0x7fffffffU;
/// The NaN result of f64 operations without a NaN among their inputs.
inline constexpr u64 kNan64 = 0xfff8000000000000ULL;

inline bool is_nan(float x) { return x != x; }
inline bool is_nan(double x) { return x != x; }

/// Flushes subnormals to zeros with the same sign.
inline float flush(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return std::bit_cast<float>((bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits);
}
inline double flush(double x) { return x; }  // f64 has no .ftz

/// .sat: clamps to [0, 1], NaN becomes +0.
template <class T>
inline T clamp01(T x) {
  const T low = x > T{0} ? x : T{0};
  return low < T{1} ? low : T{1};
}

inline float quiet(float) { return std::bit_cast<float>(kNan32); }
inline double quiet(double x) { return std::bit_cast<double>(std::bit_cast<u64>(x) | 0x0008000000000000ULL); }
inline float default_nan(float) { return std::bit_cast<float>(kNan32); }
inline double default_nan(double) { return std::bit_cast<double>(kNan64); }

/// Replaces a NaN result by the device's NaN: for f32 always the same pattern, for f64 the first NaN input.
template <class T>
inline T with_nan(T result, T a) {
  return is_nan(result) ? (is_nan(a) ? quiet(a) : default_nan(a)) : result;
}
template <class T>
inline T with_nan(T result, T a, T b) {
  return is_nan(result) ? (is_nan(a) ? quiet(a) : (is_nan(b) ? quiet(b) : default_nan(a))) : result;
}
template <class T>
inline T with_nan(T result, T a, T b, T c) {
  return is_nan(result)
             ? (is_nan(a) ? quiet(a) : (is_nan(b) ? quiet(b) : (is_nan(c) ? quiet(c) : default_nan(a))))
             : result;
}
inline float with_nan(float result, float) { return is_nan(result) ? std::bit_cast<float>(kNan32) : result; }
inline float with_nan(float result, float, float) {
  return is_nan(result) ? std::bit_cast<float>(kNan32) : result;
}
inline float with_nan(float result, float, float, float) {
  return is_nan(result) ? std::bit_cast<float>(kNan32) : result;
}

/// PTX min and max: -0 is less than +0. If one operand is NaN, the result is the other operand, or NaN with
/// `Nan`.
template <class T, bool Max, bool Nan>
inline T min_max(T a, T b) {
  const bool a_first = Max ? (a > b || (a == b && !std::signbit(a))) : (a < b || (a == b && std::signbit(a)));
  T result = a_first ? a : b;
  if constexpr (Nan) {
    if (is_nan(a) || is_nan(b)) result = with_nan(a + b, a, b);
  } else {
    if (is_nan(a))
      result = is_nan(b) ? with_nan(b, a, b) : b;
    else if (is_nan(b))
      result = a;
  }
  return result;
}

}  // namespace gpumux::emulator
