// Opcodes that are expanded to sequences of other opcodes: video instructions, pairs of f32, vectors of 256
// bits.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include <fmt/core.h>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

/// What the instruction leaves in %r1, of the sources %r2, %r3 and %r4.
std::uint32_t result(const std::string& instruction, std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) {
  PtxRunner runner(
      ".visible .entry k(.param .u64 o, .param .u64 a, .param .u64 b, .param .u64 c) {\n"
      ".reg .b32 %r<5>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [o];\n"
      "ld.param.u32 %r2, [a]; ld.param.u32 %r3, [b]; ld.param.u32 %r4, [c];\n" +
      instruction + "\nst.global.u32 [%rd1], %r1; ret; }");
  const Address out = runner.device.memory.allocate(4);
  runner.run("k", {1, 1, 1}, {1, 1, 1}, {out, a, b, c});
  return runner.device.download<std::uint32_t>(out, 1)[0];
}

// 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, whose last bit a rounding of its own loses.
TEST(Contraction, AProductAndASumRoundOnce) {
  const std::uint32_t a = std::bit_cast<std::uint32_t>(1.0F + 0x1p-12F);
  const std::uint32_t c = std::bit_cast<std::uint32_t>(1.0F + 0x1p-11F);
  const auto of = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(result("mul.f32 %r1, %r2, %r3; sub.f32 %r1, %r1, %r4;", a, a, c), of(0.0F));  // %r1 is no value
  const std::string mul = ".reg .b32 %t<3>; mul.f32 %t1, %r2, %r3; ";
  EXPECT_EQ(result(mul + "sub.f32 %r1, %t1, %r4;", a, a, c), of(0x1p-24F));
  EXPECT_EQ(result(mul + "sub.f32 %r1, %r4, %t1;", a, a, c), of(-0x1p-24F));
  EXPECT_EQ(result(mul + "neg.f32 %t2, %t1; add.f32 %r1, %t2, %r4;", a, a, c), of(-0x1p-24F));
  EXPECT_EQ(result(mul + "neg.f32 %t2, %t1; sub.f32 %r1, %t2, %r4;", a, a, c | 0x80000000U), of(-0x1p-24F));
  EXPECT_EQ(result(mul + "sub.sat.f32 %r1, %r4, %t1;", a, a, c), of(0.0F));
  EXPECT_EQ(result(".reg .b32 %t<2>; mul.rn.f32 %t1, %r2, %r3; sub.f32 %r1, %t1, %r4;", a, a, c), of(0.0F));
  // A product below the normal range: flushed as a result, exact within.
  const std::uint32_t tiny = of(0x1p-80F);
  EXPECT_EQ(result(".reg .b32 %t<2>; mul.ftz.f32 %t1, %r2, %r3; sub.ftz.f32 %r1, %t1, %r4;", tiny, tiny, 0),
            of(0.0F));
}

TEST(Contraction, OfHalvesAndDoublesToo) {
  // Halves: 1 + 2^-6 squared is 1 + 2^-5 + 2^-12; of bfloats 1 + 2^-4 squared is 1 + 2^-3 + 2^-8.
  const std::string of_pairs = ".reg .b32 %t<2>; mul.{0} %t1, %r2, %r3; sub.{0} %r1, {1};";
  EXPECT_EQ(
      result(fmt::format(fmt::runtime(of_pairs), "f16x2", "%t1, %r4"), 0x3c103c10, 0x3c103c10, 0x3c203c20),
      0x0c000c00U);
  EXPECT_EQ(
      result(fmt::format(fmt::runtime(of_pairs), "f16x2", "%r4, %t1"), 0x3c103c10, 0x3c103c10, 0x3c203c20),
      0x8c008c00U);
  EXPECT_EQ(
      result(fmt::format(fmt::runtime(of_pairs), "bf16x2", "%t1, %r4"), 0x3f883f88, 0x3f883f88, 0x3f903f90),
      0x3b803b80U);
  const std::string doubles =
      ".reg .f64 %e<9>; cvt.f64.f32 %e1, %r2; cvt.f64.f32 %e2, %r3; add.rn.f64 %e3, %e1, %e2;"
      "mul.f64 %e4, %e3, %e3; mul.rn.f64 %e5, %e3, %e3;";
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F);
  const std::uint32_t small = std::bit_cast<std::uint32_t>(0x1p-30F);
  EXPECT_EQ(result(doubles + "sub.f64 %e6, %e4, %e5; cvt.rn.f32.f64 %r1, %e6;", one, small),
            std::bit_cast<std::uint32_t>(0x1p-60F));
  EXPECT_EQ(result(doubles + "sub.f64 %e6, %e5, %e4; cvt.rn.f32.f64 %r1, %e6;", one, small),
            std::bit_cast<std::uint32_t>(-0x1p-60F));
}

