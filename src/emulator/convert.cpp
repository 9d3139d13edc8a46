// Conversions between number types. Common ones are vector loops. Others take the exact path, bit by bit and
// lane by lane.

#include <algorithm>
#include <array>
#include <cmath>

#include "emulator/float_math.hpp"
#include "emulator/half.hpp"
#include "emulator/lanes.hpp"
#include "emulator/matrix_arithmetic.hpp"
#include "emulator/rounding.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Rounding;
using isa::Type;

const Format* format_of(Type type) {
  switch (type) {
    case Type::F16: return &kHalf;
    case Type::BF16: return &kBfloat;
    case Type::F32: return &kSingle;
    case Type::F64: return &kDouble;
    default: return nullptr;
  }
}

u64 nan_of(Type type) {
  switch (type) {
    case Type::F16:
    case Type::BF16: return kNan16;
    case Type::F32: return kNan32;
    default: return kNan64;
  }
}

u64 narrow_to(u64 bits, unsigned width) { return width == 64 ? bits : bits & ((u64{1} << width) - 1); }

u64 sign_extend(u64 bits, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<u64>(static_cast<i64>(bits << unused) >> unused);
}

/// A float rounded to an integer by `mode` and clamped to the destination's range.
u64 float_to_int(Exact value, Type to, Rounding mode) {
  const unsigned width = isa::width_bits(to);
  const bool is_signed = isa::is_signed(to);
  const u64 largest = is_signed ? (u64{1} << (width - 1)) - 1 : narrow_to(~u64{0}, width);
  const u64 smallest = is_signed ? u64{1} << (width - 1) : 0;  // its magnitude
  if (value.kind == Exact::Kind::NotANumber) return 0;
  const u64 limit = value.negative ? smallest : largest;
  u64 magnitude = 0;
  if (value.kind == Exact::Kind::Infinity) {
    magnitude = limit;
  } else if (value.mantissa != 0) {
    if (value.exponent >= 0) {
      magnitude =
          value.exponent > std::countl_zero(value.mantissa) ? limit : value.mantissa << value.exponent;
    } else {
      magnitude = shift_rounded(value.mantissa, -value.exponent, value.negative, mode);
    }
    if (magnitude > limit) magnitude = limit;
  }
  return narrow_to(value.negative ? u64{0} - magnitude : magnitude, width);
}

/// A float rounded to an integral float.
u64 to_integral(u64 bits, const Format& format, Rounding mode) {
  Exact value = decompose(bits, format);
  if (value.kind != Exact::Kind::Finite || value.mantissa == 0 || value.exponent >= 0) return bits;
  value.mantissa = shift_rounded(value.mantissa, -value.exponent, value.negative, mode);
  value.exponent = 0;
  return encode(value, format, Rounding::RZ);
}

u64 flush_bits(u64 bits, const Format& format) {
  const u64 exponent = format.infinity();
  return (bits & exponent) == 0 ? bits & format.sign() : bits;
}

