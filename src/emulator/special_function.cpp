// Approximate functions. PTX only bounds their errors, so they are computed to within one unit in the last
// place (rcp, sqrt and div correctly rounded). Results may differ from a GPU's in the last bits, within the
// bounds of PTX.

#include <cmath>

#include "emulator/float_math.hpp"
#include "emulator/half.hpp"
#include "emulator/lanes.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Type;

inline float rsqrt32(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
inline float tanh32(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }
// The hardware's sin and cos flush subnormal inputs. PTX without .ftz supports subnormals, so these functions
// do.
inline float sin32(float a) { return std::sin(a); }
inline float cos32(float a) { return std::cos(a); }
inline float lg2_32(float a) { return std::log2(a); }
inline float ex2_32(float a) { return std::exp2(a); }

template <bool Ftz, auto F>
Handler of_f32() {
  return &map1<ViewF32, ViewF32, ([](float a) {
                 const float x = Ftz ? flush(a) : a;
                 const float r = F(x);
                 return with_nan(Ftz ? flush(r) : r, x);
               })>;
}

template <auto F>
Handler choose_f32(const Instruction& inst) {
  return inst.ftz ? of_f32<true, F>() : of_f32<false, F>();
}

// f16 and bf16, single and in pairs: computed as f32 and rounded once.
template <bool Bfloat, bool Pair, auto F>
void narrow(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u32>(op, 0);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    u32 value = 0;
    for (u32 part = 0; part < (Pair ? 2U : 1U); ++part) {
      const u32 bits = (a[i] >> (16 * part)) & 0xffffU;
      const float x = Bfloat ? bfloat_to_float(bits) : half_to_float(bits);
      const float r = F(x);
      value |= (Bfloat ? float_to_bfloat(r) : float_to_half(r)) << (16 * part);
    }
    result[i] = value;
  }
  merge(d, result, lanes);
}

template <auto F>
Handler choose(const Instruction& inst) {
  switch (inst.type) {
    case Type::F32: return choose_f32<F>(inst);
    case Type::F16: return &narrow<false, false, F>;
    case Type::F16x2: return &narrow<false, true, F>;
    case Type::BF16: return &narrow<true, false, F>;
    case Type::BF16x2: return &narrow<true, true, F>;
    default: return nullptr;
  }
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write only the upper 32 bits of a value.
inline double upper_half(double x) {
  return std::bit_cast<double>(std::bit_cast<u64>(x) & 0xffffffff00000000ULL);
}
inline double flush64(double x) {
  const u64 bits = std::bit_cast<u64>(x);
  return std::bit_cast<double>((bits & 0x7ff0000000000000ULL) == 0 ? bits & 0x8000000000000000ULL : bits);
}
inline double coarse(double a, double result) {
  if (is_nan(result)) return is_nan(a) ? quiet(a) : default_nan(a);
  return upper_half(flush64(result));
}

}  // namespace

Handler select_special_function(const Instruction& inst) {
  if (inst.type == Type::F64) {
    if (inst.op == Opcode::Rcp && inst.approx) {
      return &map1<ViewF64, ViewF64, ([](double a) { return coarse(a, 1.0 / flush64(upper_half(a))); })>;
    }
    if (inst.op == Opcode::Rsqrt) {
      // Without .ftz, PTX requires an error below about 2^-50, which double rounding satisfies.
      if (!inst.ftz)
        return &map1<ViewF64, ViewF64, ([](double a) { return with_nan(1.0 / std::sqrt(a), a); })>;
      return &map1<ViewF64, ViewF64,
                   ([](double a) { return coarse(a, 1.0 / std::sqrt(flush64(upper_half(a)))); })>;
    }
    return nullptr;
  }
  switch (inst.op) {
    case Opcode::Rsqrt: return choose<rsqrt32>(inst);
    case Opcode::Sin: return choose<sin32>(inst);
    case Opcode::Cos: return choose<cos32>(inst);
    case Opcode::Lg2: return choose<lg2_32>(inst);
    case Opcode::Ex2: return choose<ex2_32>(inst);
    case Opcode::Tanh: return choose<tanh32>(inst);
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