TEST(Video, OneResultOfPartsOfTwoWords) {
  EXPECT_EQ(result("vadd.s32.u32.s32.sat %r1, %r2, %r3;", 0xffffffff, 1), 0x7fffffffU);
  EXPECT_EQ(result("vadd.u32.u32.s32 %r1, %r2, %r3;", 0xffffffff, 1), 0U);
  EXPECT_EQ(result("vsub.u32.u32.u32.sat %r1, %r2, %r3;", 5, 7), 0U);
  EXPECT_EQ(result("vadd.u32.u32.u32 %r1, %r2.b3, %r3.h1;", 0x80000000, 0x1234ffff), 0x12b4U);
  EXPECT_EQ(result("vadd.s32.s32.s32 %r1, %r2.b3, %r3.h0;", 0x80000000, 0x1234ffff), 0xffffff7fU);
  EXPECT_EQ(result("vabsdiff.u32.s32.s32.add %r1, %r2, %r3, %r4;", 0xfffffffb, 7, 100), 112U);
  EXPECT_EQ(result("vmin.s32.s32.u32 %r1, %r2, %r3;", 0xffffffff, 3), 0xffffffffU);
  EXPECT_EQ(result("vmax.s32.s32.u32 %r1, %r2, %r3;", 0xffffffff, 3), 3U);
  EXPECT_EQ(result("vmax.s32.u32.u32.min %r1, %r2, %r3, %r4;", 9, 3, 0xfffffff0), 0xfffffff0U);
  EXPECT_EQ(result("vshl.u32.u32.u32.clamp %r1, %r2, %r3;", 1, 40), 0U);
  EXPECT_EQ(result("vshl.u32.u32.u32.sat.clamp %r1, %r2, %r3;", 1, 40), 0xffffffffU);
  EXPECT_EQ(result("vshl.u32.u32.u32.wrap %r1, %r2, %r3;", 1, 40), 256U);
  EXPECT_EQ(result("vshr.s32.s32.u32.clamp %r1, %r2, %r3;", 0xfffffff8, 1), 0xfffffffcU);
  EXPECT_EQ(result("vset.s32.u32.lt %r1, %r2, %r3;", 0xffffffff, 0), 1U);
  EXPECT_EQ(result("vset.u32.u32.lt %r1, %r2, %r3;", 0xffffffff, 0), 0U);
  EXPECT_EQ(result("vadd.u32.u32.u32.sat %r1.b1, %r2, %r3, %r4;", 200, 100, 0x11223344), 0x1122ff44U);
  EXPECT_EQ(result("vsub.s32.u32.u32 %r1.h1, %r2, %r3, %r4;", 1, 3, 0x11223344), 0xfffe3344U);
}

/// With all of the 128 bits that the PTX manual has in between.
std::uint32_t vmad(bool of_signed[2], std::uint32_t a, std::uint32_t b, std::uint32_t c, int negated, bool po,
                   unsigned shift, bool saturates) {
  __extension__ using Wide = __int128;
  const auto wide = [](bool is_signed, std::uint32_t x) {
    return is_signed ? Wide{static_cast<std::int32_t>(x)} : Wide{x};
  };
  const bool result_signed = of_signed[0] || of_signed[1] || negated != 0;
  Wide product = wide(of_signed[0], a) * wide(of_signed[1], b);
  if (negated == 1) product = ~product;
  if (negated == 2) c = ~c;
  Wide sum = product + wide(result_signed, c) + ((po || negated != 0) ? 1 : 0);
  sum >>= static_cast<int>(shift);
  if (saturates) {
    const Wide low = result_signed ? -(Wide{1} << 31U) : Wide{0};
    const Wide high = result_signed ? (Wide{1} << 31U) - 1 : (Wide{1} << 32U) - 1;
    sum = sum < low ? low : sum > high ? high : sum;
  }
  return static_cast<std::uint32_t>(sum);
}

