// Conversion of short branches to guards: branches that are converted, branches that must stay, and that
// memory is the same afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/hash.hpp"
#include "emulator/program.hpp"
#include "ptx/compile.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

using isa::Instruction;
using isa::Opcode;

constexpr std::uint32_t kWords = 1024;

std::string kernel_text(const std::string& body) {
  return ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
         ".reg .pred %p<9>; .reg .b32 %r<60>; .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .b64 %rd<9>; .shared "
         ".align 4 .b8 "
         "s[256];\n"
         "ld.param.u64 %rd1,[p]; cvta.to.global.u64 %rd2,%rd1; mov.u32 %r1,%tid.x; mul.wide.u32 %rd3,%r1,4;\n"
         "add.s64 %rd4,%rd2,%rd3; ld.global.u32 %r2,[%rd4]; and.b32 %r3,%r2,1; setp.eq.u32 %p1,%r3,0;\n"
         "and.b32 %r4,%r2,2; setp.eq.u32 %p2,%r4,0; mov.u32 %r5,5; mov.u32 %r6,6;\n" +
         body + "\nst.global.u32 [%rd4+2048],%r5; st.global.u32 [%rd4+3072],%r6; ret; }\n";
}

isa::Function compile_body(const std::string& body) {
  const isa::Module module = ptx::parse(kernel_text(body), "t.ptx");
  return ptx::compile(module, module.functions[0], {.optimize = 1});
}

std::size_t count(const isa::Function& function, Opcode op) {
  return static_cast<std::size_t>(std::count_if(function.code.begin(), function.code.end(),
                                                [&](const Instruction& i) { return i.op == op; }));
}

class ConvertSink : public emulator::PrintSink {
 public:
  void print(AppId, std::string_view) override {}
};

/// Two warps whose lanes choose by the low bits of random words.
std::vector<std::uint32_t> run(const std::string& body, int optimize, std::uint32_t registers = 255) {
  workload::DeviceMemory memory(0);
  ConvertSink sink;
  emulator::LoadedModule module(emulator::compile_module(kernel_text(body), "t.ptx",
                                                         {.optimize = optimize, .max_registers = registers}),
                                memory, 0, &sink);
  const Address buffer = memory.allocate(kWords * 4);
  std::vector<std::uint32_t> words(kWords);
  Random random(7);
  for (std::uint32_t& word : words) word = random.below(1000);
  memory.write(buffer, std::as_bytes(std::span(words)));
  emulator::LaunchConfig config;
  config.block = {64, 1, 1};
  config.parameters.resize(8);
  std::memcpy(config.parameters.data(), &buffer, 8);
  const auto launch = module.launch(*module.find("k"), config);
  (void)emulator::run_functionally(*launch);
  memory.read(buffer, std::as_writable_bytes(std::span(words)));
  return words;
}

void expect_same(const std::string& body) {
  const auto plain = run(body, 0);
  EXPECT_EQ(plain, run(body, 1)) << body;
  EXPECT_EQ(plain, run(body, 1, 16)) << body;
}

TEST(IfConvert, TriangleIsGuarded) {
  const std::string body =
      "@%p1 bra J; ld.global.u32 %r7,[%rd4+256]; add.s32 %r5,%r7,%r2; st.global.u32 [%rd4+512],%r7; J:";
  const auto code = compile_body(body);
  EXPECT_EQ(count(code, Opcode::Bra), 0U);
  unsigned guarded = 0;
  for (const Instruction& inst : code.code) {
    EXPECT_EQ(inst.reconverge, isa::kNoTarget);
    if (!inst.guard) continue;
    ++guarded;
    EXPECT_TRUE(inst.guard.negate);
  }
  EXPECT_EQ(guarded, 3U);  // the sum too: r5 is read behind the join
  expect_same(body);
}

TEST(IfConvert, DeadResultsNeedNoGuard) {
  const auto code =
      compile_body("@%p1 bra J; add.s32 %r7,%r2,9; mul.lo.s32 %r8,%r7,%r2; st.global.u32 [%rd4+512],%r8; J:");
  for (const Instruction& inst : code.code) {
    EXPECT_EQ(bool(inst.guard), inst.op == Opcode::St && inst.offset == 512);
  }
}

