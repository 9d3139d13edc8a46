// f16, f16x2, bf16 and bf16x2 arithmetic. Every result is rounded once, to nearest even.
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
  bool minus_product = false;
  bool minus_addend = false;
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

/// Rounds an f32 or f64 result of two operands. The sum, difference or product of two halves rounded to
/// f32 (of two bfloats to f64) keeps more than twice the bits and two, so that rounding again is safe.
template <bool Bfloat>
u32 round(double wide) {
  if constexpr (Bfloat) return double_to_bfloat(wide);
  return float_to_half(static_cast<float>(wide));
}

template <bool Bfloat>
u32 clamp(u32 bits) {
  constexpr u32 kOne = Bfloat ? 0x3f80U : 0x3c00U;
  const float x = widen<Bfloat>(bits);
  if (!(x > 0.0F)) return 0;
  return x < 1.0F ? bits : kOne;
}

template <bool Bfloat, Opcode Kind>
u32 compute(u32 a_bits, u32 b_bits, u32 c_bits, const Modifiers& m) {
  if (m.ftz) {
    a_bits = flush_bits<Bfloat>(a_bits);
    b_bits = flush_bits<Bfloat>(b_bits);
    c_bits = flush_bits<Bfloat>(c_bits);
  }
  const float a = widen<Bfloat>(a_bits);
  const float b = widen<Bfloat>(b_bits);
  u32 result = 0;
  if constexpr (Kind == Opcode::Add) {
    result = Bfloat ? round<true>(static_cast<double>(a) + static_cast<double>(b)) : float_to_half(a + b);
  } else if constexpr (Kind == Opcode::Sub) {
    result = Bfloat ? round<true>(static_cast<double>(a) - static_cast<double>(b)) : float_to_half(a - b);
  } else if constexpr (Kind == Opcode::Mul) {
    result = Bfloat ? round<true>(static_cast<double>(a) * static_cast<double>(b)) : float_to_half(a * b);
  } else if constexpr (Kind == Opcode::Fma) {
    const float c = m.minus_addend ? -widen<Bfloat>(c_bits) : widen<Bfloat>(c_bits);
    const float factor = m.minus_product ? -a : a;
    result = Bfloat ? bfloat_fma(factor, b, c) : half_fma(factor, b, c);
  } else if constexpr (Kind == Opcode::Neg) {
    return is_nan(a) ? kNan16 : a_bits ^ 0x8000U;
  } else if constexpr (Kind == Opcode::Abs) {
    return is_nan(a) ? kNan16 : a_bits & 0x7fffU;
  } else {
    const float r = Kind == Opcode::Max
                        ? (m.nan ? min_max<float, true, true>(a, b) : min_max<float, true, false>(a, b))
                        : (m.nan ? min_max<float, false, true>(a, b) : min_max<float, false, false>(a, b));
    result = is_nan(r) ? kNan16 : (Bfloat ? float_to_bfloat(r) : float_to_half(r));
  }
  if (m.ftz) result = flush_bits<Bfloat>(result);
  if (m.sat) result = clamp<Bfloat>(result);
  return result;
}

template <bool Bfloat, bool Pair, Opcode Kind>
void run(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr u32 kSources = Kind == Opcode::Fma ? 3 : (Kind == Opcode::Neg || Kind == Opcode::Abs ? 1 : 2);
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u32>(op, 0);
  const auto* b = kSources > 1 ? warp.src<u32>(op, 1) : a;
  const auto* c = kSources > 2 ? warp.src<u32>(op, 2) : a;
  const bool fma = Kind == Opcode::Fma;
  const Modifiers modifiers{op.inst->ftz, op.inst->sat, op.inst->nan,
                            fma && (op.inst->shift & isa::kFmaMinusProduct) != 0,
                            fma && (op.inst->shift & isa::kFmaMinusAddend) != 0};
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    result[i] = compute<Bfloat, Kind>(a[i] & 0xffffU, b[i] & 0xffffU, c[i] & 0xffffU, modifiers);
    if constexpr (Pair) {
      result[i] |= compute<Bfloat, Kind>(a[i] >> 16U, b[i] >> 16U, c[i] >> 16U, modifiers) << 16U;
    }
  }
  merge(d, result, lanes);
}

template <bool Bfloat, bool Pair>
Handler of_opcode(Opcode op) {
  switch (op) {
    case Opcode::Add: return &run<Bfloat, Pair, Opcode::Add>;
    case Opcode::Sub: return &run<Bfloat, Pair, Opcode::Sub>;
    case Opcode::Mul: return &run<Bfloat, Pair, Opcode::Mul>;
    case Opcode::Fma: return &run<Bfloat, Pair, Opcode::Fma>;
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
