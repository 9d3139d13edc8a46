// Conversions between all pairs of types, against the exact value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "emulator/instruction_probe.hpp"

namespace gpumux::emulator::test {
namespace {

using isa::Rounding;
__extension__ using i128 = __int128;

Held held(Type type) { return isa::width_bits(type) == 64 ? Held::Bits64 : Held::Bits32; }

isa::Instruction cvt(Type to, Type from, Rounding mode = Rounding::None) {
  isa::Instruction inst = make(Opcode::Cvt, to);
  inst.type2 = from;
  inst.rounding = mode;
  return inst;
}

i128 number(std::uint64_t bits, Type type) {
  const unsigned unused = 64 - isa::width_bits(type);
  if (isa::is_signed(type)) return static_cast<std::int64_t>(bits << unused) >> unused;
  return (bits << unused) >> unused;
}
std::uint64_t cut(i128 value, Type type) {
  const unsigned width = isa::width_bits(type);
  const auto bits = static_cast<std::uint64_t>(value);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}
i128 least(Type type) { return isa::is_signed(type) ? -(i128{1} << (isa::width_bits(type) - 1)) : 0; }
i128 greatest(Type type) {
  return isa::is_signed(type) ? (i128{1} << (isa::width_bits(type) - 1)) - 1
                              : (i128{1} << isa::width_bits(type)) - 1;
}

std::vector<Operands> single(const std::vector<std::uint64_t>& values) {
  std::vector<Operands> in;
  for (const std::uint64_t value : values) in.push_back({value, 0, 0, 0});
  return in;
}

const ProbeShape kNarrow{Held::Bits32, {Held::Bits32}};

constexpr Type kIntegers[] = {Type::U8,  Type::S8,  Type::U16, Type::S16,
                              Type::U32, Type::S32, Type::U64, Type::S64};

TEST(Convert, IntegersExtendCutAndSaturate) {
  for (const Type from : kIntegers) {
    const auto in = single(patterns(isa::width_bits(from), 1, 100));
    for (const Type to : kIntegers) {
      for (const bool sat : {false, true}) {
        isa::Instruction inst = cvt(to, from);
        inst.sat = sat;
        const auto result = probe(inst, {held(to), {held(from)}}, in);
        for (std::size_t i = 0; i < in.size(); ++i) {
          i128 value = number(in[i][0], from);
          if (sat) value = std::clamp(value, least(to), greatest(to));
          ASSERT_EQ(result.value[i], cut(value, to))
              << isa::name(to) << ' ' << isa::name(from) << ' ' << in[i][0];
        }
      }
    }
  }
}

double as_float(std::uint64_t bits, Type type) {
  if (type == Type::F64) return std::bit_cast<double>(bits);
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

TEST(Convert, FloatsToIntegersRoundClampAndMapNan) {
  const std::pair<Rounding, double (*)(double)> modes[] = {
      {Rounding::RNI, [](double x) { return std::nearbyint(x); }},
      {Rounding::RZI, [](double x) { return std::trunc(x); }},
      {Rounding::RMI, [](double x) { return std::floor(x); }},
      {Rounding::RPI, [](double x) { return std::ceil(x); }}};
  for (const Type from : {Type::F32, Type::F64}) {
    auto values = from == Type::F32 ? float_patterns(23, 8, 2, 400) : float_patterns(52, 11, 2, 400);
    for (const double x :
         {0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 255.5, 32767.5, 65535.5, 2147483647.5, 2147483648.0,
          -2147483648.0, 4294967295.5, 4294967296.0, 9.2233720368547758e18, 1.8446744073709552e19}) {
      values.push_back(from == Type::F64 ? std::bit_cast<std::uint64_t>(x)
                                         : std::bit_cast<std::uint32_t>(static_cast<float>(x)));
    }
    const auto in = single(values);
    for (const Type to : kIntegers) {
      for (const auto& [mode, round] : modes) {
        const auto result = probe(cvt(to, from, mode), {held(to), {held(from)}}, in);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const double x = as_float(in[i][0], from);
          std::uint64_t expected = 0;
          if (std::isnan(x)) {
            if (from == Type::F64 || isa::width_bits(to) == 64)
              expected = std::uint64_t{1} << (isa::width_bits(to) - 1);
          } else {
            const double r = round(x);
            const i128 value = r >= 0x1p70 ? greatest(to) : (r <= -0x1p70 ? least(to) : static_cast<i128>(r));
            expected = cut(std::clamp(value, least(to), greatest(to)), to);
          }
          ASSERT_EQ(result.value[i], expected) << isa::name(to) << ' ' << isa::name(from) << ' ' << x;
        }
      }
    }
  }
}

// Integers to floats: the result's neighbours must lie on the proper sides of the exact integer.
TEST(Convert, IntegersToFloatsRoundInEveryMode) {
  for (const Type from : kIntegers) {
    const auto in = single(patterns(isa::width_bits(from), 3, 300));
    for (const Type to : {Type::F32, Type::F64}) {
      for (const Rounding mode : {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP}) {
        const auto result = probe(cvt(to, from, mode), {held(to), {held(from)}}, in);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const i128 exact = number(in[i][0], from);
          const double r = as_float(result.value[i], to);
          const i128 got = static_cast<i128>(r);
          const auto next = [&](double toward) {
            return static_cast<i128>(
                to == Type::F64
                    ? std::nextafter(r, toward)
                    : static_cast<double>(std::nextafter(static_cast<float>(r), static_cast<float>(toward))));
          };
          if (got == exact) continue;
          const bool above = got > exact;
          const i128 other = next(above ? -1e30 : 1e30);
          ASSERT_TRUE(above ? other < exact : other > exact);
          const bool down = mode == Rounding::RM || (mode == Rounding::RZ && exact > 0);
          const bool up = mode == Rounding::RP || (mode == Rounding::RZ && exact < 0);
          ASSERT_FALSE((down && above) || (up && !above));
          if (mode == Rounding::RN) {
            const i128 mine = above ? got - exact : exact - got;
            const i128 its = above ? exact - other : other - exact;
            ASSERT_TRUE(mine < its || (mine == its && (result.value[i] & 1U) == 0));
          }
        }
      }
    }
  }
}

TEST(Convert, DoubleToSingleInEveryMode) {
  auto values = float_patterns(52, 11, 4, 500);
  for (const std::uint64_t bits : float_patterns(23, 8, 5, 500)) {  // near singles and the middles between
    const double x = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const auto wide = std::bit_cast<std::uint64_t>(x);
    for (const std::uint64_t delta : {0ULL, 1ULL, 0x0fffffffULL, 0x10000000ULL, 0x10000001ULL})
      values.push_back(wide + delta);
  }
  const auto in = single(values);
  for (const Rounding mode : {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP}) {
    const auto result = probe(cvt(Type::F32, Type::F64, mode), {Held::Bits32, {Held::Bits64}}, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double exact = std::bit_cast<double>(in[i][0]);
      const float r = std::bit_cast<float>(static_cast<std::uint32_t>(result.value[i]));
      if (std::isnan(exact)) {
        ASSERT_EQ(result.value[i], 0x7fffffffU);
        continue;
      }
      const float nearest = static_cast<float>(exact);
      if (mode == Rounding::RN) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(r), std::bit_cast<std::uint32_t>(nearest));
        continue;
      }
      const float infinity = INFINITY;
      float expected = nearest;
      const bool down = mode == Rounding::RM || (mode == Rounding::RZ && exact > 0);
      if (down && static_cast<double>(nearest) > exact) expected = std::nextafter(nearest, -infinity);
      if (!down && static_cast<double>(nearest) < exact) expected = std::nextafter(nearest, infinity);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(r), std::bit_cast<std::uint32_t>(expected)) << exact << ' ' << r;
    }
  }
}

