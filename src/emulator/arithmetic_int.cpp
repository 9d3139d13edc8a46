// Integer arithmetic: add and subtract with carry, multiply in all widths, divide, min and max.
#include "emulator/lanes.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Type;

template <class T>
constexpr T kAllOnes = static_cast<T>(~T{0});

constexpr i32 saturate32(i64 value) {
  return value > INT32_MAX ? INT32_MAX : (value < INT32_MIN ? INT32_MIN : static_cast<i32>(value));
}

__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

constexpr u64 mul_hi_u64(u64 a, u64 b) { return static_cast<u64>((static_cast<u128>(a) * b) >> 64U); }
constexpr i64 mul_hi_s64(i64 a, i64 b) { return static_cast<i64>((static_cast<i128>(a) * b) >> 64U); }

// Wrapping arithmetic uses unsigned types, whose bits are the same as those of the signed operation.
template <class V>
Handler add_sub(Opcode op) {
  using T = typename V::Value;
  if (op == Opcode::Add) return &map2<V, V, V, ([](T a, T b) -> T { return a + b; })>;
  return &map2<V, V, V, ([](T a, T b) -> T { return a - b; })>;
}

template <class V>
Handler multiply_low(Opcode op) {
  using T = typename V::Value;
  if (op == Opcode::MulLo) return &map2<V, V, V, ([](T a, T b) -> T { return a * b; })>;
  return &map3<V, V, V, V, ([](T a, T b, T c) -> T { return a * b + c; })>;
}

// d and carry-out of a + b + carry-in, and of a - b as a + ~b + carry-in. So the flag means "no borrow", as
// on hardware, although PTX's manual calls it the borrow. nvcc's 128-bit division adds this flag with addc.
template <class T, bool Subtract>
void add_carry(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<T>(op);
  const auto* a = warp.src<T>(op, 0);
  const auto* b = warp.src<T>(op, 1);
  const LaneMask in = op.inst->carry_in ? warp.pred(op.pred_src[0]) : Subtract ? ~LaneMask{0} : LaneMask{0};
  LaneMask out = 0;
  alignas(64) T result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    const T partial = a[i] + (Subtract ? static_cast<T>(~b[i]) : b[i]);
    const T sum = partial + static_cast<T>((in >> i) & 1U);
    result[i] = sum;
    out |= (partial < a[i] || sum < partial ? 1U : 0U) << i;
  }
  merge(d, result, lanes);
  if (op.inst->carry_out) warp.set_pred(op.pred_dst[0], out, lanes);
}

// mad.{lo,hi}.cc and madc: the carry is that of the final addition.
template <class T, bool High>
void mad_carry(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<T>(op);
  const auto* a = warp.src<T>(op, 0);
  const auto* b = warp.src<T>(op, 1);
  const auto* c = warp.src<T>(op, 2);
  const bool is_signed = isa::is_signed(op.inst->type);
  const LaneMask in = op.inst->carry_in ? warp.pred(op.pred_src[0]) : 0;
  LaneMask out = 0;
  alignas(64) T result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    T product = a[i] * b[i];
    if constexpr (High) {
      if constexpr (sizeof(T) == 4) {
        product = is_signed ? static_cast<T>((static_cast<i64>(static_cast<i32>(a[i])) *
                                              static_cast<i64>(static_cast<i32>(b[i]))) >>
                                             32U)
                            : static_cast<T>((u64{a[i]} * b[i]) >> 32U);
      } else {
        product = is_signed ? static_cast<T>(mul_hi_s64(static_cast<i64>(a[i]), static_cast<i64>(b[i])))
                            : mul_hi_u64(a[i], b[i]);
      }
    }
    const T carry_in = (in >> i) & 1U;
    const T partial = product + c[i];
    const T sum = partial + carry_in;
    result[i] = sum;
    out |= (partial < product || sum < partial ? 1U : 0U) << i;
  }
  merge(d, result, lanes);
  if (op.inst->carry_out) warp.set_pred(op.pred_dst[0], out, lanes);
}

