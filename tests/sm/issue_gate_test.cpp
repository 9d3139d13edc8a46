// The issue gate, which holds kernels back on an SM: budgets are never exceeded, and are refilled at the
// right time.
#include "base/hash.hpp"
#include "harness.hpp"

namespace gpumux::sm::testing {
namespace {

using arch::IssueBudget;

/// Warp instructions, the next so many when all have issued theirs.
IssueBudget sets_of(std::uint32_t instructions) {
  return {.amount = instructions, .all_spent = IssueBudget::Refill::Anew};
}

/// Four schedulers, kernels 0 and 1 (and 2) with blocks of eight warps of independent instructions.
struct GateBench {
  explicit GateBench(std::uint32_t instructions = 400, const std::string& scheduler = "lrr",
                     std::uint32_t warp_limit = 0, arch::WarpLimitPer per = arch::WarpLimitPer::Sm)
      : bench(machine(scheduler, warp_limit, per)) {
    for (std::uint16_t i = 0; i < 40; ++i) program.add(alu(i));
    for (std::uint32_t i = 0; i < instructions; ++i) code.run(i % 40);
  }
  static arch::MachineConfig machine(const std::string& scheduler, std::uint32_t warp_limit,
                                     arch::WarpLimitPer per) {
    arch::MachineConfig config = plain_machine();
    config.sm.schedulers = 4;
    config.sm.warp_scheduler = arch::warp_scheduler_named(scheduler);
    config.sm.warp_limit = warp_limit;
    config.sm.warp_limit_per = per;
    return config;
  }
  void add(KernelSlot slot, std::uint32_t quota, std::uint32_t warps = 8) {
    bench.bind(program, {warps * kWarpSize, 16, 0}, slot, slot);
    bench.sm.set_issue_budget(slot, sets_of(quota));
    launch(slot, warps);
  }
  void launch(KernelSlot slot, std::uint32_t warps = 8) {
    bench.launch(std::vector<WarpCode>(warps, code), slot, slot, bench.now);
  }
  [[nodiscard]] std::uint64_t issued(KernelSlot slot) const {
    return bench.sm.counters(slot).warp_instructions;
  }
  void run(Cycle cycles, Cycle length = 1) {
    const Cycle end = bench.now + cycles;
    while (bench.now < end) bench.window(std::min(end, bench.now + length));
  }