/// Converts one value between any two types.
u64 convert(u64 bits, const Instruction& inst) {
  const Type to = inst.type;
  const Type from = inst.type2;
  const Format* from_format = format_of(from);
  const Format* to_format = format_of(to);
  const unsigned from_width = isa::width_bits(from);
  bits = narrow_to(bits, from_width);
  if (from_format == nullptr && to_format == nullptr) {
    const bool from_signed = isa::is_signed(from);
    const u64 wide = from_signed ? sign_extend(bits, from_width) : bits;
    const unsigned width = isa::width_bits(to);
    if (!inst.sat) return narrow_to(wide, width);
    Exact value;
    value.negative = from_signed && (wide >> 63U) != 0;
    value.mantissa = value.negative ? u64{0} - wide : wide;
    return float_to_int(value, to, Rounding::RZI);
  }
  if (from_format == nullptr) {
    Exact value;
    const u64 wide = isa::is_signed(from) ? sign_extend(bits, from_width) : bits;
    value.negative = isa::is_signed(from) && (wide >> 63U) != 0;
    value.mantissa = value.negative ? u64{0} - wide : wide;
    u64 result = encode(value, *to_format, inst.rounding);
    if (inst.sat) {  // clamps to [0, 1]
      const u64 one = encode(Exact{Exact::Kind::Finite, false, 1, 0}, *to_format, Rounding::RZ);
      result = value.negative ? 0 : (value.mantissa >= 1 ? one : 0);
    }
    return result;
  }
  if (inst.ftz && from == Type::F32) bits = flush_bits(bits, kSingle);
  const Exact value = decompose(bits, *from_format);
  if (to_format == nullptr) {
    // PTX: NaN becomes 0, or only the top bit if the source is f64 or the destination has 64 bits.
    if (value.kind == Exact::Kind::NotANumber && (from == Type::F64 || isa::width_bits(to) == 64)) {
      return u64{1} << (isa::width_bits(to) - 1);
    }
    return float_to_int(value, to, inst.rounding);
  }
  u64 result = 0;
  if (value.kind == Exact::Kind::NotANumber) {
    if (inst.sat) return 0;
    return nan_of(to);
  }
  if (value.kind == Exact::Kind::Infinity) {
    result = to_format->infinity() | (value.negative ? to_format->sign() : 0);
  } else if (from == to && inst.rounding >= Rounding::RNI && inst.rounding <= Rounding::RPI) {
    result = to_integral(bits, *to_format, inst.rounding);
  } else {
    result = encode(value, *to_format, inst.rounding);
  }
  if (inst.ftz && to == Type::F32) result = flush_bits(result, kSingle);
  if (inst.sat) {
    const u64 one = encode(Exact{Exact::Kind::Finite, false, 1, 0}, *to_format, Rounding::RZ);
    if ((result & to_format->sign()) != 0) result = 0;
    if (result > one) result = one;
  }
  return result;
}

template <class To, class From>
void general(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<To>(op);
  const auto* a = warp.src<From>(op, 0);
  const Instruction& inst = *op.inst;
  alignas(64) To result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    result[i] = (lanes >> i) & 1U ? static_cast<To>(convert(a[i], inst)) : To{0};
  }
  merge(d, result, lanes);
}

Handler select_general(const Instruction& inst) {
  const bool to_wide = isa::width_bits(inst.type) == 64;
  const bool from_wide = isa::width_bits(inst.type2) == 64;
  if (to_wide) return from_wide ? &general<u64, u64> : &general<u64, u32>;
  return from_wide ? &general<u32, u64> : &general<u32, u32>;
}

// Integers: extended according to the source's type, then cut to the destination's width.
template <class D, class From>
Handler resize() {
  using T = typename D::Value;
  return &map1<D, From, ([](typename From::Value a) { return static_cast<T>(a); })>;
}

template <class D>
Handler resize_to(Type from) {
  switch (from) {
    case Type::U8:
    case Type::B8: return resize<D, ViewU8>();
    case Type::S8: return resize<D, ViewS8>();
    case Type::U16:
    case Type::B16: return resize<D, ViewU16>();
    case Type::S16: return resize<D, ViewS16>();
    case Type::U32:
    case Type::B32: return resize<D, ViewU32>();
    case Type::S32: return resize<D, ViewS32>();
    case Type::U64:
    case Type::B64: return resize<D, ViewU64>();
    case Type::S64: return resize<D, ViewS64>();
    default: return nullptr;
  }
}

Handler select_int_to_int(const Instruction& inst) {
  if (inst.sat) return select_general(inst);
  switch (isa::width_bits(inst.type)) {
    case 8: return resize_to<ViewU8>(inst.type2);
    case 16: return resize_to<ViewU16>(inst.type2);
    case 32: return resize_to<ViewU32>(inst.type2);
    case 64: return resize_to<ViewU64>(inst.type2);
    default: return nullptr;
  }
}