Handler select_add_sub(const Instruction& inst) {
  const bool subtract = inst.op == Opcode::Sub;
  if (inst.carry_in || inst.carry_out) {
    if (isa::width_bits(inst.type) == 32) return subtract ? &add_carry<u32, true> : &add_carry<u32, false>;
    if (isa::width_bits(inst.type) == 64) return subtract ? &add_carry<u64, true> : &add_carry<u64, false>;
    return nullptr;
  }
  switch (inst.type) {
    case Type::B8:
    case Type::U8:
    case Type::S8: return add_sub<ViewU8>(inst.op);
    case Type::B16:
    case Type::U16:
    case Type::S16: return add_sub<ViewU16>(inst.op);
    case Type::S32:
      if (inst.sat) {
        if (subtract) {
          return &map2<ViewS32, ViewS32, ViewS32, ([](i32 a, i32 b) { return saturate32(i64{a} - b); })>;
        }
        return &map2<ViewS32, ViewS32, ViewS32, ([](i32 a, i32 b) { return saturate32(i64{a} + b); })>;
      }
      return add_sub<ViewU32>(inst.op);
    case Type::B32:
    case Type::U32: return add_sub<ViewU32>(inst.op);
    case Type::B64:
    case Type::U64:
    case Type::S64: return add_sub<ViewU64>(inst.op);
    default: return nullptr;
  }
}

Handler select_low(const Instruction& inst) {
  if (inst.carry_in || inst.carry_out) {
    if (isa::width_bits(inst.type) == 32) return &mad_carry<u32, false>;
    if (isa::width_bits(inst.type) == 64) return &mad_carry<u64, false>;
    return nullptr;
  }
  switch (isa::width_bits(inst.type)) {
    case 16: return multiply_low<ViewU16>(inst.op);
    case 32: return multiply_low<ViewU32>(inst.op);
    case 64: return multiply_low<ViewU64>(inst.op);
    default: return nullptr;
  }
}

template <class V, auto High>
Handler multiply_high(Opcode op) {
  using T = typename V::Value;
  using U = std::make_unsigned_t<T>;
  if (op == Opcode::MulHi) return &map2<V, V, V, ([](T a, T b) -> T { return High(a, b); })>;
  return &map3<V, V, V, V, ([](T a, T b, T c) -> T {
                 return static_cast<T>(static_cast<U>(High(a, b)) + static_cast<U>(c));
               })>;
}

Handler select_high(const Instruction& inst) {
  if (inst.carry_in || inst.carry_out) {
    if (isa::width_bits(inst.type) == 32) return &mad_carry<u32, true>;
    if (isa::width_bits(inst.type) == 64) return &mad_carry<u64, true>;
    return nullptr;
  }
  switch (inst.type) {
    case Type::U16:
      return multiply_high<ViewU16, ([](u32 a, u32 b) -> u32 { return (a * b) >> 16U; })>(inst.op);
    case Type::S16:
      return multiply_high<ViewS16, ([](i32 a, i32 b) -> i32 { return (a * b) >> 16U; })>(inst.op);
    case Type::U32:
      return multiply_high<ViewU32, ([](u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32U); })>(
          inst.op);
    case Type::S32:
      if (inst.sat && inst.op == Opcode::MadHi) {
        return &map3<ViewS32, ViewS32, ViewS32, ViewS32,
                     ([](i32 a, i32 b, i32 c) { return saturate32(((i64{a} * b) >> 32U) + c); })>;
      }
      return multiply_high<ViewS32, ([](i32 a, i32 b) { return static_cast<i32>((i64{a} * b) >> 32U); })>(
          inst.op);
    case Type::U64: return multiply_high<ViewU64, ([](u64 a, u64 b) { return mul_hi_u64(a, b); })>(inst.op);
    case Type::S64: return multiply_high<ViewS64, ([](i64 a, i64 b) { return mul_hi_s64(a, b); })>(inst.op);
    default: return nullptr;
  }
}

Handler select_wide(const Instruction& inst) {
  const bool mad = inst.op == Opcode::MadWide;
  switch (inst.type) {
    case Type::U16:
      if (mad) {
        return &map3<ViewU32, ViewU16, ViewU16, ViewU32, ([](u32 a, u32 b, u32 c) { return a * b + c; })>;
      }
      return &map2<ViewU32, ViewU16, ViewU16, ([](u32 a, u32 b) { return a * b; })>;
    case Type::S16:
      if (mad) {
        return &map3<ViewU32, ViewS16, ViewS16, ViewU32,
                     ([](i32 a, i32 b, u32 c) { return static_cast<u32>(a * b) + c; })>;
      }
      return &map2<ViewS32, ViewS16, ViewS16, ([](i32 a, i32 b) { return a * b; })>;
    case Type::U32:
      if (mad) {
        return &map3<ViewU64, ViewU32, ViewU32, ViewU64,
                     ([](u32 a, u32 b, u64 c) { return u64{a} * b + c; })>;
      }
      return &map2<ViewU64, ViewU32, ViewU32, ([](u32 a, u32 b) { return u64{a} * b; })>;
    case Type::S32:
      if (mad) {
        return &map3<ViewU64, ViewS32, ViewS32, ViewU64,
                     ([](i32 a, i32 b, u64 c) { return static_cast<u64>(i64{a} * b) + c; })>;
      }
      return &map2<ViewS64, ViewS32, ViewS32, ([](i32 a, i32 b) { return i64{a} * b; })>;
    default: return nullptr;
  }
}

