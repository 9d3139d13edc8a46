// Integer and bit instructions against scalar references written after PTX's own definitions.
#include <gtest/gtest.h>

#include <functional>

#include "emulator/instruction_probe.hpp"

namespace gpumux::emulator::test {
namespace {

__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

std::int64_t as_signed(std::uint64_t bits, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}
std::uint64_t cut(std::uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}
i128 as_number(std::uint64_t bits, Type type) {
  const unsigned width = isa::width_bits(type);
  return isa::is_signed(type) ? i128{as_signed(bits, width)} : i128{static_cast<i128>(cut(bits, width))};
}
Held held_as(Type type) { return isa::width_bits(type) == 64 ? Held::Bits64 : Held::Bits32; }

using Reference = std::function<std::uint64_t(const Operands&)>;

void expect_equal(const isa::Instruction& inst, ProbeShape shape, const std::vector<Operands>& inputs,
                  const Reference& reference) {
  for (const bool half : {false, true}) {
    shape.every_other_lane = half;
    const ProbeResult result = probe(inst, shape, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (half && i % 2 == 1) {
        if (shape.dst == Held::Pred) continue;
        const std::uint64_t kept = shape.dst == Held::Bits64 ? kUntouched : kUntouched & 0xffffffffU;
        ASSERT_EQ(result.value[i], kept) << isa::name(inst.op) << " wrote an inactive lane";
        continue;
      }
      ASSERT_EQ(result.value[i], reference(inputs[i]))
          << isa::name(inst.op) << '.' << isa::name(inst.type) << std::hex << " a " << inputs[i][0] << " b "
          << inputs[i][1] << " c " << inputs[i][2];
    }
  }
}

std::vector<Operands> inputs_of(unsigned width, std::uint64_t seed) {
  const auto values = patterns(width, seed, 100);
  return pairs(values, patterns(width, seed + 1, 100), patterns(width, seed + 2, 100), 600, seed);
}

class IntegerArithmetic : public testing::TestWithParam<Type> {};

TEST_P(IntegerArithmetic, MatchesTheReference) {
  const Type type = GetParam();
  const unsigned width = isa::width_bits(type);
  const Held h = held_as(type);
  const auto in = inputs_of(width, width);
  const ProbeShape two{h, {h, h}};
  const ProbeShape three{h, {h, h, h}};
  const auto a = [&](const Operands& o) { return as_number(o[0], type); };
  const auto b = [&](const Operands& o) { return as_number(o[1], type); };
  const auto c = [&](const Operands& o) { return as_number(o[2], type); };
  const auto low = [&](i128 x) { return cut(static_cast<std::uint64_t>(x), width); };
  const auto high = [&](i128 x, i128 y) {
    if (isa::is_signed(type)) return static_cast<std::uint64_t>((x * y) >> width);
    return static_cast<std::uint64_t>((static_cast<u128>(x) * static_cast<u128>(y)) >> width);
  };
  expect_equal(make(Opcode::Add, type), two, in, [&](const Operands& o) { return low(a(o) + b(o)); });
  expect_equal(make(Opcode::Sub, type), two, in, [&](const Operands& o) { return low(a(o) - b(o)); });
  expect_equal(make(Opcode::MulLo, type), two, in,
               [&](const Operands& o) { return cut(o[0] * o[1], width); });
  expect_equal(make(Opcode::MadLo, type), three, in,
               [&](const Operands& o) { return cut(o[0] * o[1] + o[2], width); });
  expect_equal(make(Opcode::MulHi, type), two, in,
               [&](const Operands& o) { return cut(high(a(o), b(o)), width); });
  expect_equal(make(Opcode::MadHi, type), three, in,
               [&](const Operands& o) { return cut(high(a(o), b(o)) + o[2], width); });
  expect_equal(make(Opcode::Div, type), two, in,
               [&](const Operands& o) { return b(o) == 0 ? low(-1) : low(a(o) / b(o)); });
  expect_equal(make(Opcode::Rem, type), two, in,
               [&](const Operands& o) { return b(o) == 0 ? low(-1) : low(a(o) % b(o)); });
  expect_equal(make(Opcode::Min, type), two, in,
               [&](const Operands& o) { return low(std::min(a(o), b(o))); });
  expect_equal(make(Opcode::Max, type), two, in,
               [&](const Operands& o) { return low(std::max(a(o), b(o))); });
  expect_equal(make(Opcode::Sad, type), three, in,
               [&](const Operands& o) { return low(c(o) + (a(o) < b(o) ? b(o) - a(o) : a(o) - b(o))); });
  expect_equal(make(Opcode::Neg, type), {h, {h}}, in, [&](const Operands& o) { return low(-a(o)); });
  expect_equal(make(Opcode::Abs, type), {h, {h}}, in,
               [&](const Operands& o) { return low(a(o) < 0 ? -a(o) : a(o)); });
  if (width <= 32) {
    const Held wide = width == 32 ? Held::Bits64 : Held::Bits32;
    expect_equal(make(Opcode::MulWide, type), {wide, {h, h}}, in,
                 [&](const Operands& o) { return cut(static_cast<std::uint64_t>(a(o) * b(o)), 2 * width); });
    const auto wide_in =
        pairs(patterns(width, 1, 100), patterns(width, 2, 100), patterns(2 * width, 3, 100), 600, 4);
    expect_equal(make(Opcode::MadWide, type), {wide, {h, h, wide}}, wide_in, [&](const Operands& o) {
      return cut(static_cast<std::uint64_t>(a(o) * b(o)) + o[2], 2 * width);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, IntegerArithmetic,
                         testing::Values(Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64),
                         [](const auto& param_info) { return std::string(isa::name(param_info.param)); });

TEST(Integer, SaturatingAddAndSubtractClampToS32) {
  isa::Instruction add = make(Opcode::Add, Type::S32);
  add.sat = true;
  isa::Instruction sub = make(Opcode::Sub, Type::S32);
  sub.sat = true;
  const auto clamp = [](std::int64_t x) {
    return cut(static_cast<std::uint64_t>(std::clamp<std::int64_t>(x, INT32_MIN, INT32_MAX)), 32);
  };
  const auto in = inputs_of(32, 5);
  const ProbeShape two{Held::Bits32, {Held::Bits32, Held::Bits32}};
  expect_equal(add, two, in,
               [&](const Operands& o) { return clamp(as_signed(o[0], 32) + as_signed(o[1], 32)); });
  expect_equal(sub, two, in,
               [&](const Operands& o) { return clamp(as_signed(o[0], 32) - as_signed(o[1], 32)); });
}

TEST(Integer, CarryChains) {
  for (const unsigned width : {32U, 64U}) {
    const Type type = width == 32 ? Type::U32 : Type::U64;
    const Held h = held_as(type);
    const auto in = inputs_of(width, 9);
    for (const Opcode op : {Opcode::Add, Opcode::Sub}) {
      isa::Instruction inst = make(op, type);
      inst.carry_in = true;
      inst.carry_out = true;
      ProbeShape shape{h, {h, h, Held::Pred}, Held::Pred};
      const ProbeResult result = probe(inst, shape, in);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const u128 a = in[i][0];
        // What a subtraction takes in and gives out says that there is no borrow.
        const unsigned flag = in[i][2] & 1U;
        const u128 b = u128{in[i][1]} + (op == Opcode::Add ? flag : 1U - flag);
        const u128 exact = op == Opcode::Add ? a + b : a - b;
        ASSERT_EQ(result.value[i], cut(static_cast<std::uint64_t>(exact), width));
        ASSERT_EQ(result.second[i],
                  op == Opcode::Add ? static_cast<std::uint64_t>(exact >> width) & 1U : a >= b);
      }
    }
    for (const Opcode op : {Opcode::MadLo, Opcode::MadHi}) {
      isa::Instruction inst = make(op, type);
      inst.carry_in = true;
      inst.carry_out = true;
      ProbeShape shape{h, {h, h, h, Held::Pred}, Held::Pred};
      auto with_carry = in;
      for (std::size_t i = 0; i < in.size(); ++i) with_carry[i][3] = i % 2;
      const ProbeResult result = probe(inst, shape, with_carry);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const u128 product = u128{in[i][0]} * in[i][1];
        const u128 part =
            cut(static_cast<std::uint64_t>(op == Opcode::MadHi ? product >> width : product), width);
        const u128 exact = part + in[i][2] + (i % 2);
        ASSERT_EQ(result.value[i], cut(static_cast<std::uint64_t>(exact), width));
        ASSERT_EQ(result.second[i], static_cast<std::uint64_t>(exact >> width));
      }
    }
  }
}

TEST(Integer, LeaScalesAndExtends) {
  const auto in = pairs(patterns(64, 1, 50), patterns(32, 2, 50), {0}, 500, 3);
  for (const Type extension : {Type::S32, Type::U32}) {
    isa::Instruction inst = make(Opcode::Lea, Type::U64);
    inst.wide = true;
    inst.type2 = extension;
    inst.shift = 3;
    expect_equal(inst, {Held::Bits64, {Held::Bits64, Held::Bits32}}, in, [&](const Operands& o) {
      return o[0] + (static_cast<std::uint64_t>(as_number(o[1], extension)) << 3U);
    });
  }
}

TEST(Bits, LogicAndSelection) {
  for (const unsigned width : {16U, 32U, 64U}) {
    const Type type = width == 16 ? Type::B16 : (width == 32 ? Type::B32 : Type::B64);
    const Held h = held_as(type);
    const auto in = inputs_of(width, 21);
    const ProbeShape two{h, {h, h}};
    expect_equal(make(Opcode::And, type), two, in, [](const Operands& o) { return o[0] & o[1]; });
    expect_equal(make(Opcode::Or, type), two, in, [](const Operands& o) { return o[0] | o[1]; });
    expect_equal(make(Opcode::Xor, type), two, in, [](const Operands& o) { return o[0] ^ o[1]; });
    expect_equal(make(Opcode::Not, type), {h, {h}}, in, [&](const Operands& o) { return cut(~o[0], width); });
    expect_equal(make(Opcode::Cnot, type), {h, {h}}, in, [](const Operands& o) { return o[0] == 0 ? 1 : 0; });
    expect_equal(make(Opcode::Selp, type), {h, {h, h, Held::Pred}}, in,
                 [](const Operands& o) { return o[2] & 1U ? o[0] : o[1]; });
    isa::Instruction slct = make(Opcode::Slct, type);
    slct.type2 = Type::S32;
    expect_equal(slct, {h, {h, h, Held::Bits32}}, in,
                 [](const Operands& o) { return as_signed(o[2] & 0xffffffffU, 32) >= 0 ? o[0] : o[1]; });
  }
}

TEST(Bits, Lop3FollowsItsTable) {
  const auto in = inputs_of(32, 22);
  for (const unsigned table : {0x80U, 0xfeU, 0x96U, 0xcaU, 0x1bU, 0x00U, 0xffU}) {
    isa::Instruction inst = make(Opcode::Lop3, Type::B32);
    inst.shift = static_cast<std::uint8_t>(table);
    expect_equal(
        inst, {Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32}}, in, [&](const Operands& o) {
          std::uint64_t result = 0;
          for (unsigned i = 0; i < 32; ++i) {
            const unsigned row =
                static_cast<unsigned>(((o[0] >> i & 1U) << 2U) | ((o[1] >> i & 1U) << 1U) | (o[2] >> i & 1U));
            result |= std::uint64_t{(table >> row) & 1U} << i;
          }
          return result;
        });
  }
}

TEST(Bits, ShiftsClamp) {
  for (const Type type : {Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64}) {
    const unsigned width = isa::width_bits(type);
    const Held h = held_as(type);
    const auto in = pairs(patterns(width, 3, 60), patterns(32, 4, 60), {0}, 600, 5);
    const auto amount = [&](const Operands& o) {
      return static_cast<unsigned>(std::min<std::uint64_t>(o[1], width));
    };
    expect_equal(make(Opcode::Shl, type), {h, {h, Held::Bits32}}, in,
                 [&](const Operands& o) { return amount(o) == width ? 0 : cut(o[0] << amount(o), width); });
    expect_equal(make(Opcode::Shr, type), {h, {h, Held::Bits32}}, in, [&](const Operands& o) {
      return cut(static_cast<std::uint64_t>(as_number(o[0], type) >> amount(o)), width);
    });
  }
}

TEST(Bits, FunnelShift) {
  const auto in = inputs_of(32, 30);
  for (unsigned mode = 0; mode < 4; ++mode) {
    isa::Instruction inst = make(Opcode::Shf, Type::B32);
    inst.shift = static_cast<std::uint8_t>(mode);
    expect_equal(
        inst, {Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32}}, in, [&](const Operands& o) {
          const unsigned n =
              static_cast<unsigned>((mode & 2U) != 0 ? std::min<std::uint64_t>(o[2], 32) : o[2] & 31U);
          if ((mode & 1U) != 0) return cut((n == 0 ? 0 : o[1] << (32 - n)) | (n == 32 ? 0 : o[0] >> n), 32);
          return cut((n == 32 ? 0 : o[1] << n) | (n == 0 ? 0 : o[0] >> (32 - n)), 32);
        });
  }
}

/// What prmt gives by its general mode.
std::uint64_t permuted(std::uint64_t a, std::uint64_t b, std::uint64_t selectors) {
  const std::uint64_t all = (b << 32U) | a;
  std::uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const auto selector = static_cast<unsigned>(selectors >> (4 * i)) & 15U;
    std::uint64_t byte = all >> (8 * (selector & 7U)) & 0xffU;
    if (selector > 7) byte = byte > 127 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

TEST(Bits, PrmtTakesBytesAndSigns) {
  const isa::Instruction inst = make(Opcode::Prmt, Type::B32);
  expect_equal(inst, {Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32}}, inputs_of(32, 31),
               [](const Operands& o) { return permuted(o[0], o[1], o[2]); });
  // One selector for all lanes.
  for (const std::uint32_t selectors : {0x3210U, 0x7654U, 0xfedcU, 0x8b40U, 0x1c2dU, 0x9999U}) {
    isa::Instruction alike = inst;
    alike.src[2] = imm(selectors);
    for (const bool some : {false, true})
      expect_equal(alike, {Held::Bits32, {Held::Bits32, Held::Bits32}, Held::Absent, some}, inputs_of(32, 31),
                   [=](const Operands& o) { return permuted(o[0], o[1], selectors); });
  }
  // The special modes, by the table in the PTX manual: a = 33221100, b = 77665544.
  constexpr std::uint32_t kExpected[6][4] = {{0x33221100, 0x44332211, 0x55443322, 0x66554433},   // f4e
                                             {0x55667700, 0x66770011, 0x77001122, 0x00112233},   // b4e
                                             {0x00000000, 0x11111111, 0x22222222, 0x33333333},   // rc8
                                             {0x33221100, 0x33221111, 0x33222222, 0x33333333},   // ecl
                                             {0x00000000, 0x11111100, 0x22221100, 0x33221100},   // ecr
                                             {0x11001100, 0x33223322, 0x11001100, 0x33223322}};  // rc16
  for (unsigned mode = 1; mode <= 6; ++mode) {
    isa::Instruction special = make(Opcode::Prmt, Type::B32);
    special.shift = static_cast<std::uint8_t>(mode);
    std::vector<Operands> in;
    for (std::uint64_t c = 0; c < 4; ++c) in.push_back({0x33221100, 0x77665544, c, 0});
    const auto result = probe(special, {Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32}}, in);
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(result.value[c], kExpected[mode - 1][c]) << mode << ' ' << c;
  }
}

