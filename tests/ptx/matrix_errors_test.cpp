// Matrix instructions: errors of forms that are refused, and the internal form of accepted ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "isa/timing_class.hpp"
#include "ptx/compile.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

std::string kernel(const std::string& statement) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u32 "
         "n)\n{\n.reg .pred "
         "%p;\n.reg .b32 %r<32>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<4>;\n.reg .f64 %d<24>;\n.reg .b16 "
         "%h<4>;\n" +
         statement + "\nret;\n}\n";
}

std::string error_of(const std::string& statement) {
  try {
    static_cast<void>(ptx::parse(kernel(statement), "a.ptx"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

struct Case {
  const char* statement;
  const char* error;
};

TEST(MatrixErrors, NameWhatIsWrong) {
  const Case cases[] = {
      {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0}, %r2, 0;",
       "12:4: error: 'mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32': multiplying sparse matrices is "
       "not supported"},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0}, "
       "%r2, 0;",
       "multiplying sparse matrices is not supported"},
      {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e4m3.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "multiplying block-scaled matrices and floats of 4 and 6 bits is not supported"},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0}, %rd0, %rd1, 1, 1, 1, 0, 0;",
       "12:1: error: 'wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16': warpgroup matrix instructions are "
       "not supported"},
      {"wgmma.fence.sync.aligned;", "warpgroup matrix instructions are not supported"},
      {"tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r0}, [%r1];", "tensor memory instructions are not supported"},
      {"mma.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "12:1: error: 'mma.aligned.m16n8k8.row.col.f32.f16.f16.f32' lacks .sync"},
      {"mma.sync.m16n8k8.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};", "lacks .aligned"},
      {"mma.sync.aligned.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "lacks a size such as .m16n8k16"},
      {"mma.sync.aligned.m16n8k8.row.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "lacks the layouts .row.col"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16 {%f0}, {%r0}, {%r1}, {%f0};",
       "has the types of D, A, B and C: 4, 3 given"},
      {"mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "the layouts are .row.col; others go with m8n8k4 of .f16"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       ".f16 and .bf16 are not multiplied with each other"},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32 {%r0}, {%r0}, {%r1}, {%r0};",
       ".s8 and .s4 are not multiplied with each other"},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f0}, {%r0}, {%r1}, {%r2};",
       ".f16 is not summed onto .f16 as .f32"},
      {"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r0}, {%r0}, {%r1}, {%f2};",
       ".f16 is not summed onto .f32 as .f16"},
      {"mma.sync.aligned.m16n8k8.row.col.f16.bf16.bf16.f16 {%r0}, {%r0}, {%r1}, {%r0};",
       ".bf16 is not summed onto .f16 as .f16"},
      {"mma.sync.aligned.m8n8k16.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "there is no m8n8k16 of .f16"},
      {"mma.sync.aligned.m16n8k8.row.col.satfinite.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
       "modifier '.satfinite' is not possible in"},
      {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1};",
       "lacks .xor.popc or .and.popc"},
      {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.popc {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1};",
       "lacks .xor or .and in front of .popc"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2}, {%r0, %r1}, {%r2}, {%f0, %f1, %f2, "
       "%f3};",
       "12:50: error: 'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32' has 4 registers here, 3 given"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, 0}, {%r2}, {%f0, %f1, "
       "%f2, %f3};",
       "a matrix is held by registers"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %rd1}, {%r2}, {%f0, "
       "%f1, %f2, "
       "%f3};",
       "register '%rd1' is .b64, but .b32 is wanted here"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2};",
       "takes 4 operands, 3 given"},
      {"wmma.sync.aligned.m16n16k16.row.col {%r0};", "is neither .load, .mma nor .store"},
      {"wmma.load.sync.aligned.row.m16n16k16.f16 {%r0}, [%rd0];", "lacks .a, .b or .c"},
      {"wmma.store.sync.aligned.row.m16n16k16.f16 [%rd0], {%r0};", "lacks .d"},
      {"wmma.load.a.sync.aligned.m16n16k16.f16 {%r0}, [%rd0];", "lacks a layout or a size: .row.m16n16k16"},
      {"wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0, %r1, %r2, %r3}, [%rd0];",
       "has 8 registers here, 4 given"},
      {"wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r0}, [%rd0];", "there is no such size of .f16"},
      {"wmma.load.a.sync.aligned.row.m16n16k16.const.f16 {%r0}, [%rd0];",
       "moves matrices of .global and .shared"},
      {"wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%rd0];", ".a is .row here, .b is .col"},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f16.f32 {%f0}, {%r0}, {%r0}, {%f0};",
       "there is no such size of these types"},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.s8.s32 {%r0}, {%r0}, {%r0}, {%r0};",
       "there is no such size of these types"},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f16.bf16.bf16.f16 {%r0}, {%r0}, {%r0}, {%r0};",
       ".bf16 is not summed onto .f16 as .f16"},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32.satfinite {%f0}, {%r0}, {%r0}, {%f0};",
       "modifier '.satfinite' is not possible in"},
      {"ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0, %r1, %r2}, [%r3];", "unknown modifier '.x3'"},
      {"ldmatrix.sync.aligned.m8n8.shared.b16 {%r0}, [%r3];", "expected .m8n8, .x1, .x2 or .x4, and .b16"},
      {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r3];",
       "moving matrices of 8-bit elements is not supported"},
      {"ldmatrix.sync.aligned.m8n8.x2.global.b16 {%r0, %r1}, [%rd0];", "accesses .shared alone"},
      {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r3];", "has 2 registers here, 1 given"},
      {"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r0, 7};", "a matrix is held by registers"},
      {"movmatrix.sync.aligned.m8n8.b16 %r0, %r1;", "expected movmatrix.sync.aligned.m8n8.trans.b16"},
      {"cvt.tf32.f32 %r0, %f0;", "needs .rna, or .rn or .rz, which may have .relu"},
      {"cvt.rna.relu.tf32.f32 %r0, %f0;", "needs .rna, or .rn or .rz, which may have .relu"},
      {"cvt.rn.e4m3x2.f32 %h0, %f0, %f1;", "needs .satfinite"},
      {"cvt.rz.satfinite.e4m3x2.f32 %h0, %f0, %f1;", "needs .rn"},
      {"cvt.rn.satfinite.f16x2.e5m2x2 %r0, %h0;", "takes no .satfinite"},
      {"cvt.rn.satfinite.e4m3x4.f32 %r0, %f0, %f1;", "converting four values to fp8 is not supported"},
  };
  for (const Case& c : cases) {
    const std::string error = error_of(c.statement);
    EXPECT_NE(error.find(c.error), std::string::npos) << c.statement << "\n" << error;
    EXPECT_EQ(error.find("a.ptx:12:"), 0U) << error;
  }
}

