// Every opcode form that nvcc emits for public suites, with optimisation, fast math, -G and newer features,
// and related forms of the same families (tests/ptx/data/opcode_forms.txt).
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "isa/timing_class.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

constexpr const char* kBefore = R"(
.version 9.0
.target sm_90
.address_size 64
.const .align 8 .b8 bank[64];
.extern .func (.param .b32 r) callee(.param .align 16 .b8 a[32]);
.func other(.param .align 16 .b8 parameter[32])
{
  .reg .pred %p<9>;
  .reg .b16 %rs<9>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .reg .f32 %f<9>;
  .reg .f64 %fd<9>;
  .param .align 16 .b8 slot[32];
  .param .b32 slot2;
L:
targets: .branchtargets L, L;
  @%p8 )";

struct Form {
  std::string opcode;
  std::string operands;
  std::string expected;
};

std::vector<Form> read_forms() {
  std::vector<Form> forms;
  const std::string path = GPUMUX_SOURCE_DIR "/tests/ptx/data/opcode_forms.txt";
  for (const std::string& line : split(read_file(path), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = split(line, '|');
    // Operands may contain '|' (p|q): they are all between the first and the last column.
    Form form{std::string(trim(parts.front())), "", std::string(trim(parts.back()))};
    const std::size_t begin = line.find('|') + 1;
    form.operands = std::string(trim(std::string_view(line).substr(begin, line.rfind('|') - begin)));
    forms.push_back(form);
  }
  return forms;
}

TEST(ParseForms, EveryOpcodeFormGivesTheExpectedInstruction) {
  const std::vector<Form> forms = read_forms();
  ASSERT_GT(forms.size(), 500U);
  for (const Form& form : forms) {
    const std::string text = kBefore + form.opcode + " " + form.operands + ";\n}\n";
    isa::Module module;
    try {
      module = ptx::parse(text, "form.ptx");
    } catch (const UserError& error) {
      ADD_FAILURE() << form.opcode << ": " << error.what();
      continue;
    }
    const isa::Function& function = module.functions.at(0);
    const isa::Instruction& inst = function.code.back();
    EXPECT_EQ(fmt::format("{} {} {}", isa::name(inst.op), isa::name(inst.type), isa::name(inst.type2)),
              form.expected)
        << form.opcode;
    EXPECT_EQ(inst.guard.kind, isa::Operand::Kind::Pred) << form.opcode;
    EXPECT_EQ(inst.line, 19U);
    // The disassembly and the timing model know it as well.
    EXPECT_FALSE(isa::to_text(module, function, inst).empty());
    EXPECT_LE(isa::classify(inst).num_src, 20);
  }
}

}  // namespace
}  // namespace gpumux