template <class D>
Handler nearest_from_int(Type from) {
  using T = typename D::Value;
  switch (from) {
    case Type::U8: return &map1<D, ViewU8, ([](u32 a) { return static_cast<T>(a); })>;
    case Type::S8: return &map1<D, ViewS8, ([](i32 a) { return static_cast<T>(a); })>;
    case Type::U16: return &map1<D, ViewU16, ([](u32 a) { return static_cast<T>(a); })>;
    case Type::S16: return &map1<D, ViewS16, ([](i32 a) { return static_cast<T>(a); })>;
    case Type::U32: return &map1<D, ViewU32, ([](u32 a) { return static_cast<T>(a); })>;
    case Type::S32: return &map1<D, ViewS32, ([](i32 a) { return static_cast<T>(a); })>;
    case Type::U64: return &map1<D, ViewU64, ([](u64 a) { return static_cast<T>(a); })>;
    case Type::S64: return &map1<D, ViewS64, ([](i64 a) { return static_cast<T>(a); })>;
    default: return nullptr;
  }
}

/// Conversion of an integer to f32 with directed rounding. The code for integer division starts with one that
/// rounds up.
template <Rounding Mode, class T>
u32 directed_single(T a) {
  const auto nearest = static_cast<float>(a);
  u32 bits = std::bit_cast<u32>(nearest);
  bool above = false;
  bool below = false;
  if constexpr (sizeof(T) == 4) {  // exact in double
    above = static_cast<double>(nearest) > static_cast<double>(a);
    below = static_cast<double>(nearest) < static_cast<double>(a);
  } else {
    above = nearest >= 0x1p64F || static_cast<T>(nearest) > a;
    below = nearest < 0x1p64F && static_cast<T>(nearest) < a;
  }
  // Away from zero, the bits increase. Only 0 has no sign, and it is exact.
  const bool negative = (bits >> 31U) != 0;
  const bool down = above && (Mode == Rounding::RM || (Mode == Rounding::RZ && !negative));
  const bool up = below && (Mode == Rounding::RP || (Mode == Rounding::RZ && negative));
  bits += down ? (negative ? 1U : ~0U) : 0U;
  bits += up ? (negative ? ~0U : 1U) : 0U;
  return bits;
}

template <Rounding Mode>
Handler directed_from_int(Type from) {
  switch (from) {
    case Type::U32: return &map1<ViewU32, ViewU32, ([](u32 a) { return directed_single<Mode>(a); })>;
    case Type::S32: return &map1<ViewU32, ViewS32, ([](i32 a) { return directed_single<Mode>(a); })>;
    case Type::U64: return &map1<ViewU32, ViewU64, ([](u64 a) { return directed_single<Mode>(a); })>;
    default: return nullptr;
  }
}

Handler directed_from_int(const Instruction& inst) {
  switch (inst.rounding) {
    case Rounding::RZ: return directed_from_int<Rounding::RZ>(inst.type2);
    case Rounding::RM: return directed_from_int<Rounding::RM>(inst.type2);
    case Rounding::RP: return directed_from_int<Rounding::RP>(inst.type2);
    default: return nullptr;
  }
}

/// A float rounded to an integral value and clamped. NaN gives 0.
template <bool Ftz, Rounding Mode>
i32 single_to_s32(float a) {
  float x = Ftz ? flush(a) : a;
  if constexpr (Mode == Rounding::RNI) x = std::rint(x);
  if constexpr (Mode == Rounding::RMI) x = std::floor(x);
  if constexpr (Mode == Rounding::RPI) x = std::ceil(x);
  const bool high = x >= 0x1p31F;
  const bool low = x < -0x1p31F;
  const i32 inside = static_cast<i32>(high || low || is_nan(x) ? 0.0F : x);
  return high ? INT32_MAX : (low ? INT32_MIN : inside);
}

template <Rounding Mode, class T>
T round_integral(T x) {
  if constexpr (Mode == Rounding::RNI) return std::rint(x);
  if constexpr (Mode == Rounding::RZI) return std::trunc(x);
  if constexpr (Mode == Rounding::RMI) return std::floor(x);
  return std::ceil(x);
}

