// Fusion of multiplications and additions into fma. The expected results are those of ptxas 13.0 (sm_90, -O3)
// for the same code.
#include <gtest/gtest.h>

#include <string>

#include <fmt/core.h>

#include "ptx/compile.hpp"
#include "ptx/parse.hpp"

namespace gpumux::ptx {
namespace {

using isa::Opcode;

isa::Function compiled(const std::string& body, const CompileOptions& options) {
  const std::string text = fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{{
.reg .f32 %f<20>; .reg .b64 %d<4>; .reg .f64 %g<20>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .pred %p<4>;
ld.param.u64 %d1, [p];
ld.param.u32 %r1, [n];
ld.global.f32 %f1, [%d1];
ld.global.f32 %f2, [%d1+4];
ld.global.f32 %f3, [%d1+8];
ld.global.f32 %f4, [%d1+12];
ld.global.f64 %g1, [%d1+16];
ld.global.f64 %g2, [%d1+24];
ld.global.b16 %h1, [%d1+32];
ld.global.b16 %h2, [%d1+34];
ld.global.b32 %r2, [%d1+36];
ld.global.b32 %r3, [%d1+40];
setp.ne.u32 %p1, %r1, 0;
{}
ret;
}}
)",
                                       body);
  const isa::Module module = parse(text, "k.ptx");
  return compile(module, module.functions.front(), options);
}

/// The arithmetic of floats in it: mul, add, sub, and fma with the signs of its product and its addend.
std::string floats(const std::string& body, const CompileOptions& options = {.optimize = 0}) {
  std::string text;
  for (const isa::Instruction& inst : compiled(body, options).code) {
    if (!isa::is_float(inst.type)) continue;
    const bool fma = inst.op == Opcode::Fma;
    if (!fma && inst.op != Opcode::Mul && inst.op != Opcode::Add && inst.op != Opcode::Sub) continue;
    text += text.empty() ? "" : " ";
    text += isa::name(inst.op);
    if (fma && (inst.shift & isa::kFmaMinusProduct) != 0) text += "-p";
    if (fma && (inst.shift & isa::kFmaMinusAddend) != 0) text += "-a";
  }
  return text;
}

std::string last_line(const std::string& result) { return "st.global.f32 [%d1], " + result + ";"; }

// The products themselves are dead then, and go under optimize 1.
TEST(Contract, AProductThatIsOnlyAddedJoins) {
  const CompileOptions all;
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; add.f32 %f7,%f6,%f3;" + last_line("%f7"), all), "fma");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; sub.f32 %f7,%f6,%f3;" + last_line("%f7"), all), "fma-a");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; sub.f32 %f7,%f3,%f6;" + last_line("%f7"), all), "fma-p");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; neg.f32 %f7,%f6; add.f32 %f8,%f7,%f3;" + last_line("%f8"), all),
            "fma-p");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; neg.f32 %f7,%f6; sub.f32 %f8,%f7,%f3;" + last_line("%f8"), all),
            "fma-p-a");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; neg.f32 %f7,%f6; sub.f32 %f8,%f3,%f7;" + last_line("%f8"), all),
            "fma");
  EXPECT_EQ(floats("mul.f64 %g5,%g1,%g2; sub.f64 %g6,%g5,%g1; st.global.f64 [%d1],%g6;", all), "fma-a");
  EXPECT_EQ(floats("mul.f16 %h5,%h1,%h2; add.f16 %h6,%h5,%h1; st.global.b16 [%d1],%h6;", all), "fma");
  EXPECT_EQ(floats("mul.bf16x2 %r5,%r2,%r3; sub.bf16x2 %r6,%r5,%r2; st.global.b32 [%d1],%r6;", all), "fma-a");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; @%p1 add.f32 %f3,%f6,%f4;" + last_line("%f3"), all), "fma");
}

TEST(Contract, AProductThatIsUsedOtherwiseStays) {
  const std::string mul = "mul.f32 %f6,%f1,%f2; ";
  EXPECT_EQ(floats(mul + "add.f32 %f7,%f6,%f3; st.global.f32 [%d1+4],%f6;" + last_line("%f7")), "mul add");
  EXPECT_EQ(floats(mul + "add.f32 %f7,%f6,%f3; mul.f32 %f8,%f6,%f7;" + last_line("%f8")), "mul add mul");
  EXPECT_EQ(floats(mul + "fma.rn.f32 %f7,%f3,%f4,%f6; add.f32 %f8,%f6,%f7;" + last_line("%f8")),
            "mul fma add");
  EXPECT_EQ(floats(mul + "add.f32 %f7,%f6,%f6;" + last_line("%f7")), "mul add");
  EXPECT_EQ(floats(mul + "abs.f32 %f7,%f6; add.f32 %f8,%f7,%f3;" + last_line("%f8")), "mul add");
}

