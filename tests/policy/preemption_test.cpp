// Preemption costs, Algorithm 1 of chimera15 and the kernel scheduler, by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "fake_control.hpp"
#include "policy/preemption/kernel_scheduler.hpp"
#include "policy/settings.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

constexpr Allowed kAll{true, true, true};
constexpr auto kSwitch = static_cast<std::size_t>(Technique::Switch);
constexpr auto kDrain = static_cast<std::size_t>(Technique::Drain);
constexpr auto kFlush = static_cast<std::size_t>(Technique::Flush);

Candidate candidate(std::uint32_t residency, std::uint64_t instructions, bool flushable = true) {
  return {{.residency = residency, .instructions = instructions}, flushable};
}

// --- costs -----------------------------------------------------------------------------------------------

TEST(PreemptionCost, ContextsOfThePapersTable) {
  const arch::MachineConfig fermi = arch::load_machine("chimera15-fermi30");
  // BlackScholes: 4 blocks of 24 kB take 17.0 us at 177.4 / 30 GB/s; kmeansPoint: 6 of 12 kB 12.5 us.
  EXPECT_NEAR(context_cycles(fermi, 4 * 24 * 1024) / 1400, 16.6, 0.1);
  EXPECT_NEAR(context_cycles(fermi, 6 * 12 * 1024) / 1400, 12.5, 0.1);
  // 256 threads of 20 registers in units of 64 per warp: 640 each of 8 warps; and 1000 B in units of 128.
  EXPECT_EQ(context_bytes(fermi.sm, {256, 20, 1000}), 8 * 640 * 4 + 1024U);
}

TEST(PreemptionCost, OfThreeBlocksThatAreNotEquallyFar) {
  // Ten blocks of 100 instructions are done, in 400 cycles each: 0.25 instructions per cycle.
  const KernelProgress kernel{10, 1000, 1000 + 20 + 50 + 120, 4760};
  EXPECT_DOUBLE_EQ(kernel.block_ipc(), 0.25);
  EXPECT_DOUBLE_EQ(kernel.mean_instructions(), 100);
  const std::vector<Candidate> blocks = {candidate(1, 20), candidate(2, 50, false), candidate(3, 120)};
  const std::vector<BlockCosts> costs = estimate_costs(kernel, blocks, 600, DrainOverhead::ToMost);
  for (const BlockCosts& cost : costs) {
    EXPECT_DOUBLE_EQ(cost[kSwitch].latency, 600);
    EXPECT_DOUBLE_EQ(cost[kSwitch].overhead, 0.25 * 2 * 600);
  }
  EXPECT_DOUBLE_EQ(costs[0][kDrain].latency, 320);  // 80 are left
  EXPECT_DOUBLE_EQ(costs[1][kDrain].latency, 200);
  EXPECT_DOUBLE_EQ(costs[2][kDrain].latency, 0);  // it is beyond the mean
  EXPECT_DOUBLE_EQ(costs[0][kDrain].overhead, 100);
  EXPECT_DOUBLE_EQ(costs[1][kDrain].overhead, 70);
  EXPECT_DOUBLE_EQ(costs[2][kDrain].overhead, 0);
  EXPECT_DOUBLE_EQ(costs[0][kFlush].latency, 0);
  EXPECT_DOUBLE_EQ(costs[0][kFlush].overhead, 20);
  EXPECT_EQ(costs[1][kFlush].latency, kMostCost);
  EXPECT_DOUBLE_EQ(costs[2][kFlush].overhead, 120);
  const std::vector<BlockCosts> of_sm =
      estimate_costs(kernel, blocks, 600, DrainOverhead::ToMost, SwitchOverhead::OfSm);
  EXPECT_DOUBLE_EQ(of_sm[0][kSwitch].overhead, 3 * 0.25 * 2 * 600) << "three blocks' instructions";
  EXPECT_DOUBLE_EQ(of_sm[0][kSwitch].latency, 600);
  const std::vector<BlockCosts> to_least = estimate_costs(kernel, blocks, 600, DrainOverhead::ToLeast);
  EXPECT_DOUBLE_EQ(to_least[0][kDrain].overhead, 0);
  EXPECT_DOUBLE_EQ(to_least[2][kDrain].overhead, 100);
}