isa::Function compiled(const std::string& statement, int optimize = 1) {
  const isa::Module module = ptx::parse(kernel(statement), "a.ptx");
  ptx::CompileOptions options;
  options.optimize = optimize;
  return ptx::compile(module, *module.find("k"), options);
}

std::string disassembly(const std::string& statement) {
  const isa::Module module = ptx::parse(kernel(statement), "a.ptx");
  std::string text;
  for (const isa::Instruction& inst : module.find("k")->code)
    text += isa::to_text(module, *module.find("k"), inst) + "\n";
  return text;
}

TEST(MatrixCode, IsShownAsPtxWritesIt) {
  EXPECT_EQ(
      disassembly(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, "
          "{%r4, %r5}, {%f4, %f5, %f6, %f7};")
          .substr(0, 120),
      "mma.m16n8k16.row.col.f32.bf16.bf16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r10, "
      "%r11, "
      "%r12, %r13}\n");
  EXPECT_NE(
      disassembly(
          "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, {%r0,%r1}, "
          "{%r2,%r3}, {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};")
          .find("mma.m8n8k4.col.row.f32.f16.f16.f32.upper {"),
      std::string::npos);
  EXPECT_NE(disassembly("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0, %r1}, [%r2+32];")
                .find("ldmatrix.shared.x2.trans.b16 "),
            std::string::npos);
}

