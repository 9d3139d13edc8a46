// Control-flow graphs, post-dominators, inlining, allocation: cases worked out by hand, and malicious input.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "emulator/program.hpp"
#include "ptx/allocate.hpp"
#include "ptx/calls.hpp"
#include "ptx/compile.hpp"
#include "ptx/flow.hpp"
#include "ptx/liveness.hpp"
#include "ptx/optimize.hpp"
#include "ptx/parse.hpp"
#include "ptx/schedule.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::ptx {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;

std::string kernel_text(const std::string& body, const std::string& functions = "",
                        const std::string& bounds = "") {
  return ".version 9.0\n.target sm_75\n.address_size 64\n" + functions +
         ".visible .entry k(.param .u64 p, .param .u32 n) " + bounds +
         "{\n.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<300>; .reg .f32 %f<99>; .reg .b64 %rd<99>;\n" +
         body + "\n}\n";
}

isa::Function compile_text(const std::string& text, int optimize, std::uint32_t registers = 255) {
  const isa::Module module = parse(text, "t.ptx");
  const isa::Function* kernel = nullptr;
  for (const isa::Function& function : module.functions) {
    if (function.is_kernel) kernel = &function;
  }
  return compile(module, *kernel, {.optimize = optimize, .max_registers = registers});
}

std::size_t count(const isa::Function& function, Opcode op) {
  return static_cast<std::size_t>(std::count_if(function.code.begin(), function.code.end(),
                                                [&](const Instruction& i) { return i.op == op; }));
}

const Instruction* first(const isa::Function& function, Opcode op) {
  for (const Instruction& inst : function.code) {
    if (inst.op == op) return &inst;
  }
  return nullptr;
}

TEST(Queries, OfOneTextureAreNotOne) {
  const std::string body =
      "ld.param.u64 %rd1,[p]; cvta.to.global.u64 %rd2,%rd1; ld.global.u64 %rd3,[%rd2]; txq.width.b32 "
      "%r1,[%rd3]; "
      "txq.height.b32 %r2,[%rd3]; txq.width.b32 %r3,[%rd3]; add.u32 %r4,%r1,%r2; add.u32 %r5,%r4,%r3; "
      "st.global.u32 [%rd2],%r5; ret;";
  EXPECT_EQ(count(compile_text(kernel_text(body), 1), Opcode::Txq), 2U) << "the third is the first";
}

constexpr const char* kLoadBoth =
    "ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; cvta.to.global.u64 %rd2,%rd1; mov.u32 %r2,%tid.x;";

TEST(Flow, DiamondJoinsBehindBothSides) {
  const auto code = compile_text(kernel_text(std::string(kLoadBoth) + R"(
    setp.lt.s32 %p1,%r2,%r1; @%p1 bra A; st.global.u32 [%rd2],%r1; bra.uni B;
    A: st.global.u32 [%rd2+4],%r1; B: st.global.u32 [%rd2+8],%r1; ret;)"),
                                 0);
  const Instruction* branch = first(code, Opcode::Bra);
  ASSERT_NE(branch, nullptr);
  ASSERT_LT(branch->reconverge, code.code.size());
  EXPECT_EQ(code.code[branch->reconverge].op, Opcode::St);
  EXPECT_EQ(code.code[branch->reconverge].offset, 8);
  EXPECT_EQ(code.code[branch->target].offset, 4);
  EXPECT_TRUE(code.final);
  EXPECT_FALSE(code.physical);
}

TEST(Flow, BranchToTheEndIsAnExit) {
  const auto code =
      compile_text(kernel_text(std::string(kLoadBoth) +
                               "setp.ge.s32 %p1,%r2,%r1; @%p1 bra E; st.global.u32 [%rd2],%r1; E: ret;"),
                   0);
  EXPECT_EQ(count(code, Opcode::Bra), 0U);
  EXPECT_EQ(count(code, Opcode::Exit), 2U);
}

TEST(Flow, AnEarlyReturnDoesNotHinderReconvergenceBeforeALoopThatEndsTheKernel) {
  // Every exit is guarded here; the loop at the end is what needs an edge to the exit, not the early return.
  const auto code = compile_text(kernel_text(std::string(kLoadBoth) + R"(
    setp.lt.s32 %p1,%r1,1; @%p1 bra END; setp.lt.s32 %p2,%r2,7; @%p2 bra JOIN; st.global.u32 [%rd2],%r1;
    JOIN: bar.sync 0;
    LOOP: st.global.u32 [%rd2+4],%r1; add.s32 %r1,%r1,-1; setp.gt.s32 %p3,%r1,0; @%p3 bra LOOP;
    END: ret;)"),
                                 0);
  EXPECT_EQ(count(code, Opcode::Exit), 2U);
  const Instruction* branch = first(code, Opcode::Bra);
  ASSERT_NE(branch, nullptr);
  ASSERT_LT(branch->reconverge, code.code.size());
  EXPECT_EQ(code.code[branch->reconverge].op, Opcode::Bar);
}