TEST(PreemptionCost, WithoutABlockThatIsDoneDrainingCannotBeEstimated) {
  const std::vector<BlockCosts> costs =
      estimate_costs({0, 0, 40, 100}, {candidate(1, 40)}, 600, DrainOverhead::ToMost);
  EXPECT_EQ(costs[0][kDrain].latency, kMostCost);
  EXPECT_EQ(costs[0][kDrain].overhead, kMostCost);
  EXPECT_DOUBLE_EQ(costs[0][kSwitch].overhead, 0.4 * 2 * 600);
}

// --- selection -------------------------------------------------------------------------------------------

TEST(PreemptionSelection, EachBlockTakesWhatCostsLeastWithinTheLimit) {
  const std::vector<Candidate> blocks = {candidate(1, 10), candidate(2, 0), candidate(3, 0)};
  //                                     switch     drain      flush
  const std::vector<BlockCosts> costs = {{{{500, 80}, {900, 5}, {0, 10}}},    // early: draining is too slow
                                         {{{500, 80}, {300, 20}, {0, 90}}},   // late
                                         {{{500, 80}, {900, 0}, {0, 200}}}};  // between
  const SmPlan plan = plan_sm(4, blocks, costs, kAll, 600);
  ASSERT_EQ(plan.blocks.size(), 3U);
  EXPECT_EQ(plan.blocks[0].technique, Technique::Flush);
  EXPECT_EQ(plan.blocks[1].technique, Technique::Drain);
  EXPECT_EQ(plan.blocks[2].technique, Technique::Switch);
  EXPECT_EQ(plan.sm, 4U);
  EXPECT_DOUBLE_EQ(plan.latency, 500);
  EXPECT_DOUBLE_EQ(plan.overhead, 10 + 20 + 80);
  // With a limit below the switch's time, the third is flushed; a latency that equals it meets it.
  EXPECT_EQ(plan_sm(4, blocks, costs, kAll, 499).blocks[2].technique, Technique::Flush);
  EXPECT_EQ(plan_sm(4, blocks, costs, kAll, 500).blocks[2].technique, Technique::Switch);
}

TEST(PreemptionSelection, ABlockThatNothingMeetsIsSwitched) {
  const std::vector<BlockCosts> costs = {{{{500, 80}, {900, 5}, {kMostCost, kMostCost}}}};
  const SmPlan plan = plan_sm(0, {candidate(1, 10, false)}, costs, kAll, 100);
  EXPECT_EQ(plan.blocks[0].technique, Technique::Switch);
  EXPECT_DOUBLE_EQ(plan.latency, 500);
  // By flushing alone it runs to its end.
  EXPECT_EQ(plan_sm(0, {candidate(1, 10, false)}, costs, {false, false, true}, kMostCost).blocks[0].technique,
            Technique::Drain);
}

