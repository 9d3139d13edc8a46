// An unrolled loop runs as many iterations as the original loop, for every way of counting.
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>

#include "emulator/program.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

class UnrollSink : public emulator::PrintSink {
 public:
  void print(AppId, std::string_view) override {}
};

struct Counting {
  const char* step;  // added to the counter
  const char* test;  // setp behind the step
  bool leaves;       // the loop ends when it holds, else it goes on
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;  // first value, bound
};

std::string text_of(const Counting& counting, const char* pragma) {
  return std::string(R"(.version 9.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 first, .param .u32 bound) {
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[first]; ld.param.u32 %r2,[bound]; cvta.to.global.u64 %rd2,%rd1;
mov.u32 %r3,0; mov.u32 %r9,0;
LOOP: )") +
         pragma + R"(
ld.global.u32 %r5,[%rd2]; mad.lo.s32 %r3,%r3,31,%r5; add.s32 %r3,%r3,%r1; add.s32 %r9,%r9,1; add.s64 %rd2,%rd2,4;
add.s32 %r1,%r1,)" +
         counting.step + "; setp." + counting.test + " %p1,%r1,%r2;\n" +
         (counting.leaves ? "@%p1 bra DONE; bra.uni LOOP; DONE:" : "@%p1 bra LOOP;") + R"(
cvta.to.global.u64 %rd3,%rd1; st.global.u32 [%rd3+1024],%r3; st.global.u32 [%rd3+1028],%r9; st.global.u32 [%rd3+1032],%r1; ret; })";
}

std::vector<std::uint32_t> run(const std::string& text, int optimize, std::uint32_t first,
                               std::uint32_t bound) {
  workload::DeviceMemory memory(0);
  UnrollSink sink;
  emulator::LoadedModule module(emulator::compile_module(text, "loop.ptx", {.optimize = optimize}), memory, 0,
                                &sink);
  const Address buffer = memory.allocate(2048);
  std::vector<std::uint32_t> words(512);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 2654435761U;
  memory.write(buffer, std::as_bytes(std::span(words)));
  emulator::LaunchConfig config;
  config.parameters.resize(16);
  std::memcpy(config.parameters.data(), &buffer, 8);
  std::memcpy(config.parameters.data() + 8, &first, 4);
  std::memcpy(config.parameters.data() + 12, &bound, 4);
  const auto launch = module.launch(*module.find("k"), config);
  (void)emulator::run_functionally(*launch);
  memory.read(buffer, std::as_writable_bytes(std::span(words)));
  return {words[256], words[257], words[258]};
}

TEST(Unroll, CountsAsTheLoopDoes) {
  const std::uint32_t top = 0x7fff'ffffU;
  const std::uint32_t bottom = 0x8000'0000U;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> up;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> down;
  for (std::uint32_t n = 1; n < 20; ++n) {
    up.emplace_back(0, n);
    down.emplace_back(n, 0);
  }
  auto compared_up = up;
  for (std::uint32_t n = 0; n < 12; ++n) {
    compared_up.emplace_back(5, n);                // at most one iteration, or a few
    compared_up.emplace_back(top - 9, top - n);    // near the top: the shifted bound must not wrap
    compared_up.emplace_back(bottom, bottom + n);  // near the bottom
  }
  const std::vector<Counting> all = {
      {"1", "ne.s32", false, up},
      {"-1", "ne.s32", false, down},
      {"1", "eq.s32", true, up},
      {"3", "ne.s32", false, {{0, 3}, {0, 6}, {0, 9}, {0, 12}, {0, 15}, {0, 36}, {0xffff'fffdU, 9}}},
      {"1", "lt.s32", false, compared_up},
      {"2", "lt.s32", false, up},
      {"1", "ge.s32", true, compared_up},
      {"1", "lt.u32", false, up},
      {"1",
       "le.s32",
       false,
       {{0, 0}, {0, 1}, {0, 7}, {0, 8}, {3, 2}, {bottom, bottom}, {bottom, bottom + 5}}},
      {"-1", "gt.s32", false, down},
      {"-2", "gt.s32", false, down},
      {"-1", "ge.s32", false, down},
      {"-1", "gt.s32", false, {{bottom + 9, bottom}, {bottom + 3, bottom + 1}, {top, top - 6}}},
  };
  for (const Counting& counting : all) {
    const std::string text = text_of(counting, "");
    const isa::Module module = ptx::parse(text, "loop.ptx");
    const auto figures = ptx::figures(ptx::compile(module, module.functions[0], {.optimize = 1}));
    EXPECT_EQ(figures.global_loads, 5U) << "not unrolled: " << counting.test << " step " << counting.step;
    for (const auto& [first, bound] : counting.ranges) {
      EXPECT_EQ(run(text, 1, first, bound), run(text, 0, first, bound))
          << counting.test << " step " << counting.step << " from " << first << " to " << bound;
    }
  }
}

TEST(Unroll, LeavesLoopsUnderThePragmaAlone) {
  const std::string text = text_of({"1", "lt.s32", false, {}}, ".pragma \"nounroll\";");
  const isa::Module module = ptx::parse(text, "loop.ptx");
  EXPECT_EQ(ptx::figures(ptx::compile(module, module.functions[0], {.optimize = 1})).global_loads, 1U);
}

}  // namespace
}  // namespace gpumux