TEST(Flow, TrapsDoNotHinderReconvergence) {
  const auto code = compile_text(kernel_text(std::string(kLoadBoth) + R"(
    setp.lt.s32 %p1,%r2,%r1; @%p1 bra A; trap; A: st.global.u32 [%rd2],%r1; ret;)"),
                                 0);
  const Instruction* branch = first(code, Opcode::Bra);
  ASSERT_NE(branch, nullptr);
  ASSERT_LT(branch->reconverge, code.code.size());
  EXPECT_EQ(code.code[branch->reconverge].op, Opcode::St);
}

TEST(Flow, EndlessLoopsUnreachableCodeAndMissingReturns) {
  for (const int optimize : {0, 1}) {
    const auto endless = compile_text(kernel_text(std::string(kLoadBoth) + R"(
      L: setp.lt.s32 %p1,%r2,%r1; @%p1 bra M; st.global.u32 [%rd2],%r1; M: bra.uni L;)"),
                                      optimize);
    const Instruction* branch = nullptr;
    for (const Instruction& inst : endless.code) {
      if (inst.op == Opcode::Bra && inst.guard) branch = &inst;
    }
    ASSERT_NE(branch, nullptr);
    EXPECT_LT(branch->target, endless.code.size());
    const auto unreachable = compile_text(kernel_text("ret; mov.u32 %r1,1; X: bra.uni X;"), optimize);
    EXPECT_EQ(unreachable.code.size(), 1U);
    const auto falls_off = compile_text(kernel_text("mov.u32 %r1,1;"), optimize);
    EXPECT_EQ(falls_off.code.back().op, Opcode::Exit);
    const auto empty_loop = compile_text(kernel_text("X: bra.uni X;"), optimize);
    EXPECT_EQ(empty_loop.code.back().op, Opcode::Bra);
  }
}

TEST(Flow, IrreducibleLoopsCompile) {
  for (const int optimize : {0, 1}) {
    const auto code = compile_text(kernel_text(std::string(kLoadBoth) + R"(
      setp.lt.s32 %p1,%r2,%r1; @%p1 bra B;
      A: add.s32 %r2,%r2,1; setp.gt.s32 %p2,%r2,50; @%p2 bra E;
      B: add.s32 %r2,%r2,3; setp.lt.s32 %p3,%r2,100; @%p3 bra A;
      E: st.global.u32 [%rd2],%r2; ret;)"),
                                   optimize);
    for (const Instruction& inst : code.code) {
      if (inst.op == Opcode::Bra && inst.guard) {
        EXPECT_LT(inst.reconverge, code.code.size());
      }
    }
  }
}

TEST(Flow, UnknownLabelNamesItsPlace) {
  EXPECT_THROW(compile_text(kernel_text("bra NOWHERE; ret;"), 0), UserError);
}

TEST(Flow, RandomGraphsHavePostDominators) {
  // Property: removing the join block from a terminating graph cuts every path from the branch to the end.
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    FlowGraph graph;
    const BlockId blocks = 3 + random.below(12);
    for (BlockId id = 0; id < blocks; ++id) {
      Block block;
      Instruction inst;
      if (id + 1 == blocks) {
        inst.op = Opcode::Exit;
        block.code.push_back(inst);
      } else {
        block.next = id + 1;
        if (random.below(3) != 0) {
          inst.op = Opcode::Bra;
          inst.guard = Operand::pred(0);
          inst.target = 1 + random.below(blocks - 1);
          block.code.push_back(inst);
        }
      }
      graph.blocks.push_back(block);
      graph.order.push_back(id);
    }
    const auto join = immediate_post_dominators(graph);
    for (BlockId from = 0; from < blocks; ++from) {
      if (join[from] == kNoBlock) continue;
      std::vector<bool> seen(blocks, false);
      std::vector<BlockId> work{from};
      while (!work.empty()) {
        const BlockId id = work.back();
        work.pop_back();
        if (seen[id] || id == join[from]) continue;
        seen[id] = true;
        for (const BlockId next : successors(graph, id)) work.push_back(next);
      }
      EXPECT_FALSE(seen[blocks - 1] && from != blocks - 1) << "round " << round << " block " << from;
    }
  }
}

