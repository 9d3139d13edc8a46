// Whole files: nvcc's PTX of the probes in both dialects, with -G, -lineinfo and fast math, and truncated
// files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "isa/timing_class.hpp"
#include "ptx/lexer.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

std::vector<std::string> probes() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(GPUMUX_SOURCE_DIR "/tests/ptx/data")) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ParseFiles, EveryProbeParsesAndHasATimingTable) {
  const std::vector<std::string> files = probes();
  ASSERT_GE(files.size(), 10U);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const isa::Module module = ptx::parse(read_file(file), file);
    EXPECT_FALSE(module.functions.empty());
    for (const isa::Function& function : module.functions) {
      EXPECT_EQ(isa::make_static_table(function).size(), function.code.size());
      for (const isa::Instruction& inst : function.code) {
        EXPECT_FALSE(isa::to_text(module, function, inst).empty());
        EXPECT_GT(inst.line, 0U);
        for (const isa::Operand& operand : inst.src) {
          if (operand.kind == isa::Operand::Kind::Reg32) {
            EXPECT_LT(operand.reg, function.num_reg32);
          }
          if (operand.kind == isa::Operand::Kind::Reg64) {
            EXPECT_LT(operand.reg, function.num_reg64);
          }
          if (operand.kind == isa::Operand::Kind::Pred) {
            EXPECT_LT(operand.reg, function.num_pred);
          }
          if (operand.kind == isa::Operand::Kind::Symbol) {
            EXPECT_LT(operand.reg, module.symbols.size());
          }
        }
      }
    }
  }
}

TEST(ParseFiles, BothDialectsGiveTheSameLayouts) {
  const std::string folder = GPUMUX_SOURCE_DIR "/tests/ptx/data/probe_language.";
  const isa::Module a = ptx::parse(read_file(folder + "sm_75.ptx"), "a");
  const isa::Module b = ptx::parse(read_file(folder + "sm_100.ptx"), "b");
  EXPECT_EQ(a.sm, 75U);
  EXPECT_EQ(b.sm, 100U);
  EXPECT_EQ(a.const_bank, b.const_bank);
  unsigned kernels = 0;
  for (const isa::Function& f : a.functions) {
    const isa::Function* g = b.find(f.name);
    ASSERT_NE(g, nullptr) << f.name;
    if (!f.is_kernel) continue;
    ++kernels;
    EXPECT_EQ(f.param_bytes, g->param_bytes) << f.name;
    EXPECT_EQ(f.shared_bytes, g->shared_bytes) << f.name;
    EXPECT_EQ(f.max_threads, g->max_threads) << f.name;
    ASSERT_EQ(f.params.size(), g->params.size()) << f.name;
    for (std::size_t i = 0; i < f.params.size(); ++i) EXPECT_EQ(f.params[i].offset, g->params[i].offset);
  }
  EXPECT_EQ(kernels, 8U);
}

TEST(ParseFiles, SharedMemoryIsWhatPtxasReports) {
  // ptxas -v of probe_language.cu: 512, 512, 1024 and 32 bytes for the reductions, 16 for the
  // counter of 4 bytes before dynamic memory that is aligned to 16.
  const isa::Module module =
      ptx::parse(read_file(GPUMUX_SOURCE_DIR "/tests/ptx/data/probe_language.sm_75.ptx"), "a");
  std::vector<std::uint32_t> sizes;
  for (const isa::Function& f : module.functions) {
    if (f.is_kernel && f.shared_bytes != 0) sizes.push_back(f.shared_bytes);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{512, 512, 1024, 32, 16}));
}

/// A short file with one of nearly everything.
constexpr const char* kSample = R"(.version 9.0
.target sm_75
.address_size 64
.const .align 4 .b8 w[8] = {1, 2, 3, 0xFF};
.global .u64 p[2] = {generic(w)+4, 7};
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 r) f(.param .b32 a);
.visible .entry k(.param .u64 .ptr .align 1 in, .param .align 8 .b8 s[16])
.maxntid 128, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;
  .shared .align 4 .b8 buffer[64]; .local .align 8 .b8 frame[8];
  .loc 1 2 3
  ld.param.u64 %rd1, [in]; cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x; setp.lt.and.s32 %p1|%p2, %r1, -5, !%p1;
  @!%p1 bra $L1;
  ld.global.nc.v2.f32 {%f1, %f2}, [%rd2+-8];
  fma.rn.f32 %f3, %f1, 0f3F800000, 1.5;
  { .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0;
    call.uni (retval0), f, (param0); ld.param.b32 %r2, [retval0+0]; }
  ts: .branchtargets $L1, $L2;
  brx.idx %r2, ts;
$L1: bar.sync 0; .pragma "nounroll";
$L2: shfl.sync.bfly.b32 %r3|%p1, %r2, 16, 31, -1;
  atom.shared.add.u32 %r4, [buffer+4], %r3; mov.b64 {%r5, _}, %rd1;
  ret;
}
.func (.param .b32 r) f(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; st.param.b32 [r], x; ret; }
.section .debug_str { .b8 0 }
)";

TEST(ParseFiles, CutAtEveryTokenIsAUserError) {
  const std::string text = kSample;
  EXPECT_NO_THROW(static_cast<void>(ptx::parse(text, "s.ptx")));
  const std::vector<ptx::Token> tokens = ptx::tokenize(text, "s.ptx");
  // Where a cut leaves a whole file: after the header, between declarations.
  unsigned whole = 0;
  for (const ptx::Token& token : tokens) {
    if (token.kind == ptx::Token::Kind::End) break;
    const std::string cut = text.substr(0, static_cast<std::size_t>(token.text.data() - text.data()));
    try {
      static_cast<void>(ptx::parse(cut, "s.ptx"));
      ++whole;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("s.ptx:", 0), 0U) << error.what();
    }
  }
  EXPECT_LE(whole, 12U);
}

TEST(ParseFiles, ADroppedOrDoubledTokenNeverCrashes) {
  const std::string text = kSample;
  const std::vector<ptx::Token> tokens = ptx::tokenize(text, "s.ptx");
  for (const ptx::Token& token : tokens) {
    if (token.kind == ptx::Token::Kind::End) break;
    const auto begin = static_cast<std::size_t>(token.text.data() - text.data());
    const std::string word(token.text);
    for (const std::string& replacement :
         {std::string(" "), word + " " + word, std::string("99999"), std::string("{"), std::string("%r1"),
          std::string(".f64"), std::string("-")}) {
      std::string changed = text;
      changed.replace(begin, word.size(), replacement);
      try {
        static_cast<void>(ptx::parse(changed, "s.ptx"));
      } catch (const UserError&) {
      }
    }
  }
}

TEST(ParseFiles, ProbesCutAnywhereAreUserErrors) {
  const std::string path = GPUMUX_SOURCE_DIR "/tests/ptx/data/probe_language.sm_75.ptx";
  const std::string text = read_file(path);
  for (std::size_t end = 100; end < text.size(); end += 311) {
    try {
      static_cast<void>(ptx::parse(std::string_view(text).substr(0, end), "p.ptx"));
    } catch (const UserError&) {
    }
  }
}

}  // namespace
}  // namespace gpumux