TEST(Convert, HalvesGoThereAndBack) {
  std::vector<Operands> all;
  for (std::uint64_t bits = 0; bits < 0x10000; bits += 3) all.push_back({bits, 0, 0, 0});
  for (const Type half : {Type::F16, Type::BF16}) {
    const std::uint64_t infinity = half == Type::F16 ? 0x7c00 : 0x7f80;
    const auto wide = probe(cvt(Type::F32, half), kNarrow, all);
    std::vector<Operands> back;
    for (const std::uint64_t bits : wide.value) back.push_back({bits, 0, 0, 0});
    const auto narrow = probe(cvt(half, Type::F32, Rounding::RN), kNarrow, back);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool nan = (all[i][0] & 0x7fffU) > infinity;
      ASSERT_EQ(narrow.value[i], nan ? 0x7fffU : all[i][0]);
    }
  }
}

TEST(Convert, HalfRoundsTiesToEvenAndOverflows) {
  const auto to_half = [](float x, Rounding mode) {
    return probe(cvt(Type::F16, Type::F32, mode), kNarrow, {{std::bit_cast<std::uint32_t>(x), 0, 0, 0}})
        .value[0];
  };
  EXPECT_EQ(to_half(2049.0F, Rounding::RN), 0x6800U);  // middle of 2048 and 2050
  EXPECT_EQ(to_half(2051.0F, Rounding::RN), 0x6802U);
  EXPECT_EQ(to_half(65519.0F, Rounding::RN), 0x7bffU);
  EXPECT_EQ(to_half(65520.0F, Rounding::RN), 0x7c00U);
  EXPECT_EQ(to_half(1e9F, Rounding::RZ), 0x7bffU);
  EXPECT_EQ(to_half(0x1p-25F, Rounding::RN), 0U);
  EXPECT_EQ(to_half(0x1.8p-25F, Rounding::RN), 1U);
  EXPECT_EQ(to_half(0x1p-30F, Rounding::RP), 1U);
  EXPECT_EQ(to_half(-0x1p-30F, Rounding::RM), 0x8001U);
}