constexpr i64 extend24(i32 a) { return static_cast<i32>(static_cast<u32>(a) << 8U) >> 8U; }

// 24-bit operands are sign- or zero-extended. .lo takes bits 31..0 of the 48-bit product, .hi bits 47..16.
Handler select_24(const Instruction& inst) {
  const bool mad = inst.op == Opcode::Mad24;
  const bool high = (inst.shift & 1U) != 0;
  if (inst.type == Type::U32) {
    if (mad) {
      if (high) {
        return &map3<ViewU32, ViewU32, ViewU32, ViewU32, ([](u32 a, u32 b, u32 c) {
                       return static_cast<u32>((u64{a & 0xffffffU} * (b & 0xffffffU)) >> 16U) + c;
                     })>;
      }
      return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                   ([](u32 a, u32 b, u32 c) { return (a & 0xffffffU) * (b & 0xffffffU) + c; })>;
    }
    if (high) {
      return &map2<ViewU32, ViewU32, ViewU32, ([](u32 a, u32 b) {
                     return static_cast<u32>((u64{a & 0xffffffU} * (b & 0xffffffU)) >> 16U);
                   })>;
    }
    return &map2<ViewU32, ViewU32, ViewU32, ([](u32 a, u32 b) { return (a & 0xffffffU) * (b & 0xffffffU); })>;
  }
  if (inst.type != Type::S32) return nullptr;
  if (mad) {
    if (high) {
      return &map3<ViewU32, ViewS32, ViewS32, ViewU32, ([](i32 a, i32 b, u32 c) {
                     return static_cast<u32>((extend24(a) * extend24(b)) >> 16U) + c;
                   })>;
    }
    return &map3<ViewU32, ViewS32, ViewS32, ViewU32,
                 ([](i32 a, i32 b, u32 c) { return static_cast<u32>(extend24(a) * extend24(b)) + c; })>;
  }
  if (high) {
    return &map2<ViewU32, ViewS32, ViewS32,
                 ([](i32 a, i32 b) { return static_cast<u32>((extend24(a) * extend24(b)) >> 16U); })>;
  }
  return &map2<ViewU32, ViewS32, ViewS32,
               ([](i32 a, i32 b) { return static_cast<u32>(extend24(a) * extend24(b)); })>;
}

template <class V>
Handler divide(Opcode op) {
  using T = typename V::Value;
  using U = std::make_unsigned_t<T>;
  // Division by zero gives all ones, as in the code that ptxas emits. The only overflowing quotient wraps.
  if (op == Opcode::Div) {
    return &map2<V, V, V, ([](T a, T b) -> T {
                   if (b == 0) return kAllOnes<T>;
                   if constexpr (std::is_signed_v<T>) {
                     if (b == -1) return static_cast<T>(U{0} - static_cast<U>(a));
                   }
                   return a / b;
                 })>;
  }
  return &map2<V, V, V, ([](T a, T b) -> T {
                 if (b == 0) return kAllOnes<T>;
                 if constexpr (std::is_signed_v<T>) {
                   if (b == -1) return 0;
                 }
                 return a % b;
               })>;
}

