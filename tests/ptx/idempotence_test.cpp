// Analysis of the instructions at which a block may stop being idempotent, by hand on small kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ptx/compile.hpp"
#include "ptx/idempotence.hpp"
#include "ptx/parse.hpp"

namespace gpumux::ptx {
namespace {

using isa::CodeLevel;
using isa::Opcode;

constexpr std::uint32_t kFirstLine = 8;  // of the body

std::string text_of(const std::string& body, const std::string& before) {
  return ".version 9.0\n.target sm_75\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
         ".reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>;\n"
         "ld.param.u64 %rd1,[a]; ld.param.u64 %rd2,[b]; ld.param.u32 %r1,[n]; cvta.to.global.u64 %rd1,%rd1; "
         "cvta.to.global.u64 %rd2,%rd2; mov.u32 %r2,%tid.x; mul.wide.u32 %rd3,%r2,4; add.s64 %rd4,%rd1,%rd3; "
         "add.s64 %rd5,%rd2,%rd3; // %rd4: &a[tid], %rd5: &b[tid]\n" +
         body + "\nret;\n}\n";
}

isa::Function compiled_kernel(const std::string& body, const CompileOptions& options,
                              const std::string& before = "") {
  const isa::Module module = parse(text_of(body, before), "t.ptx");
  for (const isa::Function& function : module.functions)
    if (function.is_kernel) return compile(module, function, options);
  return {};
}

/// Lines of the body, from 1, and reasons. Equal for machine code, unoptimized code and the PTX's own.
std::vector<std::pair<std::uint32_t, std::string>> points(const std::string& body,
                                                          const std::string& before = "") {
  std::vector<std::pair<std::uint32_t, std::string>> of_first;
  bool first = true;
  for (const CompileOptions& options :
       {CompileOptions{}, CompileOptions{.optimize = 0}, CompileOptions{.level = CodeLevel::Ptx}}) {
    std::vector<std::pair<std::uint32_t, std::string>> found;
    const isa::Function code = compiled_kernel(body, options, before);
    for (const HazardPoint& point : hazard_points(code)) {
      isa::Hazard hazard = point.hazard;
      if (hazard.read_line != 0) hazard.read_line -= kFirstLine;
      found.emplace_back(point.line - kFirstLine, to_text(hazard));
    }
    EXPECT_EQ(is_idempotent(code), found.empty());
    if (first) of_first = found;
    EXPECT_EQ(found, of_first);
    first = false;
  }
  return of_first;
}

using Points = std::vector<std::pair<std::uint32_t, std::string>>;

TEST(Idempotence, InPlaceIsNot) {
  EXPECT_EQ(points("ld.global.u32 %r3,[%rd4];\nadd.u32 %r3,%r3,1;\nst.global.u32 [%rd4],%r3;"),
            (Points{{3, "a store to parameter a, which line 1 may have read"}}));
}

TEST(Idempotence, PingPongIs) {
  EXPECT_EQ(points("ld.global.u32 %r3,[%rd4];\nst.global.u32 [%rd5],%r3;"), Points{});
}

TEST(Idempotence, AtomicsOnGlobalMemoryAreNot) {
  EXPECT_EQ(
      points("red.global.add.u32 [%rd4],1;\natom.global.exch.b32 %r4,[%rd5],%r1;\nst.global.u32 [%rd1],%r4;"),
      (Points{{1, "an atomic"}, {2, "an atomic"}}));
}

TEST(Idempotence, AtomicsOnSharedMemoryAre) {
  EXPECT_EQ(points("mov.u32 %r4,s; atom.shared.add.u32 %r5,[%r4],1; st.global.u32 [%rd4],%r5;",
                   ".shared .align 4 .u32 s[4];"),
            Points{});
}

TEST(Idempotence, AStoreThatBarriersPutBeforeAllLoadsIs) {
  const std::string store = "st.global.u32 [%rd4],%r1;\n";
  const std::string load = "ld.global.u32 %r3,[%rd4+4];\nst.global.u32 [%rd5],%r3;";
  EXPECT_EQ(points(store + "bar.sync 0;\n" + load), Points{});
  // Another warp may be at its load already, whatever stands first.
  const Points marked = {{1, "a store to parameter a, which line 2 may have read"}};
  EXPECT_EQ(points(store + load), marked);
  // A barrier of 64 threads orders these alone, and one under a guard perhaps nobody.
  const Points further = {{1, "a store to parameter a, which line 3 may have read"}};
  EXPECT_EQ(points(store + "bar.sync 0,64;\n" + load), further);
  EXPECT_EQ(points(store + "bar.arrive 1,64;\n" + load), further);
  EXPECT_EQ(points(store + "setp.eq.u32 %p1,%r1,0; @%p1 bar.sync 0;\n" + load), further);
}

TEST(Idempotence, ALoopCarriesALoadToTheStoreBeforeIt) {
  const std::string loop =
      "mov.u32 %r6,0;\nL: st.global.u32 [%rd4],%r6;\nbar.sync 0;\n"
      "ld.global.u32 %r6,[%rd4+4];\nbar.sync 0;\nsetp.lt.u32 %p1,%r6,%r1; ";
  EXPECT_EQ(points(loop + "@%p1 bra L;"),
            (Points{{2, "a store to parameter a, which line 4 may have read"}}));
  EXPECT_EQ(points(loop), Points{});
}

TEST(Idempotence, OnlySomePathsPassABarrier) {
  // The store has passed two barriers at most, the load one at least.
  const std::string body =
      "setp.eq.u32 %p1,%r1,0; @%p1 bra A;\nbar.sync 0; bar.sync 0;\nst.global.u32 [%rd4],%r1; bra B;\n"
      "A: bar.sync 0; ld.global.u32 %r3,[%rd4]; st.global.u32 [%rd5],%r3; bar.sync 0;\nB: ";
  EXPECT_EQ(points(body), (Points{{3, "a store to parameter a, which line 4 may have read"}}));
}

TEST(Idempotence, APointerFromMemoryMayBeAnyBuffer) {
  const std::string chase = "ld.global.u64 %rd6,[%rd4];\n";
  EXPECT_EQ(points(chase + "st.global.u32 [%rd6],%r1;"),
            (Points{{2, "a store to an address from memory, which line 1 may have read"}}));
  EXPECT_EQ(points(chase + "ld.global.u32 %r3,[%rd6];\nst.global.u32 [%rd5],%r3;"),
            (Points{{3, "a store to parameter b, which line 2 may have read"}}));
  // An index of 32 bits is none, and neither is one that is scaled.
  EXPECT_EQ(points("ld.global.u32 %r3,[%rd4]; mad.wide.u32 %rd6,%r3,4,%rd2; st.global.u32 [%rd6],%r1;"),
            Points{});
  EXPECT_EQ(points("ld.global.u64 %rd6,[%rd4]; shl.b64 %rd8,%rd6,3; add.s64 %rd7,%rd2,%rd8; "
                   "st.global.u32 [%rd7],%r1;"),
            Points{});
}

TEST(Idempotence, SelectedBetweenTwoPointersMayBeEither) {
  const std::string select = "setp.eq.u32 %p1,%r1,0; selp.b64 %rd6,%rd4,%rd5,%p1;\n";
  EXPECT_EQ(points(select + "ld.global.u32 %r3,[%rd4];\nst.global.u32 [%rd6],%r3;"),
            (Points{{3, "a store to parameter a or parameter b, which line 2 may have read"}}));
  EXPECT_EQ(points(select + "ld.global.u32 %r3,[%rd6];\nst.global.u32 [%rd5],%r3;"),
            (Points{{3, "a store to parameter b, which line 2 may have read"}}));
}

TEST(Idempotence, VariablesOfTheModuleAreBuffers) {
  const std::string variables = ".global .align 4 .u32 v[64]; .global .align 4 .u32 w[64];";
  EXPECT_EQ(points("ld.global.u32 %r3,[v]; st.global.u32 [w],%r3;", variables), Points{});
  EXPECT_EQ(
      points("mov.u64 %rd6,v; add.s64 %rd6,%rd6,%rd3; ld.global.u32 %r3,[%rd6];\nst.global.u32 [v+8],%r3;",
             variables),
      (Points{{2, "a store to variable v, which line 1 may have read"}}));
}

TEST(Idempotence, GenericAddressesOfTheBlocksOwnMemoryDoNotCount) {
  const std::string shared = ".shared .align 4 .u32 s[64];";
  EXPECT_EQ(
      points("mov.u64 %rd6,s; cvta.shared.u64 %rd7,%rd6; add.s64 %rd7,%rd7,%rd3; ld.u32 %r3,[%rd7]; "
             "add.u32 %r3,%r3,1; st.u32 [%rd7],%r3; atom.add.u32 %r4,[%rd7],1; st.global.u32 [%rd4],%r4;",
             shared),
      Points{});
  // Of global memory they do; what may be either, too.
  EXPECT_EQ(points("ld.u32 %r3,[%rd4];\nst.u32 [%rd4],%r3;"),
            (Points{{2, "a store to parameter a, which line 1 may have read"}}));
  EXPECT_EQ(points("mov.u64 %rd6,s; cvta.shared.u64 %rd7,%rd6; setp.eq.u32 %p1,%r1,0; "
                   "selp.b64 %rd8,%rd7,%rd4,%p1;\natom.add.u32 %r4,[%rd8],1;",
                   shared),
            (Points{{2, "an atomic"}}));
}

TEST(Idempotence, ConstantsAndParametersAreNoReads) {
  EXPECT_EQ(points("ld.const.u32 %r3,[c]; ld.param.u32 %r4,[n]; st.global.u32 [%rd4],%r3; "
                   "st.global.u32 [%rd4+4],%r4;",
                   ".const .align 4 .u32 c[4];"),
            Points{});
}

TEST(Idempotence, AddressesSurviveHalvesAndFunctions) {
  EXPECT_EQ(points("mov.b64 {%r5,%r6},%rd4; mov.b64 %rd6,{%r5,%r6}; ld.global.u32 %r3,[%rd4];\n"
                   "st.global.u32 [%rd6],%r3;"),
            (Points{{2, "a store to parameter a, which line 1 may have read"}}));
  const std::string put =
      ".func put(.param .b64 to, .param .b32 v) { .reg .b64 %x; .reg .b32 %y; ld.param.u64 %x,[to]; "
      "ld.param.u32 %y,[v]; st.global.u32 [%x],%y; ret; }";
  const std::string call =
      "{ .param .b64 t; .param .b32 v; st.param.b64 [t],%rd5; st.param.b32 [v],%r1; "
      "call.uni put,(t,v); }";
  EXPECT_EQ(points("ld.global.u32 %r1,[%rd4];\n" + call, put), Points{});
}

TEST(Idempotence, BehindARealCallNothingIsKnown) {
  const std::string put =
      ".func put(.param .b64 to, .param .b32 v) { .reg .b64 %x; .reg .b32 %y; .reg .pred %q; "
      "ld.param.u64 %x,[to]; ld.param.u32 %y,[v]; st.global.u32 [%x],%y; sub.u32 %y,%y,1; "
      "setp.eq.u32 %q,%y,0; @%q ret; { .param .b64 t; .param .b32 w; st.param.b64 [t],%x; "
      "st.param.b32 [w],%y; call.uni put,(t,w); } ret; }";
  const std::string call =
      "{ .param .b64 t; .param .b32 v; st.param.b64 [t],%rd5; st.param.b32 [v],%r1; "
      "call.uni put,(t,v); }";
  const isa::Function code =
      compiled_kernel(call + "\nbar.sync 0; ld.global.u32 %r3,[%rd4];\nst.global.u32 [%rd5],%r3;", {}, put);
  const std::vector<HazardPoint> found = hazard_points(code);
  ASSERT_EQ(found.size(), 1U);  // that of the recursive function, which may store anywhere
  EXPECT_EQ(to_text(found[0].hazard), "a store to an address from memory, which line 10 may have read");
}

TEST(Notices, OneStandsBeforeEachPointUnderItsGuard) {
  const std::string body =
      "setp.eq.u32 %p1,%r2,0; ld.global.u32 %r3,[%rd4]; add.u32 %r3,%r3,1;\n"
      "@%p1 st.global.u32 [%rd4],%r3; st.global.u32 [%rd5],%r3;\n"
      "red.global.add.u32 [%rd5],1;";
  for (const CodeLevel level : {CodeLevel::Machine, CodeLevel::Ptx}) {
    const isa::Function plain = compiled_kernel(body, {.level = level});
    const isa::Function code = compiled_kernel(body, {.level = level, .notices = true});
    ASSERT_EQ(code.code.size(), plain.code.size() + 2);
    EXPECT_EQ(code.num_reg32, plain.num_reg32);
    std::uint32_t notices = 0;
    for (std::size_t pc = 0; pc < code.code.size(); ++pc) {
      if (code.code[pc].op != Opcode::Notify) continue;
      ++notices;
      EXPECT_EQ(code.code[pc].hazard, isa::kNoTarget);
      EXPECT_NE(code.code[pc + 1].hazard, isa::kNoTarget);
      EXPECT_EQ(code.code[pc].guard, code.code[pc + 1].guard);
      EXPECT_EQ(code.code[pc].line, code.code[pc + 1].line);
      const isa::StaticInst entry = isa::classify(code.code[pc]);
      EXPECT_EQ(entry.flags, isa::kStore | isa::kBypassL1 | isa::kNotice);
      EXPECT_EQ(entry.access_bytes, 4);
      EXPECT_EQ(entry.num_operands, 0);
    }
    EXPECT_EQ(notices, 2U);
  }
}

}  // namespace
}  // namespace gpumux::ptx