TEST(Convert, RoundingToIntegralValues) {
  const auto in = single(float_patterns(23, 8, 6, 400));
  const std::pair<Rounding, float (*)(float)> modes[] = {
      {Rounding::RNI, [](float x) { return std::nearbyint(x); }},
      {Rounding::RZI, [](float x) { return std::trunc(x); }},
      {Rounding::RMI, [](float x) { return std::floor(x); }},
      {Rounding::RPI, [](float x) { return std::ceil(x); }}};
  for (const auto& [mode, round] : modes) {
    const auto result = probe(cvt(Type::F32, Type::F32, mode), kNarrow, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(in[i][0]));
      const std::uint64_t expected = std::isnan(x) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(round(x));
      ASSERT_EQ(result.value[i], expected) << x;
    }
  }
}

TEST(Convert, SaturationToTheUnitInterval) {
  isa::Instruction inst = cvt(Type::F32, Type::F32);
  inst.sat = true;
  const auto result = probe(inst, kNarrow,
                            {{0x40000000, 0, 0, 0},
                             {0xbf800000, 0, 0, 0},
                             {0x7fc00000, 0, 0, 0},
                             {0x3f000000, 0, 0, 0},
                             {0x80000000, 0, 0, 0}});
  EXPECT_EQ(result.value, (std::vector<std::uint64_t>{0x3f800000, 0, 0, 0x3f000000, 0}));
}

TEST(Convert, PacksTwoHalves) {
  isa::Instruction inst = make(Opcode::CvtPack2, Type::F16x2);
  inst.rounding = Rounding::RN;
  const auto result =
      probe(inst, {Held::Bits32, {Held::Bits32, Held::Bits32}},
            {{std::bit_cast<std::uint32_t>(1.0F), std::bit_cast<std::uint32_t>(-2.0F), 0, 0}});
  EXPECT_EQ(result.value[0], 0x3c00c000U);
}

}  // namespace
}  // namespace gpumux::emulator::test
