// Floating-point instructions. Results are compared with the exact value, held in 113-bit arithmetic as an
// unevaluated sum, so the check does not share the rounding of the tested code.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "emulator/instruction_probe.hpp"

namespace gpumux::emulator::test {
namespace {

__extension__ using Quad = __float128;
using isa::Rounding;

/// The exact value high + low.
struct Sum {
  Quad high;
  Quad low;
};
Sum two_sum(Quad a, Quad b) {
  const Quad s = a + b;
  const Quad part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
/// Sign of x - (high + low), for an x that lies near.
int compare(Quad x, const Sum& sum) {
  const Sum difference = two_sum(x, -sum.high);
  const Quad rest = (difference.low - sum.low) + difference.high;
  return rest > 0 ? 1 : (rest < 0 ? -1 : 0);
}

/// What distinguishes a format: its bits as a value, and neighbours.
struct F32 {
  using Bits = std::uint32_t;
  static constexpr Type kType = Type::F32;
  static constexpr std::uint64_t kNan = 0x7fffffff;
  static Quad value(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
  static constexpr std::uint64_t kInfinity = 0x7f800000;
  static constexpr std::uint64_t kSign = 0x80000000;
};
struct F64 {
  static constexpr Type kType = Type::F64;
  static constexpr std::uint64_t kNan = 0xfff8000000000000;
  static Quad value(std::uint64_t bits) { return std::bit_cast<double>(bits); }
  static constexpr std::uint64_t kInfinity = 0x7ff0000000000000;
  static constexpr std::uint64_t kSign = 0x8000000000000000;
};

template <class F>
bool is_nan_bits(std::uint64_t bits) {
  return (bits & ~F::kSign) > F::kInfinity;
}
template <class F>
std::uint64_t toward(std::uint64_t bits, bool up) {
  if ((bits & ~F::kSign) == 0) return up ? 1 : F::kSign | 1;
  const bool negative = (bits & F::kSign) != 0;
  return up != negative ? bits + 1 : bits - 1;
}
/// Infinity stands for the number that would follow the largest.
template <class F>
Quad extended(std::uint64_t bits) {
  if ((bits & ~F::kSign) != F::kInfinity) return F::value(bits);
  const std::uint64_t largest = (bits & F::kSign) | (F::kInfinity - 1);
  return F::value(largest) + (F::value(largest) - F::value(largest - 1));
}

/// Whether `bits` is the exact finite value rounded as the mode says.
template <class F>
testing::AssertionResult rounded(std::uint64_t bits, const Sum& exact, Rounding mode) {
  if (is_nan_bits<F>(bits)) return testing::AssertionFailure() << "NaN for a finite value";
  const int side = compare(extended<F>(bits), exact);  // result - exact
  if (side == 0) return testing::AssertionSuccess();
  if ((bits & ~F::kSign) == F::kInfinity) {  // overflow: only modes that round away from zero
    const bool negative = (bits & F::kSign) != 0;
    if (mode == Rounding::RZ || mode == (negative ? Rounding::RP : Rounding::RM)) {
      return testing::AssertionFailure() << "infinity in a mode that stops at the largest number";
    }
    const Quad largest = F::value((bits & F::kSign) | (F::kInfinity - 1));
    const bool beyond = compare(largest, exact) * (negative ? -1 : 1) < 0;
    if (!beyond) return testing::AssertionFailure() << "infinity for a number in range";
    if (side * (negative ? -1 : 1) < 0) return testing::AssertionSuccess();  // far beyond the largest
  }
  const bool down = mode == Rounding::RM || (mode == Rounding::RZ && exact.high > 0);
  const bool up = mode == Rounding::RP || (mode == Rounding::RZ && exact.high < 0);
  const bool above = side > 0;
  if ((down && above) || (up && !above)) return testing::AssertionFailure() << "wrong side";
  // The neighbour on the other side of the exact value must not be on the result's side as well.
  const std::uint64_t neighbour = toward<F>(bits, !above);
  const bool at_largest = (bits & ~F::kSign) == F::kInfinity - 1 && (neighbour & ~F::kSign) == F::kInfinity;
  if (!at_largest && compare(extended<F>(neighbour), exact) * side > 0) {
    return testing::AssertionFailure() << "not the nearest on its side";
  }
  if (mode == Rounding::RN || mode == Rounding::None) {
    const Quad middle = (extended<F>(bits) + extended<F>(neighbour)) / 2;
    const int beyond = compare(middle, exact) * side;  // > 0: exact lies beyond the middle
    if (beyond > 0) return testing::AssertionFailure() << "the other neighbour is nearer";
    if (beyond == 0 && (bits & 1U) != 0) return testing::AssertionFailure() << "tie not to even";
  }
  return testing::AssertionSuccess();
}

template <class F>
struct Patterns;
template <>
struct Patterns<F32> {
  static std::vector<std::uint64_t> make(std::uint64_t seed) { return float_patterns(23, 8, seed, 300); }
};
template <>
struct Patterns<F64> {
  static std::vector<std::uint64_t> make(std::uint64_t seed) { return float_patterns(52, 11, seed, 300); }
};

template <class F>
bool finite(std::uint64_t bits) {
  return (bits & ~F::kSign) < F::kInfinity;
}

template <class F>
void check_rounded_operations() {
  const Held h = F::kType == Type::F64 ? Held::Bits64 : Held::Bits32;
  const auto in = pairs(Patterns<F>::make(1), Patterns<F>::make(2), Patterns<F>::make(3), 3000, 4);
  for (const Rounding mode : {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP}) {
    for (const Opcode op : {Opcode::Add, Opcode::Sub, Opcode::Mul, Opcode::Fma}) {
      isa::Instruction inst = make(op, F::kType);
      inst.rounding = mode;
      ProbeShape shape{h, {h, h}};
      if (op == Opcode::Fma) shape.src.push_back(h);
      const ProbeResult result = probe(inst, shape, in);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::uint64_t bits = result.value[i];
        const bool all_finite =
            finite<F>(in[i][0]) && finite<F>(in[i][1]) && (op != Opcode::Fma || finite<F>(in[i][2]));
        const Quad a = F::value(in[i][0]);
        const Quad b = F::value(in[i][1]);
        const Quad c = F::value(in[i][2]);
        if (!all_finite) {
          const Quad expected = op == Opcode::Add
                                    ? a + b
                                    : (op == Opcode::Sub ? a - b : (op == Opcode::Mul ? a * b : a * b + c));
          if (expected != expected) {
            ASSERT_TRUE(is_nan_bits<F>(bits));
            if (F::kType == Type::F32) {
              ASSERT_EQ(bits, F::kNan);
            }
          } else {
            ASSERT_EQ(F::value(bits), expected);
          }
          continue;
        }
        Sum exact{};
        if (op == Opcode::Add) exact = two_sum(a, b);
        if (op == Opcode::Sub) exact = two_sum(a, -b);
        if (op == Opcode::Mul) exact = {a * b, 0};
        if (op == Opcode::Fma) exact = two_sum(a * b, c);
        ASSERT_TRUE(rounded<F>(bits, exact, mode))
            << isa::name(op) << " mode " << static_cast<int>(mode) << std::hex << " a " << in[i][0] << " b "
            << in[i][1] << " c " << in[i][2] << " result " << bits;
      }
    }
  }
}

TEST(Float, SingleArithmeticIsExactInEveryMode) { check_rounded_operations<F32>(); }
TEST(Float, DoubleArithmeticIsExactInEveryMode) { check_rounded_operations<F64>(); }

// Quotients and roots are checked by multiplying back: result * b against a, result * result against a.
template <class F>
void check_division_and_root() {
  const Held h = F::kType == Type::F64 ? Held::Bits64 : Held::Bits32;
  const auto in = pairs(Patterns<F>::make(11), Patterns<F>::make(12), {0}, 3000, 14);
  for (const Rounding mode : {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP}) {
    for (const Opcode op : {Opcode::Div, Opcode::Rcp, Opcode::Sqrt}) {
      isa::Instruction inst = make(op, F::kType);
      inst.rounding = mode;
      ProbeShape shape{h, {h}};
      if (op == Opcode::Div) shape.src.push_back(h);
      const ProbeResult result = probe(inst, shape, in);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::uint64_t bits = result.value[i];
        const Quad a = op == Opcode::Rcp ? Quad{1} : F::value(in[i][0]);
        const Quad b = op == Opcode::Rcp ? F::value(in[i][0]) : F::value(in[i][1]);
        const bool usable = op == Opcode::Sqrt
                                ? finite<F>(in[i][0]) && a > 0
                                : finite<F>(in[i][0]) && finite<F>(in[i][1]) && b != 0 && a != 0;
        if (!usable || !finite<F>(bits)) continue;  // infinities and NaNs: see below
        // The quotient of the quad division is off by less than 2^-112 of itself; the residual fixes that.
        // Three operands of 53 bits: a - q * b is exact when q has 53 bits or fewer.
        const auto residual = [&](Quad q) {
          return op == Opcode::Sqrt ? q * q - a : (b > 0 ? q * b - a : a - q * b);
        };
        const Quad r = F::value(bits);
        const Quad side = residual(r);
        if (side == 0) continue;
        const bool positive = op == Opcode::Sqrt || (a > 0) == (b > 0);
        const bool above = side > 0;
        const bool down = mode == Rounding::RM || (mode == Rounding::RZ && positive);
        const bool up = mode == Rounding::RP || (mode == Rounding::RZ && !positive);
        ASSERT_FALSE((down && above) || (up && !above))
            << std::hex << in[i][0] << ' ' << in[i][1] << ' ' << bits;
        const std::uint64_t neighbour = toward<F>(bits, !above);
        if (!finite<F>(neighbour)) continue;
        ASSERT_LE(residual(F::value(neighbour)) * (above ? 1 : -1), 0);
        if (mode == Rounding::RN) {
          const Quad middle = (r + F::value(neighbour)) / 2;
          ASSERT_LE(residual(middle) * (above ? 1 : -1), 0)
              << std::hex << in[i][0] << ' ' << in[i][1] << ' ' << bits;
        }
      }
    }
  }
}

TEST(Float, SingleDivisionAndRootsAreExactInEveryMode) { check_division_and_root<F32>(); }
TEST(Float, DoubleDivisionAndRootsAreExactInEveryMode) { check_division_and_root<F64>(); }

std::uint64_t run_one(const isa::Instruction& inst, const ProbeShape& shape, std::uint64_t a,
                      std::uint64_t b = 0, std::uint64_t c = 0) {
  return probe(inst, shape, {{a, b, c, 0}}).value[0];
}
const ProbeShape kOne32{Held::Bits32, {Held::Bits32}};
const ProbeShape kTwo32{Held::Bits32, {Held::Bits32, Held::Bits32}};
const ProbeShape kThree32{Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32}};

TEST(Float, ExactZerosHaveTheSignOfTheMode) {
  isa::Instruction add = make(Opcode::Add, Type::F32);
  for (const Rounding mode : {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP}) {
    add.rounding = mode;
    EXPECT_EQ(run_one(add, kTwo32, 0x3f800000, 0xbf800000), mode == Rounding::RM ? 0x80000000U : 0U);
    EXPECT_EQ(run_one(add, kTwo32, 0, 0x80000000), mode == Rounding::RM ? 0x80000000U : 0U);
    EXPECT_EQ(run_one(add, kTwo32, 0, 0), 0U);
    EXPECT_EQ(run_one(add, kTwo32, 0x80000000, 0x80000000), 0x80000000U);
  }
}

TEST(Float, DivisionByZeroAndInvalidOperations) {
  isa::Instruction div = make(Opcode::Div, Type::F32);
  div.rounding = Rounding::RN;
  EXPECT_EQ(run_one(div, kTwo32, 0x3f800000, 0), 0x7f800000U);
  EXPECT_EQ(run_one(div, kTwo32, 0x3f800000, 0x80000000), 0xff800000U);
  EXPECT_EQ(run_one(div, kTwo32, 0, 0), 0x7fffffffU);
  isa::Instruction root = make(Opcode::Sqrt, Type::F32);
  root.rounding = Rounding::RN;
  EXPECT_EQ(run_one(root, kOne32, 0xbf800000), 0x7fffffffU);
  EXPECT_EQ(run_one(root, kOne32, 0x80000000), 0x80000000U);
}

TEST(Float, FlushToZeroTakesInputsAndResults) {
  isa::Instruction add = make(Opcode::Add, Type::F32);
  add.ftz = true;
  EXPECT_EQ(run_one(add, kTwo32, 0x007fffff, 0x00000001), 0U);           // both inputs are subnormal
  EXPECT_EQ(run_one(add, kTwo32, 0x80000001, 0x80000001), 0x80000000U);  // the sign stays
  EXPECT_EQ(run_one(add, kTwo32, 0x00800001, 0x80800000), 0U);           // the result is subnormal
  add.ftz = false;
  EXPECT_EQ(run_one(add, kTwo32, 0x00800001, 0x80800000), 1U);
  isa::Instruction mul = make(Opcode::Mul, Type::F32);
  mul.ftz = true;
  EXPECT_EQ(run_one(mul, kTwo32, 0x20000000, 0x9f000000), 0x80000000U);
}

TEST(Float, SaturationClampsAndDropsNan) {
  isa::Instruction add = make(Opcode::Add, Type::F32);
  add.sat = true;
  EXPECT_EQ(run_one(add, kTwo32, 0x3f800000, 0x3f800000), 0x3f800000U);
  EXPECT_EQ(run_one(add, kTwo32, 0xbf800000, 0), 0U);
  EXPECT_EQ(run_one(add, kTwo32, 0x7f800000, 0xff800000), 0U);  // NaN
  EXPECT_EQ(run_one(add, kTwo32, 0x3e800000, 0x3e800000), 0x3f000000U);
}

TEST(Float, MinAndMaxOrderZerosAndSkipNan) {
  isa::Instruction min = make(Opcode::Min, Type::F32);
  isa::Instruction max = make(Opcode::Max, Type::F32);
  EXPECT_EQ(run_one(min, kTwo32, 0, 0x80000000), 0x80000000U);
  EXPECT_EQ(run_one(min, kTwo32, 0x80000000, 0), 0x80000000U);
  EXPECT_EQ(run_one(max, kTwo32, 0, 0x80000000), 0U);
  EXPECT_EQ(run_one(max, kTwo32, 0x80000000, 0), 0U);
  EXPECT_EQ(run_one(min, kTwo32, 0x7fc00000, 0x3f800000), 0x3f800000U);
  EXPECT_EQ(run_one(max, kTwo32, 0x3f800000, 0xffc00000), 0x3f800000U);
  EXPECT_EQ(run_one(max, kTwo32, 0x7fc00001, 0xffc00000), 0x7fffffffU);
  min.nan = true;
  EXPECT_EQ(run_one(min, kTwo32, 0x7fc00000, 0x3f800000), 0x7fffffffU);
}

TEST(Float, DoubleNanKeepsItsPayload) {
  const isa::Instruction add = make(Opcode::Add, Type::F64);
  const ProbeShape two{Held::Bits64, {Held::Bits64, Held::Bits64}};
  EXPECT_EQ(run_one(add, two, 0x7ff0000000001234, 0x3ff0000000000000), 0x7ff8000000001234U);
  EXPECT_EQ(run_one(add, two, 0x3ff0000000000000, 0xfff8000000000042), 0xfff8000000000042U);
  EXPECT_EQ(run_one(add, two, 0x7ff0000000000000, 0xfff0000000000000), 0xfff8000000000000U);
}

TEST(Float, SignsTestsAndCopysign) {
  EXPECT_EQ(run_one(make(Opcode::Neg, Type::F32), kOne32, 0x3f800000), 0xbf800000U);
  EXPECT_EQ(run_one(make(Opcode::Abs, Type::F32), kOne32, 0x80000000), 0U);
  EXPECT_EQ(run_one(make(Opcode::Copysign, Type::F32), kTwo32, 0x80000000, 0x40000000), 0xc0000000U);
  const ProbeShape test{Held::Pred, {Held::Bits32}};
  const std::uint64_t kinds[] = {0, 1, 0x00800000, 0x3f800000, 0x7f800000, 0x7fc00000};
  const auto row = [&](isa::TestpMode mode) {
    std::string text;
    for (const std::uint64_t kind : kinds) {
      isa::Instruction inst = make(Opcode::Testp, Type::F32);
      inst.testp = mode;
      text += run_one(inst, test, kind) != 0 ? '1' : '0';
    }
    return text;
  };
  EXPECT_EQ(row(isa::TestpMode::Finite), "111100");
  EXPECT_EQ(row(isa::TestpMode::Infinite), "000010");
  EXPECT_EQ(row(isa::TestpMode::Number), "111110");
  EXPECT_EQ(row(isa::TestpMode::NotANumber), "000001");
  EXPECT_EQ(row(isa::TestpMode::Normal), "001100");
  EXPECT_EQ(row(isa::TestpMode::Subnormal), "010000");
}

TEST(Float, ApproximationsStayWithinOneUnit) {
  const auto values = float_patterns(23, 8, 77, 2000);
  std::vector<Operands> in;
  for (const std::uint64_t value : values) in.push_back({value, 0, 0, 0});
  const std::pair<Opcode, double (*)(double)> functions[] = {
      {Opcode::Rcp, [](double x) { return 1 / x; }},
      {Opcode::Rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {Opcode::Sqrt, [](double x) { return std::sqrt(x); }},
      {Opcode::Sin, [](double x) { return std::sin(x); }},
      {Opcode::Cos, [](double x) { return std::cos(x); }},
      {Opcode::Lg2, [](double x) { return std::log2(x); }},
      {Opcode::Ex2, [](double x) { return std::exp2(x); }},
      {Opcode::Tanh, [](double x) { return std::tanh(x); }}};
  for (const auto& [op, function] : functions) {
    isa::Instruction inst = make(op, Type::F32);
    inst.approx = true;
    const ProbeResult result = probe(inst, kOne32, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(in[i][0]));
      const float r = std::bit_cast<float>(static_cast<std::uint32_t>(result.value[i]));
      const double exact = function(static_cast<double>(x));
      if (std::isnan(exact)) {
        ASSERT_EQ(result.value[i], 0x7fffffffU);
        continue;
      }
      const float nearest = static_cast<float>(exact);
      const bool close = r == nearest || r == std::nextafter(nearest, 3e38F) ||
                         r == std::nextafter(nearest, -3e38F) || (std::isinf(nearest) && r == nearest);
      ASSERT_TRUE(close) << isa::name(op) << ' ' << x << ' ' << r << ' ' << exact;
    }
  }
}

// --- halves -------------------------------------------------------------------------------------------

Quad half_value(std::uint64_t bits, bool bfloat) {
  const int fraction_bits = bfloat ? 7 : 10;
  const int bias = bfloat ? 127 : 15;
  const auto magnitude = static_cast<int>(bits & 0x7fffU);
  const int exponent = magnitude >> fraction_bits;
  const int fraction = magnitude & ((1 << fraction_bits) - 1);
  Quad value = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  int scale = (exponent == 0 ? 1 : exponent) - bias - fraction_bits;
  for (; scale > 0; --scale) value *= 2;
  for (; scale < 0; ++scale) value /= 2;
  return (bits & 0x8000U) != 0 ? -value : value;
}
struct F16Format {
  static constexpr std::uint64_t kInfinity = 0x7c00;
  static constexpr std::uint64_t kSign = 0x8000;
  static Quad value(std::uint64_t bits) { return half_value(bits, false); }
};
struct Bf16Format {
  static constexpr std::uint64_t kInfinity = 0x7f80;
  static constexpr std::uint64_t kSign = 0x8000;
  static Quad value(std::uint64_t bits) { return half_value(bits, true); }
};

template <class F>
void check_half(Type single, Type pair, unsigned fraction, unsigned exponent) {
  const auto in =
      pairs(float_patterns(fraction, exponent, 5, 400), float_patterns(fraction, exponent, 6, 400),
            float_patterns(fraction, exponent, 7, 400), 6000, 8);
  for (const Opcode op : {Opcode::Add, Opcode::Sub, Opcode::Mul, Opcode::Fma}) {
    isa::Instruction inst = make(op, single);
    inst.rounding = Rounding::RN;
    ProbeShape shape{Held::Bits32, {Held::Bits32, Held::Bits32}};
    if (op == Opcode::Fma) shape.src.push_back(Held::Bits32);
    const ProbeResult result = probe(inst, shape, in);
    // .ftz: subnormal operands and results are zeroes of their sign; .sat: within 0 and 1, NaN is 0.
    const std::uint64_t infinity = ((std::uint64_t{1} << exponent) - 1) << fraction;
    const std::uint64_t one = ((std::uint64_t{1} << (exponent - 1)) - 1) << fraction;
    const auto flushed = [&](std::uint64_t bits) { return (bits & infinity) == 0 ? bits & 0x8000U : bits; };
    std::vector<Operands> normal = in;
    for (Operands& operands : normal) {
      for (std::uint64_t& bits : operands) bits = flushed(bits);
    }
    isa::Instruction modified = inst;
    modified.ftz = true;
    const ProbeResult of_normal = probe(inst, shape, normal);
    const ProbeResult ftz = probe(modified, shape, in);
    modified.ftz = false;
    modified.sat = true;
    const ProbeResult sat = probe(modified, shape, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(ftz.value[i], flushed(of_normal.value[i])) << isa::name(op) << '.' << isa::name(single);
      const std::uint64_t plain = result.value[i];
      const std::uint64_t bounded = plain > infinity ? 0 : std::min(plain, one);  // negative, NaN
      ASSERT_EQ(sat.value[i], bounded) << isa::name(op) << '.' << isa::name(single) << ' ' << plain;
    }
    // The pair form: the same operands in the upper half, those of the next case in the lower.
    std::vector<Operands> two = in;
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (std::size_t k = 0; k < 3; ++k) two[i][k] = (in[i][k] << 16U) | in[(i + 1) % in.size()][k];
    }
    isa::Instruction packed = inst;
    packed.type = pair;
    const ProbeResult both = probe(packed, shape, two);
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(both.value[i], (result.value[i] << 16U) | result.value[(i + 1) % in.size()]);
      const Quad a = F::value(in[i][0]);
      const Quad b = F::value(in[i][1]);
      const Quad c = F::value(in[i][2]);
      if (!finite<F>(in[i][0]) || !finite<F>(in[i][1]) || (op == Opcode::Fma && !finite<F>(in[i][2])))
        continue;
      Sum exact{};
      if (op == Opcode::Add) exact = two_sum(a, b);
      if (op == Opcode::Sub) exact = two_sum(a, -b);
      if (op == Opcode::Mul) exact = {a * b, 0};
      if (op == Opcode::Fma) exact = two_sum(a * b, c);
      ASSERT_TRUE(rounded<F>(result.value[i], exact, Rounding::RN))
          << isa::name(op) << '.' << isa::name(single) << std::hex << " a " << in[i][0] << " b " << in[i][1]
          << " c " << in[i][2] << " result " << result.value[i];
    }
  }
}