TEST(IfConvert, GuardedLoadsAreNeverSpeculated) {
  // Lanes with the bit set would read far outside of the buffer.
  const std::string body =
      "shl.b32 %r8,%r3,30; cvt.u64.u32 %rd5,%r8; add.s64 %rd6,%rd4,%rd5; @!%p1 bra J; ld.global.u32 "
      "%r5,[%rd6]; J:";
  const auto code = compile_body(body);
  EXPECT_EQ(count(code, Opcode::Bra), 0U);
  expect_same(body);
}

TEST(IfConvert, DiamondsChooseBothWays) {
  for (const char* body :
       {"@%p1 bra T; add.s32 %r5,%r2,1; bra.uni J; T: add.s32 %r5,%r2,2; J:",
        "@%p1 bra T; mov.u32 %r5,%r6; mov.u32 %r6,1; bra.uni J; T: mov.u32 %r6,%r5; mov.u32 %r5,2; J:",
        "@%p1 bra T; st.global.u32 [%rd4+256],%r6; bra.uni J; T: ld.global.u32 %r5,[%rd4+256]; J:",
        "@%p1 bra T; add.s32 %r7,%r5,%r2; add.s32 %r6,%r7,1; bra.uni J; T: add.s32 %r7,%r6,%r2; add.s32 "
        "%r5,%r7,1; J:"}) {
    EXPECT_EQ(count(compile_body(body), Opcode::Bra), 0U) << body;
    expect_same(body);
  }
}

TEST(IfConvert, NestsAreConvertedInside) {
  for (const char* body :
       {"@%p1 bra J; add.s32 %r5,%r2,1; @%p2 bra K; add.s32 %r6,%r2,3; K: add.s32 %r5,%r5,%r6; J:",
        "@%p1 bra J; and.b32 %r9,%r2,4; setp.eq.u32 %p3,%r9,0; @%p3 bra J; st.global.u32 [%rd4+256],%r2; J:",
        "@%p1 bra J; @!%p2 bra K; ld.global.u32 %r5,[%rd4+256]; bra.uni J; K: ld.global.u32 %r6,[%rd4+512]; "
        "J:"}) {
    EXPECT_EQ(count(compile_body(body), Opcode::Bra), 0U) << body;
    expect_same(body);
  }
}

TEST(IfConvert, WhatNeedsItsLanesStays) {
  for (const char* side :
       {"bar.sync 0;", "membar.gl;", "shfl.sync.idx.b32 %r5,%r2,0,31,-1;", "vote.sync.ballot.b32 %r5,%p2,-1;",
        "activemask.b32 %r5;", "atom.global.add.u32 %r5,[%rd4],1;", "red.global.add.u32 [%rd4],1;",
        "ld.volatile.global.u32 %r5,[%rd4];", "st.volatile.global.u32 [%rd4],%r5;", "mov.u32 %r5,%clock;",
        "trap;", "rsqrt.approx.f32 %f1,%f2; st.global.f32 [%rd4],%f1;",
        "cvt.rn.f64.u32 %fd1,%r2; add.f64 %fd1,%fd1,%fd1; st.global.f64 [%rd4],%fd1;",
        "div.u32 %r5,%r2,%r6; div.u32 %r6,%r2,%r5;"}) {
    EXPECT_GE(count(compile_body("@%p1 bra J; " + std::string(side) + " J:"), Opcode::Bra), 1U) << side;
  }
}

TEST(IfConvert, LongSidesStay) {
  std::string side;
  for (int i = 0; i < 9; ++i) side += "mad.lo.s32 %r5,%r5,%r2,%r6;";
  EXPECT_EQ(count(compile_body("@%p1 bra J; " + side + " J:"), Opcode::Bra), 0U);
  EXPECT_EQ(count(compile_body("@%p1 bra J; " + side + "mad.lo.s32 %r5,%r5,%r2,%r6; J:"), Opcode::Bra), 1U);
}

