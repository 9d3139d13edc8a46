// Logic, shifts, bit manipulation, and dot products of bytes and half-words.
#include "emulator/lanes.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Type;

template <class V>
Handler logic(Opcode op) {
  using T = typename V::Value;
  switch (op) {
    case Opcode::And: return &map2<V, V, V, ([](T a, T b) -> T { return a & b; })>;
    case Opcode::Or: return &map2<V, V, V, ([](T a, T b) -> T { return a | b; })>;
    case Opcode::Xor: return &map2<V, V, V, ([](T a, T b) -> T { return a ^ b; })>;
    case Opcode::Not: return &map1<V, V, ([](T a) -> T { return ~a; })>;
    case Opcode::Cnot: return &map1<V, V, ([](T a) -> T { return a == 0 ? 1 : 0; })>;
    default: return nullptr;
  }
}

Handler pred_logic(Opcode op) {
  switch (op) {
    case Opcode::And:
      return [](Warp& warp, const Op& op_, LaneMask lanes) {
        warp.set_pred(op_.pred_dst[0], warp.pred(op_.pred_src[0]) & warp.pred(op_.pred_src[1]), lanes);
      };
    case Opcode::Or:
      return [](Warp& warp, const Op& op_, LaneMask lanes) {
        warp.set_pred(op_.pred_dst[0], warp.pred(op_.pred_src[0]) | warp.pred(op_.pred_src[1]), lanes);
      };
    case Opcode::Xor:
      return [](Warp& warp, const Op& op_, LaneMask lanes) {
        warp.set_pred(op_.pred_dst[0], warp.pred(op_.pred_src[0]) ^ warp.pred(op_.pred_src[1]), lanes);
      };
    case Opcode::Not:
    case Opcode::Cnot:
      return [](Warp& warp, const Op& op_, LaneMask lanes) {
        warp.set_pred(op_.pred_dst[0], ~warp.pred(op_.pred_src[0]), lanes);
      };
    default: return nullptr;
  }
}

Handler select_logic(const Instruction& inst) {
  if (inst.type == Type::Pred) return pred_logic(inst.op);
  switch (isa::width_bits(inst.type)) {
    case 8: return logic<ViewU8>(inst.op);
    case 16: return logic<ViewU16>(inst.op);
    case 32: return logic<ViewU32>(inst.op);
    case 64: return logic<ViewU64>(inst.op);
    default: return nullptr;
  }
}

void lop3(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u32>(op, 0);
  const auto* b = warp.src<u32>(op, 1);
  const auto* c = warp.src<u32>(op, 2);
  u32 term[8];  // term k: all ones if the table has a 1 for inputs a b c = k
  for (u32 k = 0; k < 8; ++k) term[k] = (op.param >> k) & 1U ? ~0U : 0U;
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    const u32 without_a =
        (~b[i] & ((~c[i] & term[0]) | (c[i] & term[1]))) | (b[i] & ((~c[i] & term[2]) | (c[i] & term[3])));
    const u32 with_a =
        (~b[i] & ((~c[i] & term[4]) | (c[i] & term[5]))) | (b[i] & ((~c[i] & term[6]) | (c[i] & term[7])));
    result[i] = (~a[i] & without_a) | (a[i] & with_a);
  }
  merge(d, result, lanes);
}

// The shift amount is a u32. Amounts above the width act like the width.
Handler select_shift(const Instruction& inst) {
  const bool left = inst.op == Opcode::Shl;
  const bool arithmetic = isa::is_signed(inst.type);
  switch (isa::width_bits(inst.type)) {
    case 16:
      if (left) return &map2<ViewU16, ViewU16, ViewU32, ([](u32 a, u32 n) { return n > 15 ? 0 : a << n; })>;
      if (arithmetic)
        return &map2<ViewS16, ViewS16, ViewU32, ([](i32 a, u32 n) { return a >> (n > 15 ? 15 : n); })>;
      return &map2<ViewU16, ViewU16, ViewU32, ([](u32 a, u32 n) { return n > 15 ? 0 : a >> n; })>;
    case 32:
      if (left) return &map2<ViewU32, ViewU32, ViewU32, ([](u32 a, u32 n) { return n > 31 ? 0 : a << n; })>;
      if (arithmetic)
        return &map2<ViewS32, ViewS32, ViewU32, ([](i32 a, u32 n) { return a >> (n > 31 ? 31 : n); })>;
      return &map2<ViewU32, ViewU32, ViewU32, ([](u32 a, u32 n) { return n > 31 ? 0 : a >> n; })>;
    case 64:
      if (left) return &map2<ViewU64, ViewU64, ViewU32, ([](u64 a, u32 n) { return n > 63 ? 0 : a << n; })>;
      if (arithmetic)
        return &map2<ViewS64, ViewS64, ViewU32, ([](i64 a, u32 n) { return a >> (n > 63 ? 63 : n); })>;
      return &map2<ViewU64, ViewU64, ViewU32, ([](u64 a, u32 n) { return n > 63 ? 0 : a >> n; })>;
    default: return nullptr;
  }
}

