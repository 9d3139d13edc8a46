// cp.async and mbarrier: values worked out by hand, and CUDA's barriers and pipelines as nvcc compiles them.
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/mbarrier.hpp"
#include "emulator/nvcc_module.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

TEST(MbarrierObject, KeepsItsCountsApart) {
  Mbarrier barrier{Mbarrier::kMostCount, 5, -Mbarrier::kMostBytes, true, true};
  const Mbarrier again = Mbarrier::of(barrier.word());
  EXPECT_EQ(again.pending, Mbarrier::kMostCount);
  EXPECT_EQ(again.expected, 5U);
  EXPECT_EQ(again.bytes, -Mbarrier::kMostBytes);
  EXPECT_TRUE(again.valid);
  EXPECT_TRUE(again.phase);
  EXPECT_FALSE(Mbarrier::of(0).valid);
  barrier = {0, 3, 1, true, false};
  EXPECT_FALSE(barrier.complete()) << "bytes are missing";
  barrier.bytes = 0;
  EXPECT_TRUE(barrier.complete());
  EXPECT_EQ(barrier.pending, 3U);
  EXPECT_TRUE(barrier.phase);
}

// out[t] for 32 threads of the body, which leaves its result in %r9.
std::vector<std::uint32_t> one_warp(const std::string& body, const std::vector<std::uint32_t>& in = {}) {
  PtxRunner runner(
      ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
      ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;\n"
      ".shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 bar[4];\n"
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
      "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3;\n"
      "mul.wide.u32 %rd4, %r1, 16; add.s64 %rd1, %rd1, %rd4;\n"
      "mov.u32 %r2, tile; mad.lo.u32 %r2, %r1, 16, %r2;\n" +
      body + "st.global.u32 [%rd2], %r9; ret; }\n");
  std::vector<std::uint32_t> input = in;
  input.resize(32 * 4 + 4, 0);
  const Address from = runner.device.memory.allocate(input.size() * 4);
  runner.device.memory.write(from, std::as_bytes(std::span(input)));
  const Address to = runner.device.memory.allocate(32 * 4);
  runner.run("k", {1, 1, 1}, {32, 1, 1}, {from, to}, 0, 100'000);
  std::vector<std::uint32_t> out(32);
  runner.device.memory.read(to, std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1000U);
  return values;
}

TEST(AsyncCopy, MovesFourEightAndSixteenBytes) {
  const auto in = numbers(132);
  for (const std::uint32_t bytes : {4U, 8U, 16U}) {
    const std::string text =
        "st.shared.v4.u32 [%r2], {7, 7, 7, 7};\ncp.async.ca.shared.global [%r2], [%rd1+16], " +
        std::to_string(bytes) +
        ";\ncp.async.commit_group; cp.async.wait_group 0;\n"
        "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"
        "xor.b32 %r9, %r3, %r4; xor.b32 %r7, %r5, %r6; shl.b32 %r7, %r7, 16;\n"
        "xor.b32 %r9, %r9, %r7;\n";
    const auto out = one_warp(text, in);
    for (std::uint32_t t = 0; t < 32; ++t) {
      const std::uint32_t* from = in.data() + 4 * (t + 1);
      const std::uint32_t a = from[0];
      const std::uint32_t b = bytes >= 8 ? from[1] : 7;
      const std::uint32_t c = bytes == 16 ? from[2] : 7;
      const std::uint32_t d = bytes == 16 ? from[3] : 7;
      ASSERT_EQ(out[t], a ^ b ^ ((c ^ d) << 16U)) << bytes << ' ' << t;
    }
  }
}

TEST(AsyncCopy, FillsWithZerosWhatItDoesNotRead) {
  const auto in = numbers(132);
  // Lanes read 0, 4, 8, 12 or 16 bytes; those that ignore their source read none.
  const auto out = one_warp(
      "st.shared.v4.u32 [%r2], {7, 7, 7, 7};\nrem.u32 %r3, %r1, 5; shl.b32 %r3, %r3, 2;\n"
      "cp.async.cg.shared.global [%r2], [%rd1], 16, %r3; cp.async.wait_all;\n"
      "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"
      "add.u32 %r9, %r3, %r4; add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r6;\n",
      in);
  const auto ignored = one_warp(
      "st.shared.v4.u32 [%r2], {7, 7, 7, 7};\nsetp.ge.u32 %p1, %r1, 20;\n"
      "cp.async.ca.shared.global.L2::128B [%r2], [%rd1], 4, %p1; cp.async.wait_all;\n"
      "ld.shared.u32 %r9, [%r2];\n",
      in);
  for (std::uint32_t t = 0; t < 32; ++t) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < t % 5; ++i) sum += in[4 * t + i];
    EXPECT_EQ(out[t], sum) << t;
    EXPECT_EQ(ignored[t], t >= 20 ? 0 : in[4 * t]) << t;
  }
}