TEST(PreemptionSelection, SmsThatMeetTheLimitInOrderOfOverhead) {
  const auto plan = [](std::uint32_t sm, double latency, double overhead) {
    return SmPlan{sm, {}, latency, overhead};
  };
  const std::vector<SmPlan> plans = {plan(0, 50, 9), plan(1, 200, 1), plan(2, 90, 3), plan(3, 150, 5),
                                     plan(4, 40, 9)};
  const auto sms = [&](std::size_t count) {
    std::vector<std::uint32_t> numbers;
    for (const SmPlan& chosen : select_sms(plans, count, 100)) numbers.push_back(chosen.sm);
    return numbers;
  };
  EXPECT_EQ(sms(1), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(sms(3), (std::vector<std::uint32_t>{2, 4, 0}));        // a tie: the one of less latency
  EXPECT_EQ(sms(9), (std::vector<std::uint32_t>{2, 4, 0, 3, 1}));  // those that miss it, the quickest first
}

// --- the kernel scheduler ----------------------------------------------------------------------------------

constexpr workload::BlockResources kBlock{256, 16, 0};  // 6 fit on the default SM: 1536 threads

double number_of(const Report& report, const std::string& name) {
  for (const Report::Number& n : report.numbers)
    if (n.name == name) return n.value;
  return -1.0;
}

std::unique_ptr<Policy> make(const char* text) { return create(parse_choice(text)); }

/// A kernel that fills every SM which serves it, with blocks of so many instructions each.
void fill(FakeControl& control, KernelSlot slot, std::uint32_t per_sm, std::uint64_t instructions) {
  for (std::uint32_t sm = 0; sm < control.config_.sms; ++sm) {
    if (control.limit(sm, slot) == 0) continue;
    control.resident[{static_cast<SmId>(sm), slot}] = per_sm;
    for (std::uint32_t i = 0; i < per_sm; ++i)
      control.blocks_on[static_cast<SmId>(sm)].push_back({.kernel = slot,
                                                          .residency = sm * 8 + i,
                                                          .instructions = instructions,
                                                          .cycles = 1000,
                                                          .may_restart = true});
  }
}

TEST(SmartEven, AnSmIsHandedOverWhenItsLastBlockHasLeft) {
  FakeControl control(4);
  const auto policy = make("smart-even:preempt=switch,context=halt");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(a), 4U);
  fill(control, a, 2, 100);
  control.time = 500;
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(a), 2U);
  EXPECT_EQ(control.sms_serving(b), 0U);
  ASSERT_EQ(control.stopped.size(), 4U);  // two blocks of two SMs
  EXPECT_TRUE(control.dropped.empty());
  // The whole SM's context: 6 blocks of 256 x 16 registers.
  const auto cycles = static_cast<Cycle>(std::llround(context_cycles(control.config_, 6ULL * 256 * 16 * 4)));
  EXPECT_EQ(control.stopped[0].second.save, cycles);
  EXPECT_EQ(control.stopped[0].second.restore, cycles);
  const SmId taken = control.stopped[0].first;
  control.time = 1300;
  control.resident[{taken, a}] = 1;
  policy->block_left(control, control.kernel(a), taken);
  EXPECT_EQ(control.limit(taken, b), 0U);
  control.resident[{taken, a}] = 0;
  policy->block_left(control, control.kernel(a), taken);
  EXPECT_EQ(control.limit(taken, b), kUnlimited);
  EXPECT_EQ(control.sms_serving(b), 1U);
  const Report report = policy->report(control);
  const auto number = [&](const std::string& name) { return number_of(report, name); };
  EXPECT_EQ(number("preemptions"), 1);
  ASSERT_EQ(report.preemptions.size(), 1U);
  EXPECT_EQ(report.preemptions[0].sm, taken);
  EXPECT_EQ(report.preemptions[0].app, 0U);
  EXPECT_EQ(report.preemptions[0].asked, 500U);
  EXPECT_EQ(report.preemptions[0].end, 1300U);
  EXPECT_EQ(report.preemptions[0].blocks, (std::array<std::uint32_t, 3>{2, 0, 0}));
  EXPECT_TRUE(report.preemptions[0].done);
  EXPECT_EQ(number("preempted_blocks_switched"), 4);
  EXPECT_EQ(number("preemption_latency_max"), 800);
  EXPECT_EQ(number("preemptions_over_limit"), 0);
}

TEST(SmartEven, AContextThatGoesToMemoryIsSoManyLinesAndAnIdealOneIsNothing) {
  const auto move = [](const char* text) {
    FakeControl control(2);
    const auto policy = make(text);
    fill(control, control.arrive(*policy, kBlock, 1000), 1, 100);
    control.arrive(*policy, kBlock, 1000);
    return control.stopped.at(0).second;
  };
  // 256 x 16 registers are 16 KB.
  const arch::ContextMove traffic = move("smart-even:preempt=switch,context=traffic");
  EXPECT_EQ(traffic.lines, 128U);
  EXPECT_EQ(traffic.save + traffic.restore, 0U);
  EXPECT_EQ(move("smart-even:preempt=switch").lines, 128U);  // as the machine says
  EXPECT_EQ(move("smart-even:preempt=switch,context=halt").lines, 0U);
  const arch::ContextMove ideal = move("smart-even:preempt=ideal");
  EXPECT_EQ(ideal.save + ideal.restore + ideal.lines, 0U);
}