/// A float to u32 by double, with clamping. Doubles hold all values of u32 exactly.
template <bool Ftz, Rounding Mode>
u32 single_to_u32(float a) {
  const double x = static_cast<double>(round_integral<Mode>(Ftz ? flush(a) : a));
  const double above_zero = x > 0.0 ? x : 0.0;  // NaN becomes 0
  const double inside = above_zero < 4294967295.0 ? above_zero : 4294967295.0;
  return static_cast<u32>(static_cast<i32>(inside - 0x1p31)) + 0x80000000U;
}

template <Rounding Mode>
i32 double_to_s32(double a) {
  const double x = round_integral<Mode>(a);
  const double low = x > -0x1p31 ? x : -0x1p31;  // NaN becomes the smallest number, as PTX requires for f64
  return static_cast<i32>(low < 2147483647.0 ? low : 2147483647.0);
}

template <Rounding Mode>
Handler to_u32(bool ftz) {
  if (ftz) return &map1<ViewU32, ViewF32, ([](float a) { return single_to_u32<true, Mode>(a); })>;
  return &map1<ViewU32, ViewF32, ([](float a) { return single_to_u32<false, Mode>(a); })>;
}

template <Rounding Mode>
Handler double_handler() {
  return &map1<ViewS32, ViewF64, ([](double a) { return double_to_s32<Mode>(a); })>;
}

template <Rounding Mode>
Handler to_s32(bool ftz) {
  if (ftz) return &map1<ViewS32, ViewF32, ([](float a) { return single_to_s32<true, Mode>(a); })>;
  return &map1<ViewS32, ViewF32, ([](float a) { return single_to_s32<false, Mode>(a); })>;
}

template <Rounding Mode>
float integral(float a) {
  float r = a;
  if constexpr (Mode == Rounding::RNI) r = std::rint(a);
  if constexpr (Mode == Rounding::RZI) r = std::trunc(a);
  if constexpr (Mode == Rounding::RMI) r = std::floor(a);
  if constexpr (Mode == Rounding::RPI) r = std::ceil(a);
  return with_nan(r, a);
}

template <Rounding Mode>
Handler to_integral_f32(bool ftz) {
  if (ftz) return &map1<ViewF32, ViewF32, ([](float a) { return integral<Mode>(flush(a)); })>;
  return &map1<ViewF32, ViewF32, ([](float a) { return integral<Mode>(a); })>;
}

/// A float to an integer of 8 or 16 bits, clamped to its range.
template <Rounding Mode, bool Ftz, i32 Low, i32 High>
Handler to_range() {
  return &map1<ViewU32, ViewF32, ([](float a) {
                 const i32 value = std::clamp(single_to_s32<Ftz, Mode>(a), Low, High);
                 return static_cast<u32>(value) & static_cast<u32>(High - Low);
               })>;
}

template <Rounding Mode, bool Ftz>
Handler to_narrow(Type to) {
  switch (to) {
    case Type::U8: return to_range<Mode, Ftz, 0, 0xff>();
    case Type::S8: return to_range<Mode, Ftz, -0x80, 0x7f>();
    case Type::U16: return to_range<Mode, Ftz, 0, 0xffff>();
    case Type::S16: return to_range<Mode, Ftz, -0x8000, 0x7fff>();
    default: return nullptr;
  }
}

template <bool Ftz>
Handler to_narrow(const Instruction& inst) {
  switch (inst.rounding) {
    case Rounding::RZI: return to_narrow<Rounding::RZI, Ftz>(inst.type);
    case Rounding::RNI: return to_narrow<Rounding::RNI, Ftz>(inst.type);
    case Rounding::RMI: return to_narrow<Rounding::RMI, Ftz>(inst.type);
    case Rounding::RPI: return to_narrow<Rounding::RPI, Ftz>(inst.type);
    default: return nullptr;
  }
}

