// f32 and f64 arithmetic. All results are exactly rounded. Round to nearest uses the host's arithmetic in
// vector loops. The directed modes of f32 use vector loops, too, and step the nearest result. Directed f64,
// quotients and roots set the host's rounding mode and work lane by lane.

#include <cmath>

#include "emulator/float_math.hpp"
#include "emulator/lanes.hpp"
#include "emulator/rounding.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Type;

// Fms: a * b - c, Fnma: -(a * b) + c, Fnms: -(a * b) - c.
enum class Operation { Add, Sub, Mul, Fma, Fms, Fnma, Fnms, Div, Sqrt, Rcp };

template <Operation Kind, class T>
inline T compute(T a, T b, T c) {
  if constexpr (Kind == Operation::Add) return a + b;
  if constexpr (Kind == Operation::Sub) return a - b;
  if constexpr (Kind == Operation::Mul) return a * b;
  if constexpr (Kind == Operation::Fma) return std::fma(a, b, c);
  if constexpr (Kind == Operation::Fms) return std::fma(a, b, -c);
  if constexpr (Kind == Operation::Fnma) return std::fma(-a, b, c);
  if constexpr (Kind == Operation::Fnms) return std::fma(-a, b, -c);
  if constexpr (Kind == Operation::Div) return a / b;
  if constexpr (Kind == Operation::Sqrt) return std::sqrt(a);
  if constexpr (Kind == Operation::Rcp) return T{1} / a;
}

constexpr unsigned operands(Operation kind) {
  if (kind >= Operation::Fma && kind <= Operation::Fnms) return 3;
  return kind == Operation::Sqrt || kind == Operation::Rcp ? 1 : 2;
}

template <Operation Kind, class T, bool Ftz, bool Sat>
inline T finish(T result, T a, T b, T c) {
  if constexpr (Ftz) result = flush(result);
  if constexpr (Sat) return clamp01(result);
  if constexpr (operands(Kind) == 1) return with_nan(result, a);
  if constexpr (operands(Kind) == 2) return with_nan(result, a, b);
  return with_nan(result, a, b, c);
}

template <Operation Kind, class T, bool Ftz, bool Sat>
inline T evaluate(T a, T b, T c) {
  if constexpr (Ftz) {
    a = flush(a);
    b = flush(b);
    c = flush(c);
  }
  return finish<Kind, T, Ftz, Sat>(compute<Kind, T>(a, b, c), a, b, c);
}

/// f64 in round to nearest. NaN results are corrected in a separate pass, only if there are any, so that the
/// loop vectorises.
template <Operation Kind>
void nearest_f64(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u64>(op);
  const auto* a = warp.src<u64>(op, 0);
  const auto* b = operands(Kind) > 1 ? warp.src<u64>(op, 1) : a;
  const auto* c = operands(Kind) > 2 ? warp.src<u64>(op, 2) : a;
  alignas(64) double result[kWarpSize];
  if (lanes == kAllLanes) {
    for (u32 i = 0; i < kWarpSize; ++i)
      result[i] = compute<Kind, double>(ViewF64::get(a[i]), ViewF64::get(b[i]), ViewF64::get(c[i]));
  } else {
    for (u32 i = 0; i < kWarpSize; ++i) {
      result[i] = compute<Kind, double>(masked<ViewF64>(a, i, lanes), masked<ViewF64>(b, i, lanes),
                                        masked<ViewF64>(c, i, lanes));
    }
  }
  u64 nan = 0;
  for (u32 i = 0; i < kWarpSize; ++i) nan |= is_nan(result[i]) ? 1U : 0U;
  if (nan != 0) {
    for (u32 i = 0; i < kWarpSize; ++i) {
      result[i] = finish<Kind, double, false, false>(result[i], ViewF64::get(a[i]), ViewF64::get(b[i]),
                                                     ViewF64::get(c[i]));
    }
  }
  alignas(64) u64 bits[kWarpSize];
  std::memcpy(bits, result, sizeof(bits));
  merge(d, bits, lanes);
}