TEST(AsyncCopy, ChecksBothAddresses) {
  const auto fault = [](const std::string& copy, std::uint64_t address) {
    PtxRunner runner(
        ".visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
        ".shared .align 16 .b8 tile[64];\nld.param.u64 %rd1, [p]; mov.u32 %r1, tile; mov.u32 %r2, 12;\n" +
        copy + "\nret; }");
    const Address at = runner.device.memory.allocate(64);
    return runner.fault_of("k", {1, 1, 1}, {1, 1, 1}, {address == 0 ? at : address});
  };
  EXPECT_NE(
      fault("cp.async.ca.shared.global [%r1], [%rd1], 4;", 64).find("invalid global read of 4 bytes at 0x40"),
      std::string::npos);
  EXPECT_NE(
      fault("cp.async.ca.shared.global [%r1+64], [%rd1], 4;", 0).find("invalid shared write of 4 bytes"),
      std::string::npos);
  EXPECT_NE(
      fault("cp.async.ca.shared.global [%r1+4], [%rd1], 8;", 0).find("misaligned shared write of 8 bytes"),
      std::string::npos);
  EXPECT_NE(
      fault("cp.async.cg.shared.global [%r1], [%rd1+8], 16;", 0).find("misaligned global read of 16 bytes"),
      std::string::npos);
  EXPECT_NE(
      fault("cp.async.ca.shared.global [%r1], [%rd1], 8, %r2;", 0).find("cp.async of 8 bytes that reads 12"),
      std::string::npos);
  EXPECT_EQ(fault("cp.async.ca.shared.global [%r1], [%rd1], 4, 0;", 64), "") << "nothing is read";
}

const std::string kInit =
    "setp.eq.u32 %p1, %r1, 0; mov.u32 %r8, bar;\n@%p1 mbarrier.init.shared.b64 [%r8], 32;\nbar.sync 0;\n";

TEST(MbarrierInstructions, ArrivalsReturnTheStateBefore) {
  // Lane t finds 32 - t arrivals missing; the last one ends the phase.
  const auto out =
      one_warp(kInit +
               "mbarrier.arrive.shared.b64 %rd5, [%r8];\nmbarrier.pending_count.b64 %r3, %rd5;\n"
               "mbarrier.test_wait.shared.b64 %p2, [%r8], %rd5;\nselp.u32 %r4, 1000, 0, %p2;\n"
               "mbarrier.test_wait.parity.shared.b64 %p3, [%r8], 1;\nselp.u32 %r5, 10000, 0, %p3;\n"
               "mbarrier.try_wait.parity.shared.b64 %p4, [%r8], 0, 50;\nselp.u32 %r6, 100000, 0, %p4;\n"
               "add.u32 %r9, %r3, %r4; add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r6;\n");
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 32 - t + 1000 + 100000) << t;
}

TEST(MbarrierInstructions, TransactionsAndDropsEndPhasesAsWell) {
  // A barrier of 2: one arrival that expects 64 bytes, one that drops out; then a phase of 1.
  const auto out = one_warp(
      "setp.ne.u32 %p1, %r1, 0; mov.u32 %r9, 0; @%p1 bra DONE;\nmov.u32 %r8, bar;\n"
      "mbarrier.init.shared::cta.b64 [%r8], 2;\n"
      "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r8], 64;\n"
      "mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 %rd6, [%r8], 1;\n"
      "mbarrier.test_wait.shared.b64 %p2, [%r8], %rd5;\nselp.u32 %r3, 1, 0, %p2;\n"
      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r8], 48;\n"
      "mbarrier.test_wait.shared.b64 %p2, [%r8], %rd5;\nselp.u32 %r4, 2, 0, %p2;\n"
      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r8], 16;\n"
      "mbarrier.test_wait.acquire.cta.shared.b64 %p2, [%r8], %rd5;\nselp.u32 %r5, 4, 0, %p2;\n"
      "mbarrier.arrive.shared.b64 %rd7, [%r8];\nmbarrier.pending_count.b64 %r6, %rd7;\n"
      "mbarrier.test_wait.shared.b64 %p2, [%r8], %rd7;\nselp.u32 %r7, 32, 0, %p2;\nshl.b32 %r6, %r6, 3;\n"
      "add.u32 %r9, %r3, %r4; add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r6; add.u32 %r9, %r9, %r7;\n"
      "mbarrier.inval.shared.b64 [%r8];\nDONE:\n");
  EXPECT_EQ(out[0], 4U + 8U + 32U);
}