Handler select_from_f32(const Instruction& inst) {
  if (isa::width_bits(inst.type) < 32 && !isa::is_float(inst.type) && !inst.sat) {
    if (const Handler handler = inst.ftz ? to_narrow<true>(inst) : to_narrow<false>(inst)) return handler;
  }
  if (inst.type == Type::S32 && !inst.sat) {
    switch (inst.rounding) {
      case Rounding::RZI: return to_s32<Rounding::RZI>(inst.ftz);
      case Rounding::RNI: return to_s32<Rounding::RNI>(inst.ftz);
      case Rounding::RMI: return to_s32<Rounding::RMI>(inst.ftz);
      case Rounding::RPI: return to_s32<Rounding::RPI>(inst.ftz);
      default: break;
    }
  }
  if (inst.type == Type::U32 && !inst.sat) {
    switch (inst.rounding) {
      case Rounding::RZI: return to_u32<Rounding::RZI>(inst.ftz);
      case Rounding::RNI: return to_u32<Rounding::RNI>(inst.ftz);
      case Rounding::RMI: return to_u32<Rounding::RMI>(inst.ftz);
      case Rounding::RPI: return to_u32<Rounding::RPI>(inst.ftz);
      default: break;
    }
  }
  if (inst.type == Type::F32 && !inst.sat) {
    switch (inst.rounding) {
      case Rounding::RZI: return to_integral_f32<Rounding::RZI>(inst.ftz);
      case Rounding::RNI: return to_integral_f32<Rounding::RNI>(inst.ftz);
      case Rounding::RMI: return to_integral_f32<Rounding::RMI>(inst.ftz);
      case Rounding::RPI: return to_integral_f32<Rounding::RPI>(inst.ftz);
      default: break;
    }
  }
  if (inst.type == Type::F32 && inst.sat && rounds_to_nearest(inst.rounding) && !inst.ftz) {
    return &map1<ViewF32, ViewF32, ([](float a) { return clamp01(a); })>;
  }
  if (inst.type == Type::F64 && !inst.sat) {
    // A NaN keeps its payload and becomes quiet.
    if (inst.ftz) return &map1<ViewF64, ViewF32, ([](float a) { return static_cast<double>(flush(a)); })>;
    return &map1<ViewF64, ViewF32, ([](float a) { return static_cast<double>(a); })>;
  }
  if (inst.type == Type::F16 && rounds_to_nearest(inst.rounding) && !inst.ftz && !inst.sat) {
    return &map1<ViewU32, ViewF32, ([](float a) { return float_to_half(a); })>;
  }
  if (inst.type == Type::BF16 && rounds_to_nearest(inst.rounding) && !inst.ftz && !inst.sat) {
    return &map1<ViewU32, ViewF32, ([](float a) { return float_to_bfloat(a); })>;
  }
  return select_general(inst);
}