TEST(SmartEven, WhatRunsOnAnSmBeyondTheLimitIsCounted) {
  FakeControl control(2);
  const auto policy = make("smart-even:preempt=drain,limit=1000");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  fill(control, a, 1, 100);
  EXPECT_EQ(control.alarm_at, kNever);
  control.time = 500;
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.alarm_at, 1500U);
  control.time = 1504;
  control.kernel_counters.thread_instructions = 7000;
  policy->alarm(control);
  EXPECT_EQ(control.alarm_at, kNever);
  control.time = 2000;
  control.kernel_counters.thread_instructions = 9500;
  // The other ends before it has the SM: that is given back, and the preemption with it.
  control.end(*policy, b);
  const Report report = policy->report(control);
  EXPECT_EQ(number_of(report, "late_thread_instructions"), 2500);
  EXPECT_EQ(number_of(report, "preemptions"), 0);
  EXPECT_EQ(number_of(report, "preemptions_given_up"), 1);
  EXPECT_FALSE(report.preemptions.at(0).done);
}

/// In how many of the first 20 preemptions a kernel's blocks are dropped, none of which is ever done; then,
/// whether they are again when one is.
std::pair<std::size_t, bool> rounds_of_drops(const char* text) {
  FakeControl control(2);
  const auto policy = make(text);
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  const auto round = [&] {
    control.dropped.clear();
    control.blocks_on.clear();
    fill(control, a, 1, 100);
    const KernelSlot b = control.arrive(*policy, kBlock, 1000);
    for (const SmId sm : {SmId{0}, SmId{1}}) {
      if (control.limit(sm, a) != 0) continue;
      control.resident[{sm, a}] = 0;
      policy->block_left(control, control.kernel(a), sm);
    }
    control.end(*policy, b);
    return control.dropped.size();
  };
  std::size_t rounds = 0;
  for (int i = 0; i < 20; ++i) rounds += round() == 1 ? 1 : 0;
  control.kernel(a).blocks_done = 1;
  return {rounds, round() == 1};
}

TEST(SmartEven, BlocksThatAreDroppedAgainAndAgainRunToTheirEndsAtLast) {
  EXPECT_EQ(rounds_of_drops("smart-even:preempt=flush"), std::pair(std::size_t{8}, true));
  EXPECT_EQ(rounds_of_drops("smart-even:preempt=flush,flush_rounds=3"), std::pair(std::size_t{3}, true));
  EXPECT_EQ(rounds_of_drops("smart-even:preempt=flush,flush_rounds=0"), std::pair(std::size_t{20}, true));
}

TEST(SmartEven, AnEmptySmIsTakenFirstAndCostsNothing) {
  FakeControl control(2);
  const auto policy = make("smart-even:preempt=switch");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  fill(control, a, 1, 100);
  control.resident[{1, a}] = 0;
  control.blocks_on[1].clear();
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_TRUE(control.stopped.empty());
  EXPECT_EQ(control.limit(1, b), kUnlimited);
  EXPECT_EQ(control.limit(1, a), 0U);
  EXPECT_EQ(control.limit(0, a), kUnlimited);
}

TEST(SmartEven, FlushingDropsWhatMayBeginAnewAndTheRestRunsToItsEnd) {
  FakeControl control(2);
  const auto policy = make("smart-even:preempt=flush");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  fill(control, a, 2, 100);
  for (auto& [sm, blocks] : control.blocks_on) blocks[1].may_restart = false;
  control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.dropped.size(), 1U);
  EXPECT_TRUE(control.stopped.empty());
}

double number(const Policy& policy, const FakeControl& control, const std::string& name) {
  for (const Report::Number& n : policy.report(control).numbers)
    if (n.name == name) return n.value;
  return -1;
}

/// What becomes of the three blocks on one of two SMs: as they are, one that has issued a notice, and one
/// that has overwritten what it had read, without one.
struct Flushed {
  std::size_t dropped;
  double missed;
};
Flushed flush_three(const char* policy_text, bool has_notices, bool idempotent) {
  FakeControl control(2);
  const auto policy = make(policy_text);
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  control.kernel(a).has_notices = has_notices;
  control.kernel(a).idempotent = idempotent;
  fill(control, a, 3, 100);
  for (auto& [sm, blocks] : control.blocks_on) {
    blocks[1].notified = has_notices;
    blocks[2].may_restart = false;
  }
  control.arrive(*policy, kBlock, 1000);
  return {control.dropped.size(), number(*policy, control, "missed_notices")};
}