TEST(Bits, CountsAndFinds) {
  for (const Type type : {Type::U32, Type::S32, Type::U64, Type::S64}) {
    const unsigned width = isa::width_bits(type);
    const auto in = inputs_of(width, 40);
    const ProbeShape one{Held::Bits32, {held_as(type)}};
    const auto msb = [&](const Operands& o) {
      std::uint64_t a = o[0];
      if (isa::is_signed(type) && as_signed(a, width) < 0) a = cut(~a, width);
      for (unsigned i = width; i-- > 0;) {
        if ((a >> i & 1U) != 0) return std::uint64_t{i};
      }
      return std::uint64_t{0xffffffff};
    };
    expect_equal(make(Opcode::Popc, type), one, in, [](const Operands& o) {
      std::uint64_t n = 0;
      for (unsigned i = 0; i < 64; ++i) n += o[0] >> i & 1U;
      return n;
    });
    expect_equal(make(Opcode::Clz, type), one, in, [&](const Operands& o) {
      std::uint64_t n = 0;
      while (n < width && (o[0] >> (width - 1 - n) & 1U) == 0) ++n;
      return n;
    });
    expect_equal(make(Opcode::Bfind, type), one, in, msb);
    isa::Instruction amount = make(Opcode::Bfind, type);
    amount.shift = 1;
    expect_equal(amount, one, in,
                 [&](const Operands& o) { return msb(o) == 0xffffffff ? msb(o) : width - 1 - msb(o); });
    expect_equal(make(Opcode::Brev, type), {held_as(type), {held_as(type)}}, in, [&](const Operands& o) {
      std::uint64_t result = 0;
      for (unsigned i = 0; i < width; ++i) result |= (o[0] >> i & 1U) << (width - 1 - i);
      return result;
    });
  }
}

