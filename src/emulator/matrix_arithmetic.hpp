// Arithmetic of matrix products, element by element.
//
// Integers and bits are exact. f64 is a chain of fused multiply-adds in the order of k, each with the
// instruction's rounding (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores",
// PeerJ Computer Science 7:e330, 2021).
//
// Narrow floats follow measurements of tensor cores (the same paper; Khattak and Mikaitis, arXiv 2512.07004;
// Xie, Wang, Yang and Yang, "MMA-Sim", arXiv 2511.10909, whose truncated fused dot product was found
// bit-identical to hardware):
// - Products are exact. A group of products and C are aligned to the largest exponent among them, truncated
//   to F bits after the binary point, and added exactly.
// - The number of products in a group is the number of elements in 16 bytes of a factor's row.
// - The sum is normalized once, and cut to f32, or rounded to nearest even for f16. The next group takes it
//   as its C.
// - Subnormal inputs and results count. Infinity times 0, infinities of both signs, and NaNs give NaN,
//   0x7fffffff or 0x7fff. f32 and f16 results that are too large become infinite. A sum of 0 is +0.
//
// GPUs differ in the number of products and in F. This file has the values of Ampere and Ada: 8 products of
// f16 or bf16, 4 of tf32, 16 of fp8; F = 24, for fp8 F = 13 with f32 results of 13 bits of fraction. Volta
// has 4 products and F = 23, Turing is like Ampere, Hopper has twice as many products and F = 25. The
// emulator knows no machine, so one variant had to be chosen, and these two generations support all types.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "emulator/float_math.hpp"
#include "emulator/rounding.hpp"

