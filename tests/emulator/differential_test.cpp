// Random programs: unoptimised and optimised code must give the same results, and so must warps and single
// threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

/// Writes structured programs over a few registers: arithmetic, ifs, loops with breaks and different trip
/// counts, loads and stores of the thread's own 64 bytes of global memory, early returns.
class ProgramWriter {
 public:
  explicit ProgramWriter(std::uint64_t seed) : random_(seed) {}

  std::string write() {
    text_ = R"(
.visible .entry kernel(.param .u64 out, .param .u64 salt)
{
  .reg .pred %p<200>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<10>;
  .reg .f64 %fd<10>;
  ld.param.u64 %rd10, [out];
  ld.param.u64 %rd1, [salt];
  cvta.to.global.u64 %rd10, %rd10;
  mov.u32 %r10, %tid.x;
  mov.u32 %r11, %ctaid.x;
  mov.u32 %r12, %ntid.x;
  mad.lo.s32 %r10, %r11, %r12, %r10;
  mul.wide.u32 %rd11, %r10, 64;
  add.s64 %rd10, %rd10, %rd11;
  mov.u32 %r0, %r10;
  cvt.u32.u64 %r1, %rd1;
  mul.lo.s32 %r2, %r0, 1640531527;
  xor.b32 %r3, %r1, %r2;
  cvt.s64.s32 %rd0, %r3;
  mul.lo.s64 %rd2, %rd0, %rd1;
  xor.b64 %rd3, %rd2, %rd0;
  cvt.rn.f32.s32 %f0, %r2;
  cvt.rn.f32.u32 %f1, %r0;
  mov.f32 %f2, 0f3F800000;
  mov.f32 %f3, 0fBE4CCCCD;
  cvt.f64.f32 %fd0, %f0;
  cvt.rn.f64.s32 %fd1, %r0;
  mov.f64 %fd2, 0d3FF0000000000000;
  mov.f64 %fd3, 0d3FB999999999999A;
)";
    statements(8, 0);
    text_ += R"(
  st.global.v4.u32 [%rd10], {%r0, %r1, %r2, %r3};
  st.global.v2.u64 [%rd10+16], {%rd0, %rd1};
  st.global.v2.u64 [%rd10+32], {%rd2, %rd3};
  mov.b32 %r4, %f0;
  mov.b32 %r5, %f1;
  xor.b32 %r4, %r4, %r5;
  mov.b64 %rd4, %fd0;
  mov.b64 %rd5, %fd1;
  xor.b64 %rd4, %rd4, %rd5;
  st.global.u32 [%rd10+48], %r4;
  st.global.u64 [%rd10+56], %rd4;
  ret;
}
)";
    return text_;
  }

 private:
  std::string pick(const char* prefix) { return std::string(prefix) + std::to_string(random_.below(4)); }
  std::string r() { return pick("%r"); }
  std::string rd() { return pick("%rd"); }
  std::string f() { return pick("%f"); }
  std::string fd() { return pick("%fd"); }
  std::string number() {
    const std::uint32_t n =
        random_.below(3) == 0 ? static_cast<std::uint32_t>(random_.next()) : random_.below(40);
    return std::to_string(static_cast<std::int32_t>(n));
  }
  std::string r_or_number() { return random_.below(3) == 0 ? number() : r(); }
  void line(const std::string& text) { text_ += "  " + text + ";\n"; }
  template <std::size_t N>
  std::string one_of(const char* const (&list)[N]) {
    return list[random_.below(N)];
  }

  void arithmetic() {
    switch (random_.below(18)) {
      case 0: {
        constexpr const char* kOps[] = {"add.s32", "sub.s32", "mul.lo.s32", "and.b32",    "or.b32",
                                        "xor.b32", "min.s32", "max.u32",    "mul.hi.u32", "mul.hi.s32",
                                        "div.s32", "rem.u32", "div.u32"};
        line(one_of(kOps) + " " + r() + ", " + r() + ", " + r_or_number());
        break;
      }
      case 1: line("mad.lo.s32 " + r() + ", " + r() + ", " + r_or_number() + ", " + r()); break;
      case 2: {
        constexpr const char* kOps[] = {"shl.b32", "shr.u32", "shr.s32"};
        line(one_of(kOps) + " " + r() + ", " + r() + ", " + std::to_string(random_.below(36)));
        break;
      }
      case 3:
        line("bfe.u32 " + r() + ", " + r() + ", " + std::to_string(random_.below(32)) + ", " +
             std::to_string(random_.below(33)));
        break;
      case 4:
        line("prmt.b32 " + r() + ", " + r() + ", " + r() + ", " + std::to_string(random_.below(65536)));
        break;
      case 5: line("popc.b32 " + r() + ", " + r()); break;
      case 6: {
        constexpr const char* kOps[] = {"add.s64", "sub.s64", "mul.lo.s64", "xor.b64",
                                        "and.b64", "min.u64", "max.s64"};
        line(one_of(kOps) + " " + rd() + ", " + rd() + ", " + rd());
        break;
      }
      case 7: line("mul.wide.s32 " + rd() + ", " + r() + ", " + r_or_number()); break;
      case 8: line("mad.wide.u32 " + rd() + ", " + r() + ", " + r() + ", " + rd()); break;
      case 9: line("cvt.u32.u64 " + r() + ", " + rd()); break;
      case 10: line((random_.below(2) == 0 ? "cvt.s64.s32 " : "cvt.u64.u32 ") + rd() + ", " + r()); break;
      case 11: {
        constexpr const char* kOps[] = {"add.f32", "sub.f32", "mul.f32", "min.f32", "max.f32", "div.rn.f32"};
        line(one_of(kOps) + " " + f() + ", " + f() + ", " + f());
        break;
      }
      case 12: line("fma.rn.f32 " + f() + ", " + f() + ", " + f() + ", " + f()); break;
      case 13:
        line(random_.below(2) == 0 ? "cvt.rzi.s32.f32 " + r() + ", " + f()
                                   : "cvt.rn.f32.s32 " + f() + ", " + r());
        break;
      case 14: {
        constexpr const char* kOps[] = {"add.f64", "mul.f64", "sub.f64", "div.rn.f64"};
        line(one_of(kOps) + " " + fd() + ", " + fd() + ", " + fd());
        break;
      }
      case 15:
        line(random_.below(2) == 0 ? "cvt.f64.f32 " + fd() + ", " + f()
                                   : "cvt.rn.f32.f64 " + f() + ", " + fd());
        break;
      case 16:
        line("mov.b64 {%r15, %r16}, " + rd());
        line("mov.b64 " + rd() + ", {%r16, " + r() + "}");
        break;
      default: line((random_.below(2) == 0 ? "sqrt.rn.f32 " : "abs.f32 ") + f() + ", " + f());
    }
  }

  std::string condition() {
    const std::string p = "%p" + std::to_string(predicates_++);
    constexpr const char* kTests[] = {"lt.s32", "ge.u32", "eq.s32", "ne.s32", "gt.s32"};
    if (random_.below(4) == 0) {
      line("setp.lt.f32 " + p + ", " + f() + ", " + f());
    } else {
      line("and.b32 %r17, " + r() + ", " + std::to_string(1 + random_.below(15)));
      line("setp." + one_of(kTests) + " " + p + ", %r17, " + std::to_string(random_.below(9)));
    }
    return p;
  }

  void statements(unsigned count, unsigned depth) {
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t kind = random_.below(12);
      if (kind < 6 || depth >= 3 || predicates_ > 150) {
        arithmetic();
      } else if (kind == 6) {
        const std::string p = condition();
        line("@" + p + " add.s32 " + r() + ", " + r() + ", " + number());
        line("selp.b32 " + r() + ", " + r() + ", " + r_or_number() + ", " + p);
      } else if (kind == 7) {
        const std::string offset = std::to_string(4 * random_.below(12));
        line(random_.below(2) == 0 ? "st.global.u32 [%rd10+" + offset + "], " + r()
                                   : "ld.global.u32 " + r() + ", [%rd10+" + offset + "]");
      } else if (kind < 10) {
        if_else(depth);
      } else {
        loop(depth);
      }
    }
  }

  void if_else(unsigned depth) {
    const std::string id = std::to_string(labels_++);
    line("@" + condition() + " bra ELSE" + id);
    statements(2 + random_.below(3), depth + 1);
    if (random_.below(12) == 0) line("ret");
    line("bra.uni JOIN" + id);
    text_ += "ELSE" + id + ":\n";
    statements(1 + random_.below(3), depth + 1);
    text_ += "JOIN" + id + ":\n";
  }

  void loop(unsigned depth) {
    const std::string id = std::to_string(labels_++);
    const std::string counter = "%r" + std::to_string(6 + depth);
    const std::string p = "%p" + std::to_string(predicates_++);
    // Trip counts: the same for all, or by lane.
    if (random_.below(3) == 0) {
      line("mov.u32 " + counter + ", " + std::to_string(1 + random_.below(6)));
    } else {
      line("and.b32 " + counter + ", " + r() + ", 7");
      line("add.s32 " + counter + ", " + counter + ", 1");
    }
    text_ += "LOOP" + id + ":\n";
    statements(2 + random_.below(3), depth + 1);
    if (random_.below(2) == 0) line("@" + condition() + " bra DONE" + id);
    if (random_.below(2) == 0) {
      line("@" + condition() + " bra NEXT" + id);
      statements(1, depth + 1);
    }
    text_ += "NEXT" + id + ":\n";
    line("sub.s32 " + counter + ", " + counter + ", 1");
    line("setp.gt.s32 " + p + ", " + counter + ", 0");
    line("@" + p + " bra LOOP" + id);
    text_ += "DONE" + id + ":\n";
  }

  Random random_;
  std::string text_;
  unsigned predicates_ = 0;
  unsigned labels_ = 0;
};

