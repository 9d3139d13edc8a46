// Branches, divergence, barriers, fences and the start of blocks, on one SM.
#include "micro/preset.hpp"

namespace gpumux::micro {
namespace {

class Control : public Preset {
 protected:
  [[nodiscard]] Cycle taken() const {
    return std::max<Cycle>(config_.sm.branch_latency, config_.sm.issue_interval);
  }
  static StaticInst barrier() { return control(isa::kBarrier); }
};

TEST_P(Control, ATakenBranchCostsItsLatency) {
  // A loop of one branch: each issue follows branch_latency after the one before.
  Program program;
  program.add(control(isa::kBranch));
  for (const std::uint32_t n : {2U, 9U}) {
    WarpCode code;
    for (std::uint32_t i = 0; i < n; ++i) code.run(0);
    Bench bench(config_);
    bench.start(program, {code});
    const Cycle last = kFirstIssue + (n - 1) * taken();
    bench.window(last);
    EXPECT_EQ(bench.counters().warp_instructions, n - 1);
    bench.window(last + 1);
    EXPECT_EQ(bench.counters().warp_instructions, n);
    bench.finish();
  }
}

TEST_P(Control, ABranchThatFallsThroughCostsItsSlot) {
  Program program;
  WarpCode code;
  for (int i = 0; i < 6; ++i) code.run(program.add(control(isa::kBranch)));
  const Cycle interval = std::max<Cycle>(
      config_.sm.issue_interval, occupied(Unit::Control, LatencyClass::Control) /
                                     (unit(Unit::Control).scheduler_private ? 1 : unit(Unit::Control).count));
  EXPECT_EQ(time_of(config_, program, {code}), kFirstIssue + 5 * interval);
}

TEST_P(Control, DivergentPathsFollowEachOther) {
  // A branch whose lanes go `ways` ways, each way with a body of its own of kBody independent instructions,
  // then the common end. The warp runs the ways one after the other: each is entered by a jump, but for the
  // first, which falls through; the last falls through to the end.
  constexpr std::uint32_t kBody = 4;
  const Cycle step = config_.sm.issue_interval;
  Program program;
  const std::uint32_t branch = program.add(control(isa::kBranch));
  // Way w lies at body(w); ways are apart so that none falls through to the next by chance.
  const auto body = [](std::uint32_t w) { return 1 + w * 2 * kBody; };
  for (std::uint16_t i = 0; i < 32 * 2 * kBody; ++i)
    program.add(inst(Unit::Control, LatencyClass::Control, {}, {}));
  const std::uint32_t end = program.add(inst(Unit::Control, LatencyClass::Control, {}, {}));
  const Cycle interval =
      std::max<Cycle>(step, occupied(Unit::Control, LatencyClass::Control) /
                                (unit(Unit::Control).scheduler_private ? 1 : unit(Unit::Control).count));
  for (const std::uint32_t ways : {1U, 2U, 4U, 8U, 16U, 32U}) {
    SCOPED_TRACE(ways);
    WarpCode code;
    code.run(branch);
    const std::uint32_t lanes = kWarpSize / ways;
    const LaneMask first = lanes == 32 ? kAllLanes : (LaneMask{1} << lanes) - 1;
    for (std::uint32_t w = 0; w < ways; ++w)
      for (std::uint32_t i = 0; i < kBody; ++i) code.run(body(w) + i, first << (w * lanes));
    code.run(end);
    // 1 + ways * kBody + 1 instructions; ways - 1 jumps between the ways and one to the end.
    const Cycle jump = std::max<Cycle>(config_.sm.branch_latency, interval);
    const Cycle expected = kFirstIssue + interval + ways * (kBody - 1) * interval + ways * jump;
    Bench bench(config_);
    bench.start(program, {code});
    EXPECT_EQ(bench.finish(), expected);
    EXPECT_EQ(bench.counters().warp_instructions, 2 + ways * kBody);
    // Each lane executes one way: the same thread instructions however the warp diverges.
    EXPECT_EQ(bench.counters().thread_instructions, 32U * (2 + kBody));
  }
}

TEST_P(Control, AnInstructionMissCostsTheWayToMemory) {
  // The first fetch misses in cycle 0 and leaves in 1; what it brings is in the buffer a cycle after its
  // arrival.
  config_.icache.bytes = 4096;
  constexpr Cycle kDelay = 100;
  Program program;
  program.add(alu(1));
  program.add(alu(2));
  WarpCode code;
  code.run(0).run(1);
  Bench bench(config_, kDelay);
  bench.start(program, {code});
  const Cycle issue = 1 + network_latency() + kDelay + 1;
  run_through(bench, issue - 1);
  EXPECT_EQ(bench.counters().warp_instructions, 0U);
  bench.window(issue + 1);
  EXPECT_EQ(bench.counters().warp_instructions, 1U);
  bench.finish();
  EXPECT_EQ(bench.counters().requests_sent, 1U);
}

TEST_P(Control, ABarrierOpensItsLatencyAfterTheLastArrival) {
  // All warps but one arrive at once; the last after a chain of SFU instructions.
  constexpr std::uint32_t kChain = 3;
  Program program;
  const std::uint32_t early = program.add(barrier());
  const std::uint32_t after = program.add(alu(1));
  std::vector<std::uint32_t> chain;
  for (std::uint32_t i = 0; i < kChain; ++i)
    chain.push_back(program.add(inst(Unit::Sfu, LatencyClass::Sfu, {2}, {2})));
  StaticInst ordered = barrier();
  ordered.slot[0] = 2;
  ordered.num_src = 1;  // arrives when the chain is through
  const std::uint32_t late = program.add(ordered);
  const std::uint32_t after_late = program.add(alu(3));
  WarpCode fast;
  fast.run(early).run(after);
  WarpCode slow;
  for (const std::uint32_t pc : chain) slow.run(pc);
  slow.run(late).run(after_late);
  for (const std::uint32_t warps : {2U, 4U}) {
    std::vector<WarpCode> code(warps, fast);
    code[0] = slow;
    Bench bench(config_);
    bench.start(program, code);
    const Cycle arrival = kFirstIssue + kChain * Cycle{row(LatencyClass::Sfu).latency};
    const Cycle open = arrival + config_.sm.barrier_latency;
    run_through(bench, open - 1);
    EXPECT_EQ(bench.counters().warp_instructions, warps - 1 + kChain + 1);
    EXPECT_EQ(bench.counters().barriers, warps);
    // The scheduler of the last arrival is held by that for its issue interval.
    const Cycle first = std::max(open, arrival + config_.sm.issue_interval);
    bench.window(first + 1);
    EXPECT_GT(bench.counters().warp_instructions, warps - 1 + kChain + 1);
    // Warps of one scheduler follow each other.
    const Cycle rounds = (warps + config_.sm.schedulers - 1) / config_.sm.schedulers;
    const Cycle interval = std::max<Cycle>(config_.sm.issue_interval,
                                           unit(Unit::Sp).count >= std::min(warps, config_.sm.schedulers)
                                               ? occupied(Unit::Sp, LatencyClass::FpAdd)
                                               : 2 * occupied(Unit::Sp, LatencyClass::FpAdd));
    EXPECT_EQ(bench.finish(), first + (rounds - 1) * interval);
  }
}

TEST_P(Control, BarriersInALoopCostTheSameEachTime) {
  // A warp alone: barrier, jump back. Whichever takes longer of the branch and the barrier is the period.
  Program program;
  program.add(barrier());
  for (const std::uint32_t latency : {1U, 3U, 20U}) {
    config_.sm.barrier_latency = latency;
    WarpCode code;
    for (int i = 0; i < 11; ++i) code.run(0);
    const Cycle period = std::max<Cycle>(taken(), latency);
    EXPECT_EQ(time_of(config_, program, {code}), kFirstIssue + 10 * period) << latency;
  }
}

TEST_P(Control, AFenceWaitsForTheAcknowledgement) {
  // Store of a line: issued in 1, accessed in 2, its flits leave from 3 on, one per network cycle.
  Program program;
  program.add(store());
  program.add(control(isa::kFence));
  program.add(alu(1));
  WarpCode code;
  code.global(0, 5).run(1).run(2);
  constexpr Cycle kDelay = 100;
  const Cycle acknowledged = kFirstAccess + 1 + (flits(kLineBytes) - 1) + network_latency() + kDelay;
  Bench bench(config_, kDelay);
  bench.start(program, {code});
  run_through(bench, acknowledged - 1);
  EXPECT_EQ(bench.counters().warp_instructions, 2U);
  bench.window(acknowledged + 1);
  EXPECT_EQ(bench.counters().warp_instructions, 3U);
  bench.finish();
}

TEST_P(Control, ABlockStartsItsLaunchLatencyAfterItsDispatch) {
  Program program;
  program.add(alu(1));
  WarpCode code;
  code.run(0);
  for (const std::uint32_t latency : {0U, 1U, 40U}) {
    config_.sm.block_launch_latency = latency;
    Bench bench(config_);
    bench.bind(program, {32, 16, 0});
    bench.launch({code}, 0, 0, 3);
    const Cycle issue = 3 + latency + kFirstIssue;
    bench.window(issue);
    EXPECT_EQ(bench.counters().warp_instructions, 0U);
    bench.window(issue + 1);
    EXPECT_EQ(bench.counters().warp_instructions, 1U);
    bench.finish();
  }
}

TEST_P(Control, ResidencyIsBoundByEachResourceExactly) {
  const arch::SmConfig& sm = config_.sm;
  const auto resident = [&](workload::BlockResources resources) {
    Bench bench(config_);
    Program program;
    program.add(alu(1));
    bench.bind(program, resources);
    std::uint32_t blocks = 0;
    while (bench.sm.fits(resources)) {
      std::vector<WarpCode> code(resources.warps());
      for (WarpCode& warp : code) warp.run(0);
      bench.launch(code, 0, blocks++);
    }
    bench.finish();
    return blocks;
  };
  const auto up = [](std::uint32_t n, std::uint32_t unit) { return (n + unit - 1) / unit * unit; };
  EXPECT_EQ(resident({32, 1, 0}), std::min(sm.max_blocks, sm.max_warps));
  EXPECT_EQ(resident({512, 1, 0}), sm.max_threads / 512);
  EXPECT_EQ(resident({512 + 32, 1, 0}), sm.max_threads / (512 + 32));
  const std::uint32_t warp_registers = up(63 * 32, sm.register_allocation_unit);
  EXPECT_EQ(resident({64, 63, 0}), std::min(sm.max_blocks, sm.registers / (2 * warp_registers)));
  EXPECT_EQ(resident({32, 1, sm.shared_bytes / 2}), 2U);
  EXPECT_EQ(resident({32, 1, sm.shared_bytes / 2 + 1}), 1U);
  EXPECT_EQ(resident({32, 1, sm.shared_bytes}), 1U);
  // Each capacity by one less than a block needs, and exactly.
  config_.sm.registers = 2 * warp_registers - 1;
  EXPECT_EQ(resident({64, 63, 0}), 0U);
  config_.sm.registers = 2 * warp_registers;
  EXPECT_EQ(resident({64, 63, 0}), 1U);
  config_.sm.shared_bytes = 3 * sm.shared_allocation_unit - 1;
  EXPECT_EQ(resident({32, 1, 3 * sm.shared_allocation_unit}), 0U);
  config_.sm.shared_bytes = 3 * sm.shared_allocation_unit;
  EXPECT_EQ(resident({32, 1, 3 * sm.shared_allocation_unit}), 1U);
  // Threads and warps apart: the last thread that fits, and the first that does not.
  config_.sm.max_threads = 100;
  EXPECT_EQ(resident({100, 1, 0}), 1U);
  EXPECT_EQ(resident({101, 1, 0}), 0U);
  config_.sm.max_threads = 1024;
  config_.sm.max_warps = 5;
  EXPECT_EQ(resident({5 * 32, 1, 0}), 1U);
  EXPECT_EQ(resident({5 * 32 + 1, 1, 0}), 0U);
}

GPUMUX_ON_EVERY_PRESET(Control);

}  // namespace
}  // namespace gpumux::micro