TEST(Flushing, ByNoticeTheMachineHasTheLastWord) {
  const Flushed notified = flush_three("smart-even:preempt=flush", true, false);
  EXPECT_EQ(notified.dropped, 1U);
  EXPECT_EQ(notified.missed, 1);  // it is asked to go, and runs to its end
  const Flushed exact = flush_three("smart-even:preempt=flush,relaxed=exact", false, false);
  EXPECT_EQ(exact.dropped, 2U);
  EXPECT_EQ(exact.missed, 0);
  // A trace's kernel has no notices: what its blocks have done stands for them.
  const Flushed trace = flush_three("smart-even:preempt=flush", false, false);
  EXPECT_EQ(trace.dropped, 2U);
  EXPECT_EQ(trace.missed, 0);
}

TEST(Flushing, StrictlyGoesByTheKernel) {
  EXPECT_EQ(flush_three("smart-even:preempt=flush-strict", false, false).dropped, 0U);
  const Flushed all = flush_three("smart-even:preempt=flush-strict", false, true);
  EXPECT_EQ(all.dropped, 2U);
  EXPECT_EQ(all.missed, 1);
}

TEST(Flushing, OnlyThoseWhoReadNoticesNeedThem) {
  const FakeControl control(2);
  const auto needs = [&](const char* text) { return make(text)->needs(control); };
  EXPECT_TRUE(needs("smart-even:preempt=flush").notices);
  EXPECT_TRUE(needs("smart-even:preempt=chimera,relaxed=notified").notices);
  for (const char* text : {"smart-even:preempt=flush,relaxed=exact", "smart-even:preempt=flush-strict",
                           "smart-even:preempt=drain", "smart-even:preempt=switch", "leftover"})
    EXPECT_FALSE(needs(text).notices) << text;
  EXPECT_TRUE(needs("smart-even:preempt=flush-strict").idempotence);
  EXPECT_TRUE(needs("smart-even:preempt=flush-strict").block_drops);
  EXPECT_FALSE(needs("smart-even:preempt=flush").idempotence);
  EXPECT_THROW((void)make("smart-even:preempt=drain,relaxed=exact"), UserError);
  EXPECT_THROW((void)make("smart-even:preempt=flush-strict,relaxed=exact"), UserError);
}

TEST(SmartEven, NothingIsTakenThatNobodyLacks) {
  FakeControl control(4);
  const auto policy = make("smart-even:preempt=switch");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  fill(control, a, 1, 100);
  control.kernel(a).blocks_done = 996;  // four blocks are left, on an SM each; one SM would hold them
  const KernelSlot b = control.arrive(*policy, kBlock, 6);
  EXPECT_EQ(control.stopped.size(), 1U);  // b needs one SM
  EXPECT_EQ(control.sms_serving(a), 3U);
  control.end(*policy, b);
  EXPECT_EQ(control.stopped.size(), 1U);
}

TEST(SmartEven, WhenTheOtherKernelEndsItsSmsComeBackAtOnce) {
  FakeControl control(4);
  const auto policy = make("smart-even");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  fill(control, a, 2, 100);
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(a), 2U);
  control.end(*policy, b);  // before the SMs that drain have been handed over
  EXPECT_EQ(control.sms_serving(a), 4U);
}

TEST(TimeSlice, ApplicationsTakeTurnsAndOneWithoutAKernelIsPassedOver) {
  FakeControl control(2);
  const auto policy = make("time-slice:slice=1000,preempt=drain");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000, AppId{0});
  EXPECT_EQ(control.alarm_at, 1000U);
  const KernelSlot b = control.arrive(*policy, kBlock, 1000, AppId{2});
  EXPECT_EQ(control.sms_serving(a), 2U);
  EXPECT_EQ(control.sms_serving(b), 0U);
  control.time = 1000;
  policy->alarm(control);
  EXPECT_EQ(control.sms_serving(a), 0U);
  EXPECT_EQ(control.sms_serving(b), 2U);
  EXPECT_EQ(control.alarm_at, 2000U);
  control.time = 1400;
  control.end(*policy, b);
  EXPECT_EQ(control.sms_serving(a), 2U);
  EXPECT_EQ(control.alarm_at, 2400U);
}