// The funnel shift of the 64-bit value b:a (a the lower half), in 32-bit operations that vectorise.
constexpr u32 funnel_right(u32 a, u32 b, u32 by) { return (a >> by) | ((b << 1U) << (31U - by)); }
constexpr u32 funnel_left(u32 a, u32 b, u32 by) { return (b << by) | ((a >> 1U) >> (31U - by)); }

Handler select_funnel(const Instruction& inst) {
  const bool right = (inst.shift & 1U) != 0;
  const bool clamp = (inst.shift & 2U) != 0;
  if (right) {
    if (clamp) {
      return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                   ([](u32 a, u32 b, u32 c) { return c >= 32 ? b : funnel_right(a, b, c & 31U); })>;
    }
    return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                 ([](u32 a, u32 b, u32 c) { return funnel_right(a, b, c & 31U); })>;
  }
  if (clamp) {
    return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                 ([](u32 a, u32 b, u32 c) { return c >= 32 ? a : funnel_left(a, b, c & 31U); })>;
  }
  return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
               ([](u32 a, u32 b, u32 c) { return funnel_left(a, b, c & 31U); })>;
}

// The selector of prmt's special modes: four nibbles, from the lowest two bits of c.
constexpr u32 prmt_selector(u32 mode, u32 c) {
  const u32 n = c & 3U;
  u32 selector = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 byte = 0;
    switch (mode) {
      case 1: byte = n + i; break;                      // f4e: forward 4 extract
      case 2: byte = (n + 8U - i) & 7U; break;          // b4e: backward 4 extract
      case 3: byte = n; break;                          // rc8: replicate 8
      case 4: byte = i < n ? n : i; break;              // ecl: edge clamp left
      case 5: byte = i > n ? n : i; break;              // ecr: edge clamp right
      default: byte = (n & 1U) * 2U + (i & 1U); break;  // rc16: replicate 16
    }
    selector |= byte << (4U * i);
  }
  return selector;
}

/// prmt with the same selector in all lanes, byte by byte.
void prmt_alike(Warp& warp, const Op& op, LaneMask lanes) {
  const u32 selector = warp.src<u32>(op, 2)[0];
  alignas(64) u32 result[kWarpSize] = {};
  for (u32 k = 0; k < 4; ++k) {
    const u32 nibble = (selector >> (4U * k)) & 0xfU;
    const auto* from = warp.src<u32>(op, (nibble & 4U) != 0 ? 1 : 0);
    const u32 up = 24U - 8U * (nibble & 3U);  // brings the byte to the top
    if ((nibble & 8U) != 0) {                 // replicate the sign
      for (u32 i = 0; i < kWarpSize; ++i)
        result[i] |= (static_cast<u32>(static_cast<i32>(from[i] << up) >> 31U) & 0xffU) << (8U * k);
    } else {
      for (u32 i = 0; i < kWarpSize; ++i) result[i] |= (from[i] << up) >> 24U << (8U * k);
    }
  }
  merge(warp.dst<u32>(op), result, lanes);
}