TEST(Contract, AProductOfSeveralSumsJoinsAll) {
  EXPECT_EQ(
      floats("mul.f32 %f6,%f1,%f2; add.f32 %f7,%f6,%f3; sub.f32 %f8,%f6,%f4; st.global.f32 [%d1+4],%f8;" +
             last_line("%f7")),
      "mul fma fma-a");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; neg.f32 %f9,%f6; add.f32 %f7,%f9,%f3; add.f32 %f8,%f6,%f4;"
                   "st.global.f32 [%d1+4],%f8;" +
                   last_line("%f7")),
            "mul fma-p fma");
}

TEST(Contract, OfTwoProductsTheFirstOperandJoins) {
  // a * b - c * c: the square stays.
  const auto square_stays = [](const std::string& body) {
    const isa::Function code = compiled(body, {});
    for (const isa::Instruction& inst : code.code) {
      if (inst.op == Opcode::Mul && isa::is_float(inst.type)) return inst.src[0] == inst.src[1];
    }
    return false;
  };
  const std::string two = "mul.f32 %f6,%f1,%f2; mul.f32 %f7,%f3,%f3; ";
  EXPECT_TRUE(square_stays(two + "sub.f32 %f8,%f6,%f7;" + last_line("%f8")));
  EXPECT_TRUE(square_stays(two + "add.f32 %f8,%f6,%f7;" + last_line("%f8")));
  EXPECT_FALSE(square_stays(two + "sub.f32 %f8,%f7,%f6;" + last_line("%f8")));
  // The second joins where the first is needed for itself, and stays where it is an addend.
  EXPECT_FALSE(square_stays(two + "add.f32 %f8,%f6,%f7; st.global.f32 [%d1+4],%f6;" + last_line("%f8")));
  EXPECT_EQ(
      floats(two + "add.f32 %f8,%f6,%f7; add.f32 %f9,%f7,%f4; st.global.f32 [%d1+4],%f9;" + last_line("%f8")),
      "mul mul fma add");
}

TEST(Contract, ARoundingOfItsOwnKeepsThemApart) {
  EXPECT_EQ(floats("mul.rn.f32 %f6,%f1,%f2; add.f32 %f7,%f6,%f3;" + last_line("%f7")), "mul add");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; add.rn.f32 %f7,%f6,%f3;" + last_line("%f7")), "mul add");
  EXPECT_EQ(floats("mul.sat.f32 %f6,%f1,%f2; add.f32 %f7,%f6,%f3;" + last_line("%f7")), "mul add");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; add.sat.f32 %f7,%f6,%f3;" + last_line("%f7"), {}), "fma");
  EXPECT_EQ(floats("mul.ftz.f32 %f6,%f1,%f2; add.f32 %f7,%f6,%f3;" + last_line("%f7")), "mul add");
  EXPECT_EQ(floats("mul.ftz.f32 %f6,%f1,%f2; add.ftz.f32 %f7,%f6,%f3;" + last_line("%f7"), {}), "fma");
}

TEST(Contract, AcrossBlocksWithAnImmediateFactorAlone) {
  const std::string branch = "@%p1 bra L; bar.sync 0; L: add.f32 %f7,%f6,%f4;" + last_line("%f7");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2;" + branch, {}), "mul add");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,0f41100000;" + branch, {}), "fma");
  EXPECT_EQ(floats("mov.f32 %f9,0f41100000; mul.f32 %f6,%f1,%f9;" + branch, {}), "fma");
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; bar.sync 0; add.f32 %f7,%f6,%f4;" + last_line("%f7"), {}), "fma");
  EXPECT_EQ(
      floats("mul.f32 %f6,%f1,%f2; @%p1 bra L; bar.sync 0; mul.f32 %f6,%f3,%f4; L: add.f32 %f7,%f6,%f4;" +
                 last_line("%f7"),
             {}),
      "mul mul add");
}

TEST(Contract, AFactorThatIsWrittenBetweenKeepsThemApart) {
  EXPECT_EQ(floats("mul.f32 %f6,%f1,%f2; add.f32 %f1,%f3,%f4; add.f32 %f7,%f6,%f1;" + last_line("%f7")),
            "mul add add");
}

TEST(Contract, NotWhereItIsOffOrCodeIsAsWritten) {
  const std::string body = "mul.f32 %f6,%f1,%f2; add.f32 %f7,%f6,%f3;" + last_line("%f7");
  EXPECT_EQ(floats(body, {.contract = false}), "mul add");
  EXPECT_EQ(floats(body, {.level = isa::CodeLevel::Ptx}), "mul add");
}

}  // namespace
}  // namespace gpumux::ptx
