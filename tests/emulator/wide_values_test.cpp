// Values wider than a 32-bit register, from PTX text at every level of optimisation: carry chains, and values
// that are split and joined.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

constexpr std::uint32_t kThreads = 64;

/// Runs `body` on 64 threads: %rd3 and %rd4 hold the thread's pair of values, %rd5 is its 16 bytes of
/// results.
std::vector<std::uint64_t> run(const std::string& body, const std::vector<std::uint64_t>& values,
                               int optimize) {
  PtxRunner runner(R"(
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .b16 %rs<10>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd6, %r1, 16;
  add.s64 %rd5, %rd2, %rd6;
  add.s64 %rd6, %rd1, %rd6;
  ld.global.v2.u64 {%rd3, %rd4}, [%rd6];
)" + body + "\n  ret;\n}\n",
                   optimize);
  const Address in = runner.device.upload(values);
  const Address out = runner.device.memory.allocate(kThreads * 16);
  runner.run("kernel", {1, 1, 1}, {kThreads, 1, 1}, {in, out});
  return runner.device.download<std::uint64_t>(out, kThreads * 2);
}

std::vector<std::uint64_t> operands() {
  std::vector<std::uint64_t> values;
  const std::uint64_t edges[] = {
      0, 1, 0xffff'ffffU, 0x1'0000'0000U, ~std::uint64_t{0}, std::uint64_t{1} << 63U};
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : {edges[1], edges[2], edges[4], edges[5]})
      values.insert(values.end(), {a, b});
  }
  std::mt19937_64 random(5);
  while (values.size() < kThreads * 2) values.push_back(random());
  return values;
}

const char* const kTakeApart = R"(
  mov.b64 {%r10, %r11}, %rd3;
  mov.b64 {%r12, %r13}, %rd4;
)";
const char* const kStore = R"(
  st.global.v4.u32 [%rd5], {%r20, %r21, %r22, %r23};
)";

void expect_words(const std::vector<std::uint64_t>& words, std::size_t thread, u128 expected) {
  EXPECT_EQ(words[2 * thread], static_cast<std::uint64_t>(expected)) << thread;
  EXPECT_EQ(words[2 * thread + 1], static_cast<std::uint64_t>(expected >> 64U)) << thread;
}

std::uint64_t sign_extended(std::uint64_t value, unsigned bits) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits));
}

TEST(WideValues, ConversionsReadTheLowBitsOfAWiderRegister) {
  // nvcc writes cvt.s64.s32 of a 64-bit register for the sign of an index that it holds in 64 bits; its sum
  // and its shift are what addresses are made of.
  const auto values = operands();
  for (const int optimize : {0, 1}) {
    const auto both = run(R"(
  cvt.s64.s32 %rd7, %rd3;
  add.s64 %rd8, %rd7, %rd4;
  shl.b64 %rd9, %rd7, 5;
  st.global.v2.u64 [%rd5], {%rd8, %rd9};)",
                          values, optimize);
    const auto narrow = run(R"(
  cvt.u32.u8 %r20, %rd3;
  cvt.s32.s16 %r21, %rd3;
  cvt.s16.s64 %r22, %rd3;
  cvt.u16.u32 %r23, %rd3;)" + std::string(kStore),
                            values, optimize);
    const auto single = run(R"(
  .reg .f32 %f<3>;
  cvt.rn.f32.s32 %f1, %rd3;
  mov.b32 %r20, %f1;
  cvt.rn.f32.u16 %f1, %rd3;
  mov.b32 %r21, %f1;
  mov.u32 %r22, 0;
  mov.u32 %r23, 0;)" + std::string(kStore),
                            values, optimize);
    for (std::size_t i = 0; i < kThreads; ++i) {
      const std::uint64_t a = values[2 * i];
      EXPECT_EQ(both[2 * i], sign_extended(a, 32) + values[2 * i + 1]) << i;
      EXPECT_EQ(both[2 * i + 1], sign_extended(a, 32) << 5U) << i;
      EXPECT_EQ(narrow[2 * i], (a & 0xffU) | (sign_extended(a, 16) << 32U)) << i;
      EXPECT_EQ(narrow[2 * i + 1], (sign_extended(a, 16) & 0xffff'ffffU) | ((a & 0xffffU) << 32U)) << i;
      EXPECT_EQ(single[2 * i] & 0xffff'ffffU,
                std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(a))))
          << i;
      EXPECT_EQ(single[2 * i] >> 32U, std::bit_cast<std::uint32_t>(static_cast<float>(a & 0xffffU))) << i;
    }
  }
}

TEST(WideValues, ProductsOf128BitsByCarryChains) {
  // The carry of madc.hi.cc reaches a fourth word; the signed product corrects the high half by madc.hi.s64.
  const std::string product = std::string(kTakeApart) + R"(
  mul.lo.u32 %r20, %r10, %r12;
  mul.hi.u32 %r21, %r10, %r12;
  mad.lo.cc.u32 %r21, %r10, %r13, %r21;
  madc.hi.u32 %r22, %r10, %r13, 0;
  mad.lo.cc.u32 %r21, %r11, %r12, %r21;
  madc.hi.cc.u32 %r22, %r11, %r12, %r22;
  addc.u32 %r23, 0, 0;
  mad.lo.cc.u32 %r22, %r11, %r13, %r22;
  madc.hi.u32 %r23, %r11, %r13, %r23;
)" + kStore;
  // a * b + a, in 64-bit words.
  const std::string unsigned_sum = R"(
  mad.lo.cc.u64 %rd7, %rd3, %rd4, %rd3;
  madc.hi.u64 %rd8, %rd3, %rd4, 0;
  st.global.v2.u64 [%rd5], {%rd7, %rd8};
)";
  const std::string signed_sum = R"(
  shr.s64 %rd9, %rd3, 63;
  mad.lo.cc.s64 %rd7, %rd3, %rd4, %rd3;
  madc.hi.s64 %rd8, %rd3, %rd4, %rd9;
  st.global.v2.u64 [%rd5], {%rd7, %rd8};
)";
  const auto values = operands();
  for (const int optimize : {0, 1, 2}) {
    const auto products = run(product, values, optimize);
    const auto unsigned_sums = run(unsigned_sum, values, optimize);
    const auto signed_sums = run(signed_sum, values, optimize);
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::uint64_t a = values[2 * t];
      const std::uint64_t b = values[2 * t + 1];
      expect_words(products, t, u128{a} * b);
      expect_words(unsigned_sums, t, u128{a} * b + a);
      const i128 sa = static_cast<std::int64_t>(a);
      const i128 sb = static_cast<std::int64_t>(b);
      // -2^63 * -2^63 + -2^63 and all others fit 128 bits.
      expect_words(signed_sums, t, static_cast<u128>(sa * sb + sa));
    }
  }
}