TEST(Video, MultipliesAndAdds) {
  EXPECT_EQ(result("vmad.u32.u32.u32 %r1, %r2.b1, %r3.h1, %r4;", 0x1200, 0x00030000, 5), 0x12U * 3 + 5);
  EXPECT_EQ(result("vmad.s32.s32.u32.shr7 %r1, %r2.b0, %r3, %r4;", 0xff, 1000, 0), 0xfffffff8U);
  EXPECT_EQ(result("vmad.s32.s32.s32.sat.shr15 %r1, %r2, %r3, -%r4;", 0x80000000, 0x80000000, 1),
            0x7fffffffU);
  const std::uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 123456789};
  for (int form = 0; form < 4 * 4 * 3 * 2; ++form) {
    bool of_signed[2] = {form % 2 != 0, form / 2 % 2 != 0};
    const int kind = form / 4 % 4;  // plain, the product negated, what is added negated, .po
    const unsigned shift = form / 16 % 3 == 0 ? 0 : form / 16 % 3 == 1 ? 7 : 15;
    const bool saturates = form / 48 != 0;
    std::string text = "vmad.u32";
    for (const bool is_signed : of_signed) text += is_signed ? ".s32" : ".u32";
    if (kind == 3) text += ".po";
    if (saturates) text += ".sat";
    if (shift != 0) text += shift == 7 ? ".shr7" : ".shr15";
    text += kind == 1   ? " %r1, %r2, -%r3, %r4;"
            : kind == 2 ? " %r1, %r2, %r3, -%r4;"
                        : " %r1, %r2, %r3, %r4;";
    for (const std::uint32_t a : values) {
      const std::uint32_t b = values[(a % 7 + static_cast<unsigned>(form)) % 7];
      const std::uint32_t c = values[(a % 5 + static_cast<unsigned>(form / 7)) % 7];
      EXPECT_EQ(result(text, a, b, c), vmad(of_signed, a, b, c, kind % 3, kind == 3, shift, saturates))
          << text << " of " << a << ", " << b << ", " << c;
    }
  }
}

TEST(Video, PartByPart) {
  EXPECT_EQ(result("vadd4.s32.s32.s32.sat %r1, %r2, %r3, %r4;", 0x7f8001ff, 0x01ff0201), 0x7f800300U);
  EXPECT_EQ(result("vsub2.u32.u32.u32 %r1, %r2, %r3, %r4;", 0x00010005, 0x00020003), 0xffff0002U);
  EXPECT_EQ(result("vavrg2.s32.s32.s32 %r1, %r2, %r3, %r4;", 0x0003fffd, 0x0004fffc), 0x0004fffcU);
  EXPECT_EQ(result("vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4;", 0x01020304, 0x04030201, 10), 18U);
  EXPECT_EQ(result("vabsdiff2.s32.s32.s32 %r1, %r2, %r3, %r4;", 0x0001ffff, 0xffff0001), 0x00020002U);
  EXPECT_EQ(result("vmax2.u32.u32.u32 %r1.h0, %r2.h01, %r3, %r4;", 0xaaaa0001, 0x00010005, 0x99990000),
            0x9999aaaaU);
  EXPECT_EQ(result("vmin4.s32.s32.s32 %r1.b30, %r2, %r3.b4567, %r4;", 0x01020304, 0x80050607, 0x55555555),
            0x01555580U);
  EXPECT_EQ(result("vset4.u32.u32.eq %r1, %r2, %r3, %r4;", 0x01020304, 0x01ff03ff), 0x01000100U);
  EXPECT_EQ(result("vset2.s32.s32.gt.add %r1, %r2, %r3, %r4;", 0x00050005, 0xffff0004, 7), 9U);
}

TEST(Video, PartsOfRegistersWithAnyName) {
  EXPECT_EQ(result("{ .reg .b32 word, sum; mov.b32 word, %r2; vadd.u32.u32.u32 sum, word.b1, %r3.h1;\n"
                   "mov.b32 %r1, sum; }",
                   0x1200, 0x00030000),
            0x15U);
}