TEST(Bits, FieldsFollowThePseudoCodeOfPtx) {
  std::vector<std::uint64_t> small;
  for (std::uint64_t i = 0; i < 70; ++i) small.push_back(i);
  small.push_back(255);
  small.push_back(256 + 3);  // only the low 8 bits count
  for (const Type type : {Type::U32, Type::S32, Type::U64, Type::S64}) {
    const unsigned width = isa::width_bits(type);
    const auto in = pairs(patterns(width, 6, 80), small, small, 3000, 7);
    expect_equal(make(Opcode::Bfe, type), {held_as(type), {held_as(type), Held::Bits32, Held::Bits32}}, in,
                 [&](const Operands& o) {
                   const unsigned msb = width - 1;
                   const unsigned pos = o[1] & 0xffU;
                   const unsigned len = o[2] & 0xffU;
                   std::uint64_t sign = 0;
                   if (isa::is_signed(type) && len != 0) sign = o[0] >> std::min(pos + len - 1, msb) & 1U;
                   std::uint64_t d = 0;
                   for (unsigned i = 0; i <= msb; ++i) {
                     d |= ((i < len && pos + i <= msb) ? o[0] >> (pos + i) & 1U : sign) << i;
                   }
                   return d;
                 });
  }
  for (const Type type : {Type::B32, Type::B64}) {
    const unsigned width = isa::width_bits(type);
    auto in = pairs(patterns(width, 8, 80), patterns(width, 9, 80), small, 3000, 10);
    Random random(11);
    for (Operands& o : in) o[3] = small[random.below(static_cast<std::uint32_t>(small.size()))];
    expect_equal(make(Opcode::Bfi, type),
                 {held_as(type), {held_as(type), held_as(type), Held::Bits32, Held::Bits32}}, in,
                 [&](const Operands& o) {
                   const unsigned pos = o[2] & 0xffU;
                   const unsigned len = o[3] & 0xffU;
                   std::uint64_t f = o[1];
                   for (unsigned i = 0; i < len && pos + i < width; ++i) {
                     f = (f & ~(std::uint64_t{1} << (pos + i))) | ((o[0] >> i & 1U) << (pos + i));
                   }
                   return f;
                 });
  }
}