std::vector<std::uint64_t> outcome(const std::string& text, int optimize, std::uint32_t blocks,
                                   std::uint32_t threads) {
  PtxRunner runner(text, optimize);
  const std::size_t words = std::size_t{blocks} * threads * 8;
  const Address out = runner.device.memory.allocate(words * 8);
  runner.run("kernel", {blocks, 1, 1}, {threads, 1, 1}, {out, 0x123456789abcdefULL}, 0, 2'000'000);
  return runner.device.download<std::uint64_t>(out, words);
}

TEST(Differential, OptimisedCodeAndWarpsAgreeWithPlainThreads) {
  unsigned distinct = 0;  // programs whose threads do not all compute the same
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string text = ProgramWriter(seed).write();
    const auto plain = outcome(text, 0, 96, 1);  // one thread per block: nothing can diverge
    ASSERT_EQ(outcome(text, 0, 2, 48), plain) << "warps differ from single threads, seed " << seed << '\n'
                                              << text;
    ASSERT_EQ(outcome(text, 1, 2, 48), plain) << "optimised code differs, seed " << seed << '\n' << text;
    distinct += std::equal(plain.begin(), plain.begin() + 8, plain.begin() + 8) ? 0 : 1;
  }
  EXPECT_GT(distinct, 100U);
}

}  // namespace
}  // namespace gpumux::emulator::test
