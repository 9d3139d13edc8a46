// Blocks: resources, barriers, fences, exit, policies' knobs.
#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

StaticInst barrier(std::uint8_t number, std::uint16_t flags = 0) {
  StaticInst made = control(static_cast<std::uint16_t>(isa::kBarrier | flags));
  made.barrier = number;
  return made;
}

TEST(Resources, EachOneBinds) {
  arch::MachineConfig config = plain_machine();
  config.sm.max_blocks = 4;
  config.sm.max_threads = 512;
  config.sm.max_warps = 16;
  config.sm.registers = 8192;
  config.sm.shared_bytes = 4096;
  config.sm.shared_allocation_unit = 256;
  config.sm.register_allocation_unit = 256;
  const auto capacity = [&](workload::BlockResources resources) {
    Bench bench(config);
    Program program;
    program.add(alu(1));
    bench.bind(program, resources);
    std::uint32_t blocks = 0;
    while (bench.sm.fits(resources)) {
      std::vector<WarpCode> code(resources.warps());
      for (WarpCode& warp : code) warp.run(0);
      bench.launch(code, 0, blocks++);
    }
    EXPECT_EQ(bench.sm.resident_blocks(0), blocks);
    bench.finish();
    EXPECT_EQ(bench.ended.size(), blocks);
    EXPECT_TRUE(bench.sm.fits(resources));
    return blocks;
  };
  EXPECT_EQ(capacity({32, 8, 0}), 4U);     // block slots
  EXPECT_EQ(capacity({200, 8, 0}), 2U);    // threads (and warps)
  EXPECT_EQ(capacity({161, 1, 0}), 2U);    // 6 warps of 16
  EXPECT_EQ(capacity({64, 48, 0}), 2U);    // 2 x 1536 registers
  EXPECT_EQ(capacity({32, 65, 0}), 3U);    // 2080 registers are rounded to 2304
  EXPECT_EQ(capacity({32, 8, 1025}), 3U);  // 1025 bytes are rounded to 1280
  EXPECT_EQ(capacity({32, 8, 4096}), 1U);
}

TEST(Barrier, ReleasesAfterTheLastArrival) {
  // Warp 0 arrives at once, warp 1 after a chain of ten.
  Program program;
  program.add(barrier(0));
  program.add(alu(1));
  for (int i = 0; i < 10; ++i) program.add(alu(2, {2}));
  program.add(barrier(0));
  program.add(alu(3));
  WarpCode fast;
  fast.run(0).run(1);
  WarpCode slow;
  for (std::uint32_t i = 2; i < 14; ++i) slow.run(i);
  for (const std::uint32_t latency : {1U, 20U}) {
    arch::MachineConfig config = plain_machine();
    config.sm.barrier_latency = latency;
    config.sm.fetch_width = config.sm.instruction_buffer = 16;
    Bench bench(config);
    bench.start(program, {fast, slow});
    // Fetches in cycles 0 and 1; slow issues its first in cycle 2, its tenth in 38, the barrier in 39.
    bench.window(10);
    while (bench.now < 39 + latency) bench.window(std::min(bench.now + 10, 39 + Cycle{latency}));
    EXPECT_EQ(bench.counters().warp_instructions, 12U);
    bench.window(bench.now + 3);
    EXPECT_EQ(bench.counters().warp_instructions, 14U);
    EXPECT_EQ(bench.counters().barriers, 2U);
    bench.finish();
    EXPECT_EQ(bench.ended[0].time, 39U + latency + 1U);
  }
}

TEST(Barrier, ExitedWarpsDoNotCount) {
  Program program;
  program.add(barrier(0));
  program.add(alu(1));
  program.add(alu(2, {2}));
  WarpCode waits;
  waits.run(0).run(1);
  WarpCode exits;
  for (int i = 0; i < 5; ++i) exits.run(2);
  Bench bench(plain_machine());
  bench.start(program, {waits, waits, exits});
  bench.finish();
  EXPECT_EQ(bench.ended.size(), 1U);
  EXPECT_GT(bench.sm.scheduler_counters().scoreboard_alu + bench.sm.scheduler_counters().fetch, 5U);
}