template <class V>
Handler of_view(Opcode op) {
  using T = typename V::Value;
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Opcode::Div:
    case Opcode::Rem: return divide<V>(op);
    case Opcode::Min: return &map2<V, V, V, ([](T a, T b) -> T { return a < b ? a : b; })>;
    case Opcode::Max: return &map2<V, V, V, ([](T a, T b) -> T { return a > b ? a : b; })>;
    case Opcode::Neg: return &map1<V, V, ([](T a) -> T { return static_cast<T>(U{0} - static_cast<U>(a)); })>;
    case Opcode::Abs:
      return &map1<V, V, ([](T a) -> T { return a < T{0} ? static_cast<T>(U{0} - static_cast<U>(a)) : a; })>;
    case Opcode::Sad:
      return &map3<V, V, V, V, ([](T a, T b, T c) -> T {
                     const U difference = a < b ? static_cast<U>(b) - static_cast<U>(a)
                                                : static_cast<U>(a) - static_cast<U>(b);
                     return static_cast<T>(static_cast<U>(c) + difference);
                   })>;
    default: return nullptr;
  }
}

Handler select_by_view(const Instruction& inst) {
  switch (inst.type) {
    case Type::U8:
    case Type::B8: return of_view<ViewU8>(inst.op);
    case Type::S8: return of_view<ViewS8>(inst.op);
    case Type::U16:
    case Type::B16: return of_view<ViewU16>(inst.op);
    case Type::S16: return of_view<ViewS16>(inst.op);
    case Type::U32:
    case Type::B32: return of_view<ViewU32>(inst.op);
    case Type::S32: return of_view<ViewS32>(inst.op);
    case Type::U64:
    case Type::B64: return of_view<ViewU64>(inst.op);
    case Type::S64: return of_view<ViewS64>(inst.op);
    default: return nullptr;
  }
}

// d = a + (b << shift): 64-bit with an extended 32-bit b, or both at the width of d.
Handler select_lea(const Instruction& inst) {
  if (isa::width_bits(inst.type) == 32) {
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      auto* d = warp.dst<u32>(op);
      const auto* a = warp.src<u32>(op, 0);
      const auto* b = warp.src<u32>(op, 1);
      const u32 shift = op.param;
      alignas(64) u32 result[kWarpSize];
      for (u32 i = 0; i < kWarpSize; ++i) result[i] = a[i] + (b[i] << shift);
      merge(d, result, lanes);
    };
  }
  if (isa::width_bits(inst.type) != 64) return nullptr;
  if (!inst.wide) {
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      auto* d = warp.dst<u64>(op);
      const auto* a = warp.src<u64>(op, 0);
      const auto* b = warp.src<u64>(op, 1);
      const u32 shift = op.param;
      alignas(64) u64 result[kWarpSize];
      for (u32 i = 0; i < kWarpSize; ++i) result[i] = a[i] + (b[i] << shift);
      merge(d, result, lanes);
    };
  }
  if (isa::is_signed(inst.type2)) {
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      auto* d = warp.dst<u64>(op);
      const auto* a = warp.src<u64>(op, 0);
      const auto* b = warp.src<u32>(op, 1);
      const u32 shift = op.param;
      alignas(64) u64 result[kWarpSize];
      for (u32 i = 0; i < kWarpSize; ++i) {
        result[i] = a[i] + (static_cast<u64>(static_cast<i64>(static_cast<i32>(b[i]))) << shift);
      }
      merge(d, result, lanes);
    };
  }
  return [](Warp& warp, const Op& op, LaneMask lanes) {
    auto* d = warp.dst<u64>(op);
    const auto* a = warp.src<u64>(op, 0);
    const auto* b = warp.src<u32>(op, 1);
    const u32 shift = op.param;
    alignas(64) u64 result[kWarpSize];
    for (u32 i = 0; i < kWarpSize; ++i) result[i] = a[i] + (u64{b[i]} << shift);
    merge(d, result, lanes);
  };
}

}  // namespace

Handler select_integer(const Instruction& inst) {
  if (isa::is_float(inst.type) || inst.type == Type::Pred) return nullptr;
  switch (inst.op) {
    case Opcode::Add:
    case Opcode::Sub: return select_add_sub(inst);
    case Opcode::MulLo:
    case Opcode::MadLo: return select_low(inst);
    case Opcode::MulHi:
    case Opcode::MadHi: return select_high(inst);
    case Opcode::MulWide:
    case Opcode::MadWide: return select_wide(inst);
    case Opcode::Mul24:
    case Opcode::Mad24: return select_24(inst);
    case Opcode::Lea: return select_lea(inst);
    case Opcode::Div:
    case Opcode::Rem:
    case Opcode::Min:
    case Opcode::Max:
    case Opcode::Neg:
    case Opcode::Abs:
    case Opcode::Sad: return select_by_view(inst);
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