template <Operation Kind, class V, bool Ftz, bool Sat>
Handler nearest() {
  using T = typename V::Value;
  if constexpr (sizeof(T) == 8) return &nearest_f64<Kind>;
  if constexpr (operands(Kind) == 1) {
    return &map1<V, V, ([](T a) { return evaluate<Kind, T, Ftz, Sat>(a, T{0}, T{0}); })>;
  } else if constexpr (operands(Kind) == 2) {
    return &map2<V, V, V, ([](T a, T b) { return evaluate<Kind, T, Ftz, Sat>(a, b, T{0}); })>;
  } else {
    return &map3<V, V, V, V, ([](T a, T b, T c) { return evaluate<Kind, T, Ftz, Sat>(a, b, c); })>;
  }
}

// The volatile copies keep the operation between the two changes of the host's rounding mode.
template <Operation Kind, class V>
void directed(Warp& warp, const Op& op, LaneMask lanes) {
  using T = typename V::Value;
  using Store = typename V::Store;
  auto* d = warp.dst<Store>(op);
  const auto* a = warp.src<Store>(op, 0);
  const auto* b = operands(Kind) > 1 ? warp.src<Store>(op, 1) : a;
  const auto* c = operands(Kind) > 2 ? warp.src<Store>(op, 2) : a;
  const bool ftz = op.inst->ftz;
  const bool sat = op.inst->sat;
  alignas(64) Store result[kWarpSize];
  const RoundingScope scope(op.inst->rounding);
  for (u32 i = 0; i < kWarpSize; ++i) {
    T x = V::get(a[i]);
    T y = V::get(b[i]);
    T z = V::get(c[i]);
    if (ftz) {
      x = flush(x);
      y = flush(y);
      z = flush(z);
    }
    const volatile T vx = x;
    const volatile T vy = y;
    const volatile T vz = z;
    const volatile T rounded = compute<Kind, T>(vx, vy, vz);
    T r = rounded;
    if (ftz) r = flush(r);
    result[i] = V::put(sat ? clamp01(r) : finish<Kind, T, false, false>(r, x, y, z));
  }
  merge(d, result, lanes);
}

inline float step_down(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return std::bit_cast<float>(x > 0.0F ? bits - 1 : (x < 0.0F ? bits + 1 : 0x80000001U));
}
inline float step_up(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return std::bit_cast<float>(x > 0.0F ? bits + 1 : (x < 0.0F ? bits - 1 : 0x00000001U));
}

/// Directed f32 without the host's rounding mode, so that the loop vectorises. The exact result is sum +
/// error in doubles, since a product of two floats is exact. The nearest float is stepped once if it is on
/// the wrong side of the result. Its difference to the sum is exact, too.
template <Operation Kind, isa::Rounding Mode>
float evaluate_directed(float a, float b, float c) {
  double sum = static_cast<double>(a) * static_cast<double>(b);
  double error = 0.0;
  float result = static_cast<float>(sum);
  if constexpr (Kind != Operation::Mul) {
    const double x = Kind == Operation::Fma ? sum : static_cast<double>(a);
    const double y = static_cast<double>(Kind == Operation::Fma ? c : (Kind == Operation::Sub ? -b : b));
    sum = x + y;
    const double part = sum - x;
    error = (x - (sum - part)) + (y - part);
    result = static_cast<float>(sum);
    if constexpr (Mode == isa::Rounding::RM) {  // an exact zero is negative unless both terms are +0
      result = sum == 0.0 && (std::signbit(x) || std::signbit(y)) ? -0.0F : result;
    }
  }
  const double side = static_cast<double>(result) - sum;  // NaN if both are infinite: no step
  const bool above = side > error;
  const bool below = side < error;
  if constexpr (Mode == isa::Rounding::RM) result = above ? step_down(result) : result;
  if constexpr (Mode == isa::Rounding::RP) result = below ? step_up(result) : result;
  if constexpr (Mode == isa::Rounding::RZ) {
    result = above && sum > 0.0 ? step_down(result) : result;
    result = below && sum < 0.0 ? step_up(result) : result;
  }
  return finish<Kind, float, false, false>(result, a, b, c);
}

