// f16, f16x2, bf16 and bf16x2 arithmetic. Each result is rounded once, to nearest even.

#include "emulator/half.hpp"
#include "emulator/lanes.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Type;

struct Modifiers {
  bool ftz = false;
  bool sat = false;
  bool nan = false;
};

template <bool Bfloat>
float widen(u32 bits) {
  return Bfloat ? bfloat_to_float(bits) : half_to_float(bits);
}

template <bool Bfloat>
u32 flush_bits(u32 bits) {
  constexpr u32 kExponent = Bfloat ? 0x7f80U : 0x7c00U;
  return (bits & kExponent) == 0 ? bits & 0x8000U : bits;
}

template <bool Bfloat>
u32 clamp(u32 bits) {
  constexpr u32 kOne = Bfloat ? 0x3f80U : 0x3c00U;
  const float x = widen<Bfloat>(bits);
  if (!(x > 0.0F)) return 0;
  return x < 1.0F ? bits : kOne;
}

/// Operations that do not round. `nan`: a NaN operand gives NaN.
template <bool Bfloat, Opcode Kind>
u32 compute(u32 a_bits, u32 b_bits, const Modifiers& m) {
  if (m.ftz) {
    a_bits = flush_bits<Bfloat>(a_bits);
    b_bits = flush_bits<Bfloat>(b_bits);
  }
  const float a = widen<Bfloat>(a_bits);
  const float b = widen<Bfloat>(b_bits);
  if constexpr (Kind == Opcode::Neg) return is_nan(a) ? kNan16 : a_bits ^ 0x8000U;
  if constexpr (Kind == Opcode::Abs) return is_nan(a) ? kNan16 : a_bits & 0x7fffU;
  const float r = Kind == Opcode::Max
                      ? (m.nan ? min_max<float, true, true>(a, b) : min_max<float, true, false>(a, b))
                      : (m.nan ? min_max<float, false, true>(a, b) : min_max<float, false, false>(a, b));
  u32 result = is_nan(r) ? kNan16 : (Bfloat ? float_to_bfloat(r) : float_to_half(r));
  if (m.ftz) result = flush_bits<Bfloat>(result);
  if (m.sat) result = clamp<Bfloat>(result);
  return result;
}

// Operations that round: whole rows as vectors.

/// Converts the halves at bit `shift` of a row to f32.
template <bool Bfloat>
void widen_row(const u32* from, u32 shift, bool ftz, float* to) {
  alignas(64) u32 flushed[kWarpSize];
  if (ftz) {
    for (u32 i = 0; i < kWarpSize; ++i) flushed[i] = flush_bits<Bfloat>((from[i] >> shift) & 0xffffU);
    from = flushed;
    shift = 0;
  }
  if constexpr (Bfloat) {
    for (u32 i = 0; i < kWarpSize; ++i) to[i] = bfloat_to_float((from[i] >> shift) & 0xffffU);
    return;
  }
#if defined(__AVX2__) && defined(__F16C__)
  for (u32 i = 0; i < kWarpSize; i += 8) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i halves =
        _mm256_and_si256(_mm256_srli_epi32(words, static_cast<int>(shift)), _mm256_set1_epi32(0xffff));
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(packed));
  }
#else
  for (u32 i = 0; i < kWarpSize; ++i) to[i] = half_to_float((from[i] >> shift) & 0xffffU);
#endif
}

template <bool Bfloat>
void narrow_row(const float* from, u32* to) {
  if constexpr (Bfloat) {
    for (u32 i = 0; i < kWarpSize; ++i) to[i] = float_to_bfloat(from[i]);
    return;
  }
#if defined(__AVX2__) && defined(__F16C__)
  for (u32 i = 0; i < kWarpSize; i += 8) {
    const __m256 values = _mm256_loadu_ps(from + i);
    const __m256i halves =
        _mm256_cvtepu16_epi32(_mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_blendv_epi8(halves, _mm256_set1_epi32(kNan16), nan));
  }
#else
  for (u32 i = 0; i < kWarpSize; ++i) to[i] = float_to_half(from[i]);
#endif
}

template <Opcode Kind, class T>
T of_two(T a, T b) {
  if constexpr (Kind == Opcode::Add) return a + b;
  if constexpr (Kind == Opcode::Sub) return a - b;
  return a * b;
}