TEST(TimeSlice, ASliceBeginsWhenItsSmsAreThereAndContextsHaveTimeToComeBack) {
  FakeControl control(1);
  const auto policy = make("time-slice:slice=1000,preempt=switch,context=halt,limit=1us");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000, AppId{0});
  fill(control, a, 1, 100);
  const KernelSlot b = control.arrive(*policy, kBlock, 1000, AppId{1});
  control.time = 1000;
  policy->alarm(control);
  ASSERT_EQ(control.stopped.size(), 1U);
  EXPECT_EQ(control.sms_serving(b), 0U);
  const Cycle limit = control.alarm_at;
  EXPECT_LT(limit, 3000U);  // of the preemption: the slice has not begun
  control.time = limit;
  policy->alarm(control);
  EXPECT_EQ(control.alarm_at, kNever);
  control.time = 5000;
  control.resident[{SmId{0}, a}] = 0;
  control.blocks_on.clear();
  control.kernel(a).blocks_waiting = 1;
  policy->block_left(control, control.kernel(a), 0);
  EXPECT_EQ(control.sms_serving(b), 1U);
  EXPECT_EQ(control.alarm_at, 6000U);
  control.time = 6000;
  policy->alarm(control);
  const double restore = context_cycles(control.config_, 6ULL * 256 * 16 * 4);
  EXPECT_EQ(control.sms_serving(a), 1U);
  EXPECT_EQ(control.alarm_at, 7000U + static_cast<Cycle>(restore));
}

TEST(Priority, TheHighestGetsWhatItNeedsTheNextWhatRemains) {
  FakeControl control(4);
  const auto policy = make("priority:levels=1/3/3,preempt=drain");
  const KernelSlot low = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(low), 4U);
  const KernelSlot small = control.arrive(*policy, kBlock, 6);  // one SM holds them
  EXPECT_EQ(control.sms_serving(low), 3U);
  EXPECT_EQ(control.sms_serving(small), 1U);
  const KernelSlot high = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(low), 0U);
  EXPECT_EQ(control.sms_serving(high), 3U);
  control.end(*policy, high);
  EXPECT_EQ(control.sms_serving(low), 3U);
}

// --- cooperative grids -------------------------------------------------------------------------------------

RunningKernel kernel_of(std::uint64_t blocks, bool cooperative, bool resident) {
  RunningKernel kernel;
  kernel.resources = kBlock;
  kernel.blocks_total = blocks;
  kernel.blocks_dispatched = resident ? blocks : 0;
  kernel.max_blocks_per_sm = 6;
  kernel.cooperative = cooperative;
  return kernel;
}

TEST(SmDivision, ACooperativeGridHasAllThatItNeedsOrNothing) {
  using Sms = std::vector<std::uint32_t>;
  const RunningKernel other = kernel_of(1000, false, true);
  const auto grid = [](std::uint64_t blocks, bool resident) { return kernel_of(blocks, true, resident); };
  for (const bool smart : {false, true}) {
    EXPECT_EQ(divide_sms({other, grid(48, false)}, 16, smart), (Sms{8, 8})) << "half of the machine holds it";
    EXPECT_EQ(divide_sms({other, grid(49, false)}, 16, smart), (Sms{16, 0}));
    EXPECT_EQ(divide_sms({other, grid(49, true)}, 16, smart), (Sms{7, 9}));
    EXPECT_EQ(divide_sms({grid(49, true), other, other}, 16, smart), (Sms{9, 4, 3}));
    EXPECT_EQ(divide_sms({grid(96, false)}, 16, smart), (Sms{16}));
    // The older of two that cannot be there together goes first, but for one that is.
    EXPECT_EQ(divide_sms({grid(90, false), grid(60, false)}, 16, smart)[1], 0U);
    EXPECT_GE(divide_sms({grid(90, false), grid(60, false)}, 16, smart)[0], 15U);
    EXPECT_EQ(divide_sms({grid(90, false), grid(60, true)}, 16, smart)[0], 0U);
    EXPECT_GE(divide_sms({grid(90, false), grid(60, true)}, 16, smart)[1], 10U);
  }
  EXPECT_FALSE(is_torn(other, 0));
  EXPECT_TRUE(is_torn(grid(13, false), 2));
  EXPECT_FALSE(is_torn(grid(12, false), 2));
}

