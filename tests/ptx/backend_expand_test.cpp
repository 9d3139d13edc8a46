// The sequences for divisions and roots give correctly rounded results. The tests run them on scalars, with
// reciprocals and roots whose errors are as large as those of the hardware.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "base/hash.hpp"
#include "ptx/expand.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

/// Executes an expansion for one thread.
class Scalar {
 public:
  /// `ulps`: what is added to each approximation, in units in the last place of it (f32) or 2^-20 (f64).
  explicit Scalar(int ulps) : ulps_(ulps) {}

  void set(const Operand& reg, std::uint64_t value) {
    (reg.kind == Operand::Kind::Reg64 ? r64_ : r32_)[reg.reg] = value;
  }
  std::uint64_t get(const Operand& operand, Type type) {
    const std::uint64_t mask = isa::width_bits(type) == 64 ? ~std::uint64_t{0} : 0xffff'ffffU;
    switch (operand.kind) {
      case Operand::Kind::Reg32: return r32_[operand.reg] & mask;
      case Operand::Kind::Reg64: return r64_[operand.reg] & mask;
      case Operand::Kind::Imm: return operand.imm & mask;
      case Operand::Kind::Pred: return (pred_[operand.reg] != operand.negate) ? 1 : 0;
      default: ADD_FAILURE() << "operand kind"; return 0;
    }
  }
  bool holds(const Operand& pred) { return pred_[pred.reg] != pred.negate; }

  void run(const Instruction& inst) {
    if (inst.guard && !holds(inst.guard)) return;
    if (inst.op == Opcode::Unpack) {
      const std::uint64_t value = get(inst.src[0], Type::B64);
      if (inst.dst[0]) set(inst.dst[0], value & 0xffff'ffffU);
      if (inst.dst[1]) set(inst.dst[1], value >> 32U);
      return;
    }
    if (inst.op == Opcode::Setp) {
      pred_[inst.dst[0].reg] = compare(inst);
      if (inst.bool_op == isa::BoolOp::And) {
        pred_[inst.dst[0].reg] = pred_[inst.dst[0].reg] && holds(inst.src[2]);
      }
      return;
    }
    set(inst.dst[0], inst.type == Type::F64 ? f64(inst) : f32_or_int(inst));
  }

 private:
  float f(const Operand& operand) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(get(operand, Type::F32)));
  }
  double d(const Operand& operand) { return std::bit_cast<double>(get(operand, Type::F64)); }
  double upper(const Operand& operand) {
    return std::bit_cast<double>(get(operand, Type::F64) & 0xffff'ffff'0000'0000U);
  }
  std::uint32_t u(const Operand& operand) { return static_cast<std::uint32_t>(get(operand, Type::U32)); }

  bool compare(const Instruction& inst) {
    const std::uint32_t a = u(inst.src[0]);
    const std::uint32_t b = u(inst.src[1]);
    switch (inst.compare) {
      case isa::Compare::LT:
        return inst.type == Type::S32 ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
      case isa::Compare::GE: return a >= b;
      case isa::Compare::EQ: return a == b;
      case isa::Compare::NE: return a != b;
      default: ADD_FAILURE() << "comparison"; return false;
    }
  }

  std::uint64_t f64(const Instruction& inst) {
    const auto coarse = [&](double value) {  // upper word alone, and up to 2^-20 off
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) & 0xffff'ffff'0000'0000U;
      return bits + (static_cast<std::uint64_t>(static_cast<std::int64_t>(ulps_)) << 32U);
    };
    switch (inst.op) {
      case Opcode::Rcp: return coarse(1.0 / upper(inst.src[0]));
      case Opcode::Rsqrt: return coarse(1.0 / std::sqrt(upper(inst.src[0])));
      case Opcode::Fma:
        return std::bit_cast<std::uint64_t>(std::fma(d(inst.src[0]), d(inst.src[1]), d(inst.src[2])));
      case Opcode::Mul: return std::bit_cast<std::uint64_t>(d(inst.src[0]) * d(inst.src[1]));
      case Opcode::Neg: return std::bit_cast<std::uint64_t>(-d(inst.src[0]));
      default: ADD_FAILURE() << isa::name(inst.op); return 0;
    }
  }

  std::uint64_t f32_or_int(const Instruction& inst) {
    const auto bits = [](float value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value)}; };
    const auto inexact = [&](double value) {
      return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(value)) +
                           static_cast<std::uint32_t>(ulps_)};
    };
    const Operand& a = inst.src[0];
    const Operand& b = inst.src[1];
    const Operand& c = inst.src[2];
    switch (inst.op) {
      case Opcode::Rcp:
        return std::isinf(1.0 / f(a)) ? bits(INFINITY) : inexact(1.0 / static_cast<double>(f(a)));
      case Opcode::Rsqrt: return inexact(1.0 / std::sqrt(static_cast<double>(f(a))));
      case Opcode::Fma: return bits(std::fma(f(a), f(b), f(c)));
      case Opcode::Mul: return bits(f(a) * f(b));
      case Opcode::Neg: return inst.type == Type::F32 ? bits(-f(a)) : 0U - u(a);
      case Opcode::Abs: return static_cast<std::int32_t>(u(a)) < 0 ? 0U - u(a) : u(a);
      case Opcode::Lea: return u(a) + (u(b) << inst.shift);
      case Opcode::Add: return u(a) + u(b);
      case Opcode::Sub: return u(a) - u(b);
      case Opcode::Or: return u(a) | u(b);
      case Opcode::Xor: return u(a) ^ u(b);
      case Opcode::MulLo: return u(a) * u(b);
      case Opcode::MulHi: return (std::uint64_t{u(a)} * u(b)) >> 32U;
      case Opcode::MadLo: return u(a) * u(b) + u(c);
      case Opcode::MadHi: return static_cast<std::uint32_t>((std::uint64_t{u(a)} * u(b)) >> 32U) + u(c);
      case Opcode::Mov: return get(a, inst.type);
      case Opcode::Selp: return holds(c) ? u(a) : u(b);
      case Opcode::Pack: return u(a) | std::uint64_t{u(b)} << 32U;
      case Opcode::Cvt:
        if (inst.type == Type::F32) {  // rounded up
          float value = static_cast<float>(u(a));
          if (static_cast<double>(value) < static_cast<double>(u(a))) value = std::nextafter(value, INFINITY);
          return bits(value);
        } else {
          const float value = f(a);
          if (!(value > 0)) return 0;
          return value >= 0x1p32F ? 0xffff'ffffU : static_cast<std::uint32_t>(value);
        }
      default: ADD_FAILURE() << isa::name(inst.op); return 0;
    }
  }

  int ulps_;
  std::map<std::uint32_t, std::uint64_t> r32_, r64_;
  std::map<std::uint32_t, bool> pred_;
};