TEST(Inline, ParametersBecomeRegisters) {
  const std::string callee = R"(.func (.param .b32 r) twice(.param .b32 a) {
    .reg .b32 %r<4>; ld.param.u32 %r1,[a]; add.s32 %r2,%r1,%r1; st.param.b32 [r],%r2; ret; }
)";
  const std::string body = std::string(kLoadBoth) + R"(
    { .param .b32 a0; .param .b32 r0; st.param.b32 [a0],%r2; call.uni (r0),twice,(a0); ld.param.b32 %r3,[r0]; }
    st.global.u32 [%rd2],%r3; ret;)";
  for (const int optimize : {0, 1}) {
    const auto code = compile_text(kernel_text(body, callee), optimize);
    EXPECT_EQ(count(code, Opcode::Call), 0U);
    EXPECT_EQ(code.local_bytes, 0U);
    for (const Instruction& inst : code.code) EXPECT_NE(inst.space, isa::Space::Local);
  }
  EXPECT_EQ(count(compile_text(kernel_text(body, callee), 1), Opcode::Add), 1U);
}

TEST(Inline, UndefinedFunctionsAreTheUsersError) {
  const std::string callee = ".extern .func (.param .b32 r) other(.param .b32 a);\n";
  const std::string body =
      R"({ .param .b32 a0; .param .b32 r0; st.param.b32 [a0],1; call.uni (r0),other,(a0); } ret;)";
  EXPECT_THROW(compile_text(kernel_text(body, callee), 1), UserError);
}

TEST(Optimize, ParametersAndAddressesAreFolded) {
  const auto code = compile_text(kernel_text(std::string(kLoadBoth) + R"(
    mad.lo.s32 %r3,%r2,%r1,5; mul.wide.s32 %rd3,%r3,4; add.s64 %rd4,%rd2,%rd3; add.s64 %rd5,%rd4,16;
    ld.global.f32 %f1,[%rd5+4]; st.global.f32 [%rd4],%f1; ret;)"),
                                 1);
  EXPECT_EQ(count(code, Opcode::Ld), 1U);
  EXPECT_EQ(count(code, Opcode::CvtaTo), 0U);
  EXPECT_EQ(count(code, Opcode::MadWide), 1U);
  EXPECT_EQ(first(code, Opcode::Ld)->offset, 20);
  EXPECT_EQ(first(code, Opcode::MadWide)->src[2].kind, Operand::Kind::Const);
  EXPECT_LE(code.code.size(), 7U);  // tid, n, mad, mad.wide, ld, st, exit
}

TEST(Schedule, LoadsPassLoadsButNotStoresThatMayAlias) {
  const std::string restrict_load =
      R"(ld.global.u32 %r4,[%rd2]; add.s32 %r5,%r4,1; st.global.u32 [%rd2+4096],%r5;
    ld.global.nc.u32 %r6,[%rd9]; add.s32 %r7,%r6,%r5; st.global.u32 [%rd2+8],%r7; ret;)";
  const auto hoisted = compile_text(
      kernel_text(std::string(kLoadBoth) + "add.s64 %rd8,%rd2,%rd1; shl.b64 %rd9,%rd8,1;" + restrict_load),
      1);
  std::string order;
  for (const Instruction& inst : hoisted.code) {
    if (inst.op == Opcode::Ld) order += 'L';
    if (inst.op == Opcode::St) order += 'S';
  }
  EXPECT_EQ(order, "LLSS");
  std::string plain = restrict_load;
  plain.replace(plain.find(".nc"), 3, "");
  const auto kept = compile_text(
      kernel_text(std::string(kLoadBoth) + "add.s64 %rd8,%rd2,%rd1; shl.b64 %rd9,%rd8,1;" + plain), 1);
  order.clear();
  for (const Instruction& inst : kept.code) {
    if (inst.op == Opcode::Ld) order += 'L';
    if (inst.op == Opcode::St) order += 'S';
  }
  EXPECT_EQ(order, "LSLS");
}