  Program program;
  WarpCode code;
  Bench bench;
};

TEST(IssueGate, NoKernelIsEverASetAhead) {
  for (const std::string& scheduler : arch::warp_scheduler_names()) {
    GateBench q(400, scheduler);
    q.add(0, 30);
    q.add(1, 7);
    q.add(2, 53);
    std::uint64_t sets = 0;
    while (q.bench.now < 900) {
      q.run(1);
      // Sets that are complete: all have issued so many whole ones.
      sets = std::min({q.issued(0) / 30, q.issued(1) / 7, q.issued(2) / 53});
      EXPECT_LE(q.issued(0), (sets + 1) * 30) << "cycle " << q.bench.now;
      EXPECT_LE(q.issued(1), (sets + 1) * 7) << "cycle " << q.bench.now;
      EXPECT_LE(q.issued(2), (sets + 1) * 53) << "cycle " << q.bench.now;
    }
    EXPECT_GE(sets, 30U) << scheduler << ": 90 a set, 4 a cycle at most";
  }
}

TEST(IssueGate, TheNextSetComesInTheSameCycle) {
  // Alone with a quota the sets follow each other without a gap: as fast as without.
  GateBench limited;
  limited.add(0, 13);
  GateBench unlimited;
  unlimited.add(0, 0);
  limited.run(2000, 10);
  unlimited.run(2000, 10);
  ASSERT_EQ(limited.bench.ended.size(), 1U);
  EXPECT_EQ(limited.bench.ended[0].time, unlimited.bench.ended[0].time);
  EXPECT_EQ(limited.issued(0), 8U * 400);
}

TEST(IssueGate, AKernelThatHasSpentItsOwnWaitsAndIsCountedAsThrottled) {
  GateBench q;
  q.add(0, 20);
  q.add(1, 1'000'000);
  q.bench.sm.allow_issue(1, true);
  q.run(100);
  EXPECT_EQ(q.issued(0), 20U);
  EXPECT_GT(q.issued(1), 300U);
}

TEST(IssueGate, KernelsThatCannotIssueAreNotWaitedFor) {
  GateBench q;
  q.add(0, 20);
  q.bench.bind(q.program, {256, 16, 0}, 1, 1);
  q.bench.sm.set_issue_budget(1, sets_of(1'000'000));  // has no block here
  q.run(50);
  EXPECT_GT(q.issued(0), 100U);
  q.launch(1);
  q.run(60);
  const std::uint64_t before = q.issued(0);
  q.run(50);
  EXPECT_EQ(q.issued(0), before) << "now it is";
  q.bench.sm.allow_issue(1, false);
  q.run(50);
  EXPECT_GT(q.issued(0), before + 100) << "a kernel that may not issue";
}

// Eight warps on four schedulers: one of the SM, or of each scheduler.
TEST(IssueGate, ALimitOfWarpsIsTheSmsOrEachSchedulers) {
  const auto issued = [](std::uint32_t limit, arch::WarpLimitPer per) {
    GateBench q(400, "gto", limit, per);
    q.bench.bind(q.program, {256, 16, 0}, 0, 0);
    q.launch(0);
    q.run(100);
    return q.issued(0);
  };
  const std::uint64_t one = issued(1, arch::WarpLimitPer::Sm);
  EXPECT_GT(one, 50U);
  EXPECT_EQ(issued(1, arch::WarpLimitPer::Scheduler), 4 * one);
  EXPECT_EQ(issued(4, arch::WarpLimitPer::Sm), 4 * one) << "the oldest four are of four schedulers";
}

TEST(IssueGate, TheEndOfABlockReleasesTheOthers) {
  GateBench q(2000);
  q.add(0, 20);
  q.bench.bind(q.program, {32, 16, 0}, 1, 1);
  q.bench.sm.set_issue_budget(1, sets_of(1'000'000));
  WarpCode brief;
  for (std::uint32_t i = 0; i < 30; ++i) brief.run(i);
  q.bench.launch({brief}, 1, 1);
  while (q.bench.ended.empty() && q.bench.now < 1000) q.run(1);
  EXPECT_EQ(q.issued(0), 20U);
  q.run(20);
  EXPECT_GT(q.issued(0), 60U);
}

TEST(IssueGate, OffAgainLeavesNobodyWaiting) {
  GateBench q(2000);
  q.add(0, 20);
  q.add(1, 1'000'000);
  q.run(50);
  EXPECT_EQ(q.issued(0), 20U);
  q.bench.sm.set_issue_budget(0, sets_of(0));
  q.run(50);
  EXPECT_GT(q.issued(0), 60U);
  // A slot that is bound again has no quota.
  GateBench other;
  other.add(0, 5);
  other.run(2000);
  other.bench.bind(other.program, {256, 16, 0}, 0, 0);
  EXPECT_EQ(other.issued(0), 8U * 400);
}

TEST(IssueGate, ResultsDoNotDependOnTheLengthOfWindows) {
  std::vector<Cycle> ends[2];
  for (const Cycle length : {1, 10}) {
    GateBench q(300);
    q.add(0, 17);
    q.add(1, 40);
    q.run(4000, length);
    for (const FinishedBlock& block : q.bench.ended) ends[length == 1 ? 0 : 1].push_back(block.time);
  }
  EXPECT_EQ(ends[0].size(), 2U);
  EXPECT_EQ(ends[0], ends[1]);
}

// By hand: four schedulers, one instruction a cycle each.
TEST(IssueGate, ThreadInstructionsCountTheLanesAndMayExceedByThoseOfTheLast) {
  GateBench q;
  q.add(0, 0);
  q.bench.sm.set_issue_budget(0, {.unit = IssueBudget::Unit::ThreadInstructions, .amount = 100});
  q.run(100);
  EXPECT_EQ(q.issued(0), 4U) << "32 lanes each: 32, 64, 96, 128";
  EXPECT_EQ(q.bench.sm.issue_budget(0).left, -28);
  q.bench.sm.add_issue_budget(0, 60);
  q.run(100);
  EXPECT_EQ(q.issued(0), 5U) << "32 more";
  EXPECT_EQ(q.bench.sm.issue_budget(0).left, 0);
  q.bench.sm.add_issue_budget(0, -64);
  q.bench.sm.add_issue_budget(0, 65);
  q.run(100);
  EXPECT_EQ(q.issued(0), 6U);
}

TEST(IssueGate, DivergedInstructionsCountTheirLanes) {
  GateBench q(0);
  for (int i = 0; i < 50; ++i) q.code.run(0, 0b111);
  q.add(0, 0, 1);
  q.bench.sm.set_issue_budget(0, {.unit = IssueBudget::Unit::ThreadInstructions, .amount = 30});
  q.run(400);
  EXPECT_EQ(q.issued(0), 10U);
}

TEST(IssueGate, CompletionsComeLaterThanIssueSoMoreIsInFlight) {
  // One warp issues an independent instruction a cycle; each completes some cycles later.
  const auto issued_with = [](IssueBudget::Unit unit) {
    GateBench q(400);
    q.add(0, 0, 1);
    q.bench.sm.set_issue_budget(0, {.unit = unit, .amount = 320});
    q.run(200);
    return std::pair(q.issued(0), q.bench.sm.issue_budget(0).left);
  };
  const auto [at_issue, left] = issued_with(IssueBudget::Unit::ThreadInstructions);
  EXPECT_EQ(at_issue, 10U);
  EXPECT_EQ(left, 0);
  const auto [at_end, left_at_end] = issued_with(IssueBudget::Unit::ThreadInstructionsDone);
  EXPECT_GT(at_end, 10U) << "those in flight when the tenth completes";
  EXPECT_LT(at_end, 10U + 40) << "the longest latency of arithmetic";
  EXPECT_EQ(left_at_end, 320 - static_cast<std::int64_t>(at_end) * 32) << "all of them complete";
}

TEST(IssueGate, MemoryInstructionsAloneCount) {
  GateBench q(0);
  const std::uint32_t pc = q.program.add(load(41));
  for (std::uint32_t i = 0; i < 20; ++i) {
    q.code.run(i);
    q.code.global(pc, i);
  }
  q.add(0, 0, 1);
  q.bench.sm.set_issue_budget(0, {.unit = IssueBudget::Unit::MemoryInstructions, .amount = 3});
  q.run(2000);
  EXPECT_EQ(q.bench.sm.counters(0).memory_instructions, 3U);
  EXPECT_EQ(q.issued(0), 6U) << "then the kernel waits with all its instructions";
}

TEST(IssueGate, LoadsCompleteWhenTheirDataAreBack) {
  GateBench q(0);
  const std::uint32_t pc = q.program.add(load(41));
  for (std::uint32_t i = 0; i < 20; ++i) q.code.global(pc, 64 * i);
  q.add(0, 0, 1);
  q.bench.sm.set_issue_budget(0, {.unit = IssueBudget::Unit::ThreadInstructionsDone, .amount = 32});
  q.run(60);
  EXPECT_EQ(q.bench.sm.issue_budget(0).left, 32) << "memory answers after 100 cycles";
  q.run(2000);
  EXPECT_LT(q.bench.sm.issue_budget(0).left, 32);
  EXPECT_EQ(q.bench.sm.issue_budget(0).left, 32 - static_cast<std::int64_t>(q.issued(0)) * 32);
}

// The budget of 10 at cycle 0, and again at 100, 200, ...; four a cycle.
TEST(IssueGate, EpochsRefillAtTheirCycleWhateverIsLeft) {
  using Refill = IssueBudget::Refill;
  const auto after = [](Refill refill, std::int64_t change) {
    GateBench q(4000);
    q.add(0, 0);
    q.bench.sm.set_issue_budget(0, {.amount = 10, .at_epoch = refill, .epoch = 100});
    q.run(50);
    EXPECT_EQ(q.issued(0), 10U);
    q.bench.sm.add_issue_budget(0, change);  // 5: five are issued at once; -5: in debt
    q.run(45);
    const std::uint64_t before = q.issued(0);
    EXPECT_EQ(before, change > 0 ? 10U + static_cast<std::uint64_t>(change) : 10U);
    q.run(5);
    EXPECT_EQ(q.issued(0), before) << "cycle 99 has passed";
    q.run(30);
    return q.issued(0) - before;
  };
  EXPECT_EQ(after(Refill::Anew, -5), 10U);
  EXPECT_EQ(after(Refill::KeepDebt, -5), 5U);
  EXPECT_EQ(after(Refill::KeepBoth, -5), 5U);
  EXPECT_EQ(after(Refill::KeepUnspent, -5), 10U);
  EXPECT_EQ(after(Refill::KeepUnspent, 5), 10U);
}

TEST(IssueGate, WhatAKernelCouldNotIssueIsKeptOrDropped) {
  using Refill = IssueBudget::Refill;
  for (const Refill refill : {Refill::Anew, Refill::KeepUnspent, Refill::KeepDebt, Refill::KeepBoth}) {
    GateBench q(4000);
    q.add(0, 0);
    q.bench.sm.allow_issue(0, false);
    q.bench.sm.set_issue_budget(0, {.amount = 10, .at_epoch = refill, .epoch = 100});
    q.run(250);
    const bool kept = refill == Refill::KeepUnspent || refill == Refill::KeepBoth;
    EXPECT_EQ(q.bench.sm.issue_budget(0).left, kept ? 30 : 10);
    EXPECT_EQ(q.bench.sm.issue_budget(0).refills, 2U);
  }
}

// wang17 section 3.4: a kernel with a goal waits for the epoch, the other gets its share again when all are
// spent.
TEST(IssueGate, OneIsRefilledWhenAllAreSpentAndTheOtherAtTheEpoch) {
  GateBench q(8000);
  q.add(0, 0);
  q.add(1, 0);
  q.bench.sm.set_issue_budget(0, {.amount = 40, .at_epoch = IssueBudget::Refill::Anew, .epoch = 400});
  q.bench.sm.set_issue_budget(1, {.amount = 20, .all_spent = IssueBudget::Refill::Anew});
  q.run(399);
  EXPECT_EQ(q.issued(0), 40U);
  EXPECT_GT(q.issued(1), 1000U);
  EXPECT_EQ(q.issued(1) / 20, q.bench.sm.issue_budget(1).refills);
  q.run(100);
  EXPECT_EQ(q.issued(0), 80U);
}

TEST(IssueGate, ARefillThatLeavesADebtIsFollowedByTheNext) {
  GateBench q(200);
  q.add(0, 0, 1);
  q.bench.sm.set_issue_budget(0, {.unit = IssueBudget::Unit::ThreadInstructions,
                                  .amount = 10,
                                  .all_spent = IssueBudget::Refill::KeepDebt});
  q.run(3000);
  EXPECT_EQ(q.bench.ended.size(), 1U);
  EXPECT_EQ(q.issued(0), 200U);
}

TEST(IssueGate, APausedSmIssuesNothingAndCompletesWhatIsInFlight) {
  GateBench q;
  const std::uint32_t pc = q.program.add(load(41));
  q.code.global(pc, 7);
  q.add(0, 0);
  q.add(1, 50);
  q.run(20);
  const std::uint64_t before = q.issued(0) + q.issued(1);
  q.bench.sm.pause(true);
  q.run(500);
  EXPECT_EQ(q.issued(0) + q.issued(1), before);
  EXPECT_NE(q.bench.sm.describe_waits().find("its SM to go on"), std::string::npos);
  q.bench.sm.pause(false);
  q.run(5000);
  EXPECT_EQ(q.bench.ended.size(), 2U);
  EXPECT_TRUE(q.bench.sm.drained(0) && q.bench.sm.drained(1));
}

TEST(IssueGate, OfLimitedWarpsTheOldestIssue) {
  GateBench q(400);
  q.add(0, 0);  // eight warps, four schedulers
  q.bench.sm.limit_warps(0, 3);
  q.run(60);
  EXPECT_LT(q.issued(0), 3U * 60) << "three schedulers have one each";
  EXPECT_GT(q.issued(0), 3U * 50);
  q.launch(0);
  q.bench.sm.limit_warps(0, 8);
  q.run(500);
  EXPECT_EQ(q.bench.ended.size(), 0U);
  q.run(1000);
  ASSERT_EQ(q.bench.ended.size(), 1U) << "the older block has gone first";
  q.bench.sm.limit_warps(0, 0);
  q.run(2000);
  EXPECT_EQ(q.bench.ended.size(), 2U);
}

TEST(IssueGate, ALimitOfTheWholeSmIsOfTheOldestWarpsOfAllKernels) {
  GateBench limited(400, "gto", 8);
  limited.add(0, 0);  // eight warps each
  limited.add(1, 0);
  limited.run(300);
  EXPECT_GT(limited.issued(0), 0U);
  EXPECT_EQ(limited.issued(1), 0U) << "the older kernel's warps are as many as may issue";
  limited.run(2000);
  EXPECT_EQ(limited.bench.ended.size(), 2U) << "and when they have gone, the others may";
  GateBench held(400, "gto", 8);
  held.add(0, 0);
  held.add(1, 0);
  held.bench.sm.allow_issue(0, false);
  held.run(300);
  EXPECT_GT(held.issued(1), 0U) << "who is held by something else does not count";
}

TEST(IssueGate, ALimitOfTheWholeSmChangesWhileItRuns) {
  // Four schedulers, two warps each of either kernel; each scheduler issues one instruction a cycle.
  GateBench q(4000);
  q.add(0, 0);
  q.add(1, 0);
  const auto rates = [&](std::uint32_t limit) {
    q.bench.sm.limit_all_warps(limit);
    q.run(20);  // what was ready has gone
    const std::uint64_t before[] = {q.issued(0), q.issued(1)};
    q.run(100);
    return std::pair(q.issued(0) - before[0], q.issued(1) - before[1]);
  };
  // A scheduler whose one warp waits now and then for its next instructions issues a little less.
  const auto expect_older = [&](std::uint32_t limit, std::uint32_t schedulers) {
    const auto [older, younger] = rates(limit);
    EXPECT_EQ(younger, 0U) << limit;
    EXPECT_LE(older, 100U * schedulers) << limit;
    EXPECT_GT(older, 90U * schedulers) << limit;
  };
  expect_older(1, 1);
  expect_older(3, 3);
  expect_older(8, 4);
  const auto [older, younger] = rates(0);
  EXPECT_GT(older + younger, 390U);
  EXPECT_GT(younger, 150U) << "all may issue, in turn";
  expect_older(8, 4);
  expect_older(2, 2);
}

TEST(IssueGate, ALimitThatChangesIsTheSameInWindowsOfAnyLength) {
  std::vector<Cycle> ends[3];
  std::size_t which = 0;
  for (const Cycle length : {1, 7, 10}) {
    GateBench q(300, "gto");
    const std::uint32_t pc = q.program.add(load(41));
    for (std::uint32_t i = 0; i < 10; ++i) q.code.global(pc, 13 * i).run(i, 0xff);
    q.add(0, 0);
    q.add(1, 0);
    for (const std::uint32_t limit : {16U, 5U, 1U, 2U, 11U, 0U}) {
      q.bench.sm.limit_all_warps(limit);
      q.run(210, length);
    }
    q.run(20'000, length);
    for (const auto& end : q.bench.ended) ends[which].push_back(end.time);
    ++which;
  }
  ASSERT_EQ(ends[0].size(), 2U);
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

TEST(IssueGate, WarpsBeyondTheLimitAreAdmittedWhereOthersWaitForThemAtABarrier) {
  GateBench q(0);
  const std::uint32_t barrier = q.program.add(control(isa::kBarrier));
  for (int round = 0; round < 5; ++round) {
    for (std::uint32_t i = 0; i < 20; ++i) q.code.run(i);
    q.code.run(barrier);
  }
  q.code.run(0);
  q.add(0, 0);
  q.bench.sm.limit_warps(0, 1);
  q.run(20'000);
  EXPECT_EQ(q.bench.ended.size(), 1U);
  EXPECT_EQ(q.issued(0), 8U * 106);
  q.bench.sm.limit_warps(0, 0);
  q.bench.sm.limit_all_warps(1);
  q.launch(0);
  q.run(20'000);
  EXPECT_EQ(q.bench.ended.size(), 2U) << "likewise a limit of the whole SM";
}

TEST(IssueGate, AllKindsOfBudgetsAreTheSameInWindowsOfAnyLength) {
  std::vector<Cycle> ends[3];
  std::size_t which = 0;
  for (const Cycle length : {1, 7, 10}) {
    GateBench q(300);
    const std::uint32_t pc = q.program.add(load(41));
    for (std::uint32_t i = 0; i < 10; ++i) q.code.global(pc, 13 * i).run(i, 0xff);
    for (KernelSlot kernel = 0; kernel < 4; ++kernel) q.add(kernel, 0);
    using Refill = IssueBudget::Refill;
    using Unit = IssueBudget::Unit;
    q.bench.sm.set_issue_budget(
        0, {Unit::ThreadInstructionsDone, 1000, Refill::KeepDebt, Refill::KeepBoth, 170});
    q.bench.sm.set_issue_budget(1, {Unit::ThreadInstructions, 700, Refill::KeepBoth, Refill::Anew, 230});
    q.bench.sm.set_issue_budget(2, {Unit::MemoryInstructions, 2, Refill::Anew, Refill::KeepUnspent, 90});
    q.bench.sm.set_issue_budget(3, {Unit::WarpInstructions, 31, Refill::Anew, Refill::Never, 0});
    q.run(30'000, length);
    for (const FinishedBlock& block : q.bench.ended) ends[which].push_back(block.time);
    ++which;
  }
  EXPECT_EQ(ends[0].size(), 4U);
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

// wang17 section 4.5: time slices on an SM.
TEST(IssueGate, WhoYieldsWaitsWhileAnotherHasBudgetLeft) {
  GateBench q(8000);
  q.add(0, 0);
  q.add(1, 0);
  q.bench.sm.set_issue_budget(0, {.amount = 40, .at_epoch = IssueBudget::Refill::Anew, .epoch = 400});
  q.bench.sm.set_issue_budget(1, {.amount = 20, .all_spent = IssueBudget::Refill::Anew, .yields = true});
  while (q.issued(0) < 40) {
    EXPECT_EQ(q.issued(1), 0U) << "cycle " << q.bench.now;
    q.run(1);
  }
  q.run(399 - q.bench.now);
  EXPECT_GT(q.issued(1), 1000U);
  // Four schedulers issue what the first has, and meanwhile nothing of the other.
  q.run(1);
  const std::uint64_t before = q.issued(1);
  q.bench.sm.add_issue_budget(0, 4000);
  q.run(100);
  EXPECT_EQ(q.issued(1), before);
  EXPECT_GT(q.issued(0), 400U);
  EXPECT_NE(q.bench.sm.describe_waits().find("its kernel's next budget"), std::string::npos);
}

TEST(IssueGate, NobodyYieldsToAKernelThatHasNoBlockOrMayNotIssue) {
  GateBench q(100);
  q.add(0, 0);
  q.add(1, 0);
  q.bench.sm.set_issue_budget(0, {.amount = 100'000});
  q.bench.sm.set_issue_budget(1, {.amount = 20, .all_spent = IssueBudget::Refill::Anew, .yields = true});
  q.run(50);
  EXPECT_EQ(q.issued(1), 0U);
  q.bench.sm.allow_issue(0, false);
  q.run(5);
  EXPECT_GT(q.issued(1), 0U);
  q.bench.sm.allow_issue(0, true);
  q.run(1);
  const std::uint64_t before = q.issued(1);
  while (q.bench.ended.empty()) {
    EXPECT_EQ(q.issued(1), before);
    q.run(1);
  }
  q.run(50);
  EXPECT_GT(q.issued(1), before) << "the other has left";
  q.launch(0);
  q.run(1);
  const std::uint64_t again = q.issued(1);
  q.run(20);
  EXPECT_EQ(q.issued(1), again) << "and has come back";
  q.run(3000);
  EXPECT_EQ(q.bench.ended.size(), 3U);
}

// An elastic epoch (wang17 section 3.4.3): 60 issued in a few cycles begin the next, which lasts 400 from
// then.
TEST(IssueGate, ARefillWhenAllAreSpentMayBeginAnEpoch) {
  GateBench q(8000);
  q.add(0, 0);
  q.add(1, 0);
  const IssueBudget budget{.amount = 200,
                           .all_spent = IssueBudget::Refill::KeepDebt,
                           .at_epoch = IssueBudget::Refill::Anew,
                           .epoch = 400,
                           .first_epoch = 30,
                           .restarts_epoch = true};
  q.bench.sm.set_issue_budget(0, budget);
  q.bench.sm.set_issue_budget(1, budget);
  EXPECT_EQ(q.bench.sm.issue_budget(0).next_epoch, 30U);
  q.run(29);
  EXPECT_EQ(q.bench.sm.issue_budget(0).refills, 0U);
  q.run(1);
  EXPECT_EQ(q.bench.sm.issue_budget(0).refills, 1U) << "the first epoch was short";
  EXPECT_EQ(q.bench.sm.issue_budget(0).next_epoch, 430U);
  while (q.bench.sm.issue_budget(0).refills == 1) q.run(1);
  const Cycle begin = q.bench.now;
  EXPECT_LT(begin, 200U);
  EXPECT_NEAR(static_cast<double>(q.bench.sm.issue_budget(0).next_epoch), static_cast<double>(begin + 400),
              1);
  EXPECT_EQ(q.bench.sm.issue_budget(0).next_epoch, q.bench.sm.issue_budget(1).next_epoch);
}

/// The worked example of wang17's figure 4: kernel 0 has a goal and a quota of 100, kernel 1 one of 50. One
/// warp each, whose instructions wait for the last; those of kernel 0 have 32, 32, 32 and 4 lanes in turn.
struct Figure4 {
  explicit Figure4(IssueBudget::Refill of_goal) {
    const std::uint32_t chain = q.program.add(alu(0, {0}));
    for (int round = 0; round < 20; ++round)
      for (std::uint32_t i = 0; i < 4; ++i) q.code.run(chain, i == 3 ? 0xf : ~0U);
    q.add(0, 0, 1);
    q.code = {};
    for (std::uint32_t i = 0; i < 80; ++i) q.code.run(chain);
    q.add(1, 0, 1);
    give(of_goal);
  }
  void give(IssueBudget::Refill of_goal) {
    const auto unit = IssueBudget::Unit::ThreadInstructionsDone;
    q.bench.sm.set_issue_budget(0, {.unit = unit, .amount = 100, .all_spent = of_goal});
    q.bench.sm.set_issue_budget(1, {.unit = unit, .amount = 50, .all_spent = IssueBudget::Refill::KeepDebt});
  }
  /// What is left to each, whenever one of the two changes.
  std::vector<std::pair<std::int64_t, std::int64_t>> counters(std::size_t steps) {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (int i = 0; i < 1000 && all.size() < steps; ++i) {
      const std::pair now{q.bench.sm.issue_budget(0).left, q.bench.sm.issue_budget(1).left};
      if (all.empty() || all.back() != now) all.push_back(now);
      q.run(1);
    }
    return all;
  }
  GateBench q{0};
};
using Counters = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Each has one instruction more in flight when its quota is spent.
TEST(IssueGate, Figure4Naive) {
  Figure4 figure(IssueBudget::Refill::Never);
  // Both are spent at (0, -46): the other gets 50 again, and again, in debt for what it issued too much.
  EXPECT_EQ(
      figure.counters(9),
      (Counters{{100, 50}, {68, 18}, {36, -14}, {4, -46}, {0, 4}, {-32, 4}, {-32, 22}, {-32, 40}, {-32, 8}}));
}

TEST(IssueGate, Figure4Elastic) {
  Figure4 figure(IssueBudget::Refill::KeepDebt);
  // Both are spent at (0, -46): the next epoch begins with both quotas.
  EXPECT_EQ(
      figure.counters(9),
      (Counters{
          {100, 50}, {68, 18}, {36, -14}, {4, -46}, {100, 4}, {68, 4}, {68, -28}, {36, -28}, {36, -60}}));
}

TEST(IssueGate, Figure4Rollover) {
  Figure4 figure(IssueBudget::Refill::Never);
  EXPECT_EQ(figure.counters(4), (Counters{{100, 50}, {68, 18}, {36, -14}, {4, -46}}));
  // The epoch ends before the goal's kernel has used its quota, as the policy tells the SM: it keeps what is
  // left, the other's debt is dropped.
  const std::int64_t left = figure.q.bench.sm.issue_budget(0).left;
  figure.give(IssueBudget::Refill::Never);
  figure.q.bench.sm.add_issue_budget(0, left);
  // Each has an instruction in flight from before, kernel 0 one of 4 lanes.
  EXPECT_EQ(figure.counters(5), (Counters{{104, 50}, {100, 50}, {100, 18}, {68, 18}, {68, -14}}));
}

// So an epoch issues its quota and what was in flight when that was spent, and no more.
TEST(IssueGate, NothingIssuesWhileAQuotaIsSpent) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    Random random(seed);
    GateBench q(0);
    const std::uint32_t pc = q.program.add(load(41));
    const std::uint32_t chain = q.program.add(alu(0, {0}));
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t kind = random.next() % 8;
      const auto lanes = static_cast<LaneMask>(random.next() | 1);
      if (kind == 0) {
        q.code.global(pc, random.next() % 4096);
      } else {
        q.code.run(kind < 4 ? chain : static_cast<std::uint32_t>(kind), lanes);
      }
    }
    q.add(0, 0);
    q.add(1, 0);
    q.bench.sm.set_issue_budget(0, {.unit = IssueBudget::Unit::ThreadInstructionsDone,
                                    .amount = 2000,
                                    .at_epoch = IssueBudget::Refill::Anew,
                                    .epoch = 170});
    std::uint64_t waited = 0;
    while (q.bench.ended.size() < 2 && q.bench.now < 100'000) {
      const arch::IssueBudgetState before = q.bench.sm.issue_budget(0);
      const arch::KernelCounters counters = q.bench.sm.counters(0);
      q.run(1);
      const auto lanes = static_cast<std::int64_t>(q.bench.sm.counters(0).thread_instructions -
                                                   counters.thread_instructions);
      if (before.left <= 0) {
        EXPECT_EQ(lanes, 0) << "cycle " << q.bench.now;
        ++waited;
      }
    }
    EXPECT_EQ(q.bench.ended.size(), 2U);
    EXPECT_GT(waited, 500U);
  }
}

TEST(IssueGate, YieldingAndElasticBudgetsAreTheSameInWindowsOfAnyLength) {
  std::vector<Cycle> ends[3];
  std::size_t which = 0;
  for (const Cycle length : {1, 7, 10}) {
    GateBench q(300);
    const std::uint32_t pc = q.program.add(load(41));
    for (std::uint32_t i = 0; i < 10; ++i) q.code.global(pc, 13 * i).run(i, 0xff);
    for (KernelSlot kernel = 0; kernel < 3; ++kernel) q.add(kernel, 0);
    using Refill = IssueBudget::Refill;
    IssueBudget budget{
        IssueBudget::Unit::ThreadInstructionsDone, 900, Refill::KeepDebt, Refill::Anew, 170, 35, true};
    q.bench.sm.set_issue_budget(0, budget);
    budget.amount = 300;
    q.bench.sm.set_issue_budget(1, budget);
    budget.yields = true;
    q.bench.sm.set_issue_budget(2, budget);
    q.run(30'000, length);
    for (const FinishedBlock& block : q.bench.ended) ends[which].push_back(block.time);
    ++which;
  }
  EXPECT_EQ(ends[0].size(), 3U);
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

}  // namespace
}  // namespace gpumux::sm::testing
