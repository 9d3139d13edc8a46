// Declarations, layouts, scopes, labels and calls, worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptx/parse.hpp"

namespace gpumux {
namespace {

using isa::Function;
using isa::Instruction;
using isa::Module;
using isa::Opcode;
using isa::Operand;
using isa::Symbol;

Module parse(const std::string& text) {
  return ptx::parse(".version 9.0\n.target sm_75\n.address_size 64\n" + text, "m.ptx");
}

const Symbol& symbol(const Module& module, const std::string& name) {
  for (const Symbol& s : module.symbols) {
    if (s.name == name) return s;
  }
  throw std::runtime_error("no symbol " + name);
}

std::vector<int> bytes(const std::string& text) {
  std::vector<int> values;
  for (const char c : text) values.push_back(static_cast<unsigned char>(c));
  return values;
}

TEST(ParseModule, HeaderAndKernelDirectives) {
  const Module module = ptx::parse(
      "//\n/* two\nlines */ .version 8.7 .target sm_100a, debug .address_size 64\n"
      ".file 1 \"a.cu\", 12, 34\n"
      ".weak .entry k() .maxntid 32, 4, 2 .minnctapersm 3 .maxnreg 40\n.pragma \"nounroll\";\n{ ret; }\n"
      ".visible .entry l() .reqntid 96 { .loc 1 2 3, function_name $L__info + 4, inlined_at 1 5 6\n exit; }\n"
      ".section .debug_str { .b8 1, 2\n $L__info: .b8 0 }\n",
      "m.ptx");
  EXPECT_EQ(module.version_major, 8U);
  EXPECT_EQ(module.version_minor, 7U);
  EXPECT_EQ(module.sm, 100U);
  const Function* k = module.find("k");
  ASSERT_NE(k, nullptr);
  EXPECT_TRUE(k->is_kernel);
  EXPECT_EQ(k->max_threads, 256U);
  EXPECT_EQ(k->min_blocks_per_sm, 3U);
  EXPECT_EQ(k->max_registers, 40U);
  EXPECT_EQ(k->where.line, 5U);
  EXPECT_EQ(module.find("l")->max_threads, 96U);
  EXPECT_EQ(module.find("m"), nullptr);
}

TEST(ParseModule, BoundsThatNothingReachesBoundNothing) {
  const Module module = parse(".entry k() .maxntid 2048 .minnctapersm 100 .maxnreg 70000 { ret; }");
  EXPECT_EQ(module.functions[0].max_threads, 0U);
  EXPECT_EQ(module.functions[0].min_blocks_per_sm, 0U);
  EXPECT_EQ(module.functions[0].max_registers, 0U);
}

TEST(ParseModule, APrototypeEndsAtTheNextDeclaration) {
  const std::string prototype = ".visible .func (.param .u32 r) f(.param .u32 a)\n";
  const std::string body = "{ ret; }\n";
  for (const char* next : {".global .u32 g;\n", ".shared .u32 s;\n", ".func other;\n",
                           ".entry k() { ret; }\n", ".extern .func f2\n", ";", ""}) {
    std::string text = prototype;
    for (const std::string& part : {std::string(next), prototype, body, prototype}) text += part;
    const Module module = parse(text);
    EXPECT_NE(module.find("f"), nullptr) << next;
  }
}

TEST(ParseModule, VectorVariablesAndReferences) {
  const Module module = parse(
      ".global .v2 .u32 pair = {1, 2};\n.global .v4 .u8 quads[2];\n.shared .b128 wide[3];\n"
      ".global .texref t, u;\n.global .surfref s;\n");
  EXPECT_EQ(symbol(module, "pair").bytes, 8U);
  EXPECT_EQ(symbol(module, "pair").align, 8U);
  EXPECT_EQ(bytes(symbol(module, "pair").initial), (std::vector<int>{1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(symbol(module, "quads").bytes, 8U);
  EXPECT_EQ(symbol(module, "quads").align, 4U);
  EXPECT_EQ(symbol(module, "wide").bytes, 48U);
  EXPECT_EQ(symbol(module, "wide").align, 16U);
  for (const char* name : {"t", "u", "s"}) EXPECT_TRUE(symbol(module, name).texture) << name;
}

TEST(ParseModule, ParametersInRegistersHaveSlots) {
  const Module module = parse(
      ".func (.reg .u32 r, .reg .pred p) f(.reg .v2 .f32 v, .reg .u16 h, .reg .b128 q, .param .u8 m) { ret; "
      "}");
  const Function& function = module.functions[0];
  const auto sizes = [&function](const std::vector<std::uint32_t>& slots) {
    std::vector<std::uint32_t> all;
    for (const std::uint32_t slot : slots) all.push_back(function.slots[slot].bytes);
    return all;
  };
  EXPECT_EQ(sizes(function.result_slots), (std::vector<std::uint32_t>{4, 4}));
  EXPECT_EQ(sizes(function.argument_slots), (std::vector<std::uint32_t>{8, 2, 16, 1}));
}

TEST(ParseModule, KernelParametersHaveNaturalAlignment) {
  const Module module = parse(
      ".entry k(.param .u64 .ptr .global .align 4 a, .param .u8 b, .param .u32 c,\n"
      "  .param .align 16 .b8 d[40], .param .u16 e, .param .f64 f)\n"
      "{ .reg .b32 %r<2>; .reg .b64 %d; ld.param.u32 %r1, [d+36]; mov.b64 %d, d; ld.param.u32 %r1, [%d+4]; "
      "ret; }");
  const Function& k = module.functions[0];
  std::vector<std::uint32_t> offsets;
  for (const isa::Param& param : k.params) offsets.push_back(param.offset);
  EXPECT_EQ(offsets, (std::vector<std::uint32_t>{0, 8, 12, 16, 56, 64}));
  EXPECT_EQ(k.param_bytes, 72U);
  EXPECT_TRUE(k.params[0].is_pointer);
  EXPECT_TRUE(k.params[3].is_array);
  EXPECT_FALSE(k.params[4].is_array);
  EXPECT_EQ(k.code[0].src[0], Operand::constant(16));
  EXPECT_EQ(k.code[0].offset, 36);
  EXPECT_EQ(k.code[1].src[0], Operand::immediate(16));  // the address in the parameter space
  EXPECT_EQ(k.code[2].src[0], k.code[1].dst[0]);
}

TEST(ParseModule, ConstantBankAndInitialValues) {
  const Module module = parse(
      ".const .align 1 .b8 a[3] = {1, 255, -1};\n"
      ".const .f32 b[2] = {0f3F800000, -2.5};\n"
      ".const .align 8 .f64 c = 0d4000000000000000;\n"
      ".const .u16 d[2][2] = {{1, 2}, {3}};\n"
      ".global .s32 e = -2;\n.global .b8 f[] = {7, 8};\n.global .b64 g[4];\n.global .f32 h = 3;\n");
  EXPECT_EQ(symbol(module, "a").address, 0U);
  EXPECT_EQ(symbol(module, "b").address, 4U);
  EXPECT_EQ(symbol(module, "c").address, 16U);
  EXPECT_EQ(symbol(module, "d").address, 24U);
  EXPECT_EQ(bytes(module.const_bank),
            (std::vector<int>{1, 255, 255, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 0, 0, 0, 0,
                              0, 0,   0,   0, 0, 0, 0,    0x40, 1, 0, 2,    0,    3, 0, 0, 0}));
  EXPECT_EQ(bytes(symbol(module, "e").initial), (std::vector<int>{0xfe, 255, 255, 255}));
  EXPECT_EQ(symbol(module, "f").bytes, 2U);
  EXPECT_EQ(symbol(module, "g").bytes, 32U);
  EXPECT_TRUE(symbol(module, "g").initial.empty());
  EXPECT_EQ(bytes(symbol(module, "h").initial), (std::vector<int>{0, 0, 0x40, 0x40}));
}

TEST(ParseModule, AddressesAsInitialValues) {
  const Module module = parse(
      ".global .b32 x[8];\n.func f() ;\n"
      ".global .u64 p[4] = {generic(x)+8, x+4, 5, f};\n"
      ".global .align 8 .b8 q[16] = {1, 0, 0, 0, 0, 0, 0, 0, 0xFF(generic(x)), 0xFF00(generic(x)), "
      "0xFF0000(generic(x)), 0xFF000000(generic(x)), 0xFF00000000(generic(x)), 0xFF0000000000(generic(x)), "
      "0xFF000000000000(generic(x)), 0xFF00000000000000(generic(x))};\n"
      ".global .attribute(.managed) .align 4 .u32 m = 3;\n"
      ".func f() { ret; }\n");
  const Symbol& p = symbol(module, "p");
  ASSERT_EQ(p.relocations.size(), 3U);
  EXPECT_EQ(p.relocations[0].offset, 0U);
  EXPECT_EQ(p.relocations[0].addend, 8U);
  EXPECT_TRUE(p.relocations[0].generic);
  EXPECT_EQ(module.symbols[p.relocations[0].symbol].name, "x");
  EXPECT_EQ(p.relocations[1].offset, 8U);
  EXPECT_EQ(p.relocations[1].addend, 4U);
  EXPECT_FALSE(p.relocations[1].generic);
  EXPECT_EQ(p.relocations[2].offset, 24U);
  const Symbol& f = module.symbols[p.relocations[2].symbol];
  EXPECT_EQ(f.kind, Symbol::Kind::Function);
  EXPECT_EQ(module.functions[f.function].name, "f");
  EXPECT_EQ(p.initial.size(), 32U);
  EXPECT_EQ(p.initial[16], 5);
  const Symbol& q = symbol(module, "q");
  ASSERT_EQ(q.relocations.size(), 1U);
  EXPECT_EQ(q.relocations[0].offset, 8U);
  EXPECT_EQ(q.initial.size(), 16U);
  EXPECT_TRUE(symbol(module, "m").managed);
}

TEST(ParseModule, SharedVariablesOfOneKernelAreDisjointAndOfTwoOverlap) {
  const Module module = parse(
      ".shared .align 4 .b8 both[100];\n.shared .align 8 .b8 through_call[16];\n.shared .align 4 .b8 "
      "unused[4096];\n"
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".func helper() { .reg .b32 r; ld.shared.b32 r, [through_call]; ret; }\n"
      ".entry a() { .shared .align 16 .b8 mine[32]; .reg .b32 r; mov.b32 r, both; ld.shared.b32 r, "
      "[mine+4];\n"
      "  call helper; ret; }\n"
      ".entry b() { .shared .align 4 .b8 other[8]; .reg .b32 r; mov.u32 r, both; mov.u32 r, other; mov.u32 "
      "r, "
      "dynamic; ret; }\n"
      ".entry c() { ret; }\n");
  // In order of declaration: both (a, b) 0..100, through_call (a) 104..120, mine (a) 128..160,
  // other (b) 100..108.
  EXPECT_EQ(symbol(module, "both").address, 0U);
  EXPECT_EQ(symbol(module, "through_call").address, 104U);
  EXPECT_EQ(symbol(module, "mine").address, 128U);
  EXPECT_EQ(symbol(module, "other").address, 100U);
  EXPECT_EQ(module.find("a")->shared_bytes, 160U);
  EXPECT_EQ(module.find("b")->shared_bytes, 112U);  // 108, rounded up for `dynamic`
  EXPECT_EQ(module.find("c")->shared_bytes, 0U);
  EXPECT_FALSE(module.find("a")->uses_dynamic_shared);
  EXPECT_TRUE(module.find("b")->uses_dynamic_shared);
  EXPECT_EQ(symbol(module, "dynamic").address, 112U);
  EXPECT_EQ(symbol(module, "dynamic").kind, Symbol::Kind::ExternShared);
  EXPECT_TRUE(symbol(module, "mine").in_function);
  EXPECT_EQ(module.functions[symbol(module, "mine").function].name, "a");
  EXPECT_FALSE(symbol(module, "both").in_function);
}

TEST(ParseModule, SharedSizesThatPtxasReports) {
  const auto size = [](const std::string& variables, const std::string& names) {
    std::string text = ".extern .shared .align 16 .b8 e[];\n.entry k() { .reg .b32 r; " + variables;
    for (const char name : names) text += fmt::format(" mov.u32 r, {};", name);
    return parse(text + " ret; }").functions[0].shared_bytes;
  };
  EXPECT_EQ(size(".shared .align 4 .b8 a[4]; .shared .align 8 .b8 b[8];", "ab"), 16U);
  EXPECT_EQ(size(".shared .align 4 .b8 a[4]; .shared .align 8 .b8 b[8]; .shared .align 4 .b8 c[4];", "cab"),
            20U);
  EXPECT_EQ(size(".shared .align 16 .b8 a[16]; .shared .align 4 .b8 b[4];", "ab"), 20U);
  EXPECT_EQ(size(".shared .align 4 .b8 a[4]; .shared .align 16 .b8 b[16]; .shared .align 4 .b8 c[4]; "
                 ".shared .align 8 .b8 d[8];",
                 "abcd"),
            48U);
  EXPECT_EQ(size(".shared .align 1 .b8 a[5]; .shared .align 4 .b8 b[4];", "ab"), 12U);
  EXPECT_EQ(size(".shared .align 4 .b8 a[4];", "ae"), 16U);
}

TEST(ParseModule, IndirectCallsReachEveryFunctionWhoseAddressIsTaken) {
  const Module module = parse(
      ".shared .b8 s[64];\n.func f() { .reg .b32 r; mov.u32 r, s; ret; }\n.global .u64 table = f;\n"
      ".entry k() { .reg .b64 p; ld.global.u64 p, [table]; proto: .callprototype _ (); call p, (), proto; "
      "ret; }\n");
  EXPECT_EQ(module.find("k")->shared_bytes, 64U);
}

TEST(ParseModule, ReservedSharedMemoryTakesAKibibyteOfKernelsThatUseIt) {
  const Module module = parse(
      ".entry k() { .reg .b32 r; mov.u32 r, %reserved_smem_offset_1; mov.u32 r, %reserved_smem_offset_end; "
      "ret; }\n"
      ".entry l() { ret; }\n");
  EXPECT_EQ(module.find("k")->shared_bytes, 1024U);
  EXPECT_EQ(module.find("l")->shared_bytes, 0U);
  EXPECT_EQ(module.functions[0].code[1].src[0].imm, 1024U);
}

TEST(ParseModule, LocalFrame) {
  const Module module = parse(
      ".entry k() { .local .align 4 .b8 a[5]; .local .align 16 .b8 b[16]; .reg .b64 d; mov.u64 d, b; ret; "
      "}\n");
  EXPECT_EQ(symbol(module, "a").address, 0U);
  EXPECT_EQ(symbol(module, "b").address, 16U);
  EXPECT_EQ(module.functions[0].local_bytes, 32U);
}

TEST(ParseModule, ScopesRedeclareNames) {
  const Module module = parse(
      ".entry k() { .reg .b32 %r<3>; .reg .b32 t; mov.b32 t, 1; mov.b32 %r2, 2;\n"
      "{ .reg .b64 t; .reg .pred %r<4>; mov.b64 t, 3; mov.pred %r3, 1; { .reg .b32 t; mov.b32 t, 4; } "
      "mov.b64 t, 5; }\n"
      "mov.b32 t, %r2; .reg .b32 %r1_<5>; mov.b32 %r1_4, %r1; ret; }\n");
  const Function& k = module.functions[0];
  EXPECT_EQ(k.code[0].dst[0], k.code[6].dst[0]);
  EXPECT_EQ(k.code[1].dst[0], k.code[6].src[0]);
  EXPECT_EQ(k.code[2].dst[0].kind, Operand::Kind::Reg64);
  EXPECT_EQ(k.code[3].dst[0].kind, Operand::Kind::Pred);
  EXPECT_EQ(k.code[4].dst[0].kind, Operand::Kind::Reg32);
  EXPECT_NE(k.code[4].dst[0], k.code[0].dst[0]);
  EXPECT_EQ(k.code[5].dst[0], k.code[2].dst[0]);
  // A range costs only what is used: t, %r2, the inner t, %r1_4 and %r1.
  EXPECT_EQ(k.num_reg32, 5U);
  EXPECT_EQ(k.num_reg64, 1U);
  EXPECT_EQ(k.num_pred, 1U);
}

TEST(ParseModule, LabelsAreLocalToTheirScopeAndKeptOnlyWhereUsed) {
  const Module module = parse(
      ".entry k() { .reg .pred p; .reg .b32 r; $unused: @!p bra.uni out; { again: @p bra again; bra out; }\n"
      "{ again: @p bra again; } out: ts: .branchtargets out, last; brx.idx r, ts; last: ret; }\n");
  const Function& k = module.functions[0];
  std::vector<std::string> shape;
  for (const Instruction& inst : k.code) {
    const bool named = inst.op == Opcode::Label || inst.op == Opcode::Bra;
    shape.push_back(named ? fmt::format("{} {}", isa::name(inst.op), inst.target) : isa::name(inst.op));
  }
  EXPECT_EQ(shape, (std::vector<std::string>{"bra 3", "label 1", "bra 1", "bra 3", "label 2", "bra 2",
                                             "label 3", "brx.idx", "label 4", "ret"}));
  EXPECT_EQ(k.labels, (std::vector<std::string>{"$unused", "again", "again", "out", "last"}));
  EXPECT_EQ(k.branch_tables, (std::vector<std::vector<std::uint32_t>>{{3, 4}}));
  EXPECT_TRUE(k.code[0].uniform);
  EXPECT_TRUE(k.code[0].guard.negate);
  EXPECT_FALSE(k.code[2].guard.negate);
}

TEST(ParseModule, CallsPassSlots) {
  const Module module = parse(
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".func (.param .align 8 .b8 out[16]) f(.param .b32 x, .param .align 4 .b8 y[8]) .noreturn ;\n"
      ".alias g, f;\n"
      ".entry k() { .reg .b64 p; .reg .b32 %r<3>;\n"
      "{ .param .b32 param0; st.param.b32 [param0+0], 3; .param .align 4 .b8 param1[8]; st.param.v2.b32 "
      "[param1],\n"
      " {%r1, %r2}; .param .align 8 .b8 retval0[16]; call.uni (retval0), f, (param0, param1);\n"
      " ld.param.b64 p, [retval0+8]; }\n"
      "{ .param .b64 param0; .param .b64 param1; .param .b32 retval0; call (retval0), vprintf, (param0, "
      "param1); }\n"
      "ret; }\n"
      ".func (.param .align 8 .b8 out[16]) f(.param .b32 x, .param .align 4 .b8 y[8])\n"
      "{ .reg .b32 r; .reg .b64 d; ld.param.b32 r, [y+4]; st.param.b64 [out+8], d; ret; }\n");
  const Function& k = *module.find("k");
  ASSERT_EQ(k.calls.size(), 2U);
  EXPECT_EQ(k.calls[0].callee, "f");
  EXPECT_EQ(k.calls[0].arguments, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(k.calls[0].results, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(k.calls[1].callee, "vprintf");
  EXPECT_EQ(k.calls[1].arguments, (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(k.slots[2].bytes, 16U);
  EXPECT_EQ(k.code[0].src[0], Operand::immediate(0));
  EXPECT_EQ(k.code[0].src[1], Operand::immediate(3));
  EXPECT_EQ(k.code[1].vector, 2);
  EXPECT_EQ(k.code[3].src[0], Operand::immediate(2));
  EXPECT_EQ(k.code[3].offset, 8);
  const Function& f = *module.find("f");
  EXPECT_FALSE(f.is_kernel);
  EXPECT_EQ(f.result_slots, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(f.argument_slots, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(f.code[0].src[0], Operand::immediate(2));
  EXPECT_EQ(module.functions.size(), 2U);  // declarations are not functions
}

TEST(ParseModule, IndirectCallsNameARegister) {
  const Module module = parse(
      ".func (.param .b32 r) f(.param .b32 x) { ret; }\n"
      ".entry k() { .reg .b64 p; mov.u64 p, f; { .param .b32 param0; .param .b32 retval0;\n"
      "prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "call (retval0), \n p, \n (\n param0 \n )\n , prototype_0; } ret; }\n");
  const Function& k = *module.find("k");
  EXPECT_EQ(k.code[0].src[0].kind, Operand::Kind::Symbol);
  EXPECT_EQ(module.symbols[k.code[0].src[0].reg].function, 0U);
  EXPECT_TRUE(k.calls[0].callee.empty());
  EXPECT_EQ(k.calls[0].pointer, k.code[0].dst[0]);
}

}  // namespace
}  // namespace gpumux
