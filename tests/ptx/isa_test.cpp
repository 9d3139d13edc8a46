// Units, latency rows, flags and scoreboard slots of instructions, and the disassembly.
#include <gtest/gtest.h>

#include "isa/timing_class.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

using isa::LatencyClass;
using isa::StaticInst;
using isa::Unit;

isa::Module module_of(const std::string& statement) {
  return ptx::parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.const .b32 c[4]; .global .b32 g;\n.entry k(.param "
      ".b32 n)\n{ .reg "
      ".pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>; "
      "L:\n" +
          statement + "\nbra L; }\n",
      "k.ptx");
}

StaticInst classify(const std::string& statement) {
  return isa::classify(module_of(statement).functions[0].code.at(1));
}

struct Row {
  const char* text;
  Unit unit;
  LatencyClass row;
};

TEST(TimingClass, UnitsAndRows) {
  const Row rows[] = {
      {"add.s32 %r1, %r2, %r3;", Unit::Int, LatencyClass::IntAdd},
      {"mul.lo.s32 %r1, %r2, %r3;", Unit::Int, LatencyClass::IntMul},
      {"mad.wide.u32 %rd1, %r2, %r3, %rd4;", Unit::Int, LatencyClass::IntMad},
      {"max.u32 %r1, %r2, %r3;", Unit::Int, LatencyClass::IntMax},
      {"div.s32 %r1, %r2, %r3;", Unit::Int, LatencyClass::IntDiv},
      {"setp.lt.s32 %p1, %r2, %r3;", Unit::Int, LatencyClass::IntAdd},
      {"setp.lt.f32 %p1, %f2, %f3;", Unit::Sp, LatencyClass::FpAdd},
      {"setp.lt.f64 %p1, %fd2, %fd3;", Unit::Dp, LatencyClass::DpAdd},
      {"mov.u32 %r1, %tid.x;", Unit::Int, LatencyClass::IntAdd},
      {"add.f32 %f1, %f2, %f3;", Unit::Sp, LatencyClass::FpAdd},
      {"mul.f32 %f1, %f2, %f3;", Unit::Sp, LatencyClass::FpMul},
      {"fma.rn.f32 %f1, %f2, %f3, %f4;", Unit::Sp, LatencyClass::FpMad},
      {"fma.rn.f16x2 %r1, %r2, %r3, %r4;", Unit::Sp, LatencyClass::FpMad},
      {"min.f32 %f1, %f2, %f3;", Unit::Sp, LatencyClass::FpMax},
      {"fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", Unit::Dp, LatencyClass::DpMad},
      {"div.rn.f64 %fd1, %fd2, %fd3;", Unit::Dp, LatencyClass::DpDiv},
      {"div.rn.f32 %f1, %f2, %f3;", Unit::Sfu, LatencyClass::FpDiv},
      {"rcp.approx.f32 %f1, %f2;", Unit::Sfu, LatencyClass::Sfu},
      {"rsqrt.approx.f64 %fd1, %fd2;", Unit::Sfu, LatencyClass::Sfu},
      {"sin.approx.f32 %f1, %f2;", Unit::Sfu, LatencyClass::Sfu},
      {"cvt.rn.f32.s32 %f1, %r2;", Unit::Sfu, LatencyClass::Sfu},
      {"cvt.rzi.s32.f32 %r1, %f2;", Unit::Sfu, LatencyClass::Sfu},
      {"cvt.rni.f32.f32 %f1, %f2;", Unit::Sfu, LatencyClass::Sfu},
      {"cvt.sat.f32.f32 %f1, %f2;", Unit::Sp, LatencyClass::FpAdd},
      {"cvt.f64.f32 %fd1, %f2;", Unit::Dp, LatencyClass::DpAdd},
      {"cvt.s64.s32 %rd1, %r2;", Unit::Int, LatencyClass::IntAdd},
      {"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", Unit::Sfu, LatencyClass::Sfu},
      {"ld.global.u32 %r1, [%rd1];", Unit::Memory, LatencyClass::Memory},
      {"bar.sync 0;", Unit::Control, LatencyClass::Control},
      {"@%p1 bra L;", Unit::Control, LatencyClass::Control},
  };
  for (const Row& row : rows) {
    const StaticInst inst = classify(row.text);
    EXPECT_STREQ(isa::name(inst.unit), isa::name(row.unit)) << row.text;
    EXPECT_STREQ(isa::name(inst.latency_class), isa::name(row.row)) << row.text;
  }
}