void prmt(Warp& warp, const Op& op, LaneMask lanes) {
  if (op.param == 0 && op.src[2].base == kConstantRows) return prmt_alike(warp, op, lanes);
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u32>(op, 0);
  const auto* b = warp.src<u32>(op, 1);
  const auto* c = warp.src<u32>(op, 2);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    const u64 bytes = (u64{b[i]} << 32U) | a[i];
    const u32 selector = op.param == 0 ? c[i] : prmt_selector(op.param, c[i]);
    u32 value = 0;
    for (u32 k = 0; k < 4; ++k) {
      const u32 nibble = (selector >> (4U * k)) & 0xfU;
      u32 byte = static_cast<u32>(bytes >> (8U * (nibble & 7U))) & 0xffU;
      if ((nibble & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0;  // replicate the sign
      value |= byte << (8U * k);
    }
    result[i] = value;
  }
  merge(d, result, lanes);
}

constexpr u32 find_msb(u64 a) { return a == 0 ? 0xffffffffU : 63U - static_cast<u32>(std::countl_zero(a)); }

Handler select_count(const Instruction& inst) {
  const bool wide = isa::width_bits(inst.type) == 64;
  switch (inst.op) {
    case Opcode::Popc:
      if (wide) return &map1<ViewU32, ViewU64, ([](u64 a) { return static_cast<u32>(std::popcount(a)); })>;
      return &map1<ViewU32, ViewU32, ([](u32 a) { return static_cast<u32>(std::popcount(a)); })>;
    case Opcode::Clz:
      if (wide) return &map1<ViewU32, ViewU64, ([](u64 a) { return static_cast<u32>(std::countl_zero(a)); })>;
      return &map1<ViewU32, ViewU32, ([](u32 a) { return static_cast<u32>(std::countl_zero(a)); })>;
    default: break;
  }
  // bfind: for signed types, the highest bit that differs from the sign. shiftamt counts from the top.
  const bool amount = (inst.shift & 1U) != 0;
  switch (inst.type) {
    case Type::U32:
    case Type::B32:
      if (amount) {
        return &map1<ViewU32, ViewU32,
                     ([](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); })>;
      }
      return &map1<ViewU32, ViewU32, ([](u32 a) { return find_msb(a); })>;
    case Type::S32:
      if (amount) {
        return &map1<ViewU32, ViewS32, ([](i32 a) {
                       const u32 bits = static_cast<u32>(a < 0 ? ~a : a);
                       return bits == 0 ? ~0U : static_cast<u32>(std::countl_zero(bits));
                     })>;
      }
      return &map1<ViewU32, ViewS32, ([](i32 a) { return find_msb(static_cast<u32>(a < 0 ? ~a : a)); })>;
    case Type::U64:
    case Type::B64:
      if (amount) {
        return &map1<ViewU32, ViewU64,
                     ([](u64 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); })>;
      }
      return &map1<ViewU32, ViewU64, ([](u64 a) { return find_msb(a); })>;
    case Type::S64:
      if (amount) {
        return &map1<ViewU32, ViewS64, ([](i64 a) {
                       const u64 bits = static_cast<u64>(a < 0 ? ~a : a);
                       return bits == 0 ? ~0U : static_cast<u32>(std::countl_zero(bits));
                     })>;
      }
      return &map1<ViewU32, ViewS64, ([](i64 a) { return find_msb(static_cast<u64>(a < 0 ? ~a : a)); })>;
    default: return nullptr;
  }
}

template <class T>
constexpr T reverse_bits(T value) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) result |= ((value >> i) & T{1}) << (sizeof(T) * 8 - 1 - i);
  return result;
}

// Bits [pos, pos + len) of a, extended by the sign: the field's top bit, clipped to the word.
template <class T, bool Signed>
constexpr T extract_field(T a, u32 b, u32 c) {
  constexpr u32 kTop = sizeof(T) * 8 - 1;
  const u32 pos = b & 0xffU;
  const u32 len = c & 0xffU;
  T sign = 0;
  if (Signed && len != 0) {
    const u32 at = pos + len - 1 > kTop ? kTop : pos + len - 1;
    sign = ((a >> at) & 1U) != 0 ? static_cast<T>(~T{0}) : T{0};
  }
  const u32 available = pos > kTop ? 0 : kTop + 1 - pos;
  const u32 taken = len < available ? len : available;
  if (taken == 0) return sign;
  const T field = a >> pos;
  if (taken > kTop) return field;
  const T mask = (T{1} << taken) - 1;
  return (field & mask) | (sign & ~mask);
}

template <class T>
constexpr T insert_field(T a, T b, u32 c, u32 d) {
  constexpr u32 kTop = sizeof(T) * 8 - 1;
  const u32 pos = c & 0xffU;
  const u32 len = d & 0xffU;
  if (pos > kTop || len == 0) return b;
  const T ones = len > kTop ? static_cast<T>(~T{0}) : (T{1} << len) - 1;
  const T mask = ones << pos;
  return (b & ~mask) | ((a << pos) & mask);
}

template <class T>
void bfi(Warp& warp, const Op& op, LaneMask lanes) {
  auto* f = warp.dst<T>(op);
  const auto* a = warp.src<T>(op, 0);
  const auto* b = warp.src<T>(op, 1);
  const auto* c = warp.src<u32>(op, 2);
  const auto* d = warp.src<u32>(op, 3);
  alignas(64) T result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = insert_field<T>(a[i], b[i], c[i], d[i]);
  merge(f, result, lanes);
}