TEST(Schedule, AliasRules) {
  Instruction store;
  store.op = Opcode::St;
  store.type = isa::Type::B32;
  store.space = isa::Space::Global;
  store.src[0] = Operand::reg64(1);
  Instruction load = store;
  load.op = Opcode::Ld;
  EXPECT_TRUE(must_keep_order(store, load, true));
  load.offset = 3;
  EXPECT_TRUE(must_keep_order(store, load, true));  // overlaps by a byte
  load.offset = 4;
  EXPECT_FALSE(must_keep_order(store, load, true));  // next to it
  EXPECT_TRUE(must_keep_order(store, load, false));  // another base: unknown
  load.space = isa::Space::Shared;
  EXPECT_FALSE(must_keep_order(store, load, false));
  load.space = isa::Space::Generic;
  EXPECT_TRUE(must_keep_order(store, load, false));
  EXPECT_FALSE(must_keep_order(load, load, false));
}

/// A sum of `values` loads that are all live at once.
std::string wide_sum(int values) {
  std::string body = kLoadBoth;
  for (int i = 0; i < values; ++i) {
    body += "ld.volatile.global.u32 %r" + std::to_string(10 + i) + ",[%rd2+" + std::to_string(4 * i) + "];";
  }
  body += "mov.u32 %r3,0;";
  for (int i = values; i-- > 0;) body += "add.s32 %r3,%r3,%r" + std::to_string(10 + i) + ";";
  return kernel_text(body + "st.global.u32 [%rd2],%r3; ret;");
}

TEST(Allocate, StaysUnderTheLimitAndSpills) {
  const auto roomy = compile_text(wide_sum(60), 1);
  EXPECT_EQ(roomy.local_bytes, 0U);
  EXPECT_GE(roomy.num_reg32, 60U);
  const auto tight = compile_text(wide_sum(60), 1, 24);
  EXPECT_LE(tight.num_reg32, 24U);
  EXPECT_GT(tight.local_bytes, 0U);
  EXPECT_TRUE(tight.physical);
  for (const Instruction& inst : tight.code) {
    for (const Operand& operand : inst.dst) {
      if (operand.kind == Operand::Kind::Reg64) {
        EXPECT_EQ(operand.reg % 2, 0U);
      }
      if (operand.is_register() && operand.kind != Operand::Kind::Pred) {
        EXPECT_LT(operand.reg, 24U);
      }
    }
  }
}

TEST(Allocate, LaunchBoundsLimitRegisters) {
  isa::Function function;
  EXPECT_EQ(register_limit(function, 255), 255U);
  function.max_threads = 1024;
  EXPECT_EQ(register_limit(function, 255), 64U);
  function.min_blocks_per_sm = 2;
  EXPECT_EQ(register_limit(function, 255), 32U);
  function.max_registers = 20;
  EXPECT_EQ(register_limit(function, 255), 20U);
  EXPECT_EQ(register_limit(function, 4), 16U);  // never below what spilling needs
}

TEST(Allocate, MorePredicatesThanRegisters) {
  std::string body = kLoadBoth;
  body += ".reg .pred %q<20>;";
  for (int i = 0; i < 16; ++i)
    body += "setp.eq.s32 %q" + std::to_string(i) + ",%r2," + std::to_string(i) + ";";
  body += "mov.u32 %r3,0;";
  for (int i = 0; i < 16; ++i)
    body += "@%q" + std::to_string(i) + " add.s32 %r3,%r3," + std::to_string(i + 1) + ";";
  for (int i = 0; i < 16; ++i)
    body += "@!%q" + std::to_string(i) + " xor.b32 %r3,%r3," + std::to_string(i + 1) + ";";
  const auto code = compile_text(kernel_text(body + "st.global.u32 [%rd2],%r3; ret;"), 1);
  EXPECT_LE(code.num_pred, kPredicateRegisters);
}

TEST(Compile, LargeKernelsAreQuick) {
  // Not timed: a quadratic pass would show as a test that never ends.
  std::string body = kLoadBoth;
  for (int i = 0; i < 1500; ++i) {
    const std::string a = std::to_string(i % 200 + 10);
    const std::string b = std::to_string((i * 7 + 3) % 200 + 10);
    body += "ld.global.u32 %r" + a + ",[%rd2+" + std::to_string(4 * i) + "]; mad.lo.s32 %r" + b + ",%r" + a +
            ",%r1,%r" + b + "; xor.b32 %r" + a + ",%r" + a + ",%r" + b + ";";
    if (i % 10 == 9) {
      body += "setp.gt.s32 %p1,%r" + a + ",%r1; @%p1 bra L" + std::to_string(i) +
              "; st.global.u32 [%rd2],%r" + b + "; L" + std::to_string(i) + ":";
    }
  }
  const auto code = compile_text(kernel_text(body + "st.global.u32 [%rd2],%r10; ret;"), 1);
  EXPECT_GT(code.code.size(), 1900U);
}