TEST(Half, F16IsRoundedOnce) { check_half<F16Format>(Type::F16, Type::F16x2, 10, 5); }
TEST(Half, Bf16IsRoundedOnce) { check_half<Bf16Format>(Type::BF16, Type::BF16x2, 7, 8); }

TEST(Half, FmaDoesNotRoundTwice) {
  isa::Instruction inst = make(Opcode::Fma, Type::BF16);
  inst.rounding = Rounding::RN;
  // 1.0078125 * 1.0078125 + tiny: the product 1.01568603515625 lies on no tie; 1.5 * 1.0078125 = 1.51171875
  // is the middle of 1.5078125 and 1.515625, and an addend far below decides.
  EXPECT_EQ(run_one(inst, kThree32, 0x3fc0, 0x3f81, 0x0000), 0x3fc2U);  // tie to even
  EXPECT_EQ(run_one(inst, kThree32, 0x3fc0, 0x3f81, 0x8001), 0x3fc1U);  // just below the tie
  EXPECT_EQ(run_one(inst, kThree32, 0x3fc0, 0x3f81, 0x0001), 0x3fc2U);
}

TEST(Compare, FloatsOrderedAndUnordered) {
  using isa::Compare;
  const ProbeShape shape{Held::Pred, {Held::Bits32, Held::Bits32}};
  const std::uint64_t one = 0x3f800000;
  const std::uint64_t two = 0x40000000;
  const std::uint64_t nan = 0x7fc00000;
  const std::tuple<Compare, int, int, int, int> rows[] = {
      // less, equal, greater, unordered
      {Compare::EQ, 0, 1, 0, 0},  {Compare::NE, 1, 0, 1, 0},  {Compare::LT, 1, 0, 0, 0},
      {Compare::LE, 1, 1, 0, 0},  {Compare::GT, 0, 0, 1, 0},  {Compare::GE, 0, 1, 1, 0},
      {Compare::EQU, 0, 1, 0, 1}, {Compare::NEU, 1, 0, 1, 1}, {Compare::LTU, 1, 0, 0, 1},
      {Compare::LEU, 1, 1, 0, 1}, {Compare::GTU, 0, 0, 1, 1}, {Compare::GEU, 0, 1, 1, 1},
      {Compare::NUM, 1, 1, 1, 0}, {Compare::NAN_, 0, 0, 0, 1}};
  for (const auto& [compare, less, equal, greater, unordered] : rows) {
    isa::Instruction inst = make(Opcode::Setp, Type::F32);
    inst.compare = compare;
    const auto result =
        probe(inst, shape, {{one, two, 0, 0}, {one, one, 0, 0}, {two, one, 0, 0}, {one, nan, 0, 0}});
    EXPECT_EQ(result.value, (std::vector<std::uint64_t>{
                                static_cast<std::uint64_t>(less), static_cast<std::uint64_t>(equal),
                                static_cast<std::uint64_t>(greater), static_cast<std::uint64_t>(unordered)}))
        << static_cast<int>(compare);
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