Handler select_field(const Instruction& inst) {
  const bool wide = isa::width_bits(inst.type) == 64;
  if (inst.op == Opcode::Bfi) return wide ? &bfi<u64> : &bfi<u32>;
  if (inst.op == Opcode::Brev) {
    if (wide) return &map1<ViewU64, ViewU64, ([](u64 a) { return reverse_bits(a); })>;
    return &map1<ViewU32, ViewU32, ([](u32 a) { return reverse_bits(a); })>;
  }
  const bool is_signed = isa::is_signed(inst.type);
  if (wide) {
    if (is_signed) {
      return &map3<ViewU64, ViewU64, ViewU32, ViewU32,
                   ([](u64 a, u32 b, u32 c) { return extract_field<u64, true>(a, b, c); })>;
    }
    return &map3<ViewU64, ViewU64, ViewU32, ViewU32,
                 ([](u64 a, u32 b, u32 c) { return extract_field<u64, false>(a, b, c); })>;
  }
  if (is_signed) {
    return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                 ([](u32 a, u32 b, u32 c) { return extract_field<u32, true>(a, b, c); })>;
  }
  return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
               ([](u32 a, u32 b, u32 c) { return extract_field<u32, false>(a, b, c); })>;
}

// dp4a: four byte products added to c. dp2a: two half-words of a times the lower or upper two bytes of b.
template <bool SignedA, bool SignedB>
constexpr u32 dot4(u32 a, u32 b, u32 c) {
  for (u32 k = 0; k < 4; ++k) {
    const i32 x = SignedA ? i32{static_cast<i8>(a >> (8 * k))} : i32{static_cast<u8>(a >> (8 * k))};
    const i32 y = SignedB ? i32{static_cast<i8>(b >> (8 * k))} : i32{static_cast<u8>(b >> (8 * k))};
    c += static_cast<u32>(x * y);
  }
  return c;
}

template <bool SignedA, bool SignedB, bool High>
constexpr u32 dot2(u32 a, u32 b, u32 c) {
  for (u32 k = 0; k < 2; ++k) {
    const u32 byte = High ? k + 2 : k;
    const i32 x = SignedA ? i32{static_cast<i16>(a >> (16 * k))} : i32{static_cast<u16>(a >> (16 * k))};
    const i32 y = SignedB ? i32{static_cast<i8>(b >> (8 * byte))} : i32{static_cast<u8>(b >> (8 * byte))};
    c += static_cast<u32>(x * y);
  }
  return c;
}

template <bool SignedA, bool SignedB>
Handler dot(const Instruction& inst) {
  if (inst.op == Opcode::Dp4a) {
    return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                 ([](u32 a, u32 b, u32 c) { return dot4<SignedA, SignedB>(a, b, c); })>;
  }
  if ((inst.shift & 1U) != 0) {
    return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
                 ([](u32 a, u32 b, u32 c) { return dot2<SignedA, SignedB, true>(a, b, c); })>;
  }
  return &map3<ViewU32, ViewU32, ViewU32, ViewU32,
               ([](u32 a, u32 b, u32 c) { return dot2<SignedA, SignedB, false>(a, b, c); })>;
}

// `type` is the type of a, `type2` the type of b.
Handler select_dot(const Instruction& inst) {
  const bool signed_a = isa::is_signed(inst.type);
  const bool signed_b = inst.type2 == Type::None ? signed_a : isa::is_signed(inst.type2);
  if (signed_a) return signed_b ? dot<true, true>(inst) : dot<true, false>(inst);
  return signed_b ? dot<false, true>(inst) : dot<false, false>(inst);
}

}  // namespace

Handler select_bits(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Not:
    case Opcode::Cnot: return select_logic(inst);
    case Opcode::Lop3: return &lop3;
    case Opcode::Shl:
    case Opcode::Shr: return select_shift(inst);
    case Opcode::Shf: return select_funnel(inst);
    case Opcode::Prmt: return &prmt;
    case Opcode::Popc:
    case Opcode::Clz:
    case Opcode::Bfind: return select_count(inst);
    case Opcode::Brev:
    case Opcode::Bfe:
    case Opcode::Bfi: return select_field(inst);
    case Opcode::Dp4a:
    case Opcode::Dp2a: return select_dot(inst);
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