TEST(Compile, TwiceGivesTheSameCode) {
  const auto one = compile_text(wide_sum(40), 1, 20);
  const auto two = compile_text(wide_sum(40), 1, 20);
  ASSERT_EQ(one.code.size(), two.code.size());
  for (std::size_t i = 0; i < one.code.size(); ++i) {
    EXPECT_EQ(one.code[i].op, two.code[i].op);
    EXPECT_TRUE(one.code[i].dst == two.code[i].dst && one.code[i].src == two.code[i].src);
  }
}

/// Functions f0 to fN, each of which calls the next twice; the last adds one. `local` bytes of frame each.
std::string doubling_calls(int levels, int local = 0) {
  const auto function = [&](int level, const std::string& body) {
    const std::string frame = local == 0 ? "" : fmt::format(".local .align 8 .b8 d[{}];", local);
    return fmt::format(
        ".func (.param .b32 o) f{}(.param .b32 i) {{ .reg .b32 %a; .reg .b64 %d; {} ld.param.u32 %a,[i]; {} "
        "st.param.b32 [o],%a; ret; }}\n",
        level, frame, body);
  };
  const auto call = [](int level) {
    return fmt::format(
        "{{ .param .b32 x; .param .b32 y; st.param.b32 [x],%a; call.uni (y),f{},(x); ld.param.b32 %a,[y]; "
        "}} ",
        level);
  };
  std::string text = function(levels, "add.u32 %a,%a,1;");
  for (int level = levels - 1; level >= 0; --level)
    text += function(level, call(level + 1) + call(level + 1));
  return text;
}

constexpr const char* kCallsF0 = R"(ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n];
    { .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; call.uni (y),f0,(x); ld.param.b32 %r1,[y]; }
    st.global.u32 [%rd1],%r1; ret;)";

TEST(Inline, DoublingCallsAreBounded) {
  const auto few = compile_text(kernel_text(kCallsF0, doubling_calls(5)), 1);
  EXPECT_EQ(count(few, Opcode::Call), 0U);
  for (const int levels : {16, 60}) {
    const auto many = compile_text(kernel_text(kCallsF0, doubling_calls(levels)), 0);
    EXPECT_GT(count(many, Opcode::Call), 0U);
    EXPECT_LT(many.code.size(), 60'000U + static_cast<std::size_t>(levels) * 4000) << levels;
  }
}

/// What kernel k(out, 7) of the text writes to its first word.
std::uint32_t result_of(const std::string& text, int optimize) {
  workload::DeviceMemory memory(0);
  const Address out = memory.allocate(4);
  emulator::LoadedModule module(emulator::compile_module(text, "t.ptx", {.optimize = optimize}), memory, 0,
                                nullptr);
  emulator::LaunchConfig config;
  config.block = {32, 1, 1};
  config.max_warp_instructions = 100'000'000;
  config.parameters.resize(12);
  std::memcpy(config.parameters.data(), &out, 8);
  const std::uint32_t seven = 7;
  std::memcpy(config.parameters.data() + 8, &seven, 4);
  emulator::run_functionally(*module.launch(*module.find("k"), config));
  std::uint32_t result = 0;
  memory.read(out, std::as_writable_bytes(std::span(&result, 1)));
  return result;
}

TEST(Inline, RealCallsComputeWhatInlinedOnesDo) {
  for (const int optimize : {0, 1})
    EXPECT_EQ(result_of(kernel_text(kCallsF0, doubling_calls(16, 64)), optimize), 7U + 65536U);
}

TEST(Spill, ACallsTargetIsReadBeforeTheStackPointerMoves) {
  // Three functions, and a pointer with fewer uses than the values that live beside it: it is spilled.
  std::string functions;
  for (int i = 1; i <= 3; ++i)
    functions += fmt::format(
        ".func (.param .b32 o) f{0}(.param .b32 i) {{ .reg .b32 %a; .local .align 8 .b8 d[{1}]; "
        "ld.param.u32 %a,[i]; mad.lo.u32 %a,%a,100,{0}; st.param.b32 [o],%a; ret; }}\n",
        i, 64 * i);
  std::string body = R"(ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n];
    mov.u64 %rd3,f1; mov.u64 %rd4,f2; mov.u64 %rd5,f3; setp.gt.u32 %p1,%r1,3; setp.gt.u32 %p2,%r1,9;
    selp.b64 %rd6,%rd4,%rd3,%p1; selp.b64 %rd6,%rd5,%rd6,%p2;)";
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    body += fmt::format("mad.lo.u32 %r{},%r1,{},{};", 10 + i, i + 3, i * i);
    sum += 7 * (i + 3) + i * i;
  }
  body += "mov.u32 %r4,0; setp.eq.u32 %p3,%r1,0; LOOP:";  // runs once; what is before it stays there
  for (int i = 0; i < 60; ++i) body += fmt::format("add.u32 %r4,%r4,%r{};", 10 + i);
  body += R"(@%p3 bra LOOP; { .param .b32 x; .param .b32 y; st.param.b32 [x],%r1;
    q : .callprototype (.param .b32 _) _ (.param .b32 _); call (y),%rd6,(x),q; ld.param.b32 %r3,[y]; }
    add.u32 %r3,%r3,%r4;)";
  for (int i = 0; i < 60; ++i) body += fmt::format("add.u32 %r3,%r3,%r{};", 10 + i);
  body += "st.global.u32 [%rd1],%r3; ret;";
  EXPECT_GT(compile_text(kernel_text(body, functions, ".maxnreg 24 "), 1).local_bytes, 0U);
  for (const int optimize : {0, 1})
    for (const char* bounds : {"", ".maxnreg 24 ", ".maxnreg 16 "})
      EXPECT_EQ(result_of(kernel_text(body, functions, bounds), optimize), 702U + 2 * sum) << bounds;
}