/// Runs an expansion on one operand pair; nothing when it asks for the slow path.
class Sequence {
 public:
  Sequence(Opcode op, Type type) {
    const bool wide = isa::width_bits(type) == 64;
    const auto reg = [&](std::uint32_t i) { return wide ? Operand::reg64(i) : Operand::reg32(i); };
    function_.num_reg32 = function_.num_reg64 = 3;
    inst_.op = op;
    inst_.type = type;
    if (isa::is_float(type)) inst_.rounding = isa::Rounding::RN;
    inst_.dst[0] = reg(0);
    inst_.src[0] = reg(1);
    if (op == Opcode::Div || op == Opcode::Rem) inst_.src[1] = reg(2);
    EXPECT_TRUE(expand_instruction(function_, inst_, expansion_));
  }
  std::optional<std::uint64_t> operator()(std::uint64_t a, std::uint64_t b, int ulps) {
    Scalar machine(ulps);
    machine.set(inst_.src[0], a);
    if (inst_.src[1]) machine.set(inst_.src[1], b);
    for (const Instruction& inst : expansion_.fast) machine.run(inst);
    if (expansion_.ok && !machine.holds(expansion_.ok)) return {};
    return machine.get(inst_.dst[0], inst_.type);
  }
  Expansion expansion_;

 private:
  isa::Function function_;
  Instruction inst_;
};

