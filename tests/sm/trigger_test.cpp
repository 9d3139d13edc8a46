// Triggers act at exact cycles, whatever the lengths of windows are.
#include "harness.hpp"

namespace gpumux::sm::testing {
namespace {

using When = arch::Trigger::When;

/// One scheduler, which issues an independent instruction a cycle; kernels 0 and 1.
struct TriggerBench {
  TriggerBench() : bench(plain_machine()) {
    for (std::uint16_t i = 0; i < 40; ++i) program.add(alu(i));
    for (std::uint32_t i = 0; i < 2000; ++i) code.run(i % 40);
  }
  void add(KernelSlot slot, std::uint32_t warps = 4) {
    bench.bind(program, {warps * kWarpSize, 16, 0}, slot, slot);
    bench.launch(std::vector<WarpCode>(warps, code), slot, slot, bench.now);
  }
  void run(Cycle until, Cycle length = 10) {
    while (bench.now < until) bench.window(std::min(until, bench.now + length));
  }
  [[nodiscard]] std::uint64_t issued(KernelSlot slot) const {
    return bench.sm.counters(slot).warp_instructions;
  }
  Program program;
  WarpCode code;
  Bench bench;
};

// Issue begins some cycles after the launch, then goes on without a gap: so instructions count cycles.
TEST(Trigger, AtACycleTheMasksChangeFromItsBeginOn) {
  for (const Cycle length : {1, 7, 10}) {
    TriggerBench q;
    q.add(0);
    q.run(40, length);
    const std::uint64_t at_40 = q.issued(0);
    q.bench.sm.arm({.id = 7, .when = When::AtCycle, .cycle = 63, .forbid = 1});
    q.bench.sm.arm({.id = 8, .when = When::AtCycle, .cycle = 71, .allow = 1});
    q.run(68, length);
    EXPECT_EQ(q.issued(0), at_40 + 23) << "cycles 40 to 62";
    q.run(81, length);
    EXPECT_EQ(q.issued(0), at_40 + 23 + 10) << "cycles 71 to 80";
    const std::vector<arch::Fired> fired = q.bench.sm.take_fired();
    ASSERT_EQ(fired.size(), 2U);
    EXPECT_EQ(fired[0].id, 7U);
    EXPECT_EQ(fired[0].cycle, 63U);
    EXPECT_EQ(fired[1].id, 8U);
    EXPECT_EQ(fired[1].cycle, 71U);
    EXPECT_FALSE(q.bench.sm.has_fired());
  }
}

TEST(Trigger, ACycleThatHasPassedActsAtOnce) {
  TriggerBench q;
  q.add(0);
  q.run(50);
  q.bench.sm.arm({.id = 1, .when = When::AtCycle, .cycle = 50, .forbid = 1});
  const std::uint64_t before = q.issued(0);
  q.run(90);
  EXPECT_EQ(q.issued(0), before);
  EXPECT_EQ(q.bench.sm.take_fired().at(0).cycle, 50U);
}

TEST(Trigger, AtACountTheKernelStopsExactlyThereAndTheOtherGoesOn) {
  for (const Cycle length : {1, 10}) {
    TriggerBench q;
    q.add(0);
    q.add(1);
    q.bench.sm.arm({.id = 3, .when = When::AtCount, .kernel = 0, .count = 100, .forbid = 1});
    q.run(1000, length);
    EXPECT_EQ(q.issued(0), 100U) << "one is issued in a cycle at most";
    EXPECT_GT(q.issued(1), 800U);
    EXPECT_EQ(q.bench.sm.take_fired().size(), 1U);
  }
}

TEST(Trigger, AnyCounterDoesAndADisarmedOneDoesNot) {
  TriggerBench q;
  const std::uint32_t pc = q.program.add(load(41));
  q.code.records.clear();
  for (std::uint32_t i = 0; i < 200; ++i) q.code.global(pc, 16 * i).run(i % 40);
  q.add(0, 1);
  q.bench.sm.arm(
      {.id = 1, .when = When::AtCount, .counter = &arch::KernelCounters::l1_misses, .count = 5, .forbid = 1});
  q.bench.sm.arm({.id = 2, .when = When::AtCount, .count = 3, .forbid = 1});
  q.bench.sm.disarm(2);
  q.run(3000);
  EXPECT_GE(q.bench.sm.counters(0).l1_misses, 5U);
  EXPECT_LT(q.bench.sm.counters(0).l1_misses, 30U);
  const std::vector<arch::Fired> fired = q.bench.sm.take_fired();
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_EQ(fired[0].id, 1U);
  // The same id again replaces the one that is armed.
  q.bench.sm.arm({.id = 5, .when = When::AtCycle, .cycle = 4000, .allow = 1});
  q.bench.sm.arm({.id = 5, .when = When::AtCycle, .cycle = 3500, .allow = 1});
  q.run(3499);
  EXPECT_FALSE(q.bench.sm.has_fired());
  q.run(4500);
  EXPECT_EQ(q.bench.sm.take_fired().size(), 1U);
}

// Four warps, each ready in each cycle, of which one issues: three are idle.
TEST(Trigger, SamplesCountTheWarpsThatWereNotChosen) {
  for (const Cycle length : {1, 7, 10}) {
    TriggerBench q;
    q.add(0);
    q.run(100, length);
    q.bench.sm.arm({.id = 1, .when = When::EachPeriod, .cycle = 50});
    q.run(600, length);
    const arch::WarpSamples samples = q.bench.sm.warp_samples(0);
    EXPECT_EQ(samples.samples, 10U);
    EXPECT_GE(samples.idle_warps, 25U);
    EXPECT_LE(samples.idle_warps, 40U);
    EXPECT_FALSE(q.bench.sm.has_fired()) << "it stays armed";
    EXPECT_EQ(q.bench.sm.warp_samples(1).samples, 0U) << "no block here";
    if (length == 1) continue;
    TriggerBench other;
    other.add(0);
    other.run(100, 1);
    other.bench.sm.arm({.id = 1, .when = When::EachPeriod, .cycle = 50});
    other.run(600, 3);
    EXPECT_EQ(other.bench.sm.warp_samples(0).idle_warps, samples.idle_warps);
  }
}

TEST(Trigger, ASleepingSmWakesForIt) {
  TriggerBench q;
  q.add(0);
  q.run(60);
  q.bench.sm.allow_issue(0, false);
  q.run(100);
  q.bench.sm.arm({.id = 1, .when = When::AtCycle, .cycle = 777, .allow = 1});
  const std::uint64_t before = q.issued(0);
  EXPECT_LE(q.bench.sm.next_wake(), 776U);
  q.run(790);
  EXPECT_EQ(q.issued(0), before + 13);
}

TEST(Trigger, ANewKernelInTheSlotIsNotConcerned) {
  TriggerBench q;
  q.code.records.resize(20);
  q.add(0, 1);
  q.bench.sm.arm({.id = 1, .when = When::AtCount, .kernel = 0, .count = 30, .forbid = 1});
  q.bench.sm.arm({.id = 2, .when = When::AtCycle, .cycle = 300, .forbid = 1});
  q.bench.sm.set_issue_budget(0, {.unit = arch::IssueBudget::Unit::ThreadInstructionsDone, .amount = 5000});
  q.bench.sm.limit_warps(0, 1);
  q.run(200);
  ASSERT_EQ(q.issued(0), 20U);
  q.bench.sm.reset_counters(0);
  for (int i = 0; i < 500; ++i) q.code.run(static_cast<std::uint32_t>(i) % 40);
  q.add(0, 2);
  EXPECT_EQ(q.bench.sm.issue_budget(0).left, 0);
  q.run(2000);
  EXPECT_EQ(q.issued(0), 2U * 520);
  EXPECT_EQ(q.bench.sm.take_fired().size(), 1U) << "the one at a cycle, which holds nobody";
}

}  // namespace
}  // namespace gpumux::sm::testing