Handler select_cvt(const Instruction& inst) {
  const bool from_float = isa::is_float(inst.type2);
  const bool to_float = isa::is_float(inst.type);
  if (isa::width_bits(inst.type) == 1 || isa::width_bits(inst.type2) == 1) return nullptr;
  if ((from_float && format_of(inst.type2) == nullptr) || (to_float && format_of(inst.type) == nullptr)) {
    return nullptr;  // pairs
  }
  if (!from_float && !to_float) return select_int_to_int(inst);
  if (inst.type2 == Type::F32) return select_from_f32(inst);
  const bool nearest = rounds_to_nearest(inst.rounding) && !inst.sat;
  if (!from_float && nearest) {
    if (inst.type == Type::F32) return nearest_from_int<ViewF32>(inst.type2);
    if (inst.type == Type::F64) return nearest_from_int<ViewF64>(inst.type2);
  }
  if (!from_float && inst.type == Type::F32 && !inst.sat) {
    if (const Handler handler = directed_from_int(inst)) return handler;
  }
  if (inst.type2 == Type::F64 && inst.type == Type::S32 && !inst.sat) {
    switch (inst.rounding) {
      case Rounding::RZI: return double_handler<Rounding::RZI>();
      case Rounding::RNI: return double_handler<Rounding::RNI>();
      case Rounding::RMI: return double_handler<Rounding::RMI>();
      case Rounding::RPI: return double_handler<Rounding::RPI>();
      default: break;
    }
  }
  if (inst.type2 == Type::F64 && inst.type == Type::F32 && nearest) {
    if (inst.ftz) {
      return &map1<ViewF32, ViewF64, ([](double a) {
                     const float r = flush(static_cast<float>(a));
                     return with_nan(r, r);
                   })>;
    }
    return &map1<ViewF32, ViewF64, ([](double a) {
                   const float r = static_cast<float>(a);
                   return with_nan(r, r);
                 })>;
  }
  if (inst.type2 == Type::BF16 && inst.type == Type::F32 && nearest) {
    return &map1<ViewF32, ViewU32, ([](u32 a) {
                   const float r = bfloat_to_float(a & 0xffffU);
                   return with_nan(r, r);
                 })>;
  }
  if (inst.type2 == Type::F16 && inst.type == Type::F32 && nearest) {
    return &map1<ViewF32, ViewU32, ([](u32 a) {
                   const float r = half_to_float(a & 0xffffU);
                   return with_nan(r, r);
                 })>;
  }
  return select_general(inst);
}

template <bool Bfloat>
void pack2_nearest(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* a = warp.src<float>(op, 0);
  const auto* b = warp.src<float>(op, 1);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    result[i] = Bfloat ? float_to_bfloat(a[i]) << 16U | float_to_bfloat(b[i])
                       : float_to_half(a[i]) << 16U | float_to_half(b[i]);
  }
  merge(warp.dst<u32>(op), result, lanes);
}

// cvt.{rn,rz}.{f16x2,bf16x2}.f32 d, a, b, with a in the upper half.
void pack2(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u32>(op, 0);
  const auto* b = warp.src<u32>(op, 1);
  Instruction one = *op.inst;
  one.type = op.inst->type == Type::BF16x2 ? Type::BF16 : Type::F16;
  one.type2 = Type::F32;
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    result[i] = (lanes >> i) & 1U ? static_cast<u32>((convert(a[i], one) << 16U) | convert(b[i], one)) : 0;
  }
  merge(d, result, lanes);
}

// tf32 and fp8, lane by lane. PTX: NaN gives 0x7fffffff and 0x7f. fp8 always saturates to its largest number.

/// f32 rounded to tf32, which has 10 bits of fraction.
u32 to_tensor_float(u32 bits, const Instruction& inst) {
  const Exact value = decompose(bits, kSingle);
  if (value.kind == Exact::Kind::NotANumber) return kNan32;
  if (inst.relu && value.negative) return 0;
  constexpr u32 kLargest = 0x7f7f'e000U;
  const u32 sign = value.negative ? 0x8000'0000U : 0;
  u32 magnitude = kTensorFloat.infinity() << 13U;
  if (value.kind == Exact::Kind::Finite)
    magnitude = static_cast<u32>(encode(value, kTensorFloat, inst.rounding) << 13U) & 0x7fff'ffffU;
  return sign | (inst.sat ? std::min(magnitude, kLargest) : magnitude);
}

u32 to_fp8(float x, bool e4m3, bool relu) {
  if (is_nan(x)) return 0x7fU;
  const u32 bits = std::bit_cast<u32>(x);
  if (relu && (bits >> 31U) != 0) return 0;
  const u32 cut = e4m3 ? 20 : 21;     // bits of the fraction that are dropped
  const u32 bias = e4m3 ? 120 : 112;  // exponent bias of f32 minus that of fp8
  const u32 magnitude = bits & 0x7fff'ffffU;
  // Below the normal numbers, which start at exponent 1, all numbers are multiples of one quantum.
  u32 result = 0;
  if (magnitude >= (bias + 1) << 23U) {
    result =
        ((magnitude + (1U << (cut - 1U)) - 1U + ((magnitude >> cut) & 1U)) >> cut) - (bias << (23U - cut));
  } else {
    result = static_cast<u32>(std::rint(std::fabs(x) * (e4m3 ? 0x1p9F : 0x1p16F)));
  }
  return (bits >> 31U) << 7U | std::min(result, e4m3 ? 0x7eU : 0x7bU);
}

