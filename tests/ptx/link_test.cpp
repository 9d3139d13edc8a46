// Several relocatable translation units in one text: names, definitions and declarations, worked out by hand.
#include <gtest/gtest.h>

#include "ptx/compile.hpp"
#include "ptx/link.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

using isa::Module;
using isa::Symbol;

std::string linked(const std::vector<std::string>& units) {
  std::vector<ptx::Unit> all;
  for (const std::string& unit : units)
    all.push_back(
        {"u" + std::to_string(all.size() + 1), ".version 9.0\n.target sm_80\n.address_size 64\n" + unit});
  return ptx::link(all);
}
Module linked_module(const std::vector<std::string>& units) { return ptx::parse(linked(units), "l.ptx"); }

std::vector<const Symbol*> symbols(const Module& module, const std::string& name) {
  std::vector<const Symbol*> found;
  for (const Symbol& symbol : module.symbols)
    if (symbol.name == name) found.push_back(&symbol);
  return found;
}
int first_byte(const Symbol& symbol) {
  return symbol.initial.empty() ? 0 : static_cast<unsigned char>(symbol.initial[0]);
}

void expect_error(const std::vector<std::string>& units, const std::string& text) {
  try {
    linked(units);
    ADD_FAILURE() << "no error: " << text;
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Link, ADefinitionServesAllUnits) {
  const Module module = linked_module({
      ".extern .global .align 4 .u32 x;\n.extern .global .align 4 .b8 open[];\n"
      ".extern .func (.param .b32 r) f(.param .b32 a);\n"
      ".visible .global .align 8 .u64 pointer = generic(x);\n"
      ".visible .global .align 8 .u64 function = f;\n"
      ".visible .entry k(.param .u64 p) { .reg .b32 %r<3>; ld.global.u32 %r1, [x]; ld.global.u32 %r2, "
      "[open+4];\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), f, (a); } ret; }\n",
      ".visible .global .align 4 .u32 x = 3;\n.visible .global .align 4 .b8 open[8] = {1};\n"
      ".visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r1, [a];\n"
      "st.param.b32 [r], %r1; ret; }\n",
  });
  ASSERT_EQ(symbols(module, "x").size(), 1U);
  EXPECT_EQ(first_byte(*symbols(module, "x")[0]), 3);
  ASSERT_EQ(symbols(module, "open").size(), 1U);
  EXPECT_EQ(symbols(module, "open")[0]->bytes, 8U);
  const Symbol& pointer = *symbols(module, "pointer")[0];
  ASSERT_EQ(pointer.relocations.size(), 1U);
  EXPECT_EQ(module.symbols[pointer.relocations[0].symbol].name, "x");
  ASSERT_EQ(module.functions.size(), 2U);
  EXPECT_EQ(module.functions[symbols(module, "f")[0]->function].name, "f");
  EXPECT_NO_THROW(static_cast<void>(ptx::compile(module, *module.find("k"), {})));
}

TEST(Link, PrototypesWithoutAnEndAndVectorVariables) {
  const Module module = linked_module(
      {".func (.reg .u32 r) plus(.reg .u32 a)\n.visible .global .v2 .u32 pair = {1, 2};\n"
       ".visible .entry k() { .reg .u32 %r; call (%r), plus, (3); ret; }\n"
       ".func (.reg .u32 r) plus(.reg .u32 a) { add.u32 r, a, 1; ret; }\n",
       ".extern .global .v2 .u32 pair;\n.func nothing\n.visible .entry l() { .reg .u64 a; mov.u64 "
       "a, pair; call nothing; "
       "ret; }\n.func nothing { ret; }\n"});
  EXPECT_NE(module.find("k"), nullptr);
  EXPECT_NE(module.find("l"), nullptr);
  EXPECT_EQ(module.functions.size(), 4U);
}

TEST(Link, VersionAndTargetAreTheHighest) {
  const std::string text = ptx::link(std::vector<ptx::Unit>{
      {"a", ".version 8.5\n.target sm_90a\n.visible .entry k() { ret; }"},
      {"b", ".version 8.10\n.target sm_75, debug\n.visible .entry l() { ret; }"},
  });
  EXPECT_EQ(text.find(".version 8.10\n.target sm_90a, debug\n.address_size 64\n"), 0U) << text;
  EXPECT_EQ(ptx::parse(text, "l").functions.size(), 2U);
}

TEST(Link, VisibleGoesBeforeWeakAndTheFirstWeakIsKept) {
  const std::string first =
      ".weak .global .align 4 .u32 v = 1;\n.weak .global .align 4 .u32 w = 1;\n"
      ".weak .func f() { trap; }\n.visible .entry k() { call f; ret; }\n";
  const std::string second =
      ".visible .global .align 4 .u32 v = 2;\n.weak .global .align 4 .u32 w = 2;\n"
      ".weak .func f() { ret; ret; }\n";
  for (const bool turned : {false, true}) {
    const Module module = turned ? linked_module({second, first}) : linked_module({first, second});
    ASSERT_EQ(symbols(module, "v").size(), 1U);
    EXPECT_EQ(first_byte(*symbols(module, "v")[0]), 2);
    ASSERT_EQ(symbols(module, "w").size(), 1U);
    EXPECT_EQ(first_byte(*symbols(module, "w")[0]), turned ? 2 : 1);
    EXPECT_EQ(module.find("f")->code.size(), turned ? 2U : 1U);
  }
}

TEST(Link, CommonIsTheLargestOrADefinition) {
  const std::vector<std::string> commons = {".common .global .align 4 .b8 c[8];\n",
                                            ".common .global .align 4 .b8 c[12];\n",
                                            ".common .global .align 4 .b8 c[4];\n"};
  EXPECT_EQ(symbols(linked_module(commons), "c")[0]->bytes, 12U);
  std::vector<std::string> defined = commons;
  defined.push_back(".visible .global .align 4 .b8 c[4] = {5};\n");
  const Module module = linked_module(defined);
  ASSERT_EQ(symbols(module, "c").size(), 1U);
  EXPECT_EQ(first_byte(*symbols(module, "c")[0]), 5);
}

TEST(Link, NamesOfOneUnitStayApart) {
  const std::string unit =
      ".global .align 1 .b8 $str[2] = {N};\n.func add() { .reg .b32 %r<3>; add.s32 %r1, %r2, 1;\n"
      "ld.global.u8 %r1, [$str+1]; ret; }\n.visible .entry kN() { call add; ret; }\n";
  const auto numbered = [&](const std::string& n) {
    std::string text = unit;
    for (std::size_t at = 0; (at = text.find('N', at)) != std::string::npos;) text.replace(at, 1, n);
    return text;
  };
  // The third has what the second's would be called, and what is visible keeps its name wherever it stands.
  const Module module =
      linked_module({numbered("1"), numbered("2"), ".global .align 1 .b8 $str$1[2] = {3};\n",
                     ".visible .global .align 1 .b8 add[1] = {9};\n"});
  EXPECT_EQ(first_byte(*symbols(module, "$str")[0]), 1);
  EXPECT_EQ(first_byte(*symbols(module, "$str$1")[0]), 3);
  ASSERT_EQ(symbols(module, "$str$2").size(), 1U);
  EXPECT_EQ(first_byte(*symbols(module, "$str$2")[0]), 2);
  EXPECT_EQ(first_byte(*symbols(module, "add")[0]), 9);
  EXPECT_EQ(module.find("k1")->calls[0].callee, "add$1");
  EXPECT_EQ(module.find("k2")->calls[0].callee, "add$2");
  const isa::Operand& address = module.find("add$2")->code[1].src[0];
  EXPECT_EQ(module.symbols[address.reg].name, "$str$2");
}

TEST(Link, DynamicSharedMemoryHasTheLargestAlignment) {
  const std::string body = " { .reg .b32 %r<2>; mov.u32 %r1, s; st.shared.u32 [%r1], 1; ret; }\n";
  const Module module = linked_module({".extern .shared .align 4 .b8 s[];\n.visible .entry k()" + body,
                                       ".extern .shared .align 16 .b8 s[];\n.visible .entry l()" + body});
  ASSERT_EQ(symbols(module, "s").size(), 1U);
  EXPECT_EQ(symbols(module, "s")[0]->align, 16U);
  EXPECT_EQ(symbols(module, "s")[0]->kind, Symbol::Kind::ExternShared);
}

TEST(Link, AliasesAndKernelsStandOnce) {
  const std::string unit =
      ".weak .func g();\n.weak .func f() { ret; }\n.alias g, f;\n.weak .entry t() .maxntid 64 { call g; ret; "
      "}\n";
  const Module module = linked_module({unit, unit});
  EXPECT_EQ(module.functions.size(), 2U);
  EXPECT_EQ(module.find("t")->calls[0].callee, "f");
  EXPECT_EQ(module.find("t")->max_threads, 64U);
}

TEST(Link, SourceLinesAreThoseOfTheirFiles) {
  const auto unit = [](const std::string& kernel, const std::string& file) {
    return ".visible .entry " + kernel +
           "() {\n.loc 1 7 3, function_name $L__info+4, inlined_at 2 8 1\nexit;\n}\n" + ".file 1 \"" + file +
           "\"\n.file 2 \"" + file + "h\", 12, 34\n" + ".section .debug_str { $L__info: .b8 0 }\n";
  };
  const Module module = linked_module({unit("k", "a.cu"), unit("l", "b.cu")});
  EXPECT_NE(module.place(module.find("k")->code[0].line).find("a.cuh:8 > a.cu:7"), std::string::npos)
      << module.place(module.find("k")->code[0].line);
  EXPECT_NE(module.place(module.find("l")->code[0].line).find("b.cuh:8 > b.cu:7"), std::string::npos)
      << module.place(module.find("l")->code[0].line);
}

TEST(Link, ErrorsNameTheUnits) {
  expect_error({".visible .global .align 4 .u32 x;", "\n.visible .global .align 4 .u32 x;"},
               "u2:5:32: error: 'x' is defined here and in line 4 of u1");
  expect_error({".visible .func f() { ret; }", ".visible .func f() { ret; }"},
               "'f' is defined here and in line 4 of u1");
  expect_error(
      {".extern .const .align 4 .u32 x;\n.visible .entry k() { .reg .u32 %r1; ld.const.u32 %r1, [x]; }", ""},
      "u1:4:30: error: variable 'x' is used, but none of the 2 translation units defines it");
  expect_error({".visible .func f() { ret; }", ".extern .global .u32 f;"},
               "'f' is a variable here, and none in line 4 of u1");
  expect_error({".visible .func f() { ret;", ""}, "u1:4:26: error: the text ends too early");
  expect_error({"", ".visible .local .u32 x;"}, "u2:4:10: error: unknown directive '.local'");
  expect_error({"", ".visible .global .u32 x, y;"}, "several variables in one declaration");
  EXPECT_NO_THROW(linked_module({".extern .const .align 4 .u32 unused;", ""}));
}

/// A function that is nowhere is an error of the kernels that call it.
TEST(Link, WhatNoUnitDefinesIsAnErrorOfItsCallers) {
  const Module module =
      linked_module({".extern .func f();\n.visible .entry k() { call f; ret; }\n.visible .entry l() { ret; }",
                     ".extern .func f();\n.extern .func cudaGetDevice();\n.visible .entry m() { call "
                     "cudaGetDevice; ret; }"});
  EXPECT_NO_THROW(static_cast<void>(ptx::compile(module, *module.find("l"), {})));
  const auto error_of = [&](const char* kernel) -> std::string {
    try {
      (void)ptx::compile(module, *module.find(kernel), {});
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_NE(error_of("k").find("call to 'f'"), std::string::npos) << error_of("k");
  EXPECT_NE(error_of("m").find("'cudaGetDevice': CUDA's run time within kernels"), std::string::npos)
      << error_of("m");
}

}  // namespace
}  // namespace gpumux