namespace gpumux::emulator {

inline constexpr u32 kMatrixColumns = 8;

/// An element of a factor, or of C: significand / 2^fraction * 2^exponent.
struct MatrixElement {
  enum class Kind : u8 { Finite, Infinity, NotANumber };
  i32 significand = 0;  // signed; bits after the point: kFactorFraction in factors, 23 in C
  i32 exponent = 0;     // zero: kZeroExponent; subnormal: that of the smallest normal number
  Kind kind = Kind::Finite;
};
inline constexpr i32 kFactorFraction = 10;
inline constexpr i32 kZeroExponent = -100'000;  // below all others, so that zeros do not affect alignment

/// Decodes an element of `format` to a significand with `fraction` bits after the point. `finite_top`: e4m3,
/// whose largest exponent is used for numbers, except for the all-ones pattern, which is NaN.
inline MatrixElement matrix_element(u32 bits, const Format& format, i32 fraction, bool finite_top = false) {
  MatrixElement out;
  const u32 sign = static_cast<u32>(format.sign());
  const u32 magnitude = bits & (sign - 1);
  const auto infinity = static_cast<u32>(format.infinity());
  const bool negative = (bits & sign) != 0;
  if (finite_top ? magnitude == sign - 1 : magnitude >= infinity) {
    const bool infinite = !finite_top && magnitude == infinity;
    out.kind = infinite ? MatrixElement::Kind::Infinity : MatrixElement::Kind::NotANumber;
    out.significand = negative ? -1 : 1;
    return out;
  }
  const int stored = format.fraction_bits();
  const u32 biased = magnitude >> stored;
  const u32 rest = magnitude & ((1U << stored) - 1);
  const auto significand =
      static_cast<i32>((biased == 0 ? rest : rest | (1U << stored)) << (fraction - stored));
  out.significand = negative ? -significand : significand;
  out.exponent =
      magnitude == 0 ? kZeroExponent : static_cast<i32>(std::max(biased, 1U)) - 1 + format.min_exponent;
  return out;
}

// e4m3's largest exponent, 8, is used for numbers. As a format with infinities, it would end at 7.
inline constexpr Format kE4M3{4, -6, 7};
inline constexpr Format kE5M2{3, -14, 15};
inline constexpr Format kTensorFloat{11, -126,
                                     127};  // tf32 without the 13 bits of its register that are unused

/// Parameters of the summation for one type of factors (see the top of this file).
struct SumRule {
  u32 products = 8;          // size of a group
  int fraction = 24;         // F
  int result_fraction = 23;  // for f32 results
};

/// A row of A, or eight columns of B, as elements.
template <u32 Depth>
struct MatrixRow {
  std::array<i32, Depth> significand;
  std::array<i32, Depth> exponent;
  std::array<MatrixElement::Kind, Depth> kind;
  bool special = false;  // an element is not finite
  void set(u32 k, const MatrixElement& e) {
    significand[k] = e.significand;
    exponent[k] = e.exponent;
    kind[k] = e.kind;
    special = special || e.kind != MatrixElement::Kind::Finite;
  }
};
template <u32 Depth>
struct MatrixBlock {
  std::array<std::array<i32, kMatrixColumns>, Depth> significand;
  std::array<std::array<i32, kMatrixColumns>, Depth> exponent;
  std::array<std::array<MatrixElement::Kind, kMatrixColumns>, Depth> kind;
  std::array<bool, kMatrixColumns> special{};
  void set(u32 k, u32 column, const MatrixElement& e) {
    significand[k][column] = e.significand;
    exponent[k][column] = e.exponent;
    kind[k][column] = e.kind;
    special[column] = special[column] || e.kind != MatrixElement::Kind::Finite;
  }
};

/// The bits of sum / 2^fraction * 2^exponent: as f16 rounded to nearest even, or as f32 cut to
/// `result_fraction` bits.
inline u32 matrix_result(i32 sum, i32 exponent, const SumRule& rule, bool to_half) {
  if (sum == 0) return 0;
  Exact value;
  value.negative = sum < 0;
  value.mantissa = static_cast<u64>(std::abs(i64{sum}));
  value.exponent = exponent - rule.fraction;
  if (to_half) return static_cast<u32>(encode(value, kHalf, isa::Rounding::RN));
  const Format format{rule.result_fraction + 1, kSingle.min_exponent, kSingle.max_exponent};
  const int top = static_cast<int>(std::bit_width(value.mantissa)) - 1 + value.exponent;
  if (top > format.max_exponent) return value.negative ? 0xff80'0000U : 0x7f80'0000U;
  return static_cast<u32>(encode(value, format, isa::Rounding::RZ)) << (23 - rule.result_fraction);
}

/// The result, infinite or NaN, if a term of an element of D is not finite.
template <u32 Depth>
u32 special_result(const MatrixRow<Depth>& a, const MatrixBlock<Depth>& b, u32 column, u32 first, u32 count,
                   const MatrixElement& c, bool to_half) {
  using Kind = MatrixElement::Kind;
  bool nan = c.kind == Kind::NotANumber;
  bool plus = c.kind == Kind::Infinity && c.significand > 0;
  bool minus = c.kind == Kind::Infinity && c.significand < 0;
  for (u32 k = first; k < first + count; ++k) {
    const Kind ka = a.kind[k];
    const Kind kb = b.kind[k][column];
    if (ka == Kind::Finite && kb == Kind::Finite) continue;
    const i32 sa = a.significand[k];
    const i32 sb = b.significand[k][column];
    nan = nan || ka == Kind::NotANumber || kb == Kind::NotANumber || sa == 0 || sb == 0;
    ((sa < 0) == (sb < 0) ? plus : minus) = true;
  }
  if (nan || (plus && minus)) return to_half ? 0x7fffU : kNan32;
  const u32 infinity = to_half ? 0x7c00U : 0x7f80'0000U;
  return minus ? infinity | (to_half ? 0x8000U : 0x8000'0000U) : infinity;
}

/// Computes eight elements of D: a row of A times the columns of B plus C. `d` initially has the bits of C,
/// in f16 (`c_half`) or f32, and finally those of D, in f16 (`to_half`) or f32.
template <u32 Depth>
void multiply_row(const MatrixRow<Depth>& a, const MatrixBlock<Depth>& b, u32 depth, const SumRule& rule,
                  bool c_half, bool to_half, u32* d) {
  constexpr i32 kPlaces = 24;  // bits after the point, before terms are cut to rule.fraction
  constexpr i32 kProductShift = kPlaces - 2 * kFactorFraction;
  constexpr i32 kSingleShift = kPlaces - 23;
  for (u32 first = 0; first < depth; first += rule.products) {
    const u32 count = std::min(rule.products, depth - first);
    const bool half = first == 0 ? c_half : to_half;
    alignas(32) i32 c_significand[kMatrixColumns];
    alignas(32) i32 largest[kMatrixColumns];
    alignas(32) i32 sum[kMatrixColumns];
    MatrixElement c[kMatrixColumns];
    bool special = a.special;
    for (u32 n = 0; n < kMatrixColumns; ++n) {
      c[n] = matrix_element(d[n], half ? kHalf : kSingle, 23);
      c_significand[n] = c[n].significand;
      largest[n] = c[n].exponent;
      special = special || b.special[n] || c[n].kind != MatrixElement::Kind::Finite;
    }
    for (u32 k = first; k < first + count; ++k) {
      for (u32 n = 0; n < kMatrixColumns; ++n)
        largest[n] = std::max(largest[n], a.exponent[k] + b.exponent[k][n]);
    }
    const i32 cut = kPlaces - rule.fraction;
    for (u32 n = 0; n < kMatrixColumns; ++n) {
      const i32 shift = std::min(largest[n] - c[n].exponent + cut, 31);
      const i32 term =
          static_cast<i32>(static_cast<u32>(std::abs(c_significand[n])) << kSingleShift) >> shift;
      sum[n] = c_significand[n] < 0 ? -term : term;
    }
    for (u32 k = first; k < first + count; ++k) {
      for (u32 n = 0; n < kMatrixColumns; ++n) {
        const i32 product = a.significand[k] * b.significand[k][n];
        const i32 shift = std::min(largest[n] - a.exponent[k] - b.exponent[k][n] + cut, 31);
        const i32 term = (std::abs(product) << kProductShift) >> shift;
        sum[n] += product < 0 ? -term : term;
      }
    }
    for (u32 n = 0; n < kMatrixColumns; ++n) d[n] = matrix_result(sum[n], largest[n], rule, to_half);
    if (!special) continue;
    for (u32 n = 0; n < kMatrixColumns; ++n) {
      bool here = c[n].kind != MatrixElement::Kind::Finite;
      for (u32 k = first; k < first + count && !here; ++k)
        here = a.kind[k] != MatrixElement::Kind::Finite || b.kind[k][n] != MatrixElement::Kind::Finite;
      if (here) d[n] = special_result(a, b, n, first, count, c[n], to_half);
    }
  }
}

/// The 32-bit result of an integer sum: cut, or with `saturate` clamped.
inline u32 integer_result(i64 sum, bool saturate) {
  if (saturate) sum = std::clamp<i64>(sum, INT32_MIN, INT32_MAX);
  return static_cast<u32>(static_cast<u64>(sum));
}

}  // namespace gpumux::emulator