u32 fp8_to_half(u32 bits, bool e4m3) {
  const MatrixElement element =
      e4m3 ? matrix_element(bits, kE4M3, 10, true) : matrix_element(bits, kE5M2, 10);
  if (element.kind == MatrixElement::Kind::NotANumber) return kNan16;
  const u32 sign = (bits & 0x80U) << 8U;
  if (element.kind == MatrixElement::Kind::Infinity) return sign | 0x7c00U;
  Exact value;
  value.mantissa = static_cast<u64>(std::abs(element.significand));
  value.exponent = element.exponent - 10;
  return sign | static_cast<u32>(encode(value, kHalf, Rounding::RN));
}

void tensor_float(Warp& warp, const Op& op, LaneMask lanes) {
  const u32* a = warp.src<u32>(op, 0);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = to_tensor_float(a[i], *op.inst);
  merge(warp.dst<u32>(op), result, lanes);
}

void pack_fp8(Warp& warp, const Op& op, LaneMask lanes) {
  const bool e4m3 = op.inst->type == Type::E4M3x2;
  const bool pair = op.inst->type2 == Type::F16x2;
  const u32* a = warp.src<u32>(op, 0);
  const u32* b = warp.src<u32>(op, pair ? 0 : 1);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    const float upper = pair ? half_to_float(a[i] >> 16U) : std::bit_cast<float>(a[i]);
    const float lower = pair ? half_to_float(a[i] & 0xffffU) : std::bit_cast<float>(b[i]);
    result[i] = to_fp8(upper, e4m3, op.inst->relu) << 8U | to_fp8(lower, e4m3, op.inst->relu);
  }
  merge(warp.dst<u32>(op), result, lanes);
}

using HalfOfByte = std::array<u16, 256>;

HalfOfByte halves_of(bool e4m3) {
  HalfOfByte all{};
  for (u32 i = 0; i < all.size(); ++i) all[i] = static_cast<u16>(fp8_to_half(i, e4m3));
  return all;
}

void unpack_fp8(Warp& warp, const Op& op, LaneMask lanes) {
  static const HalfOfByte kOf[] = {halves_of(false), halves_of(true)};
  const HalfOfByte& of = kOf[op.inst->type2 == Type::E4M3x2 ? 1 : 0];
  const bool relu = op.inst->relu;
  const auto half = [&](u32 byte) {
    const u32 value = of[byte & 0xffU];
    return relu && (byte & 0x80U) != 0 && value != kNan16 ? 0 : value;
  };
  const u32* a = warp.src<u32>(op, 0);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = half(a[i] >> 8U) << 16U | half(a[i]);
  merge(warp.dst<u32>(op), result, lanes);
}

bool is_fp8(Type type) { return type == Type::E4M3x2 || type == Type::E5M2x2; }

}  // namespace

Handler select_convert(const Instruction& inst) {
  if (inst.op == Opcode::Cvt && inst.type == Type::TF32) return &tensor_float;
  if (inst.op == Opcode::Cvt && is_fp8(inst.type)) return &pack_fp8;
  if (inst.op == Opcode::Cvt && is_fp8(inst.type2)) return &unpack_fp8;
  if (inst.op == Opcode::Cvt) return select_cvt(inst);
  if (inst.op == Opcode::CvtPack2) {
    if (!rounds_to_nearest(inst.rounding) || inst.ftz || inst.sat || inst.relu) return &pack2;
    return inst.type == Type::BF16x2 ? &pack2_nearest<true> : &pack2_nearest<false>;
  }
  return nullptr;
}

}  // namespace gpumux::emulator