TEST(Bits, DotProducts) {
  const auto in = inputs_of(32, 50);
  for (const Type ta : {Type::U32, Type::S32}) {
    for (const Type tb : {Type::U32, Type::S32}) {
      const auto part = [](std::uint64_t bits, unsigned at, unsigned width, Type type) {
        const std::uint64_t field = cut(bits >> at, width);
        return isa::is_signed(type) ? as_signed(field, width) : static_cast<std::int64_t>(field);
      };
      isa::Instruction dp4a = make(Opcode::Dp4a, ta);
      dp4a.type2 = tb;
      const ProbeShape three{Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32}};
      expect_equal(dp4a, three, in, [&](const Operands& o) {
        std::int64_t sum = as_signed(o[2], 32);
        for (unsigned k = 0; k < 4; ++k) sum += part(o[0], 8 * k, 8, ta) * part(o[1], 8 * k, 8, tb);
        return cut(static_cast<std::uint64_t>(sum), 32);
      });
      for (const unsigned high : {0U, 1U}) {
        isa::Instruction dp2a = make(Opcode::Dp2a, ta);
        dp2a.type2 = tb;
        dp2a.shift = static_cast<std::uint8_t>(high);
        expect_equal(dp2a, three, in, [&](const Operands& o) {
          std::int64_t sum = as_signed(o[2], 32);
          for (unsigned k = 0; k < 2; ++k)
            sum += part(o[0], 16 * k, 16, ta) * part(o[1], 8 * (k + 2 * high), 8, tb);
          return cut(static_cast<std::uint64_t>(sum), 32);
        });
      }
    }
  }
}