template <Operation Kind, isa::Rounding Mode>
Handler directed_f32() {
  if constexpr (Kind == Operation::Fma) {
    return &map3<ViewF32, ViewF32, ViewF32, ViewF32,
                 ([](float a, float b, float c) { return evaluate_directed<Kind, Mode>(a, b, c); })>;
  } else {
    return &map2<ViewF32, ViewF32, ViewF32,
                 ([](float a, float b) { return evaluate_directed<Kind, Mode>(a, b, 0.0F); })>;
  }
}

template <Operation Kind>
Handler select_directed_f32(const Instruction& inst) {
  if constexpr (Kind != Operation::Div && Kind != Operation::Sqrt && Kind != Operation::Rcp) {
    if (!inst.ftz && !inst.sat) {
      if (inst.rounding == isa::Rounding::RZ) return directed_f32<Kind, isa::Rounding::RZ>();
      if (inst.rounding == isa::Rounding::RM) return directed_f32<Kind, isa::Rounding::RM>();
      if (inst.rounding == isa::Rounding::RP) return directed_f32<Kind, isa::Rounding::RP>();
    }
  }
  return &directed<Kind, ViewF32>;
}

template <Operation Kind>
Handler select_nearest(const Instruction& inst) {
  if (inst.type == Type::F64) return nearest<Kind, ViewF64, false, false>();
  if (inst.ftz) {
    return inst.sat ? nearest<Kind, ViewF32, true, true>() : nearest<Kind, ViewF32, true, false>();
  }
  return inst.sat ? nearest<Kind, ViewF32, false, true>() : nearest<Kind, ViewF32, false, false>();
}

template <Operation Kind>
Handler select_operation(const Instruction& inst) {
  if (rounds_to_nearest(inst.rounding)) return select_nearest<Kind>(inst);
  return inst.type == Type::F64 ? &directed<Kind, ViewF64> : select_directed_f32<Kind>(inst);
}

Handler select_fma(const Instruction& inst) {
  switch (inst.shift & (isa::kFmaMinusProduct | isa::kFmaMinusAddend)) {  // these round to nearest
    case isa::kFmaMinusProduct: return select_nearest<Operation::Fnma>(inst);
    case isa::kFmaMinusAddend: return select_nearest<Operation::Fms>(inst);
    case isa::kFmaMinusProduct | isa::kFmaMinusAddend: return select_nearest<Operation::Fnms>(inst);
    default: return select_operation<Operation::Fma>(inst);
  }
}

// abs and neg change only the sign bit. .ftz flushes. A NaN of f32 becomes the canonical NaN.
template <bool Negate, bool Ftz>
float sign_f32(float a) {
  if constexpr (Ftz) a = flush(a);
  const u32 bits = std::bit_cast<u32>(a);
  const float result = std::bit_cast<float>(Negate ? bits ^ 0x80000000U : bits & 0x7fffffffU);
  return is_nan(a) ? std::bit_cast<float>(kNan32) : result;
}

Handler select_sign(const Instruction& inst) {
  const bool negate = inst.op == Opcode::Neg;
  if (inst.type == Type::F64) {
    if (negate) return &map1<ViewU64, ViewU64, ([](u64 a) { return a ^ 0x8000000000000000ULL; })>;
    return &map1<ViewU64, ViewU64, ([](u64 a) { return a & 0x7fffffffffffffffULL; })>;
  }
  if (inst.type != Type::F32) return nullptr;
  if (negate) {
    if (inst.ftz) return &map1<ViewF32, ViewF32, ([](float a) { return sign_f32<true, true>(a); })>;
    return &map1<ViewF32, ViewF32, ([](float a) { return sign_f32<true, false>(a); })>;
  }
  if (inst.ftz) return &map1<ViewF32, ViewF32, ([](float a) { return sign_f32<false, true>(a); })>;
  return &map1<ViewF32, ViewF32, ([](float a) { return sign_f32<false, false>(a); })>;
}