TEST(Barrier, ArriveDoesNotWaitAndNumbersAreApart) {
  // Warp 0 produces: arrives at barrier 1 and goes on; warp 1 waits there.
  Program program;
  program.add(barrier(1, isa::kArrive));
  program.add(alu(1));
  program.add(barrier(1));
  program.add(alu(2));
  program.add(barrier(2));
  WarpCode producer;
  producer.run(0).run(1).run(4);
  WarpCode consumer;
  consumer.run(2).run(3).run(4);
  Bench bench(plain_machine());
  bench.start(program, {producer, consumer});
  EXPECT_LT(bench.finish(), 40U);
  EXPECT_EQ(bench.counters().barriers, 4U);
}

TEST(Barrier, AmongPartOfTheWarpsOpensWhenAllWait) {
  Program program;
  program.add(barrier(1));
  program.add(barrier(2));
  program.add(alu(1));
  program.add(barrier(0));
  WarpCode first;
  first.run(0).run(2).run(3);
  WarpCode second;
  second.run(1).run(2).run(3);
  Bench bench(plain_machine());
  bench.start(program, {first, first, second, second});
  bench.finish();
  EXPECT_EQ(bench.ended.size(), 1U);
}

TEST(Barrier, GivenNumberOfWarpsOpensIt) {
  // Two of three warps meet at barrier 3 while the third runs a long chain.
  Program program;
  program.add(barrier(3));
  program.table[0].barrier_warps = 2;
  program.add(alu(1));
  for (int i = 0; i < 30; ++i) program.add(alu(2, {2}));
  WarpCode meets;
  meets.run(0).run(1);
  WarpCode chain;
  for (std::uint32_t i = 2; i < 32; ++i) chain.run(i);
  Bench bench(plain_machine());
  bench.start(program, {meets, chain, meets});
  bench.window(10);
  bench.window(20);
  EXPECT_EQ(bench.counters().barriers, 2U);
  EXPECT_EQ(bench.counters().warp_instructions, 4U + 5U);
  bench.finish();
}

TEST(Barrier, EarlyArrivalOfAnExitedWarpCountsOnce) {
  // Warp 0 arrives without waiting and exits; warps 1 and 2 must still wait for each other.
  Program program;
  program.add(barrier(1, isa::kArrive));
  program.add(barrier(1));
  program.add(alu(1));
  for (int i = 0; i < 10; ++i) program.add(alu(2, {2}));
  program.add(barrier(1));
  WarpCode leaves;
  leaves.run(0);
  WarpCode waits;
  waits.run(1).run(2);
  WarpCode late;
  for (std::uint32_t i = 3; i < 14; ++i) late.run(i);
  Bench bench(plain_machine());
  bench.start(program, {leaves, waits, late});
  bench.window(10);
  bench.window(20);
  EXPECT_LT(bench.counters().warp_instructions, 8U);  // the alu after the barrier has not issued
  EXPECT_GE(bench.finish(), 40U);
}

TEST(Barrier, PredicatedOffIsNoArrival) {
  Program program;
  program.add(barrier(0));
  program.add(alu(1));
  WarpCode code;
  code.run(0, 0).run(1);
  WarpCode other;
  for (int i = 0; i < 5; ++i) other.run(1);
  Bench bench(plain_machine());
  bench.start(program, {code, other});
  bench.finish();
  EXPECT_EQ(bench.counters().barriers, 0U);
}

TEST(Fence, WaitsForStoresToBeAcknowledged) {
  Program program;
  program.add(store());
  program.add(control(isa::kFence));
  program.add(alu(1));
  WarpCode code;
  code.global(0, 5).run(1).run(2);
  // Store: issue 1, access 2, leaves in 3 as 5 flits until 7, arrives in 17, acknowledged in 117.
  EXPECT_EQ(time_of(plain_machine(), program, {code}), 117U);
  Bench bench(plain_machine());
  bench.start(program, {code});
  for (int i = 0; i < 10; ++i) bench.window(bench.now + 10);
  EXPECT_NE(bench.sm.describe_waits().find("fence"), std::string::npos);
  EXPECT_GT(bench.sm.scheduler_counters().synchronisation, 80U);
  for (; bench.now < 117;) bench.window(std::min<Cycle>(bench.now + 10, 117));
  EXPECT_EQ(bench.counters().warp_instructions, 2U);
  bench.window(118);
  EXPECT_EQ(bench.counters().warp_instructions, 3U);
  bench.finish();
}