TEST(Spill, CallsAreGuardedByPredicatesThatAreSpilled) {
  // More predicates than there are, and more values than registers, live over calls that two of them guard.
  const std::string functions =
      ".func (.param .b32 o) f1(.param .b32 i) { .reg .b32 %a; .local .align 8 .b8 d[64]; "
      "ld.param.u32 %a,[i]; mad.lo.u32 %a,%a,100,1; st.param.b32 [o],%a; ret; }\n"
      ".func (.param .b32 o) f2(.param .b32 i) { .reg .b32 %a; .local .align 8 .b8 d[128]; "
      "ld.param.u32 %a,[i]; trap; st.param.b32 [o],%a; ret; }\n";
  std::string body = R"(.reg .pred %q<20>; ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n];
    mov.u64 %rd3,f1; mov.u64 %rd4,f2; setp.gt.u32 %p1,%r1,3; selp.b64 %rd6,%rd3,%rd4,%p1;
    selp.b64 %rd7,%rd4,%rd3,%p1;)";
  for (int i = 0; i < 16; ++i) body += fmt::format("setp.gt.u32 %q{},%r1,{};", i, i);
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    body += fmt::format("mad.lo.u32 %r{},%r1,{},{};", 10 + i, i + 3, i * i);
    sum += 7 * (i + 3) + i * i;
  }
  body += R"({ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1;
    q : .callprototype (.param .b32 _) _ (.param .b32 _); @%q3 call (y),%rd6,(x),q; ld.param.b32 %r3,[y]; }
    { .param .b32 x; .param .b32 y; st.param.b32 [x],%r1;
    s : .callprototype (.param .b32 _) _ (.param .b32 _); @%q9 call (y),%rd7,(x),s; })";
  for (int i = 0; i < 60; ++i) body += fmt::format("add.u32 %r3,%r3,%r{};", 10 + i);
  for (int i = 0; i < 16; ++i)
    body += fmt::format("selp.b32 %r2,{},0,%q{}; add.u32 %r3,%r3,%r2;", 1000 << i, i);
  body += "st.global.u32 [%rd1],%r3; ret;";
  for (const int optimize : {0, 1})
    for (const char* bounds : {"", ".maxnreg 24 ", ".maxnreg 16 "})
      EXPECT_EQ(result_of(kernel_text(body, functions, bounds), optimize), 701U + sum + 127'000U) << bounds;
}

TEST(Inline, StackHoldsTheDeepestCalls) {
  // Every level has 4096 bytes of its own, more in all than any reserve: two of them can be seen in the
  // frames.
  const auto code = compile_text(kernel_text(kCallsF0, doubling_calls(16, 4096)), 0);
  ASSERT_GT(count(code, Opcode::Call), 0U);
  EXPECT_GE(code.local_bytes, 17U * 4096U);
  EXPECT_LT(code.local_bytes, 18U * 4096U + 17U * 256U);
  // Beyond what a thread can have, the kernel is refused by name.
  try {
    compile_text(kernel_text(kCallsF0, doubling_calls(16, 40'000)), 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("kernel k needs"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gpumux::ptx
