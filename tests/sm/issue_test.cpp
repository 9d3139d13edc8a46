// Issue: dependent distances, rates, units, operand banks, result buses, schedulers, fetch.
#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

TEST(Issue, IndependentInstructionsOfOneWarpIssueEveryCycle) {
  Program program;
  for (std::uint16_t i = 0; i < 10; ++i) program.add(alu(i));
  WarpCode code;
  for (std::uint32_t i = 0; i < 10; ++i) code.run(i);
  // Fetched in cycle 0, first issue in cycle 1, the tenth in cycle 10.
  EXPECT_EQ(time_of(plain_machine(), program, {code}), 10U);
}

TEST(Issue, DependentDistanceIsTheLatencyForEachClass) {
  for (unsigned c = 0; c < isa::kLatencyClasses; ++c) {
    const auto latency_class = static_cast<LatencyClass>(c);
    if (latency_class == LatencyClass::Memory) continue;
    arch::MachineConfig config = plain_machine();
    config.latency[c].latency = 5 + 3 * c;
    Program program;
    program.add(inst(Unit::Sp, latency_class, {1}, {}));
    program.add(alu(2, {1}));
    WarpCode code;
    code.run(0).run(1);
    Bench bench(config);
    bench.start(program, {code});
    const Cycle second = 1 + 5 + 3 * c;
    bench.window(second);  // up to, not including
    EXPECT_EQ(bench.counters().warp_instructions, 1U) << c;
    bench.window(second + 1);
    EXPECT_EQ(bench.counters().warp_instructions, 2U) << c;
  }
}

TEST(Issue, WriteAfterWriteWaitsToo) {
  arch::MachineConfig config = plain_machine();
  Program program;
  program.add(alu(1));
  program.add(alu(1));
  WarpCode code;
  code.run(0).run(1);
  EXPECT_EQ(time_of(config, program, {code}), 1U + 4U);
}

