// Parsing of single instructions: operands, modifiers, immediates, expansions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "ptx/parse.hpp"

namespace gpumux {
namespace {

using isa::CacheOp;
using isa::Compare;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Rounding;
using isa::Space;
using isa::Type;

isa::Function parsed_kernel(const std::string& body) {
  const isa::Module module = ptx::parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.global .b32 g[4];\n.entry k()\n{ .reg .pred %p<9>; "
      ".reg .b16 "
      "%rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n" +
          body + "\n}\n",
      "k.ptx");
  return module.functions[0];
}

Instruction one(const std::string& text) { return parsed_kernel(text).code.at(0); }

std::uint64_t immediate_of(const std::string& text) {
  const Instruction inst = one(text);
  const Operand& last = inst.src[1] ? inst.src[1] : inst.src[0];
  EXPECT_EQ(last.kind, Operand::Kind::Imm) << text;
  return last.imm;
}

TEST(ParseInstruction, ImmediatesAreBitsAtTheWidthOfTheirReader) {
  EXPECT_EQ(immediate_of("add.s32 %r1, %r2, -1;"), 0xffff'ffffU);
  EXPECT_EQ(immediate_of("add.s64 %rd1, %rd2, -1;"), ~std::uint64_t{0});
  EXPECT_EQ(immediate_of("add.s16 %rs1, %rs2, -1;"), 0xffffU);
  EXPECT_EQ(immediate_of("and.b32 %r1, %r2, 0x1ffffffff;"), 0xffff'ffffU);
  EXPECT_EQ(immediate_of("mov.u32 %r1, 0b101;"), 5U);
  EXPECT_EQ(immediate_of("mov.u32 %r1, 017;"), 15U);
  EXPECT_EQ(immediate_of("mov.u32 %r1, 7U;"), 7U);
  EXPECT_EQ(immediate_of("mov.f32 %f1, 0f3F800000;"), 0x3f80'0000U);
  EXPECT_EQ(immediate_of("mov.f32 %f1, -0f3F800000;"), 0xbf80'0000U);
  EXPECT_EQ(immediate_of("mov.f32 %f1, 1.5;"), 0x3fc0'0000U);
  EXPECT_EQ(immediate_of("mov.f64 %fd1, 2.5e-1;"), 0x3fd0'0000'0000'0000U);
  EXPECT_EQ(immediate_of("mov.f64 %fd1, 0dBFF0000000000000;"), 0xbff0'0000'0000'0000U);
  EXPECT_EQ(immediate_of("mov.b32 %r1, 0f40000000;"), 0x4000'0000U);
  EXPECT_EQ(immediate_of("mov.pred %p1, -1;"), 1U);
  EXPECT_EQ(immediate_of("mov.u32 %r1, WARP_SZ;"), 32U);
  EXPECT_EQ(immediate_of("shl.b64 %rd1, %rd2, 40;"), 40U);
}

TEST(ParseInstruction, ExchangeWithoutMembersIsShownSo) {
  const std::string head = "\n.address_size 64\n.entry k()\n{ .reg .pred %p<9>; .reg .b32 %r<9>;\n";
  const auto shown = [&](const std::string& target, const std::string& instruction) {
    const isa::Module module = ptx::parse(target + head + instruction + "\n}\n", "k.ptx");
    const isa::Function& function = module.functions[0];
    const std::string text = isa::to_text(module, function, function.code.at(0));
    return text.substr(0, text.find(' '));
  };
  const std::string old = ".version 6.5\n.target sm_62";
  const std::string last = ".version 6.3\n.target sm_70";
  for (const std::string& target : {old, last}) {
    EXPECT_EQ(shown(target, "shfl.bfly.b32 %r1|%p1, %r2, 1, 31;"), "shfl.bfly.b32");
    EXPECT_EQ(shown(target, "vote.ballot.b32 %r1, !%p1;"), "vote.ballot.b32");
    EXPECT_EQ(shown(target, "vote.uni.pred %p2, %p1;"), "vote.uni.pred");
  }
  const std::string later = ".version 9.0\n.target sm_75";
  EXPECT_EQ(shown(later, "shfl.sync.up.b32 %r1, %r2, 1, 0, -1;"), "shfl.sync.up.b32");
  EXPECT_EQ(shown(later, "vote.sync.all.pred %p2, %p1, -1;"), "vote.sync.all.pred");
}

TEST(ParseInstruction, ModifiersReachTheirFields) {
  EXPECT_EQ(one("fma.rm.ftz.sat.f32 %f1, %f2, %f3, %f4;").rounding, Rounding::RM);
  EXPECT_TRUE(one("fma.rm.ftz.sat.f32 %f1, %f2, %f3, %f4;").ftz);
  EXPECT_TRUE(one("fma.rm.ftz.sat.f32 %f1, %f2, %f3, %f4;").sat);
  EXPECT_TRUE(one("div.full.f32 %f1, %f2, %f3;").full);
  EXPECT_TRUE(one("rcp.approx.ftz.f64 %fd1, %fd2;").approx);
  EXPECT_TRUE(one("max.NaN.f32 %f1, %f2, %f3;").nan);
  EXPECT_EQ(one("cvt.rpi.s32.f32 %r1, %f1;").rounding, Rounding::RPI);
  EXPECT_EQ(one("lop3.b32 %r1, %r2, %r3, %r4, 0x96;").shift, 0x96);
  EXPECT_EQ(one("shf.r.clamp.b32 %r1, %r2, %r3, %r4;").shift, 3);
  EXPECT_EQ(one("shf.l.wrap.b32 %r1, %r2, %r3, %r4;").shift, 0);
  EXPECT_EQ(one("prmt.b32.rc16 %r1, %r2, %r3, %r4;").shift, 6);
  EXPECT_EQ(one("bfind.shiftamt.u32 %r1, %r2;").shift, 1);
  EXPECT_EQ(one("dp2a.hi.s32.u32 %r1, %r2, %r3, %r4;").shift, 1);
  EXPECT_EQ(one("membar.cta;").shift, 0);
  EXPECT_EQ(one("fence.acq_rel.gpu;").shift, 1);
  EXPECT_EQ(one("membar.sys;").shift, 2);
  const Instruction setp = one("setp.geu.or.f32 %p1|%p2, %f1, 0f00000000, !%p3;");
  EXPECT_EQ(setp.compare, Compare::GEU);
  EXPECT_EQ(setp.bool_op, isa::BoolOp::Or);
  EXPECT_EQ(setp.dst[1].kind, Operand::Kind::Pred);
  EXPECT_TRUE(setp.src[2].negate);
  const Instruction barrier = one("barrier.cta.red.or.aligned.pred %p1, 2, 64, !%p2;");
  EXPECT_EQ(barrier.bar, isa::BarMode::RedOr);
  EXPECT_EQ(barrier.src[0].imm, 2U);
  EXPECT_EQ(barrier.src[1].imm, 64U);
  EXPECT_TRUE(barrier.src[2].negate);
  EXPECT_FALSE(static_cast<bool>(one("bar.red.popc.u32 %r1, 0, %p2;").src[1]));
}

TEST(ParseInstruction, AddressesAndOrder) {
  const Instruction plain = one("ld.global.v4.f32 {%f1, %f2, _, %f4}, [%rd1+-16];");
  EXPECT_EQ(plain.offset, -16);
  EXPECT_EQ(plain.vector, 4);
  EXPECT_FALSE(static_cast<bool>(plain.dst[2]));
  EXPECT_EQ(one("ld.global.u32 %r1, [g+8];").src[0].kind, Operand::Kind::Symbol);
  EXPECT_EQ(one("ld.shared.u32 %r1, [64];").offset, 64);
  EXPECT_FALSE(static_cast<bool>(one("ld.shared.u32 %r1, [64];").src[0]));
  EXPECT_TRUE(one("ld.volatile.shared.u32 %r1, [%r2];").is_volatile);
  EXPECT_TRUE(one("ld.acquire.gpu.u32 %r1, [%rd1];").acquire_release);
  EXPECT_TRUE(one("atom.add.release.gpu.u32 %r1, [%rd1], 1;").acquire_release);
  EXPECT_FALSE(one("atom.relaxed.gpu.add.u32 %r1, [%rd1], 1;").acquire_release);
  EXPECT_EQ(one("ld.relaxed.gpu.global.u32 %r1, [%rd1];").cache, CacheOp::CG);
  EXPECT_EQ(one("ld.relaxed.cta.global.u32 %r1, [%rd1];").cache, CacheOp::None);
  EXPECT_EQ(one("ld.global.nc.L1::no_allocate.u32 %r1, [%rd1];").cache, CacheOp::NC);
  EXPECT_EQ(one("st.global.wt.u32 [%rd1], 5;").cache, CacheOp::WT);
  EXPECT_EQ(one("ld.u32 %r1, [%rd1];").space, Space::Generic);
  const Instruction cas = one("atom.shared.cas.b32 _, [%r1], %r2, 7;");
  EXPECT_FALSE(static_cast<bool>(cas.dst[0]));
  EXPECT_EQ(cas.src[1].kind, Operand::Kind::Reg32);
  EXPECT_EQ(cas.src[2].imm, 7U);
  EXPECT_EQ(one("mov.b64 {%r1, _}, %rd1;").vector, 2);
  EXPECT_EQ(one("mov.b64 %rd1, {%rs1, %rs2, %rs3, %rs4};").vector, 4);
}

TEST(ParseInstruction, CarryChainsUseOnePredicate) {
  const isa::Function f = parsed_kernel(
      "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r1, %r2, 0; madc.hi.u32 %r1, %r2, %r3, %r4; subc.u32 %r1, %r2, "
      "1;");
  const Operand carry = f.code[0].dst[1];
  EXPECT_EQ(carry.kind, Operand::Kind::Pred);
  EXPECT_TRUE(f.code[0].carry_out);
  EXPECT_FALSE(f.code[0].carry_in);
  EXPECT_EQ(f.code[1].src[2], carry);
  EXPECT_EQ(f.code[1].dst[1], carry);
  EXPECT_EQ(f.code[2].op, Opcode::MadHi);
  EXPECT_EQ(f.code[2].src[3], carry);
  EXPECT_FALSE(static_cast<bool>(f.code[2].dst[1]));
  EXPECT_EQ(f.code[3].src[2], carry);
  EXPECT_EQ(f.num_pred, 1U);
}

TEST(ParseInstruction, NarrowSignedResultsFillTheirRegister) {
  // The low byte of the source, extended to the 16 bits of the register: one conversion.
  const isa::Function one_step = parsed_kernel("cvt.s8.s32 %rs1, %r1;");
  ASSERT_EQ(one_step.code.size(), 1U);
  EXPECT_EQ(one_step.code[0].type, Type::S16);
  EXPECT_EQ(one_step.code[0].type2, Type::S8);
  // Saturation and rounding come first.
  const isa::Function two_steps = parsed_kernel("@%p1 cvt.rni.s8.f32 %r1, %f1;");
  ASSERT_EQ(two_steps.code.size(), 2U);
  EXPECT_EQ(two_steps.code[0].type, Type::S8);
  EXPECT_EQ(two_steps.code[1].type, Type::S32);
  EXPECT_EQ(two_steps.code[1].type2, Type::S8);
  EXPECT_EQ(two_steps.code[1].src[0], two_steps.code[0].dst[0]);
  EXPECT_EQ(two_steps.code[1].guard, two_steps.code[0].guard);
  EXPECT_EQ(parsed_kernel("cvt.u8.u32 %r1, %r2;").code.size(), 1U);
}

TEST(ParseInstruction, RegistersMayBeWiderOnlyWherePtxSaysSo) {
  EXPECT_NO_THROW(one("ld.global.u8 %rd1, [%rd2];"));
  EXPECT_NO_THROW(one("st.global.u8 [%rd2], %r1;"));
  EXPECT_NO_THROW(one("cvt.u32.u8 %r1, %rd1;"));
  EXPECT_NO_THROW(one("add.f32 %r1, %f2, %r3;"));  // untyped registers hold floats in the sm_100 dialect
  EXPECT_NO_THROW(one("mov.b32 %r1, %f1;"));
  EXPECT_THROW(one("ld.global.f32 %fd1, [%rd2];"), UserError);
  EXPECT_THROW(one("ld.global.s32 %fd1, [%rd2];"), UserError);
  EXPECT_THROW(one("mov.u32 %r1, %f1;"), UserError);
  EXPECT_THROW(one("add.u32 %rd1, %r1, %r2;"), UserError);
  EXPECT_THROW(one("and.b16 %r1, %rs1, %rs2;"), UserError);
}

/// Runs straight-line 32-bit code of the few opcodes that expansions use.
class Interpreter {
 public:
  std::map<std::uint32_t, std::uint32_t> reg;
  std::map<std::uint32_t, bool> pred;

  void run(const isa::Function& f) {
    for (const Instruction& i : f.code) step(i);
  }

 private:
  std::uint32_t get(const Operand& o) {
    return o.kind == Operand::Kind::Imm ? static_cast<std::uint32_t>(o.imm) : reg[o.reg];
  }
  void step(const Instruction& i) {
    const std::uint32_t a = get(i.src[0]);
    const std::uint32_t b = get(i.src[1]);
    const auto shift = [](std::uint32_t x) { return x > 31 ? 32U : x; };
    if (i.op == Opcode::Setp) {
      const auto sa = static_cast<std::int32_t>(a);
      const auto sb = static_cast<std::int32_t>(b);
      const bool is_signed = i.type == Type::S32;
      bool& p = pred[i.dst[0].reg];
      if (i.compare == Compare::EQ) p = a == b;
      if (i.compare == Compare::LT) p = is_signed ? sa < sb : a < b;
      if (i.compare == Compare::GT) p = is_signed ? sa > sb : a > b;
      if (i.compare == Compare::LE) p = is_signed ? sa <= sb : a <= b;
      return;
    }
    std::uint32_t& d = reg[i.dst[0].reg];
    switch (i.op) {
      case Opcode::Mov: d = a; break;
      case Opcode::Add: d = a + b; break;
      case Opcode::Sub: d = a - b; break;
      case Opcode::And: d = a & b; break;
      case Opcode::Min: d = std::min(a, b); break;
      case Opcode::Shl: d = static_cast<std::uint32_t>(std::uint64_t{a} << shift(b)); break;
      case Opcode::Shr: d = static_cast<std::uint32_t>(std::uint64_t{a} >> shift(b)); break;
      case Opcode::Popc: d = static_cast<std::uint32_t>(std::popcount(a)); break;
      case Opcode::Brev: {
        std::uint32_t r = 0;
        for (unsigned bit = 0; bit < 32; ++bit) r |= ((a >> bit) & 1U) << (31 - bit);
        d = r;
        break;
      }
      case Opcode::Sad: {
        const auto x = static_cast<std::int32_t>(a);
        const auto y = static_cast<std::int32_t>(b);
        d = static_cast<std::uint32_t>(i.type == Type::S32 ? std::abs(x - y) : (a > b ? a - b : b - a)) +
            get(i.src[2]);
        break;
      }
      case Opcode::Bfe: {
        const std::uint32_t width = get(i.src[2]);
        std::uint32_t field = (a >> b) & ((1U << width) - 1);
        if (i.type == Type::S32 && (field >> (width - 1)) != 0) field |= ~((1U << width) - 1);
        d = field;
        break;
      }
      case Opcode::Bfi: {
        const std::uint32_t at = get(i.src[2]);
        const std::uint32_t mask = ((1U << get(i.src[3])) - 1) << at;
        d = (b & ~mask) | ((a << at) & mask);
        break;
      }
      case Opcode::Unpack:
        reg[i.dst[1].reg] = a >> 16U;
        reg[i.dst[0].reg] = a & 0xffffU;
        break;
      case Opcode::Pack: d = (b << 16U) | (a & 0xffffU); break;
      case Opcode::Max: {
        const bool first =
            i.type == Type::S16 ? static_cast<std::int16_t>(a) > static_cast<std::int16_t>(b) : a > b;
        d = (first ? a : b) & 0xffffU;
        break;
      }
      case Opcode::Selp: d = pred[i.src[2].reg] ? a : b; break;
      default: ADD_FAILURE() << isa::name(i.op); break;
    }
  }
};

std::uint32_t find_nth_set(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
  if (offset == 0) return ((mask >> base) & 1U) != 0 ? base : 0xffff'ffffU;
  int left = std::abs(offset);
  for (int bit = static_cast<int>(base); bit >= 0 && bit<32; bit += offset> 0 ? 1 : -1) {
    if (((mask >> bit) & 1U) != 0 && --left == 0) return static_cast<std::uint32_t>(bit);
  }
  return 0xffff'ffffU;
}

TEST(ParseInstruction, FnsIsABinarySearch) {
  for (const std::uint32_t mask : {0U, 1U, 0x8000'0000U, 0xffff'ffffU, 0x1234'5678U, 0xa5a5'00ffU}) {
    for (std::uint32_t base = 0; base < 32; ++base) {
      for (int offset = -33; offset <= 33; ++offset) {
        Interpreter machine;
        machine.run(parsed_kernel(fmt::format("fns.b32 %r1, {}, {}, {};", mask, base, offset)));
        const isa::Function f = parsed_kernel("fns.b32 %r1, 1, 1, 1;");
        EXPECT_EQ(machine.reg[f.code.back().dst[0].reg], find_nth_set(mask, base, offset))
            << mask << " " << base << " " << offset;
      }
    }
  }
}

std::uint32_t run(const std::string& text) {
  Interpreter machine;
  const isa::Function f = parsed_kernel(text);
  machine.run(f);
  return machine.reg[f.code.back().dst[0].reg];
}

TEST(ParseInstruction, PackedIntegersWorkByHalves) {
  EXPECT_EQ(run("add.u16x2 %r1, 0x0001ffff, 0x00020001;"), 0x0003'0000U);
  EXPECT_EQ(run("max.s16x2 %r1, 0xffff0005, 0x00010003;"), 0x0001'0005U);
  EXPECT_EQ(run("max.u16x2 %r1, 0xffff0005, 0x00010003;"), 0xffff'0005U);
  EXPECT_EQ(run("max.s16x2.relu %r1, 0xffff0005, 0xfff00003;"), 0x0000'0005U);
  EXPECT_THROW(parsed_kernel("mul.lo.s16x2 %r1, %r2, %r3;"), UserError);
}

TEST(ParseInstruction, SumsOfAbsoluteDifferences) {
  EXPECT_EQ(run("vabsdiff4.u32.u32.u32.add %r1, 0x01020304, 0x04030201, 100;"), 108U);
  EXPECT_EQ(run("vabsdiff4.u32.u32.u32 %r1, 0x010203ff, 0x04030200, 0;"), 0x0301'01ffU);
  EXPECT_EQ(run("vabsdiff4.s32.s32.s32.add %r1, 0x000000ff, 0x00000001, 0;"), 2U);
  EXPECT_EQ(run("vabsdiff2.u32.u32.u32 %r1, 0x00010005, 0x00030001, 0;"), 0x0002'0004U);
}

TEST(ParseInstruction, ReluClampsTheResult) {
  const isa::Function f = parsed_kernel("@%p1 fma.rn.relu.f16x2 %r1, %r2, %r3, %r4;");
  ASSERT_EQ(f.code.size(), 2U);
  EXPECT_EQ(f.code[1].op, Opcode::Max);
  EXPECT_EQ(f.code[1].type, Type::F16x2);
  EXPECT_TRUE(f.code[1].nan);
  EXPECT_EQ(f.code[1].guard, f.code[0].guard);
  EXPECT_EQ(f.code[1].dst[0], f.code[0].dst[0]);
}

TEST(ParseInstruction, VectorAtomicsAreOnePerElement) {
  const isa::Function f = parsed_kernel("atom.global.add.v2.f32 {%f1, %f2}, [%rd1+8], {%f2, %f1};");
  ASSERT_EQ(f.code.size(), 4U);
  EXPECT_EQ(f.code[0].offset, 8);
  EXPECT_EQ(f.code[1].offset, 12);
  EXPECT_EQ(f.code[2].op, Opcode::Mov);
  EXPECT_EQ(f.code[2].src[0], f.code[0].dst[0]);
  EXPECT_EQ(f.code[2].dst[0], f.code[1].src[1]);
  EXPECT_EQ(parsed_kernel("red.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};").code.size(), 4U);
}

TEST(ParseInstruction, BmskMakesMasks) {
  EXPECT_EQ(run("bmsk.clamp.b32 %r1, 4, 8;"), 0xff0U);
  EXPECT_EQ(run("bmsk.clamp.b32 %r1, 0, 32;"), 0xffff'ffffU);
  EXPECT_EQ(run("bmsk.clamp.b32 %r1, 30, 8;"), 0xc000'0000U);
  EXPECT_EQ(run("bmsk.clamp.b32 %r1, 32, 8;"), 0U);
  EXPECT_EQ(run("bmsk.clamp.b32 %r1, 3, 0;"), 0U);
  EXPECT_EQ(run("bmsk.wrap.b32 %r1, 36, 33;"), 0x10U);
}

}  // namespace
}  // namespace gpumux