// Carries are per lane and pass instructions of other lanes: half of the threads subtract, half add.
TEST(WideValues, CarriesOfDivergedLanes) {
  const std::string body = std::string(kTakeApart) + R"(
  .reg .pred %p;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p, %r2, 0;
  mov.u32 %r22, 0;
  mov.u32 %r23, 0;
  @%p bra ADD;
  sub.cc.u32 %r20, %r10, %r12;
  subc.cc.u32 %r21, %r11, %r13;
  subc.u32 %r22, 0, 0;
  bra.uni DONE;
ADD:
  add.cc.u32 %r20, %r10, %r12;
  addc.cc.u32 %r21, %r11, %r13;
  addc.u32 %r22, 0, 0;
DONE:
)" + kStore;
  const auto values = operands();
  for (const int optimize : {0, 1, 2}) {
    const auto words = run(body, values, optimize);
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::uint64_t a = values[2 * t];
      const std::uint64_t b = values[2 * t + 1];
      const u128 expected = t % 2 == 0 ? u128{a} + b : u128{a - b} | (u128{a < b ? 0xffff'ffffU : 0} << 64U);
      expect_words(words, t, expected);
    }
  }
}

// After a subtraction the flag is set where there is no borrow: so nvcc's division of 128 bits has it.
TEST(WideValues, CarriesOfSubtractionsThatAdditionsTake) {
  const std::string body = std::string(kTakeApart) + R"(
  sub.cc.u32 %r20, %r10, %r12;
  subc.cc.u32 %r21, %r11, %r13;
  addc.u32 %r22, 0, 0;
  add.cc.u32 %r2, %r10, %r12;
  subc.u32 %r23, 5, 2;
)" + kStore;
  const auto values = operands();
  for (const int optimize : {0, 1, 2}) {
    const auto words = run(body, values, optimize);
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::uint64_t a = values[2 * t];
      const std::uint64_t b = values[2 * t + 1];
      const bool carry = (a & 0xffff'ffffU) + (b & 0xffff'ffffU) > 0xffff'ffffU;
      expect_words(words, t, u128{a - b} | u128{a < b ? 0U : 1U} << 64U | u128{carry ? 3U : 2U} << 96U);
    }
  }
}

// Null parts say nothing of how many parts there are: a lone first part of four has 16 bits.
TEST(WideValues, PartsThatAreNull) {
  struct Case {
    const char* text;
    unsigned shift;
    std::uint64_t mask;
  };
  const Case cases[] = {
      {"mov.b64 {%rs1, _, _, _}, %rd3; cvt.u64.u16 %rd7, %rs1;", 0, 0xffff},
      {"mov.b64 {_, %rs1, _, _}, %rd3; cvt.u64.u16 %rd7, %rs1;", 16, 0xffff},
      {"mov.b64 {_, _, %rs1, _}, %rd3; cvt.u64.u16 %rd7, %rs1;", 32, 0xffff},
      {"mov.b64 {_, _, _, %rs1}, %rd3; cvt.u64.u16 %rd7, %rs1;", 48, 0xffff},
      {"mov.b64 {%rs1, %rs2, _, _}, %rd3; mov.b32 %r2, {%rs1, %rs2}; cvt.u64.u32 %rd7, %r2;", 0, 0xffff'ffff},
      {"mov.b64 {%r2, _}, %rd3; cvt.u64.u32 %rd7, %r2;", 0, 0xffff'ffff},
      {"mov.b64 {_, %r2}, %rd3; cvt.u64.u32 %rd7, %r2;", 32, 0xffff'ffff},
      {"cvt.u32.u64 %r2, %rd3; mov.b32 {%rs1, _}, %r2; cvt.u64.u16 %rd7, %rs1;", 0, 0xffff},
      {"cvt.u32.u64 %r2, %rd3; mov.b32 {_, %rs1}, %r2; cvt.u64.u16 %rd7, %rs1;", 16, 0xffff},
      {"cvt.u32.u64 %r2, %rd3; mov.b32 {_, _, %rs1, _}, %r2; cvt.u64.u16 %rd7, %rs1;", 16, 0xff},
      {"mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd3; mov.b64 %rd7, {%rs1, %rs2, %rs3, %rs4};", 0, ~0ULL},
  };
  const auto values = operands();
  for (const Case& one : cases) {
    for (const int optimize : {0, 1, 2}) {
      const auto words = run(std::string(one.text) + " st.global.u64 [%rd5], %rd7;", values, optimize);
      for (std::size_t t = 0; t < kThreads; ++t) {
        ASSERT_EQ(words[2 * t], (values[2 * t] >> one.shift) & one.mask) << one.text << " thread " << t;
      }
    }
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