TEST(CooperativeGrids, LoseAllTheirSmsWhereOneIsTaken) {
  for (const char* text : {"time-slice:slice=1000,preempt=switch", "time-slice:slice=1000,preempt=chimera",
                           "priority:levels=1/2,preempt=switch"}) {
    FakeControl control(4);
    const auto policy = make(text);
    const KernelSlot grid = control.arrive(*policy, kBlock, 24, AppId{0}, true);
    fill(control, grid, 6, 100);
    control.kernel(grid).blocks_dispatched = 24;
    control.arrive(*policy, kBlock, 6, AppId{1});  // one SM holds them
    control.time = 1000;
    policy->alarm(control);
    EXPECT_EQ(control.stopped.size(), 24U) << text;
    EXPECT_TRUE(control.dropped.empty()) << text;
    EXPECT_EQ(control.sms_serving(grid), 0U) << text;
  }
}

TEST(CooperativeGrids, AreNeverFlushed) {
  for (const char* text :
       {"time-slice:slice=1000,preempt=flush", "time-slice:slice=1000,preempt=flush-strict",
        "time-slice:slice=1000,preempt=drain"}) {
    FakeControl control(4);
    const auto policy = make(text);
    const KernelSlot grid = control.arrive(*policy, kBlock, 24, AppId{0}, true);
    fill(control, grid, 6, 100);
    control.kernel(grid).blocks_dispatched = 24;
    control.kernel(grid).idempotent = true;
    control.arrive(*policy, kBlock, 1000, AppId{1});
    control.time = 1000;
    policy->alarm(control);
    EXPECT_TRUE(control.stopped.empty()) << text;
    EXPECT_TRUE(control.dropped.empty()) << text;
    EXPECT_EQ(number_of(policy->report(control), "preempted_blocks_drained"), 24) << text;
  }
}

TEST(CooperativeGrids, KeepTheSmsThatTheyNeedBesideEquals) {
  FakeControl control(4);
  const auto policy = make("smart-even:preempt=switch");
  const KernelSlot grid = control.arrive(*policy, kBlock, 18, {}, true);  // three SMs hold them
  EXPECT_EQ(control.sms_serving(grid), 3U);
  fill(control, grid, 6, 100);
  control.kernel(grid).blocks_dispatched = 18;
  const KernelSlot other = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(grid), 3U);
  EXPECT_EQ(control.sms_serving(other), 1U);
  EXPECT_TRUE(control.stopped.empty());
}

TEST(CooperativeGrids, OfLessPriorityHaveNoPartOfWhatTheyNeed) {
  FakeControl control(4);
  const auto policy = make("priority:levels=3/2/1,preempt=drain");
  control.arrive(*policy, kBlock, 12);  // two SMs
  const KernelSlot grid = control.arrive(*policy, kBlock, 18, {}, true);
  const KernelSlot last = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(grid), 0U);
  EXPECT_EQ(control.sms_serving(last), 2U);
}

TEST(Mps, EachApplicationKeepsToItsOwnSms) {
  FakeControl control(10);
  const auto policy = make("mps:70/30");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.sms_serving(a), 7U);
  EXPECT_EQ(control.sms_serving(b), 3U);
  for (std::uint32_t sm = 0; sm < 10; ++sm) EXPECT_NE(control.limit(sm, a) > 0, control.limit(sm, b) > 0);
  control.end(*policy, a);
  EXPECT_EQ(control.sms_serving(b), 3U);
}

TEST(Preemption, BadSettingsAreRefused) {
  for (const char* text :
       {"smart-even:preempt=kill", "smart-even:limit=0", "smart-even:limit=15min", "smart-even:limit=us",
        "time-slice:slice=0us", "mps:80/30", "mps:0/10", "priority:levels=0/1", "mps:70,30"})
    EXPECT_THROW((void)parse_choice(text), UserError) << text;
  EXPECT_THROW(check_choice(parse_choice("mps:50/50"), arch::load_machine("dai18-maxwell"), 3), UserError);
  EXPECT_THROW(check_choice(parse_choice("mps:95/5"), arch::load_machine("dai18-maxwell"), 2), UserError);
  EXPECT_THROW(check_choice(parse_choice("priority:levels=1/2"), arch::load_machine("dai18-maxwell"), 3),
               UserError);
}

}  // namespace
}  // namespace gpumux::policy