TEST(Fence, WithoutEarlierAccessesCostsItsSlot) {
  Program program;
  program.add(control(isa::kFence));
  program.add(alu(1));
  WarpCode code;
  code.run(0).run(1);
  EXPECT_EQ(time_of(plain_machine(), program, {code}), 2U);
}

TEST(Exit, BlockEndsWhenItsLoadsAreBack) {
  Program program;
  program.add(load(1));
  WarpCode code;
  code.global(0, 5);
  Bench bench(plain_machine());
  bench.start(program, {code});
  while (bench.now < 110) bench.window(bench.now + 10);
  EXPECT_EQ(bench.sm.all_resident_blocks(), 1U);
  EXPECT_GT(bench.sm.scheduler_counters().idle, 100U);
  bench.finish();
  EXPECT_EQ(bench.ended[0].time, 113U);
}

TEST(Exit, ABlockKeepsItsPlaceUntilItsStoresAreAcknowledged) {
  Program program;
  program.add(store());
  WarpCode code;
  code.global(0, 5);
  Bench bench(plain_machine());
  bench.start(program, {code});
  bench.window(5);
  EXPECT_EQ(bench.sm.all_resident_blocks(), 1U);
  EXPECT_FALSE(bench.sm.drained(0));
  EXPECT_TRUE(bench.sm.drained(1));
  EXPECT_EQ(bench.finish(), 117U);  // as above
  EXPECT_EQ(bench.ended.size(), 1U);
  EXPECT_TRUE(bench.sm.drained(0));
}

TEST(Launch, LatencyComesBeforeTheFirstFetch) {
  arch::MachineConfig config = plain_machine();
  config.sm.block_launch_latency = 30;
  Program program;
  program.add(alu(1));
  WarpCode code;
  code.run(0);
  Bench bench(config);
  bench.bind(program, {32, 16, 0});
  bench.launch({code}, 0, 0, 7);
  EXPECT_EQ(bench.finish(), 7U + 30U + 1U);
}

TEST(Knobs, ThrottledKernelIssuesNothing) {
  Program program;
  for (std::uint16_t i = 0; i < 30; ++i) program.add(alu(i));
  WarpCode code;
  for (std::uint32_t i = 0; i < 30; ++i) code.run(i);
  Bench bench(plain_machine());
  bench.bind(program, {32, 16, 0}, 0, 0);
  bench.bind(program, {32, 16, 0}, 3, 1);
  bench.launch({code}, 0, 0);
  bench.launch({code}, 3, 1);
  bench.window(10);
  bench.sm.allow_issue(3, false);
  const std::uint64_t before = bench.sm.counters(3).warp_instructions;
  while (bench.now < 100) bench.window(bench.now + 10);
  EXPECT_EQ(bench.sm.counters(3).warp_instructions, before);
  EXPECT_EQ(bench.counters().warp_instructions, 30U);
  EXPECT_GT(bench.sm.scheduler_counters().throttled, 50U);
  EXPECT_EQ(bench.wake, kNever);
  bench.sm.allow_issue(3, true);
  EXPECT_EQ(bench.sm.next_wake(), 100U);
  while (bench.now < 200) bench.window(bench.now + 10);
  EXPECT_EQ(bench.sm.counters(3).warp_instructions, 30U);
  EXPECT_EQ(bench.sm.counters(3).blocks_completed, 1U);
}

TEST(Reasons, SumToSchedulerCyclesWhileABlockIsResident) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 2;
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.global(0, 5).run(1);
  Bench bench(config);
  bench.bind(program, {96, 16, 0});
  while (bench.now < 40) bench.window(bench.now + 10);  // empty: not counted
  bench.launch({code, code, code}, 0, 0, 40);
  const Cycle end = bench.finish();
  const arch::SchedulerCounters counters = bench.sm.scheduler_counters();
  std::uint64_t sum = 0;
#define GPUMUX_FIELD(field, unit, description) sum += counters.field;
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  EXPECT_EQ(sum, 2 * (end + 1 - 40));
  EXPECT_EQ(counters.issued, 6U);
  EXPECT_GT(counters.scoreboard_memory, 150U);
}

}  // namespace
}  // namespace gpumux::sm::testing