TEST(Lop3, JoinsWhetherItIsZeroWithAPredicate) {
  // The table 0x80 is "and" of all three.
  const auto joined = [](const std::string& how, std::uint32_t a, std::uint32_t other) {
    return result("{ .reg .pred %p<3>; setp.ne.u32 %p1, %r4, 0;\n" + how + " 7, 0x80, %p1;\n" +
                      "@%p2 add.u32 %r1, %r1, 100; }",
                  a, 3, other);
  };
  EXPECT_EQ(joined("lop3.or.b32 %r1|%p2, %r2, %r3,", 2, 0), 102U);
  EXPECT_EQ(joined("lop3.or.b32 %r1|%p2, %r2, %r3,", 4, 0), 0U);
  EXPECT_EQ(joined("lop3.or.b32 %r1|%p2, %r2, %r3,", 4, 1), 100U);
  EXPECT_EQ(joined("lop3.and.b32 %r1|%p2, %r2, %r3,", 2, 0), 2U);
  EXPECT_EQ(joined("lop3.and.b32 %r1|%p2, %r2, %r3,", 2, 1), 102U);
  EXPECT_EQ(joined("lop3.xor.b32 %r1|%p2, %r2, %r3,", 2, 1), 2U);
  EXPECT_EQ(joined("mov.u32 %r1, 9; lop3.xor.b32 _|%p2, %r2, %r3,", 2, 0), 109U);
}

TEST(Conversions, ClampToZeroAndToTheLargestNumber) {
  const std::uint32_t minus_two = 0xc0000000;
  const std::uint32_t two = 0x40000000;
  const std::uint32_t million = 0x49742400;
  const std::uint32_t huge = 0x7f7fffff;
  const std::uint32_t nan = 0x7fffffff;
  EXPECT_EQ(result("cvt.rn.relu.f16x2.f32 %r1, %r2, %r3;", minus_two, two), 0x4000U);
  EXPECT_EQ(result("cvt.rz.relu.bf16x2.f32 %r1, %r2, %r3;", two, minus_two), 0x40000000U);
  EXPECT_EQ(result("cvt.rn.relu.f16x2.f32 %r1, %r2, %r3;", nan, two), 0x7fff4000U);
  EXPECT_EQ(result("cvt.rn.f16x2.f32 %r1, %r2, %r3;", million, minus_two), 0x7c00c000U);
  EXPECT_EQ(result("cvt.rn.satfinite.f16x2.f32 %r1, %r2, %r3;", million, minus_two), 0x7bffc000U);
  EXPECT_EQ(result("cvt.rn.satfinite.f16x2.f32 %r1, %r2, %r3;", million | 0x80000000, nan), 0xfbff7fffU);
  EXPECT_EQ(result("cvt.rn.satfinite.bf16x2.f32 %r1, %r2, %r3;", huge, huge | 0x80000000), 0x7f7fff7fU);
  EXPECT_EQ(result("cvt.rn.relu.satfinite.bf16x2.f32 %r1, %r2, %r3;", huge, huge | 0x80000000), 0x7f7f0000U);
  const auto scalar = [](const std::string& instruction, std::uint32_t a) {
    return result("{ .reg .b16 %h; " + instruction + " %h, %r2; cvt.u32.u16 %r1, %h; }", a, 0);
  };
  EXPECT_EQ(scalar("cvt.rn.relu.f16.f32", minus_two), 0U);
  EXPECT_EQ(scalar("cvt.rn.relu.f16.f32", two), 0x4000U);
  EXPECT_EQ(scalar("cvt.rn.satfinite.f16.f32", million), 0x7bffU);
  EXPECT_EQ(scalar("cvt.rz.relu.bf16.f32", minus_two), 0U);
  EXPECT_EQ(scalar("cvt.rn.satfinite.bf16.f32", huge | 0x80000000), 0xff7fU);
}

TEST(Conversions, PackSaturatedIntegers) {
  const std::uint32_t minus_five = 0xfffffffb;
  EXPECT_EQ(result("cvt.pack.sat.s16.s32 %r1, %r2, %r3;", 0x12345, minus_five), 0x7ffffffbU);
  EXPECT_EQ(result("cvt.pack.sat.u16.s32 %r1, %r2, %r3;", minus_five, 0x12345), 0x0000ffffU);
  EXPECT_EQ(result("cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;", 200, minus_five, 0xabcd1234), 0x12347ffbU);
  EXPECT_EQ(result("cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, 0;", 300, minus_five), 0xff00U);
  EXPECT_EQ(result("cvt.pack.sat.s4.s32.b32 %r1, %r2, %r3, %r4;", 100, 0xffffff00, 0x12345678), 0x34567878U);
  EXPECT_EQ(result("cvt.pack.sat.u4.s32.b32 %r1, %r2, %r3, %r4;", 9, 100, 1), 0x19fU);
  EXPECT_EQ(result("cvt.pack.sat.u2.s32.b32 %r1, %r2, %r3, %r4;", 2, 3, 1), 0x1bU);
  EXPECT_EQ(result("cvt.pack.sat.s2.s32.b32 %r1, %r2, %r3, %r4;", minus_five, 5, 0), 0x9U);
}