template <class V, bool Max, bool Nan, bool Ftz>
Handler extreme() {
  using T = typename V::Value;
  return &map2<V, V, V, ([](T a, T b) {
                 if constexpr (Ftz) return min_max<T, Max, Nan>(flush(a), flush(b));
                 return min_max<T, Max, Nan>(a, b);
               })>;
}

template <bool Max>
Handler select_extreme(const Instruction& inst) {
  if (inst.type == Type::F64) return extreme<ViewF64, Max, false, false>();
  if (inst.type != Type::F32) return nullptr;
  if (inst.nan) return inst.ftz ? extreme<ViewF32, Max, true, true>() : extreme<ViewF32, Max, true, false>();
  return inst.ftz ? extreme<ViewF32, Max, false, true>() : extreme<ViewF32, Max, false, false>();
}

// The magnitude of b with the sign of a.
Handler select_copysign(const Instruction& inst) {
  if (inst.type == Type::F32) {
    return &map2<ViewU32, ViewU32, ViewU32,
                 ([](u32 a, u32 b) { return (a & 0x80000000U) | (b & 0x7fffffffU); })>;
  }
  if (inst.type != Type::F64) return nullptr;
  return &map2<ViewU64, ViewU64, ViewU64,
               ([](u64 a, u64 b) { return (a & 0x8000000000000000ULL) | (b & 0x7fffffffffffffffULL); })>;
}

template <class V>
void testp(Warp& warp, const Op& op, LaneMask lanes) {
  using T = typename V::Value;
  const auto* a = warp.src<typename V::Store>(op, 0);
  LaneMask mask = 0;
  for (u32 i = 0; i < kWarpSize; ++i) {
    const T x = V::get(a[i]);
    const int kind = std::fpclassify(x);
    bool is = false;
    switch (op.inst->testp) {
      case isa::TestpMode::Finite: is = kind != FP_NAN && kind != FP_INFINITE; break;
      case isa::TestpMode::Infinite: is = kind == FP_INFINITE; break;
      case isa::TestpMode::Number: is = kind != FP_NAN; break;
      case isa::TestpMode::NotANumber: is = kind == FP_NAN; break;
      case isa::TestpMode::Normal: is = kind == FP_NORMAL; break;
      case isa::TestpMode::Subnormal: is = kind == FP_SUBNORMAL; break;
      case isa::TestpMode::None: break;
    }
    mask |= (is ? 1U : 0U) << i;
  }
  warp.set_pred(op.pred_dst[0], mask, lanes);
}

}  // namespace

Handler select_float(const Instruction& inst) {
  if (inst.type != Type::F32 && inst.type != Type::F64) return nullptr;
  switch (inst.op) {
    case Opcode::Add: return select_operation<Operation::Add>(inst);
    case Opcode::Sub: return select_operation<Operation::Sub>(inst);
    case Opcode::Mul: return select_operation<Operation::Mul>(inst);
    case Opcode::Fma: return select_fma(inst);
    case Opcode::Div: return select_operation<Operation::Div>(inst);
    case Opcode::Sqrt: return select_operation<Operation::Sqrt>(inst);
    case Opcode::Rcp:
      if (inst.type == Type::F64 && inst.approx) return nullptr;  // in special_function.cpp
      return select_operation<Operation::Rcp>(inst);
    case Opcode::Abs:
    case Opcode::Neg: return select_sign(inst);
    case Opcode::Min: return select_extreme<false>(inst);
    case Opcode::Max: return select_extreme<true>(inst);
    case Opcode::Copysign: return select_copysign(inst);
    case Opcode::Testp: return inst.type == Type::F64 ? &testp<ViewF64> : &testp<ViewF32>;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