TEST(TimingClass, Flags) {
  const std::pair<const char*, unsigned> rows[] = {
      {"ld.global.u32 %r1, [%rd1];", isa::kLoad},
      {"ld.global.cg.u32 %r1, [%rd1];", isa::kLoad | isa::kBypassL1},
      {"ld.volatile.global.u32 %r1, [%rd1];", isa::kLoad | isa::kBypassL1},
      {"ld.acquire.gpu.u32 %r1, [%rd1];", isa::kLoad | isa::kBypassL1 | isa::kGenericSpace},
      {"ld.const.u32 %r1, [c+4];", isa::kLoad | isa::kConstant},
      {"ld.param.u32 %r1, [n];", isa::kLoad | isa::kConstant},
      {"ld.shared.u32 %r1, [%r2];", isa::kLoad | isa::kShared},
      {"st.local.u32 [%rd1], %r2;", isa::kStore | isa::kLocalSpace},
      {"st.u32 [%rd1], %r2;", isa::kStore | isa::kGenericSpace},
      {"atom.global.add.u32 %r1, [%rd1], 1;", isa::kLoad | isa::kAtomic},
      {"atom.global.add.u32 _, [%rd1], 1;", isa::kStore | isa::kAtomic},
      {"red.shared.add.u32 [%r1], 1;", isa::kStore | isa::kAtomic | isa::kShared},
      {"bar.sync 3;", isa::kBarrier},
      {"bar.arrive 3, 64;", isa::kBarrier | isa::kArrive},
      {"membar.gl;", isa::kFence},
      {"membar.cta;", 0U},
      {"bra L;", isa::kBranch},
      {"exit;", isa::kExit},
      {"add.s32 %r1, %r2, %r3;", 0U},
  };
  for (const auto& [text, flags] : rows) EXPECT_EQ(classify(text).flags, flags) << text;
  EXPECT_EQ(classify("bar.sync 3;").barrier, 3);
  EXPECT_EQ(classify("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];").access_bytes, 16);
}

TEST(TimingClass, SlotsOfPhysicalCode) {
  isa::Instruction inst;
  inst.op = isa::Opcode::MadWide;
  inst.type = isa::Type::U32;
  inst.dst[0] = isa::Operand::reg64(4);
  inst.src = {isa::Operand::reg32(7), isa::Operand::reg32(4), isa::Operand::reg64(4), {}, {}};
  inst.guard = isa::Operand::pred(2, true);
  const StaticInst table = isa::classify(inst);
  // Written: R4, R5. Read and not written: R7 and P2. Operands from the register file: R7, R4, R5.
  EXPECT_EQ(table.num_dst, 2);
  EXPECT_EQ(table.num_src, 2);
  EXPECT_EQ(table.num_operands, 3);
  EXPECT_EQ(table.slot[0], 4);
  EXPECT_EQ(table.slot[1], 5);
  EXPECT_EQ(table.slot[2], 7);
  EXPECT_EQ(table.slot[3], isa::kPredicateSlot + 2);
}

TEST(TimingClass, TheLargestInstructionFits) {
  const auto pair = [](std::uint32_t i) { return isa::Operand::reg64(2 * i); };
  isa::Instruction load;
  load.op = isa::Opcode::Ld;
  load.type = isa::Type::B64;
  load.vector = 4;
  load.dst = {pair(1), pair(2), pair(3), pair(4)};
  load.src[0] = pair(5);
  load.guard = isa::Operand::pred(1);
  EXPECT_EQ(isa::classify(load).num_dst, 8);
  EXPECT_EQ(isa::classify(load).num_src, 3);
  isa::Instruction call;  // __assertfail has the most operands
  call.op = isa::Opcode::Syscall;
  call.src = {pair(1), pair(2), pair(3), pair(4), pair(5)};
  call.dst[0] = pair(6);
  call.guard = isa::Operand::pred(1);
  EXPECT_EQ(isa::classify(call).num_dst, 2);
  EXPECT_EQ(isa::classify(call).num_src, 11);
}

TEST(Disassembly, Texts) {
  const std::pair<const char*, const char*> rows[] = {
      {"@!%p1 add.s32 %r1, %r2, -1;", "@!%p0 add.s32 %r0, %r1, 0xffffffff"},
      {"ld.global.nc.v2.f32 {%f1, _}, [%rd1+-8];", "ld.global.nc.v2.f32 %r0, [%rd0-8]"},
      {"ld.const.b32 %r1, [c+4];", "ld.const.b32 %r0, [c+4]"},
      {"ld.param.b32 %r1, [n];", "ld.param.b32 %r0, [c[0x0]]"},
      {"setp.lt.and.f32 %p1, %f1, 1.0, !%p2;", "setp.lt.and.f32 %p0, %r0, 0f3f800000, !%p1"},
      {"@%p1 bra L;", "@%p0 bra L"},
      {"mov.u32 %r1, %ntid.y;", "mov.u32 %r0, %ntid.y"},
      {"fma.rz.ftz.f32 %f1, %f2, %f3, %f4;", "fma.rz.ftz.f32 %r0, %r1, %r2, %r3"},
      {"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", "lop3.b32 %r0, %r1, %r2, %r3, 0x96"},
      {"atom.global.cas.b32 %r1, [%rd1], 0, 1;", "atom.global.cas.b32 %r0, [%rd0], 0, 1"},
  };
  for (const auto& [text, expected] : rows) {
    const isa::Module module = module_of(text);
    const isa::Function& f = module.functions[0];
    EXPECT_EQ(isa::to_text(module, f, f.code[1]), expected);
  }
}

TEST(Types, Widths) {
  EXPECT_EQ(isa::width_bits(isa::Type::Pred), 1U);
  EXPECT_EQ(isa::width_bytes(isa::Type::Pred), 1U);
  EXPECT_EQ(isa::width_bits(isa::Type::F16x2), 32U);
  EXPECT_EQ(isa::width_bytes(isa::Type::F64), 8U);
  EXPECT_TRUE(isa::is_float(isa::Type::BF16x2));
  EXPECT_FALSE(isa::is_float(isa::Type::S64));
  EXPECT_TRUE(isa::is_signed(isa::Type::S8));
  EXPECT_FALSE(isa::is_signed(isa::Type::U64));
}

}  // namespace
}  // namespace gpumux
