// Lanes of a warp that wait for each other.
#include <gtest/gtest.h>

#include "emulator/nvcc_module.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

class Lanes : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  NvccModule code_{std::string("lanes.") + std::get<0>(GetParam()) + ".ptx", std::get<1>(GetParam())};
};

TEST_P(Lanes, LocksAreTakenByOneLaneAfterTheOther) {
  for (const char* kernel : {"lock_lane", "lock_spin", "lock_ticket"}) {
    const Address count = code_.put(std::vector<int>(1));
    const std::uint64_t executed = code_.run(kernel, {2, 1, 1}, {64, 1, 1}, {count});
    EXPECT_EQ(code_.get<int>(count, 1)[0], 128) << kernel;
    EXPECT_LT(executed, 400'000U) << kernel << ": the next lane is waited for longer than need be";
    const Address now = code_.module().global_address("lock_word");
    EXPECT_EQ(code_.get<int>(now, 1)[0], 0);
    for (const char* ticket : {"ticket_next", "ticket_now"})
      code_.device.memory.fill(code_.module().global_address(ticket), std::byte{0}, 4);
  }
}

TEST_P(Lanes, ProducersAndConsumersShareAWarp) {
  const Address out = code_.put(std::vector<int>(64));
  code_.run("hand_over", {1, 1, 1}, {64, 1, 1}, {out});
  const auto got = code_.get<int>(out, 64);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(got[static_cast<std::size_t>(t)], t % 2 == 0 ? 100 + t + 1 : t) << t;
}

TEST_P(Lanes, HalvesOfAWarpMeetInsideABranch) {
  const Address out = code_.put(std::vector<int>(64));
  code_.run("halves", {1, 1, 1}, {32, 1, 1}, {out});
  const auto got = code_.get<int>(out, 64);
  for (int t = 0; t < 16; ++t) {
    EXPECT_EQ(got[static_cast<std::size_t>(t + 16)], 10 + t) << t;
    EXPECT_EQ(got[static_cast<std::size_t>(t + 48)], 110 + t) << t;
    EXPECT_EQ(got[static_cast<std::size_t>(t + 32)], got[static_cast<std::size_t>(t)]) << t;
  }
}

TEST_P(Lanes, LanesThatWentOnAloneMeetAtTheNextCollective) {
  const Address count = code_.put(std::vector<int>(1));
  const Address out = code_.put(std::vector<int>(32));
  code_.run("lock_and_meet", {1, 1, 1}, {32, 1, 1}, {count, out});
  for (const int sum : code_.get<int>(out, 32)) EXPECT_EQ(sum, 31 * 32 / 2);
}

TEST_P(Lanes, ALaneMayHaveToGoOnBehindTheFunctionThatOthersAreIn) {
  const Address flag = code_.put(std::vector<int>(1));
  const Address out = code_.put(std::vector<int>(32));
  code_.run("wait_in_call", {1, 1, 1}, {32, 1, 1}, {flag, out});
  const auto got = code_.get<int>(out, 32);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(got[static_cast<std::size_t>(t)], t == 3 ? 3 : 50 + t) << t;
}

INSTANTIATE_TEST_SUITE_P(Targets, Lanes,
                         ::testing::Combine(::testing::Values("sm_75", "sm_100"), ::testing::Values(0, 1)),
                         [](const auto& target) {
                           return std::string(std::get<0>(target.param)) +
                                  (std::get<1>(target.param) == 0 ? "_plain" : "_optimized");
                         });

const std::string kWaits =
    // Lane 0 goes on and sets the flag; the others wait for it in front of it.
    ".visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<5>; .reg .pred %p<3>;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra SET;\n"
    "WAIT: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;\n"
    "SET: mov.u32 %r3, 1; st.volatile.global.u32 [%rd1], %r3; ret; }\n";

TEST(IndependentThreads, BeforeVoltaSuchLanesWaitForEver) {
  for (const auto& [sm, ends] : {std::pair{60, false}, std::pair{70, true}}) {
    Device device;
    const auto compiled = compile_module(
        ".version 8.0\n.target sm_" + std::to_string(sm) + "\n.address_size 64\n" + kWaits, "test.ptx", {});
    LoadedModule module(compiled, device.memory, AppId{0}, nullptr);
    const std::uint64_t flag = device.memory.allocate(4);
    LaunchConfig config;
    config.grid = {1, 1, 1};
    config.block = {32, 1, 1};
    config.max_warp_instructions = 100'000;
    config.parameters.assign(reinterpret_cast<const char*>(&flag), 8);
    const auto run = [&] { run_functionally(*module.launch(*module.find("k"), config)); };
    if (ends) {
      EXPECT_NO_THROW(run());
      continue;
    }
    try {
      run();
      FAIL() << "it ends";
    } catch (const SimulationFault& fault) {
      EXPECT_NE(std::string(fault.what()).find("lane 0 waits for them"), std::string::npos) << fault.what();
    }
  }
}

TEST(IndependentThreads, ALoopThatChangesWhatItReadsIsLeftAlone) {
  // Lanes 1 to 31 add up 4000 numbers while lane 0 is past them: they stay the ones that run.
  PtxRunner runner(
      ".visible .entry k(.param .u64 p, .param .u64 o) { .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred "
      "%p<3>;\n"
      "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [o]; mov.u32 %r1, %tid.x; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
      "setp.eq.u32 %p1, %r1, 0; @%p1 bra SET;\n"
      "ADD: ld.volatile.global.u32 %r2, [%rd1]; add.u32 %r4, %r4, %r2; add.s64 %rd1, %rd1, 4;\n"
      "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4000; @%p2 bra ADD;\n"
      "SET: activemask.b32 %r6; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], "
      "%r6;\n"
      "ret; }\n");
  const Address in = runner.device.memory.allocate(16000);
  const Address out = runner.device.memory.allocate(128);
  runner.run("k", {1, 1, 1}, {32, 1, 1}, {in, out}, 0, 100'000);
  std::vector<std::uint32_t> masks(32);
  runner.device.memory.read(out, std::as_writable_bytes(std::span(masks)));
  for (const std::uint32_t mask : masks) EXPECT_EQ(mask, 0xffffffffU) << "they have met";
}

}  // namespace
}  // namespace gpumux::emulator::test
