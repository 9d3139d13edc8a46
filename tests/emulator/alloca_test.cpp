// alloca, stacksave and stackrestore: each lane has its own stack, and stackrestore frees memory.
#include <gtest/gtest.h>

#include "emulator/ptx_runner.hpp"
#include "ptx/calls.hpp"

namespace gpumux::emulator::test {
namespace {

/// Reverses 4 + lane numbers through memory of that length: the sum of i times the i-th from the end.
constexpr const char* kReverse = R"(
.func (.param .b32 r) reverse(.param .b32 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  ld.param.u32 %r1, [n];
  mul.wide.u32 %rd1, %r1, 4;
  alloca.u64 %rd2, %rd1, 16;
  cvta.local.u64 %rd2, %rd2;
  mov.u32 %r2, 0; mov.u64 %rd3, %rd2;
FILL:
  add.s32 %r3, %r2, 1; st.u32 [%rd3], %r3;
  add.s64 %rd3, %rd3, 4; add.s32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1; @%p1 bra FILL;
  mov.u32 %r2, 0; mov.u32 %r4, 0;
SUM:
  add.s64 %rd3, %rd3, -4; ld.u32 %r3, [%rd3]; mad.lo.s32 %r4, %r3, %r2, %r4;
  add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra SUM;
  st.param.b32 [r], %r4; ret;
})";

std::uint32_t reversed(std::uint32_t n) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < n; ++i) sum += (n - i) * i;
  return sum;
}

/// In registers as they are written, optimized, and one instruction for each of the PTX.
struct OptimizationLevels {
  ptx::CompileOptions as_written, optimized, ptx_level;
  OptimizationLevels() {
    as_written.optimize = 0;
    ptx_level.level = isa::CodeLevel::Ptx;
  }
  [[nodiscard]] std::vector<ptx::CompileOptions> all() const { return {as_written, optimized, ptx_level}; }
};

struct Launched {
  Device device;
  std::shared_ptr<const CompiledModule> compiled;
  std::unique_ptr<LoadedModule> module;

  Launched(const std::string& body, const ptx::CompileOptions& options) {
    compiled = compile_module(with_header(body), "test.ptx", options);
    module = std::make_unique<LoadedModule>(compiled, device.memory, AppId{0}, &device.sink);
  }
  /// What 32 lanes leave in their words.
  std::vector<std::uint32_t> words() {
    const Address out = device.memory.allocate(32 * 4);
    LaunchConfig config;
    config.grid = {1, 1, 1};
    config.block = {32, 1, 1};
    config.parameters.assign(reinterpret_cast<const char*>(&out), 8);
    run_functionally(*module->launch(*module->find("k"), config));
    return device.download<std::uint32_t>(out, 32);
  }
};

constexpr const char* kCall =
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"
    "call (b), CALLED, (a); ld.param.b32 %r3, [b]; }\n";
std::string kernel(std::string body) {
  for (std::size_t at = 0; (at = body.find("CALL(", at)) != std::string::npos;) {
    const std::size_t end = body.find(')', at);
    std::string call = kCall;
    call.replace(call.find("CALLED"), 6, body.substr(at + 5, end - at - 5));
    body.replace(at, end + 1 - at, call);
  }
  return ".visible .entry k(.param .u64 o) {\n"
         ".reg .b32 %r<19>; .reg .b64 %rd<19>; .reg .pred %p<5>;\n"
         "ld.param.u64 %rd10, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd11, %r1, 4; add.s64 %rd10, %rd10, "
         "%rd11;\n" +
         body + "st.global.u32 [%rd10], %r3; ret; }\n";
}

TEST(Alloca, ALoopOfCallsNeedsNoMoreThanOne) {
  // 32 bytes and more, 1000 times, from a stack of 4096; lanes with odd numbers call only in odd rounds.
  const std::string text = kReverse + kernel(R"(
    mov.u32 %r4, 0; mov.u32 %r5, 0;
  AGAIN:
    and.b32 %r6, %r5, 7; add.s32 %r2, %r6, 8; and.b32 %r6, %r1, 1; xor.b32 %r7, %r5, 1; and.b32 %r7, %r7, %r6;
    setp.eq.u32 %p1, %r7, 0; mov.u32 %r3, 0;
    @!%p1 bra SKIP;
    CALL(reverse)
  SKIP:
    add.s32 %r4, %r4, %r3; add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 1000; @%p2 bra AGAIN;
    mov.u32 %r3, %r4;
  )");
  for (const ptx::CompileOptions& options : OptimizationLevels().all()) {
    Launched run(text, options);
    EXPECT_EQ(run.compiled->kernels.at("k").code.local_bytes, ptx::kAllocaBytes);
    const std::vector<std::uint32_t> words = run.words();
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = 0; i < 1000; ++i)
        if (lane % 2 == 0 || i % 2 == 1) sum += reversed(i % 8 + 8);
      EXPECT_EQ(words[lane], sum) << lane;
    }
  }
}