TEST(Compare, IntegersOfEveryType) {
  using isa::Compare;
  for (const Type type : {Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64}) {
    const auto in = inputs_of(isa::width_bits(type), 60);
    const std::pair<Compare, std::function<bool(i128, i128)>> tests[] = {
        {Compare::EQ, [](i128 a, i128 b) { return a == b; }},
        {Compare::NE, [](i128 a, i128 b) { return a != b; }},
        {Compare::LT, [](i128 a, i128 b) { return a < b; }},
        {Compare::LE, [](i128 a, i128 b) { return a <= b; }},
        {Compare::GT, [](i128 a, i128 b) { return a > b; }},
        {Compare::GE, [](i128 a, i128 b) { return a >= b; }}};
    for (const auto& [compare, holds] : tests) {
      isa::Instruction setp = make(Opcode::Setp, type);
      setp.compare = compare;
      setp.bool_op = isa::BoolOp::Xor;
      const ProbeShape shape{Held::Pred, {held_as(type), held_as(type), Held::Pred}, Held::Pred};
      const ProbeResult result = probe(setp, shape, in);
      isa::Instruction set = make(Opcode::Set, Type::U32);
      set.type2 = type;
      set.compare = compare;
      const ProbeResult as_value = probe(set, {Held::Bits32, {held_as(type), held_as(type)}}, in);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const bool expected = holds(as_number(in[i][0], type), as_number(in[i][1], type));
        const bool c = (in[i][2] & 1U) != 0;
        ASSERT_EQ(result.value[i], expected != c);
        ASSERT_EQ(result.second[i], !expected != c);
        ASSERT_EQ(as_value.value[i], expected ? 0xffffffffU : 0);
      }
    }
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