TEST(IfConvert, BranchesInLoopsAndLoopsThemselves) {
  for (const char* body : {"mov.u32 %r10,0; L: @%p1 bra J; add.s32 %r5,%r5,%r10; J: setp.gt.u32 "
                           "%p1,%r10,%r3; add.s32 %r10,%r10,1; "
                           "setp.lt.u32 %p3,%r10,7; @%p3 bra L;",
                           "and.b32 %r10,%r2,7; L: add.s32 %r5,%r5,%r10; setp.eq.u32 %p3,%r10,0; @%p3 bra D; "
                           "sub.s32 %r10,%r10,1; "
                           "bra.uni L; D:"}) {
    expect_same(body);
  }
}

TEST(IfConvert, RandomNestsKeepTheirMemory) {
  Random random(11);
  for (int trial = 0; trial < 60; ++trial) {
    std::string body;
    int labels = 0;
    const auto statement = [&] {
      const auto reg = [&] { return "%r" + std::to_string(5 + random.below(6)); };
      switch (random.below(4)) {
        case 0: return "ld.global.u32 " + reg() + ",[%rd4+" + std::to_string(256 * random.below(4)) + "];";
        case 1: return "st.global.u32 [%rd4+" + std::to_string(256 * random.below(4)) + "]," + reg() + ";";
        case 2: return "add.s32 " + reg() + "," + reg() + "," + reg() + ";";
        default:
          return "setp.lt.s32 %p" + std::to_string(1 + random.below(4)) + "," + reg() + "," + reg() + ";";
      }
    };
    for (const char* reg : {"7", "8", "9", "10"}) body += "mov.u32 %r" + std::string(reg) + ",%r2;";
    body += "setp.lt.u32 %p3,%r2,500; setp.lt.u32 %p4,%r2,300;";
    const auto block = [&](auto& self, int depth) -> void {
      const std::uint32_t statements = 1 + random.below(3);
      for (std::uint32_t i = 0; i < statements; ++i) body += statement();
      if (depth == 0) return;
      const std::string label = std::to_string(labels++);
      body += std::string(random.below(2) != 0 ? "@%p" : "@!%p") + std::to_string(1 + random.below(4)) +
              " bra A" + label + ";";
      self(self, depth - 1);
      if (random.below(2) != 0) {
        body += "bra.uni B" + label + "; A" + label + ":";
        self(self, depth - 1);
        body += "B" + label + ":";
      } else {
        body += "A" + label + ":";
      }
      body += statement();
    };
    block(block, 2);
    block(block, 1);
    expect_same(body);
  }
}

TEST(Schedule, ArithmeticPassesBarriersAndMemoryDoesNot) {
  const std::string body =
      "ld.global.u32 %r7,[%rd4+256]; shl.b32 %r8,%r1,2; and.b32 %r9,%r8,255; mov.u32 %r11,s; add.s32 "
      "%r10,%r11,%r9;"
      "st.shared.u32 [%r10],%r7; bar.sync 0; xor.b32 %r12,%r9,4; add.s32 %r13,%r11,%r12; ld.shared.u32 "
      "%r5,[%r13]; bar.sync 0; st.shared.u32 [%r10],%r5; bar.sync 0; ld.shared.u32 %r6,[%r13];";
  const auto code = compile_body(body);
  std::string order;
  for (const Instruction& inst : code.code) {
    if (inst.op == Opcode::Bar) order += 'B';
    if (inst.op == Opcode::Xor) order += 'x';
    if (inst.op == Opcode::Ld && inst.space == isa::Space::Shared) order += 'L';
    if (inst.op == Opcode::St && inst.space == isa::Space::Shared) order += 'S';
  }
  EXPECT_EQ(order, "xSBLBSBL");
  expect_same(body);
}

TEST(Optimize, PredicateLogicWithConstants) {
  for (const char* logic : {"xor.pred %p5,%p1,%p4;", "xor.pred %p5,%p3,%p1;", "and.pred %p5,%p1,%p4;",
                            "and.pred %p5,%p3,%p1;", "or.pred %p5,%p1,%p4;", "or.pred %p5,%p3,%p1;"}) {
    const std::string body =
        "mov.pred %p3,1; mov.pred %p4,0; " + std::string(logic) + " selp.b32 %r5,7,8,%p5;";
    const auto code = compile_body(body);
    EXPECT_EQ(count(code, Opcode::Xor) + count(code, Opcode::Or), 0U) << logic;
    expect_same(body);
  }
}

}  // namespace
}  // namespace gpumux