TEST(Alloca, RecursionFindsItsOwnAndLeavesItsCallers) {
  const std::string text = R"(
.func (.param .b32 r) sum(.param .b32 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  ld.param.u32 %r2, [n];
  mul.wide.u32 %rd1, %r2, 4; alloca.u64 %rd2, %rd1, 8;
  mov.u32 %r3, 0;
  setp.eq.u32 %p1, %r2, 0; @%p1 bra DONE;
  mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd2, %rd3; st.local.u32 [%rd4+-4], %r2;
  sub.s32 %r2, %r2, 1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), sum, (a); ld.param.b32 %r3, [b]; }
  ld.local.u32 %r5, [%rd4+-4]; add.s32 %r3, %r3, %r5;
DONE:
  st.param.b32 [r], %r3; ret;
})" + kernel(R"(
    mov.u32 %r4, 0; mov.u32 %r5, 0;
    alloca.u32 %r7, 4, 64; and.b32 %r8, %r7, 63; st.local.u32 [%r7], %r1;
  AGAIN:
    and.b32 %r2, %r1, 15;
    CALL(sum)
    add.s32 %r4, %r4, %r3; add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100; @%p2 bra AGAIN;
    ld.local.u32 %r6, [%r7]; mad.lo.s32 %r3, %r6, 100000, %r4; mad.lo.s32 %r3, %r8, 77, %r3;
  )");
  for (const ptx::CompileOptions& options : OptimizationLevels().all()) {
    Launched run(text, options);
    const std::vector<std::uint32_t> words = run.words();
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t n = lane % 16;
      EXPECT_EQ(words[lane], lane * 100000 + n * (n + 1) / 2 * 100) << lane;
    }
  }
}

TEST(Alloca, SavedAndRestored) {
  // Twice the same place between save and restore, and another without.
  const std::string text = kernel(R"(
    mul.wide.u32 %rd1, %r1, 1; alloca.u64 %rd2, %rd1, 4;
    stacksave.u64 %rd3; alloca.u64 %rd4, 100, 16; stackrestore.u64 %rd3; alloca.u64 %rd5, 100, 16;
    alloca.u64 %rd6, 1, 16; alloca.u64 %rd7, 1;
    sub.s64 %rd8, %rd5, %rd4; cvt.u32.u64 %r4, %rd8;
    sub.s64 %rd8, %rd6, %rd5; cvt.u32.u64 %r5, %rd8; shl.b32 %r5, %r5, 8;
    sub.s64 %rd8, %rd7, %rd6; cvt.u32.u64 %r6, %rd8; shl.b32 %r6, %r6, 16;
    or.b32 %r3, %r4, %r5; or.b32 %r3, %r3, %r6;
  )");
  for (const ptx::CompileOptions& options : OptimizationLevels().all()) {
    Launched run(text, options);
    for (const std::uint32_t word : run.words()) EXPECT_EQ(word, (8U << 16U) + (112U << 8U));
  }
}

TEST(Alloca, MoreThanThereIsFaultsWhereItIsUsed) {
  const auto fault = [](const std::string& bytes, const ptx::CompileOptions& options) -> std::string {
    Launched run(
        kernel("alloca.u64 %rd2, " + bytes + ", 16; st.local.u32 [%rd2], 5; ld.local.u32 %r3, [%rd2];\n"),
        options);
    try {
      EXPECT_EQ(run.words()[31], 5U);
    } catch (const SimulationFault& error) {
      return error.what();
    }
    return {};
  };
  for (const ptx::CompileOptions& options : OptimizationLevels().all()) {
    EXPECT_EQ(fault("4096", options), "");
    for (const char* bytes : {"4097", "0x100000004", "0xffffffffffffff00"}) {
      const std::string message = fault(bytes, options);
      EXPECT_NE(message.find("invalid local write of 4 bytes at 0x7ff00000"), std::string::npos)
          << bytes << ": " << message;
    }
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
