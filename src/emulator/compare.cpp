// set and setp: comparisons of all types, combined with a predicate.
#include "emulator/float_math.hpp"
#include "emulator/half.hpp"
#include "emulator/lanes.hpp"

namespace gpumux::emulator {
namespace {

using isa::BoolOp;
using isa::Compare;
using isa::Instruction;
using isa::Opcode;
using isa::Type;

/// A comparison. Returns the lanes for which it is true.
using Test = LaneMask (*)(const Warp& warp, const Op& op);

template <class V>
Test test_int(Compare compare) {
  using T = typename V::Value;
  switch (compare) {
    case Compare::EQ: return &compare2<V, V, ([](T a, T b) { return a == b; })>;
    case Compare::NE: return &compare2<V, V, ([](T a, T b) { return a != b; })>;
    case Compare::LT:
    case Compare::LO: return &compare2<V, V, ([](T a, T b) { return a < b; })>;
    case Compare::LE:
    case Compare::LS: return &compare2<V, V, ([](T a, T b) { return a <= b; })>;
    case Compare::GT:
    case Compare::HI: return &compare2<V, V, ([](T a, T b) { return a > b; })>;
    case Compare::GE:
    case Compare::HS: return &compare2<V, V, ([](T a, T b) { return a >= b; })>;
    default: return nullptr;
  }
}

// The u forms are also true if an operand is NaN.
template <class T, Compare C>
bool float_test(T a, T b) {
  switch (C) {
    case Compare::EQ: return a == b;
    case Compare::NE: return a < b || a > b;
    case Compare::LT: return a < b;
    case Compare::LE: return a <= b;
    case Compare::GT: return a > b;
    case Compare::GE: return a >= b;
    case Compare::EQU: return !(a < b || a > b);
    case Compare::NEU: return a != b;
    case Compare::LTU: return !(a >= b);
    case Compare::LEU: return !(a > b);
    case Compare::GTU: return !(a <= b);
    case Compare::GEU: return !(a < b);
    case Compare::NUM: return !is_nan(a) && !is_nan(b);
    case Compare::NAN_: return is_nan(a) || is_nan(b);
    default: return false;
  }
}

template <class V, bool Ftz, Compare C>
LaneMask test_one(const Warp& warp, const Op& op) {
  using T = typename V::Value;
  return compare2<V, V, ([](T a, T b) {
                    return Ftz ? float_test<T, C>(flush(a), flush(b)) : float_test<T, C>(a, b);
                  })>(warp, op);
}

template <template <Compare> class Pick>
Test by_compare(Compare compare) {
  switch (compare) {
    case Compare::EQ: return Pick<Compare::EQ>::test;
    case Compare::NE: return Pick<Compare::NE>::test;
    case Compare::LT: return Pick<Compare::LT>::test;
    case Compare::LE: return Pick<Compare::LE>::test;
    case Compare::GT: return Pick<Compare::GT>::test;
    case Compare::GE: return Pick<Compare::GE>::test;
    case Compare::EQU: return Pick<Compare::EQU>::test;
    case Compare::NEU: return Pick<Compare::NEU>::test;
    case Compare::LTU: return Pick<Compare::LTU>::test;
    case Compare::LEU: return Pick<Compare::LEU>::test;
    case Compare::GTU: return Pick<Compare::GTU>::test;
    case Compare::GEU: return Pick<Compare::GEU>::test;
    case Compare::NUM: return Pick<Compare::NUM>::test;
    case Compare::NAN_: return Pick<Compare::NAN_>::test;
    default: return nullptr;
  }
}

template <Compare C>
struct PickF64 {
  static constexpr Test test = &test_one<ViewF64, false, C>;
};
template <Compare C>
struct PickF32 {
  static constexpr Test test = &test_one<ViewF32, false, C>;
};
template <Compare C>
struct PickF32Ftz {
  static constexpr Test test = &test_one<ViewF32, true, C>;
};

// f16 and bf16: selects the half of a pair and converts it to f32.
template <bool Bfloat, bool Upper, Compare C>
LaneMask test_half(const Warp& warp, const Op& op) {
  constexpr u32 kShift = Upper ? 16 : 0;
  return compare2<ViewU32, ViewU32, ([](u32 a, u32 b) {
                    const u32 x = (a >> kShift) & 0xffffU;
                    const u32 y = (b >> kShift) & 0xffffU;
                    if constexpr (Bfloat) return float_test<float, C>(bfloat_to_float(x), bfloat_to_float(y));
                    return float_test<float, C>(half_to_float(x), half_to_float(y));
                  })>(warp, op);
}
template <Compare C>
struct PickHalf {
  static constexpr Test test = &test_half<false, false, C>;
};
template <Compare C>
struct PickHalfUpper {
  static constexpr Test test = &test_half<false, true, C>;
};
template <Compare C>
struct PickBfloat {
  static constexpr Test test = &test_half<true, false, C>;
};
template <Compare C>
struct PickBfloatUpper {
  static constexpr Test test = &test_half<true, true, C>;
};

Test test_of(Type type, Compare compare, bool ftz) {
  switch (type) {
    case Type::B8:
    case Type::U8: return test_int<ViewU8>(compare);
    case Type::S8: return test_int<ViewS8>(compare);
    case Type::B16:
    case Type::U16: return test_int<ViewU16>(compare);
    case Type::S16: return test_int<ViewS16>(compare);
    case Type::B32:
    case Type::U32: return test_int<ViewU32>(compare);
    case Type::S32: return test_int<ViewS32>(compare);
    case Type::B64:
    case Type::U64: return test_int<ViewU64>(compare);
    case Type::S64: return test_int<ViewS64>(compare);
    case Type::F16:
    case Type::F16x2: return by_compare<PickHalf>(compare);
    case Type::BF16:
    case Type::BF16x2: return by_compare<PickBfloat>(compare);
    case Type::F32: return ftz ? by_compare<PickF32Ftz>(compare) : by_compare<PickF32>(compare);
    case Type::F64: return by_compare<PickF64>(compare);
    default: return nullptr;
  }
}

Test upper_test_of(Type type, Compare compare) {
  return type == Type::BF16x2 ? by_compare<PickBfloatUpper>(compare) : by_compare<PickHalfUpper>(compare);
}

LaneMask join(LaneMask test, const Warp& warp, const Op& op) {
  switch (op.inst->bool_op) {
    case BoolOp::And: return test & warp.pred(op.pred_src[0]);
    case BoolOp::Or: return test | warp.pred(op.pred_src[0]);
    case BoolOp::Xor: return test ^ warp.pred(op.pred_src[0]);
    case BoolOp::None: break;
  }
  return test;
}

/// The comparisons of a set or setp, as function pointers. Instantiating each handler for each comparison
/// would multiply the code, and an indirect call per warp instruction is cheap.
struct Tests {
  Test lower = nullptr;
  Test upper = nullptr;
};
Tests tests_of(const Instruction& inst) {
  const Type type = inst.op == Opcode::Set ? inst.type2 : inst.type;
  Tests tests;
  tests.lower = test_of(type, inst.compare, inst.ftz);
  if (type == Type::F16x2 || type == Type::BF16x2) tests.upper = upper_test_of(type, inst.compare);
  return tests;
}

template <Test Lower>
void setp(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask test = Lower(warp, op);
  warp.set_pred(op.pred_dst[0], join(test, warp, op), lanes);
}

void setp_any(Warp& warp, const Op& op, LaneMask lanes) {
  const Tests tests = tests_of(*op.inst);
  const LaneMask lower = tests.lower(warp, op);
  const LaneMask second = tests.upper != nullptr ? tests.upper(warp, op) : ~lower;
  const LaneMask p = join(lower, warp, op);
  const LaneMask q = join(second, warp, op);
  warp.set_pred(op.pred_dst[0], p, lanes);
  warp.set_pred(op.pred_dst[1], q, lanes);
}

// set: the result for true is all ones (integers) or 1.0 (floats).
u32 true_value(Type type) {
  switch (type) {
    case Type::F32: return 0x3f800000U;
    case Type::F16: return 0x3c00U;
    case Type::BF16: return 0x3f80U;
    case Type::U16:
    case Type::S16:
    case Type::B16: return 0xffffU;
    default: return 0xffffffffU;
  }
}

void set(Warp& warp, const Op& op, LaneMask lanes) {
  const Tests tests = tests_of(*op.inst);
  const LaneMask lower = join(tests.lower(warp, op), warp, op);
  const Type type = op.inst->type;
  alignas(64) u32 result[kWarpSize];
  if (type == Type::F16x2 || type == Type::BF16x2 || tests.upper != nullptr) {
    const LaneMask upper = tests.upper != nullptr ? join(tests.upper(warp, op), warp, op) : 0;
    const u32 one = type == Type::F16x2 ? 0x3c00U : (type == Type::BF16x2 ? 0x3f80U : 0xffffU);
    for (u32 i = 0; i < kWarpSize; ++i) {
      result[i] = ((lower >> i) & 1U ? one : 0) | ((upper >> i) & 1U ? one << 16U : 0);
    }
  } else {
    const u32 one = true_value(type);
    for (u32 i = 0; i < kWarpSize; ++i) result[i] = (lower & (1U << i)) != 0 ? one : 0;
  }
  merge(warp.dst<u32>(op), result, lanes);
}

template <class V>
Handler setp_int(Compare compare) {
  using T = typename V::Value;
  switch (compare) {
    case Compare::EQ: return &setp<&compare2<V, V, ([](T a, T b) { return a == b; })>>;
    case Compare::NE: return &setp<&compare2<V, V, ([](T a, T b) { return a != b; })>>;
    case Compare::LT:
    case Compare::LO: return &setp<&compare2<V, V, ([](T a, T b) { return a < b; })>>;
    case Compare::LE:
    case Compare::LS: return &setp<&compare2<V, V, ([](T a, T b) { return a <= b; })>>;
    case Compare::GT:
    case Compare::HI: return &setp<&compare2<V, V, ([](T a, T b) { return a > b; })>>;
    case Compare::GE:
    case Compare::HS: return &setp<&compare2<V, V, ([](T a, T b) { return a >= b; })>>;
    default: return nullptr;
  }
}

Handler select_setp(const Instruction& inst) {
  // Frequent forms need only one call. All others look up their tests at execution.
  if (!inst.dst[1] && inst.type != Type::F16x2 && inst.type != Type::BF16x2) {
    if (inst.type == Type::S32) return setp_int<ViewS32>(inst.compare);
    if (inst.type == Type::U32 || inst.type == Type::B32) return setp_int<ViewU32>(inst.compare);
  }
  return &setp_any;
}

}  // namespace

Handler select_compare(const Instruction& inst) {
  if (inst.op != Opcode::Set && inst.op != Opcode::Setp) return nullptr;
  if (tests_of(inst).lower == nullptr) return nullptr;
  return inst.op == Opcode::Setp ? select_setp(inst) : &set;
}

}  // namespace gpumux::emulator