TEST(MbarrierInstructions, CopiesArriveWithAndWithoutBeingCounted) {
  // 32 counted arrivals by .noinc alone; then 32 arrivals, with one more each for the copies.
  const auto out = one_warp(kInit +
                            "cp.async.ca.shared.global [%r2], [%rd1], 4;\n"
                            "cp.async.mbarrier.arrive.noinc.shared.b64 [%r8];\n"
                            "mbarrier.test_wait.parity.shared.b64 %p2, [%r8], 0;\nselp.u32 %r3, 1, 0, %p2;\n"
                            "cp.async.mbarrier.arrive.shared.b64 [%r8];\n"
                            "mbarrier.test_wait.parity.shared.b64 %p2, [%r8], 1;\nselp.u32 %r4, 2, 0, %p2;\n"
                            "mbarrier.arrive.shared.b64 _, [%r8];\n"
                            "mbarrier.test_wait.parity.shared.b64 %p2, [%r8], 1;\nselp.u32 %r5, 4, 0, %p2;\n"
                            "add.u32 %r9, %r3, %r4; add.u32 %r9, %r9, %r5;\n");
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 5U) << t;
}

TEST(MbarrierInstructions, WrongUseIsAFault) {
  const auto fault = [](const std::string& body) {
    PtxRunner runner(
        ".visible .entry k() { .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>;\n"
        ".shared .align 8 .b64 bar[2];\nmov.u32 %r8, bar;\n" +
        body + "\nret; }");
    return runner.fault_of("k", {1, 1, 1}, {1, 1, 1}, {});
  };
  const auto expect = [&](const std::string& body, const std::string& what) {
    EXPECT_NE(fault(body).find("mbarrier at 0x0 of shared memory: " + what), std::string::npos)
        << fault(body);
  };
  expect("mbarrier.arrive.shared.b64 _, [%r8];", "not initialised by mbarrier.init, or invalid since");
  expect("mbarrier.init.shared.b64 [%r8], 0;", "a count of 0 (1 to 1048575 is possible)");
  expect("mbarrier.init.shared.b64 [%r8], 2; mbarrier.arrive.shared.b64 _, [%r8], 3;",
         "3 arrivals where the phase lacks 2");
  expect(
      "mbarrier.init.shared.b64 [%r8], 2; mbarrier.inval.shared.b64 [%r8]; mbarrier.inval.shared.b64 [%r8];",
      "not initialised");
  expect("mbarrier.init.shared.b64 [%r8], 1; mbarrier.arrive.noComplete.shared.b64 %rd1, [%r8], 1;",
         "an arrival with .noComplete that completes the phase");
  expect("mbarrier.init.shared.b64 [%r8], 1; mbarrier.expect_tx.relaxed.cta.shared.b64 [%r8], 1048576;",
         "1048576 bytes under way (1048575 at most)");
  EXPECT_NE(fault("mbarrier.init.shared.b64 [%r8+4], 1;").find("misaligned shared atomic access of 8 bytes"),
            std::string::npos);
  EXPECT_NE(fault("mov.u64 %rd1, 64; mbarrier.init.b64 [%rd1], 1;").find("does not lie in shared memory"),
            std::string::npos);
}

class CudaAsync : public ::testing::TestWithParam<const char*> {
 protected:
  NvccModule code_{std::string("async.") + GetParam() + ".ptx"};
};