TEST(Minimum, OfMagnitudesHasTheSignOfAProduct) {
  const std::uint32_t one = 0x3f800000;
  const std::uint32_t minus_two = 0xc0000000;
  const std::uint32_t nan = 0xffc00000;
  EXPECT_EQ(result("min.xorsign.abs.f32 %r1, %r2, %r3;", one, minus_two), 0xbf800000U);
  EXPECT_EQ(result("max.xorsign.abs.f32 %r1, %r2, %r3;", one, minus_two), 0xc0000000U);
  EXPECT_EQ(result("max.xorsign.abs.f32 %r1, %r2, %r3;", one | 0x80000000, minus_two), 0x40000000U);
  EXPECT_EQ(result("max.ftz.xorsign.abs.f32 %r1, %r2, %r3;", 1, 0x80000000), 0x80000000U);
  EXPECT_EQ(result("min.xorsign.abs.f32 %r1, %r2, %r3;", one, nan), 0xbf800000U);
  EXPECT_EQ(result("min.NaN.xorsign.abs.f32 %r1, %r2, %r3;", one, nan), 0x7fffffffU);
  EXPECT_EQ(result("min.xorsign.abs.f16x2 %r1, %r2, %r3;", 0x3c00c000, 0xc0003c00), 0xbc00bc00U);
  EXPECT_EQ(result("max.xorsign.abs.bf16x2 %r1, %r2, %r3;", 0x3f80c000, 0x4000bf80), 0x40004000U);
  EXPECT_EQ(result("max.NaN.xorsign.abs.f16x2 %r1, %r2, %r3;", 0x7e003c00, 0xc000c000), 0x7fffc000U);
}

TEST(PairsOfSingles, EachHalfByItself) {
  PtxRunner runner(
      ".visible .entry k(.param .u64 o) { .reg .b64 %rd<9>; .reg .f32 %f<9>; ld.param.u64 %rd1, [o];\n"
      "mov.f32 %f1, 0f3FC00000; mov.f32 %f2, 0f40000000; mov.b64 %rd2, {%f1, %f2};\n"
      "mov.f32 %f3, 0f3E800000; mov.f32 %f4, 0fC0800000; mov.b64 %rd3, {%f3, %f4};\n"
      "add.rn.f32x2 %rd4, %rd2, %rd3; st.global.b64 [%rd1], %rd4; mul.f32x2 %rd5, %rd2, %rd3; st.global.b64 "
      "[%rd1+8], %rd5;\n"
      "fma.rn.ftz.f32x2 %rd6, %rd2, %rd3, %rd4; st.global.b64 [%rd1+16], %rd6; sub.rz.f32x2 %rd2, %rd3, "
      "%rd2;\n"
      "st.global.b64 [%rd1+24], %rd2; ret; }\n");
  const Address out = runner.device.memory.allocate(32);
  runner.run("k", {1, 1, 1}, {1, 1, 1}, {out});
  EXPECT_EQ(runner.device.download<float>(out, 8),
            (std::vector<float>{1.75F, -2, 0.375F, -8, 2.125F, -10, -1.25F, -6}));
}

TEST(WideVectors, MoveAllTheirElements) {
  // The first half of the load replaces the address.
  PtxRunner runner(
      ".visible .entry k(.param .u64 p) { .reg .b64 %rd<9>; .reg .b32 %r<9>; ld.param.u64 %rd1, [p]; mov.u64 "
      "%rd8, "
      "%rd1;\n"
      "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1+32];\n"
      "st.global.L1::no_allocate.v8.b32 [%rd1+96], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};\n"
      "ld.global.v4.b64 {%rd1, %rd2, _, %rd3}, [%rd1];\n"
      "st.global.v4.b64 [%rd8+128], {%rd3, %rd2, %rd1, %rd3}; ret; }\n");
  std::vector<std::uint32_t> values(40);
  std::iota(values.begin(), values.end(), 100U);
  const Address at = runner.device.upload(values);
  runner.run("k", {1, 1, 1}, {1, 1, 1}, {at});
  const auto got = runner.device.download<std::uint32_t>(at, 40);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(got[24 + i], 115 - i);
  EXPECT_EQ((std::vector<std::uint32_t>(got.begin() + 32, got.end())),
            (std::vector<std::uint32_t>{106, 107, 102, 103, 100, 101, 106, 107}));
}

}  // namespace
}  // namespace gpumux::emulator::test