TEST(MatrixCode, AccumulatorsStayWhereTheyAre) {
  // A loop that adds products to one tile: each Mma writes the registers that it reads as C, and nothing is
  // moved.
  const isa::Function code = compiled(
      "ld.param.u32 %r20, [n];\nld.param.u64 %rd0, [in];\nld.global.v4.b32 {%r0, %r1, %r2, %r3}, "
      "[%rd0];\nmov.f32 %f0, "
      "0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, "
      "%f0;\nLOOP:\nmma.sync.aligned.m16n8k16.row.col.f32.f16."
      "f16.f32 {%f4, %f5, %f6, %f7}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%f0, %f1, %f2, %f3};\nmov.f32 %f0, "
      "%f4; mov.f32 "
      "%f1, %f5; mov.f32 %f2, %f6; mov.f32 %f3, %f7;\nadd.s32 %r20, %r20, -1;\nsetp.ne.s32 %p, %r20, 0;\n@%p "
      "bra "
      "LOOP;\nst.global.v4.f32 [%rd0], {%f0, %f1, %f2, %f3};\n");
  const auto product = std::find_if(code.code.begin(), code.code.end(),
                                    [](const isa::Instruction& inst) { return inst.op == isa::Opcode::Mma; });
  ASSERT_NE(product, code.code.end());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(product->dst[i], product->src[6 + i]) << i;
  for (auto inst = product; inst != code.code.end(); ++inst) EXPECT_NE(inst->op, isa::Opcode::Mov);
}

TEST(MatrixCode, TakesTheTensorUnitAsLongAsItsMultiplyAdds) {
  struct Work {
    const char* statement;
    unsigned each;
    std::size_t products;
  };
  const Work cases[] = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
       "{%f0,%f1,%f2,%f3};",
       2048, 1},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
       "{%f0,%f1,%f2,%f3};",
       2048, 1},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r10,%r11,%r12,%r13}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
       "{%r10,%r11,%r12,%r13};",
       2048, 1},
      {"mma.sync.aligned.m8n8k32.row.col.s32.s4.u4.s32 {%r10,%r11}, {%r0}, {%r4}, {%r10,%r11};", 512, 1},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%r10,%r11,%r12,%r13}, {%r0,%r1,%r2,%r3}, "
       "{%r4,%r5}, "
       "{%r10,%r11,%r12,%r13};",
       2048, 1},
      {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, {%r0,%r1}, "
       "{%r2,%r3}, "
       "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
       512, 2},
      {"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r10,%r11,%r12,%r13}, {%r0,%r1}, {%r2,%r3}, "
       "{%r10,%r11,%r12,%r13};",
       1024, 1},
      {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%d0,%d1,%d2,%d3}, {%d4,%d5,%d6,%d7}, {%d8,%d9}, "
       "{%d0,%d1,%d2,%d3};",
       4096, 4},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
       "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, "
       "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
       2048, 2},
  };
  for (const Work& work : cases) {
    const isa::Module module = ptx::parse(kernel(work.statement), "a.ptx");
    std::size_t products = 0;
    for (const isa::Instruction& inst : module.find("k")->code) {
      if (inst.op != isa::Opcode::Mma) continue;
      ++products;
      const isa::StaticInst fixed = isa::classify(inst);
      EXPECT_EQ(fixed.unit, isa::Unit::Tensor);
      EXPECT_EQ(fixed.latency_class, isa::LatencyClass::Tensor);
      EXPECT_EQ(fixed.multiply_adds, work.each) << work.statement;
    }
    EXPECT_EQ(products, work.products) << work.statement;
  }
}

}  // namespace
}  // namespace gpumux