TEST_P(CudaAsync, BarrierCopy) {
  if (std::string(GetParam()) == "sm_90") {  // the library copies in bulk there
    EXPECT_NE(code_.module().find("barrier_copy")->error.find("copying in bulk (sm_90) is not supported"),
              std::string::npos)
        << code_.module().find("barrier_copy")->error;
    return;
  }
  std::vector<float> in(2 * 64 * 4);
  std::iota(in.begin(), in.end(), 1.0F);
  const Address from = code_.put(in);
  const Address to = code_.put(std::vector<float>(128));
  code_.run("barrier_copy", {2, 1, 1}, {64, 1, 1}, {from, to});
  const auto out = code_.get<float>(to, 128);
  for (std::size_t t = 0; t < 128; ++t) {
    const float* v = in.data() + 4 * (t ^ 1U);
    EXPECT_EQ(out[t], v[0] + v[1] + v[2] + v[3]) << t;
  }
}

TEST_P(CudaAsync, Pipelines) {
  constexpr int kTiles = 7;
  std::vector<float> in(kTiles * 128);
  std::iota(in.begin(), in.end(), 1.0F);
  for (const char* kernel : {"pipeline_copy", "primitives"}) {
    if (!code_.module().find(kernel)->error.empty()) {
      EXPECT_STREQ(GetParam(), "sm_90") << code_.module().find(kernel)->error;
      EXPECT_NE(code_.module().find(kernel)->error.find("bulk"), std::string::npos);
      continue;
    }
    const Address from = code_.put(in);
    const Address to = code_.put(std::vector<float>(128));
    code_.run(kernel, {1, 1, 1}, {128, 1, 1}, {from, to, kTiles});
    const auto out = code_.get<float>(to, 128);
    for (std::size_t t = 0; t < 128; ++t) {
      float sum = 0;
      for (int c = 0; c < kTiles; ++c) sum += in[static_cast<std::size_t>(c) * 128 + 127 - t];
      EXPECT_EQ(out[t], sum) << kernel << ' ' << t;
    }
  }
}

TEST_P(CudaAsync, ZeroFill) {
  std::vector<float> in(32 * 4);
  std::iota(in.begin(), in.end(), 1.0F);
  const Address from = code_.put(in);
  const Address to = code_.put(std::vector<float>(128));
  code_.run("zero_fill", {1, 1, 1}, {32, 1, 1}, {from, to, 10});
  const auto out = code_.get<float>(to, 128);
  for (std::size_t t = 0; t < 32; ++t)
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(out[(31 - t) * 4 + i], t < 10 || i == 0 ? in[t * 4 + i] : 0) << t << ' ' << i;
}

TEST_P(CudaAsync, SplitPhase) {
  std::vector<int> in(128);
  std::iota(in.begin(), in.end(), 500);
  const Address from = code_.put(in);
  const Address to = code_.put(std::vector<int>(576));
  code_.run("split_phase", {1, 1, 1}, {128, 1, 1}, {from, to});
  const auto out = code_.get<int>(to, 576);
  for (int i = 0; i < 4; ++i)
    for (int t = 0; t < 128; ++t)
      EXPECT_EQ(out[static_cast<std::size_t>(128 * i + t)], t * i + 500 + 127 - t + i) << i << ' ' << t;
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[static_cast<std::size_t>(512 + t)], 1000 + t);
}

// On sm_75 the library's barrier is a word that threads add to and look at.
INSTANTIATE_TEST_SUITE_P(Targets, CudaAsync, ::testing::Values("sm_75", "sm_80", "sm_90"),
                         [](const auto& target) { return std::string(target.param); });

TEST(CooperativeGrid, AllBlocksTakeEachStepTogether) {
  for (const char* file : {"grid.sm_75.ptx", "grid.sm_100.ptx"}) {
    NvccModule code(file);
    std::vector<int> in(8 * 64);
    std::iota(in.begin(), in.end(), 1);
    const Address data = code.put(in);
    const Address to = code.put(std::vector<int>(512));
    for (int launch = 0; launch < 3; ++launch) {  // the workspace is fit for the next
      code.device.memory.write(data, std::as_bytes(std::span(in)));
      code.run("grid_sum", {4, 2, 1}, {8, 8, 1}, {data, to, 512}, true);
      const auto out = code.get<int>(to, 512);
      for (int t = 0; t < 512; ++t) ASSERT_EQ(out[static_cast<std::size_t>(t)], (t + 1) * (t + 2) / 2) << t;
    }
    // CUDA's own code traps where the launch is an ordinary one.
    EXPECT_THROW(code.run("grid_sum", {4, 2, 1}, {8, 8, 1}, {data, to, 512}), SimulationFault);
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