std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
float as_float(std::uint64_t value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
double as_double(std::uint64_t value) { return std::bit_cast<double>(value); }

constexpr int kRandom = 60'000;  // operands per sequence and error

/// Mantissas at which rounding is hardest, and the edges of the range.
const std::vector<std::uint32_t> kHard32 = {
    0x3f800000, 0x3f800001, 0x3fffffff, 0x3ffffffe, 0x40000000, 0x00000000, 0x80000000, 0x7f800000,
    0xff800000, 0x7fc00000, 0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x21800000, 0x217fffff,
    0x5d7fffff, 0x5d800000, 0x3fb504f3, 0xbf800000, 0xc0490fdb, 0x3f000001};

/// The one kind of divisor for which the estimate must be correctly rounded.
bool all_ones(std::uint64_t value) { return (value & 0x7f'ffffU) == 0x7f'ffffU; }

TEST(Expand, DivisionOfFloatsIsCorrectlyRounded) {
  Sequence divide(Opcode::Div, Type::F32);
  Random random(1);
  int fast = 0;
  for (const int ulps : {-1, 0, 1}) {
    const auto check = [&](std::uint64_t a, std::uint64_t b) {
      if (ulps != 0 && all_ones(b)) return;
      const auto result = divide(a, b, ulps);
      if (!result) return;
      ++fast;
      ASSERT_EQ(*result, bits(as_float(a) / as_float(b))) << std::hex << a << " / " << b << " ulps " << ulps;
    };
    for (const std::uint32_t a : kHard32) {
      for (const std::uint32_t b : kHard32) check(a, b);
    }
    for (int i = 0; i < kRandom; ++i) {
      const std::uint64_t r = random.next();
      check(r & 0xffff'ffffU, r >> 32U);
      // Near one, where all pairs are in range; mantissas close to all ones.
      check(0x3f80'0000U | (r & 0x7f'ffffU), 0x3fff'ff00U | ((r >> 40U) & 0xffU));
      check(0x3f80'0000U | (r & 0x7f'ffffU), 0x3f80'0000U | ((r >> 32U) & 0x7f'ffffU));
    }
  }
  EXPECT_GT(fast, 3 * kRandom);
  EXPECT_FALSE(divide(0, bits(1.0F), 0));  // zero and what else is special: slow
  EXPECT_FALSE(divide(bits(1.0F), 0, 0));
  EXPECT_FALSE(divide(0x7fc00000, bits(1.0F), 0));
  EXPECT_TRUE(divide(bits(-1.0F), bits(3.0F), 0));
}

TEST(Expand, ReciprocalsAndRootsOfFloatsAreCorrectlyRounded) {
  Sequence reciprocal(Opcode::Rcp, Type::F32);
  Sequence root(Opcode::Sqrt, Type::F32);
  for (const int ulps : {-1, 0, 1}) {
    // A stride through all mantissas of two binades, and the ends of each binade.
    for (std::uint32_t a = 0x3f80'0000U; a < 0x4080'0000U;) {
      const auto inverse = reciprocal(a, 0, ulps);
      const auto square_root = root(a, 0, ulps);
      ASSERT_TRUE(inverse && square_root);
      if (ulps == 0 || !all_ones(a)) {
        ASSERT_EQ(*inverse, bits(1.0F / as_float(a))) << std::hex << a << " ulps " << ulps;
      }
      ASSERT_EQ(*square_root, bits(std::sqrt(as_float(a)))) << std::hex << a << " ulps " << ulps;
      const std::uint32_t mantissa = a & 0x7f'ffffU;
      a += mantissa < 2000 || mantissa > 0x7f'ffffU - 2000 ? 1 : 397;
    }
  }
  EXPECT_FALSE(root(bits(-1.0F), 0, 0));
  EXPECT_FALSE(root(0, 0, 0));
  EXPECT_FALSE(root(0x7f800000, 0, 0));
  EXPECT_FALSE(reciprocal(0x00000001, 0, 0));
}

TEST(Expand, DoublesAreCorrectlyRounded) {
  Sequence divide(Opcode::Div, Type::F64);
  Sequence reciprocal(Opcode::Rcp, Type::F64);
  Sequence root(Opcode::Sqrt, Type::F64);
  Random random(2);
  for (const int error : {-1, 0, 1}) {
    for (int i = 0; i < kRandom / 2; ++i) {
      const std::uint64_t one = bits(1.0);
      std::uint64_t a = one | (random.next() & 0x000f'ffff'ffff'ffffU);
      std::uint64_t b = one | (random.next() & 0x000f'ffff'ffff'ffffU);
      if (i % 8 == 0) b |= 0x000f'ffff'ffff'ff00U;  // close to all ones
      if (i % 8 == 1) b &= ~std::uint64_t{0x000f'ffff'ffff'fff0U};
      if (i % 4 == 2) a = random.next();  // any exponent and sign
      if (const auto q = divide(a, b, error)) {
        ASSERT_EQ(*q, bits(as_double(a) / as_double(b))) << std::hex << a << " / " << b;
      }
      if (const auto r = reciprocal(b, 0, error)) {
        ASSERT_EQ(*r, bits(1.0 / as_double(b))) << std::hex << b;
      }
      const std::uint64_t square = i % 2 == 0 ? b : b + (std::uint64_t{1} << 52U);
      if (const auto s = root(square, 0, error)) {
        ASSERT_EQ(*s, bits(std::sqrt(as_double(square)))) << std::hex << square;
      }
    }
  }
  EXPECT_FALSE(divide(0, bits(1.0), 0));
  EXPECT_FALSE(divide(bits(1.0), bits(INFINITY + 0.0), 0));
  EXPECT_FALSE(root(bits(-1.0), 0, 0));
}

TEST(Expand, IntegerDivisionIsExact) {
  Sequence u_div(Opcode::Div, Type::U32);
  Sequence u_rem(Opcode::Rem, Type::U32);
  Sequence s_div(Opcode::Div, Type::S32);
  Sequence s_rem(Opcode::Rem, Type::S32);
  const auto check = [&](std::uint32_t a, std::uint32_t b, int ulps) {
    const bool zero = b == 0;  // gives all ones
    ASSERT_EQ(u_div(a, b, ulps), zero ? 0xffff'ffffU : a / b) << a << " / " << b << " ulps " << ulps;
    ASSERT_EQ(u_rem(a, b, ulps), zero ? 0xffff'ffffU : a % b) << a << " % " << b;
    const auto x = static_cast<std::int64_t>(static_cast<std::int32_t>(a));
    const auto y = static_cast<std::int64_t>(static_cast<std::int32_t>(b));
    ASSERT_EQ(s_div(a, b, ulps), zero ? 0xffff'ffffU : static_cast<std::uint32_t>(x / y)) << x << " / " << y;
    ASSERT_EQ(s_rem(a, b, ulps), zero ? 0xffff'ffffU : static_cast<std::uint32_t>(x % y)) << x << " % " << y;
  };
  const std::vector<std::uint32_t> hard = {0,           1,           2,           3,           5,
                                           7,           10,          127,         128,         255,
                                           65535,       65536,       65537,       0x7fff'ffff, 0x8000'0000,
                                           0x8000'0001, 0xffff'fffe, 0xffff'ffff, 0x00ff'ffff, 0x0100'0001};
  for (const int ulps : {-1, 0, 1}) {
    for (const std::uint32_t a : hard) {
      for (const std::uint32_t b : hard) check(a, b, ulps);
    }
  }
  Random random(3);
  for (int i = 0; i < kRandom; ++i) {
    const auto a = static_cast<std::uint32_t>(random.next());
    const std::uint32_t b = static_cast<std::uint32_t>(random.next()) >> random.below(32);
    check(a, b, static_cast<int>(random.below(3)) - 1);
    if (b != 0) check(a / b * b, b, 0);  // exact multiples and their neighbours
    if (b != 0) check(a / b * b - 1, b, 0);
  }
}

TEST(Expand, LongDivisionIsShortWhereBothOperandsAre) {
  for (const Type type : {Type::U64, Type::S64}) {
    Sequence divide(Opcode::Div, type);
    Sequence remainder(Opcode::Rem, type);
    EXPECT_EQ(divide(1'000'000'007, 13, 0), 1'000'000'007 / 13);
    EXPECT_EQ(remainder(1'000'000'007, 13, 0), 1'000'000'007 % 13);
    EXPECT_EQ(divide(0xffff'ffffU, 2, 0), 0x7fff'ffffU);
    EXPECT_FALSE(divide(std::uint64_t{1} << 32U, 13, 0));
    EXPECT_FALSE(divide(5, ~std::uint64_t{0}, 0));
    EXPECT_FALSE(divide(5, 0, 0));
  }
}

TEST(Expand, KeepsWhatItDoesNotKnow) {
  isa::Function function;
  function.num_reg32 = 3;
  Instruction inst;
  inst.op = Opcode::Div;
  inst.type = Type::F32;
  inst.rounding = isa::Rounding::RZ;
  inst.dst[0] = Operand::reg32(0);
  inst.src[0] = Operand::reg32(1);
  inst.src[1] = Operand::reg32(2);
  Expansion expansion;
  EXPECT_FALSE(expand_instruction(function, inst, expansion));  // another rounding
  inst.rounding = isa::Rounding::RN;
  inst.guard = Operand::pred(0);
  EXPECT_FALSE(expand_instruction(function, inst, expansion));  // guarded
  inst.guard = {};
  inst.src[0] = Operand::immediate(0);
  EXPECT_FALSE(expand_instruction(function, inst, expansion));  // 0 / x is always the slow path
  inst.src[0] = Operand::immediate(bits(1.0F));
  EXPECT_TRUE(expand_instruction(function, inst, expansion));
}

}  // namespace
}  // namespace gpumux::ptx
