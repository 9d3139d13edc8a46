// CodeLevel::Ptx: one instruction per PTX instruction, in the same order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx/compile.hpp"
#include "ptx/parse.hpp"

namespace gpumux::ptx {
namespace {

using isa::CodeLevel;
using isa::Opcode;

std::string level_text(const std::string& body) {
  return ".version 9.0\n.target sm_75\n.address_size 64\n"
         ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<9>; .reg .b32 %r<300>; "
         ".reg .f32 %f<99>; .reg .b64 %rd<99>;\n" +
         body + "\n}\n";
}

isa::Function compile_text(const std::string& text, CodeLevel level) {
  const isa::Module module = parse(text, "t.ptx");
  return compile(module, module.functions[0], {.level = level});
}

std::vector<Opcode> opcodes(const isa::Function& function) {
  std::vector<Opcode> result;
  for (const isa::Instruction& inst : function.code) result.push_back(inst.op);
  return result;
}

constexpr const char* kLoop = R"(
    ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; cvta.to.global.u64 %rd2,%rd1; mov.u32 %r2,%tid.x;
    mov.u32 %r3,%r2; setp.lt.s32 %p1,%r3,%r1; @%p1 bra THEN; bra.uni ELSE;
    THEN: div.rn.f32 %f3,%f1,%f2; mul.lo.s32 %r4,%r3,4; add.s32 %r4,%r4,0; bra.uni JOIN;
    ELSE: mov.u32 %r4,0;
    JOIN: add.s32 %r5,%r4,1; st.global.u32 [%rd2],%r5; setp.ne.s32 %p2,%r5,%r1; @%p2 bra END;
    bar.sync 0;
    END: ret;)";

TEST(CodeLevel, PtxKeepsEveryInstructionInItsOrder) {
  const isa::Function code = compile_text(level_text(kLoop), CodeLevel::Ptx);
  const std::vector<Opcode> expected = {Opcode::Ld,   Opcode::Ld,  Opcode::CvtaTo, Opcode::Mov, Opcode::Mov,
                                        Opcode::Setp, Opcode::Bra, Opcode::Bra,    Opcode::Div, Opcode::MulLo,
                                        Opcode::Add,  Opcode::Bra, Opcode::Mov,    Opcode::Add, Opcode::St,
                                        Opcode::Setp, Opcode::Bra, Opcode::Bar,    Opcode::Exit};
  EXPECT_EQ(opcodes(code), expected);
  EXPECT_TRUE(code.physical);
  // Jumps lead where the text says, and what diverges joins there.
  EXPECT_EQ(code.code[6].target, 8U);       // THEN
  EXPECT_EQ(code.code[6].reconverge, 13U);  // JOIN
  EXPECT_EQ(code.code[7].target, 12U);      // ELSE
  EXPECT_EQ(code.code[11].target, 13U);
  EXPECT_EQ(code.code[16].target, 18U);  // a branch to the end stays one
  EXPECT_EQ(code.code[16].reconverge, 18U);
  // Our back end's: parameters from the constant bank, no copies, exits for branches to the end, no division.
  EXPECT_LT(compile_text(level_text(kLoop), CodeLevel::Machine).code.size(), 13U);
}

TEST(CodeLevel, AJumpToTheNextInstructionStays) {
  const isa::Function code = compile_text(level_text("mov.u32 %r1,1; bra.uni A; A: ret;"), CodeLevel::Ptx);
  EXPECT_EQ(opcodes(code), (std::vector{Opcode::Mov, Opcode::Bra, Opcode::Exit}));
  EXPECT_EQ(code.code[1].target, 2U);
  const isa::Function endless = compile_text(level_text("A: bra.uni A;"), CodeLevel::Ptx);
  ASSERT_EQ(opcodes(endless), (std::vector{Opcode::Bra}));
  EXPECT_EQ(endless.code[0].target, 0U);
}

}  // namespace
}  // namespace gpumux::ptx