/// Computes a row, rounded once. The sum, difference or product of two halves in f32 (of two bfloats in f64)
/// has at least twice the result's bits plus two, so the second rounding is harmless. For fma, the product is
/// exact in double. The sum of halves is exact wherever it is near the midpoint of two halves, since then no
/// operand reaches more than 53 bits below the sum. The sum of bfloats is rounded to odd.
template <bool Bfloat, Opcode Kind>
void compute_row(const float* a, const float* b, const float* c, u32* result) {
  alignas(64) float narrow[kWarpSize];
  if constexpr (!Bfloat && Kind != Opcode::Fma) {
    for (u32 i = 0; i < kWarpSize; ++i) narrow[i] = of_two<Kind>(a[i], b[i]);
    return narrow_row<false>(narrow, result);
  }
  alignas(64) double wide[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    if constexpr (Kind != Opcode::Fma) {
      wide[i] = of_two<Kind>(x, y);
    } else if constexpr (Bfloat) {
      const double sum = x * y + static_cast<double>(c[i]);
      wide[i] = is_nan(sum) || std::isinf(sum) ? sum : add_to_odd(x * y, static_cast<double>(c[i]));
    } else {
      wide[i] = x * y + static_cast<double>(c[i]);
    }
  }
  for (u32 i = 0; i < kWarpSize; ++i)
    narrow[i] = static_cast<float>(is_nan(wide[i]) || std::isinf(wide[i]) ? wide[i] : odd24(wide[i]));
  narrow_row<Bfloat>(narrow, result);
  if constexpr (Bfloat) {  // subnormal floats cannot hold the bits that odd24() keeps
    u32 small = 0;
    for (u32 i = 0; i < kWarpSize; ++i) small |= std::fabs(wide[i]) < 0x1p-126 && wide[i] != 0 ? 1U : 0U;
    if (small == 0) return;
    for (u32 i = 0; i < kWarpSize; ++i) result[i] = double_to_bfloat(wide[i]);
  }
}

template <bool Bfloat, bool Pair, Opcode Kind>
void run_rows(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr bool kFma = Kind == Opcode::Fma;
  const bool ftz = op.inst->ftz;
  const bool sat = op.inst->sat;
  const bool minus_product = kFma && (op.inst->shift & isa::kFmaMinusProduct) != 0;
  const bool minus_addend = kFma && (op.inst->shift & isa::kFmaMinusAddend) != 0;
  alignas(64) float a[kWarpSize], b[kWarpSize], c[kWarpSize];
  const auto part = [&](u32 shift, u32* result) {
    widen_row<Bfloat>(warp.src<u32>(op, 0), shift, ftz, a);
    widen_row<Bfloat>(warp.src<u32>(op, 1), shift, ftz, b);
    if constexpr (kFma) widen_row<Bfloat>(warp.src<u32>(op, 2), shift, ftz, c);
    if (minus_product) {
      for (float& value : a) value = -value;
    }
    if (minus_addend) {
      for (float& value : c) value = -value;
    }
    compute_row<Bfloat, Kind>(a, b, c, result);
    if (!ftz && !sat) return;
    for (u32 i = 0; i < kWarpSize; ++i) {
      if (ftz) result[i] = flush_bits<Bfloat>(result[i]);
      if (sat) result[i] = clamp<Bfloat>(result[i]);
    }
  };
  alignas(64) u32 result[kWarpSize];
  part(0, result);
  if constexpr (Pair) {
    alignas(64) u32 upper[kWarpSize];
    part(16, upper);
    for (u32 i = 0; i < kWarpSize; ++i) result[i] |= upper[i] << 16U;
  }
  merge(warp.dst<u32>(op), result, lanes);
}

template <bool Bfloat, bool Pair, Opcode Kind>
void run(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr bool kOne = Kind == Opcode::Neg || Kind == Opcode::Abs;
  const auto* a = warp.src<u32>(op, 0);
  const auto* b = kOne ? a : warp.src<u32>(op, 1);
  const Modifiers modifiers{op.inst->ftz, op.inst->sat, op.inst->nan};
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    result[i] = compute<Bfloat, Kind>(a[i] & 0xffffU, b[i] & 0xffffU, modifiers);
    if constexpr (Pair) result[i] |= compute<Bfloat, Kind>(a[i] >> 16U, b[i] >> 16U, modifiers) << 16U;
  }
  merge(warp.dst<u32>(op), result, lanes);
}

template <bool Bfloat, bool Pair>
Handler of_opcode(Opcode op) {
  switch (op) {
    case Opcode::Add: return &run_rows<Bfloat, Pair, Opcode::Add>;
    case Opcode::Sub: return &run_rows<Bfloat, Pair, Opcode::Sub>;
    case Opcode::Mul: return &run_rows<Bfloat, Pair, Opcode::Mul>;
    case Opcode::Fma: return &run_rows<Bfloat, Pair, Opcode::Fma>;
    case Opcode::Neg: return &run<Bfloat, Pair, Opcode::Neg>;
    case Opcode::Abs: return &run<Bfloat, Pair, Opcode::Abs>;
    case Opcode::Min: return &run<Bfloat, Pair, Opcode::Min>;
    case Opcode::Max: return &run<Bfloat, Pair, Opcode::Max>;
    default: return nullptr;
  }
}

}  // namespace

Handler select_half(const Instruction& inst) {
  if (!rounds_to_nearest(inst.rounding)) return nullptr;  // PTX has no other mode for these types
  switch (inst.type) {
    case Type::F16: return of_opcode<false, false>(inst.op);
    case Type::F16x2: return of_opcode<false, true>(inst.op);
    case Type::BF16: return of_opcode<true, false>(inst.op);
    case Type::BF16x2: return of_opcode<true, true>(inst.op);
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