TEST(Issue, LatencyBeyondTheWheelIsExact) {
  arch::MachineConfig config = plain_machine();
  config.latency[static_cast<unsigned>(LatencyClass::FpAdd)].latency = 500;
  Program program;
  program.add(alu(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.run(0).run(1);
  EXPECT_EQ(time_of(config, program, {code}), 501U);
}

TEST(Issue, WarpsHideLatencyUpToTheIssueRate) {
  // Chains of 20 dependent instructions, latency 4: n warps take 20 x 4 cycles for n <= 4, then 20 x n.
  Program program;
  program.add(alu(1, {1}));
  for (std::uint32_t n : {1U, 2U, 4U, 8U, 16U}) {
    arch::MachineConfig config = plain_machine();
    config.sm.branch_latency = 1;  // the loop of one instruction
    std::vector<WarpCode> code(n);
    for (WarpCode& warp : code)
      for (int i = 0; i < 20; ++i) warp.run(0);
    const Cycle time = time_of(config, program, code);
    const Cycle expected = n <= 4 ? 20 * 4 : 20 * n;
    EXPECT_NEAR(static_cast<double>(time), static_cast<double>(expected), n <= 4 ? 4 + n : n + 4) << n;
  }
}

TEST(Issue, SchedulersIssueSideBySideAndIntervalHalvesTheRate) {
  Program program;
  for (std::uint16_t i = 0; i < 40; ++i) program.add(alu(i));
  std::vector<WarpCode> code(4);
  for (WarpCode& warp : code)
    for (std::uint32_t i = 0; i < 40; ++i) warp.run(i);
  arch::MachineConfig config = plain_machine();
  EXPECT_EQ(time_of(config, program, code), 160U);
  config.sm.schedulers = 4;
  EXPECT_EQ(time_of(config, program, code), 40U);
  config.sm.issue_interval = 2;
  EXPECT_EQ(time_of(config, program, code), 1U + 39U * 2U);
}

TEST(Issue, UnitOccupancyFollowsLanesAndInitiation) {
  Program program;
  for (std::uint16_t i = 0; i < 11; ++i) program.add(inst(Unit::Sfu, LatencyClass::Sfu, {i}, {}));
  WarpCode code;
  for (std::uint32_t i = 0; i < 11; ++i) code.run(i);
  arch::MachineConfig config = plain_machine();
  auto& sfu = config.units[static_cast<unsigned>(Unit::Sfu)];
  auto& latency = config.latency[static_cast<unsigned>(LatencyClass::Sfu)];
  sfu = {1, 4, false};
  EXPECT_EQ(time_of(config, program, {code}), 1U + 10U * 8U);  // 32 / 4 lanes
  sfu = {2, 4, false};
  EXPECT_EQ(time_of(config, program, {code}), 1U + 10U * 8U / 2U);
  sfu = {1, 32, false};
  latency = {20, 3};
  EXPECT_EQ(time_of(config, program, {code}), 1U + 10U * 3U);
}

TEST(Issue, PrivateUnitsServeTheirSchedulerAlone) {
  Program program;
  for (std::uint16_t i = 0; i < 10; ++i) program.add(inst(Unit::Sfu, LatencyClass::Sfu, {i}, {}));
  std::vector<WarpCode> code(2);
  for (WarpCode& warp : code)
    for (std::uint32_t i = 0; i < 10; ++i) warp.run(i);
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 2;
  config.units[static_cast<unsigned>(Unit::Sfu)] = {2, 8, true};
  EXPECT_EQ(time_of(config, program, code), 1U + 9U * 4U);
  config.units[static_cast<unsigned>(Unit::Sfu)] = {1, 8, false};  // one for both
  EXPECT_EQ(time_of(config, program, code), 1U + 19U * 4U);
}

TEST(Issue, BankConflictDelaysTheResult) {
  arch::MachineConfig config = plain_machine();
  config.sm.register_banks = 4;
  const auto distance = [&](std::initializer_list<std::uint16_t> sources) {
    Program program;
    program.add(alu(20, sources));
    program.add(inst(Unit::Int, LatencyClass::IntAdd, {21}, {20}));
    WarpCode code;
    code.run(0).run(1);
    return time_of(config, program, {code}) - 1;
  };
  EXPECT_EQ(distance({0, 1, 2}), 4U);
  EXPECT_EQ(distance({0, 4, 2}), 5U);  // two in bank 0
  EXPECT_EQ(distance({0, 4, 8}), 6U);  // three in bank 0
}

TEST(Issue, CollectorsBoundConflictingInstructions) {
  // Each reads one bank three times: the bank serves one instruction per three cycles, and with
  // two collectors the third instruction waits for the first.
  arch::MachineConfig config = plain_machine();
  config.sm.register_banks = 4;
  Program program;
  for (std::uint16_t i = 0; i < 12; ++i) program.add(alu(static_cast<std::uint16_t>(20 + i), {0, 4, 8}));
  WarpCode code;
  for (std::uint32_t i = 0; i < 12; ++i) code.run(i);
  config.sm.collectors_per_scheduler = 64;
  EXPECT_EQ(time_of(config, program, {code}), 12U);
  config.sm.collectors_per_scheduler = 2;
  // Bank reads of instruction k end in cycle 1 + 3k + 2; instruction k issues once k - 2 has ended.
  EXPECT_EQ(time_of(config, program, {code}), 1U + 3U * 9U + 3U);
}

TEST(Issue, ResultBusShiftsTheWriteBack) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 2;
  Program program;
  program.add(alu(1));
  program.add(alu(2, {1}));
  std::vector<WarpCode> code(2);
  for (WarpCode& warp : code) warp.run(0).run(1);
  config.sm.result_buses = 2;
  EXPECT_EQ(time_of(config, program, code), 5U);
  config.sm.result_buses = 1;
  EXPECT_EQ(time_of(config, program, code), 6U);
}

// Which warp issued first is seen by which block ends when: one warp per block.
std::vector<std::uint32_t> order_of_ends(arch::WarpScheduler scheduler, std::uint32_t ready_queue = 6) {
  arch::MachineConfig config = plain_machine();
  config.sm.warp_scheduler = scheduler;
  config.sm.ready_queue = ready_queue;
  config.sm.fetch_width = config.sm.instruction_buffer = 8;
  Program program;
  for (std::uint16_t i = 0; i < 8; ++i) program.add(alu(i));
  Bench bench(config);
  bench.bind(program, {32, 16, 0});
  for (std::uint32_t b = 0; b < 3; ++b) {
    WarpCode code;
    for (std::uint32_t i = 0; i < 8; ++i) code.run(i);
    bench.launch({code}, 0, b);
  }
  bench.finish();
  std::vector<std::uint32_t> times;
  for (const FinishedBlock& block : bench.ended) times.push_back(static_cast<std::uint32_t>(block.time));
  return times;
}

TEST(Scheduler, GtoRunsOneWarpToItsEndAndLrrTakesTurns) {
  const auto gto = order_of_ends(arch::WarpScheduler::gto);
  const auto lrr = order_of_ends(arch::WarpScheduler::lrr);
  EXPECT_EQ(gto, (std::vector<std::uint32_t>{8, 16, 24}));
  EXPECT_EQ(lrr, (std::vector<std::uint32_t>{22, 23, 24}));
}

TEST(Scheduler, OnlyTheReadyQueueIssues) {
  using arch::WarpScheduler;
  using Ends = std::vector<std::uint32_t>;
  // Two of three take turns; the third follows the one that has exited.
  EXPECT_EQ(order_of_ends(WarpScheduler::tlrr, 2), (Ends{15, 16, 24}));
  EXPECT_EQ(order_of_ends(WarpScheduler::tlgto, 2), (Ends{8, 16, 24}));
  for (const WarpScheduler scheduler : {WarpScheduler::tlrr, WarpScheduler::tlgto})
    EXPECT_EQ(order_of_ends(scheduler, 1), (Ends{8, 16, 24}));
  EXPECT_EQ(order_of_ends(WarpScheduler::tlrr), order_of_ends(WarpScheduler::lrr));
}

TEST(Scheduler, GtoFallsBackToTheOldest) {
  // Warp 0 stalls on its chain; warp 1 takes over and keeps the scheduler until it stalls itself.
  arch::MachineConfig config = plain_machine();
  config.sm.warp_scheduler = arch::WarpScheduler::gto;
  Program program;
  program.add(alu(1));
  program.add(alu(2, {1}));
  for (std::uint16_t i = 0; i < 6; ++i) program.add(alu(static_cast<std::uint16_t>(10 + i)));
  Bench bench(config);
  bench.bind(program, {32, 16, 0});
  WarpCode chain;
  chain.run(0).run(1).run(2);
  WarpCode free;
  for (std::uint32_t i = 2; i < 8; ++i) free.run(i);
  bench.launch({chain}, 0, 0);
  bench.launch({free}, 0, 1);
  bench.finish();
  // chain issues in cycle 1; its second could in cycle 5, but the other warp holds on until cycle 7.
  ASSERT_EQ(bench.ended.size(), 2U);
  EXPECT_EQ(bench.ended[0].residency, 1U);
  EXPECT_EQ(bench.ended[0].time, 7U);
  EXPECT_EQ(bench.ended[1].time, 9U);
}

TEST(Fetch, TakenBranchCostsItsLatency) {
  arch::MachineConfig config = plain_machine();
  Program program;
  for (std::uint16_t i = 0; i < 10; ++i) program.add(alu(i));
  WarpCode straight;
  straight.run(0).run(1);
  WarpCode jump;
  jump.run(0).run(5);
  for (std::uint32_t latency : {1U, 4U, 20U}) {
    config.sm.branch_latency = latency;
    EXPECT_EQ(time_of(config, program, {straight}), 2U);
    EXPECT_EQ(time_of(config, program, {jump}), 1U + latency);
  }
}

TEST(Fetch, IntervalAndWidthBoundTheRate) {
  arch::MachineConfig config = plain_machine();
  Program program;
  for (std::uint16_t i = 0; i < 40; ++i) program.add(alu(i));
  std::vector<WarpCode> code(4);
  for (WarpCode& warp : code)
    for (std::uint32_t i = 0; i < 40; ++i) warp.run(i);
  config.sm.fetch_width = 1;
  config.sm.fetch_interval = 2;
  EXPECT_NEAR(static_cast<double>(time_of(config, program, code)), 320.0, 8.0);
}

TEST(Fetch, InstructionCacheMissesGoToMemoryOnce) {
  arch::MachineConfig config = plain_machine();
  config.icache.bytes = 4096;
  Program program;
  for (std::uint16_t i = 0; i < 32; ++i) program.add(alu(i));
  std::vector<WarpCode> code(4);
  for (WarpCode& warp : code)
    for (std::uint32_t i = 0; i < 32; ++i) warp.run(i);
  Bench bench(config);
  bench.start(program, code);
  const Cycle time = bench.finish();
  ASSERT_EQ(bench.sent.size(), 2U);  // 32 x 8 bytes
  for (const MemRequest& request : bench.sent) EXPECT_EQ(request.kind, arch::RequestKind::InstructionFetch);
  EXPECT_EQ(bench.sent[0].line, (Address{1} << 40U) / 128);
  EXPECT_EQ(bench.sent[1].line, (Address{1} << 40U) / 128 + 1);
  // Two misses of 10 (there) + 100 cycles each beside 128 issues.
  EXPECT_GT(time, 220U);
  EXPECT_LT(time, 128U + 2U * 125U);
  EXPECT_GT(bench.sm.scheduler_counters().fetch, 180U);
}

TEST(Streams, StarvedWarpWaitsForTheNextRefill) {
  class Late : public HandMadeBlock {
   public:
    using HandMadeBlock::HandMadeBlock;
    bool open = false;
    void refill(std::uint32_t warp, std::uint32_t wanted) override {
      if (open) HandMadeBlock::refill(warp, wanted);
    }
  };
  Program program;
  for (std::uint16_t i = 0; i < 4; ++i) program.add(alu(i));
  WarpCode code;
  for (std::uint32_t i = 0; i < 4; ++i) code.run(i);
  Bench bench(plain_machine());
  bench.bind(program, {32, 16, 0});
  auto block = std::make_unique<Late>(std::vector<WarpCode>{code}, 64);
  Late* late = block.get();
  bench.sm.launch_block(0, 0, std::move(block), 0);
  bench.window(50);
  EXPECT_EQ(bench.wake, kNever);
  EXPECT_EQ(bench.counters().warp_instructions, 0U);
  EXPECT_EQ(bench.sm.scheduler_counters().fetch, 50U);
  EXPECT_NE(bench.sm.describe_waits().find("stream"), std::string::npos);
  late->open = true;
  EXPECT_TRUE(bench.sm.refill_streams(10));
  bench.window(60);
  EXPECT_EQ(bench.counters().warp_instructions, 4U);
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].time, 54U);
}

}  // namespace
}  // namespace gpumux::sm::testing
