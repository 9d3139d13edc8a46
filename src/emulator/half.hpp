// f16 and bf16 values: exact conversion to f32, and conversion from f32 to nearest even.
#pragma once

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/float_math.hpp"
#include "emulator/rounding.hpp"

namespace gpumux::emulator {

/// The NaN result of f16 and bf16 operations.
inline constexpr u32 kNan16 = 0x7fffU;

inline float half_to_float(u32 bits) {
#ifdef __F16C__
  return _cvtsh_ss(static_cast<u16>(bits));
#else
  const Exact value = decompose(bits, kHalf);
  if (value.kind == Exact::Kind::NotANumber) return std::bit_cast<float>(kNan32);
  if (value.kind == Exact::Kind::Infinity) {
    return std::bit_cast<float>(value.negative ? 0xff800000U : 0x7f800000U);
  }
  return std::bit_cast<float>(static_cast<u32>(encode(value, kSingle, isa::Rounding::RN)));
#endif
}

inline float bfloat_to_float(u32 bits) { return std::bit_cast<float>(bits << 16U); }

inline u32 float_to_half(float x) {
  if (is_nan(x)) return kNan16;
#ifdef __F16C__
  return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  const Exact value = decompose(std::bit_cast<u32>(x), kSingle);
  if (value.kind == Exact::Kind::Infinity) return value.negative ? 0xfc00U : 0x7c00U;
  return static_cast<u32>(encode(value, kHalf, isa::Rounding::RN));
#endif
}

inline u32 float_to_bfloat(float x) {
  if (is_nan(x)) return kNan16;
  const u32 bits = std::bit_cast<u32>(x);
  return (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
}

/// A double with the upper 24 bits of `x`, in which the last bit is the OR of all dropped bits. Rounding it
/// to a format of at most 22 bits gives the same result as rounding `x` directly.
inline double odd24(double x) {
  constexpr u64 kCut = (u64{1} << 29U) - 1;
  const u64 bits = std::bit_cast<u64>(x);
  return std::bit_cast<double>((bits & ~kCut) | ((bits & kCut) != 0 ? kCut + 1 : 0));
}

/// x + y rounded to odd: the exact sum, or the adjacent double whose last bit is set.
inline double add_to_odd(double x, double y) {
  const double sum = x + y;
  const double part = sum - x;
  const double error = (x - (sum - part)) + (y - part);
  u64 bits = std::bit_cast<u64>(sum);
  if (error != 0 && !std::isinf(sum) && (bits & 1U) == 0) bits += (error > 0) == (sum > 0) ? 1 : ~u64{0};
  return std::bit_cast<double>(bits);
}

inline u32 double_to_bfloat(double x) {
  if (is_nan(x)) return kNan16;
  const double magnitude = std::fabs(x);
  if (magnitude >= 0x1p-126 || magnitude == 0) {  // a normal float holds the bits that odd24() keeps
    return float_to_bfloat(static_cast<float>(odd24(x)));
  }
  const Exact value = decompose(std::bit_cast<u64>(x), kDouble);
  if (value.kind == Exact::Kind::Infinity) return value.negative ? 0xff80U : 0x7f80U;
  return static_cast<u32>(encode(value, kBfloat, isa::Rounding::RN));
}

}  // namespace gpumux::emulator
