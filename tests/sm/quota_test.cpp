// Quotas of warp instructions inside an SM: never exceeded, refilled in the cycle in which all are spent.
#include "harness.hpp"

namespace gpumux::sm::testing {
namespace {

/// Four schedulers, kernels 0 and 1 (and 2) with blocks of eight warps of independent instructions.
struct QuotaBench {
  explicit QuotaBench(std::uint32_t instructions = 400, const std::string& scheduler = "lrr")
      : bench(machine(scheduler)) {
    for (std::uint16_t i = 0; i < 40; ++i) program.add(alu(i));
    for (std::uint32_t i = 0; i < instructions; ++i) code.run(i % 40);
  }
  static arch::MachineConfig machine(const std::string& scheduler) {
    arch::MachineConfig config = plain_machine();
    config.sm.schedulers = 4;
    config.sm.warp_scheduler = arch::warp_scheduler_named(scheduler);
    return config;
  }
  void add(KernelSlot slot, std::uint32_t quota, std::uint32_t warps = 8) {
    bench.bind(program, {warps * kWarpSize, 16, 0}, slot, slot);
    bench.sm.set_issue_quota(slot, quota);
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

TEST(IssueQuota, NoKernelIsEverASetAhead) {
  for (const std::string& scheduler : arch::warp_scheduler_names()) {
    QuotaBench q(400, scheduler);
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

TEST(IssueQuota, TheNextSetComesInTheSameCycle) {
  // Alone with a quota the sets follow each other without a gap: as fast as without.
  QuotaBench limited;
  limited.add(0, 13);
  QuotaBench unlimited;
  unlimited.add(0, 0);
  limited.run(2000, 10);
  unlimited.run(2000, 10);
  ASSERT_EQ(limited.bench.ended.size(), 1U);
  EXPECT_EQ(limited.bench.ended[0].time, unlimited.bench.ended[0].time);
  EXPECT_EQ(limited.issued(0), 8U * 400);
}

TEST(IssueQuota, AKernelThatHasSpentItsOwnWaitsAndIsCountedAsThrottled) {
  QuotaBench q;
  q.add(0, 20);
  q.add(1, 1'000'000);
  q.bench.sm.allow_issue(1, true);
  q.run(100);
  EXPECT_EQ(q.issued(0), 20U);
  EXPECT_GT(q.issued(1), 300U);
}

TEST(IssueQuota, KernelsThatCannotIssueAreNotWaitedFor) {
  QuotaBench q;
  q.add(0, 20);
  q.bench.bind(q.program, {256, 16, 0}, 1, 1);
  q.bench.sm.set_issue_quota(1, 1'000'000);  // has no block here
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

TEST(IssueQuota, TheEndOfABlockReleasesTheOthers) {
  QuotaBench q(2000);
  q.add(0, 20);
  q.bench.bind(q.program, {32, 16, 0}, 1, 1);
  q.bench.sm.set_issue_quota(1, 1'000'000);
  WarpCode brief;
  for (std::uint32_t i = 0; i < 30; ++i) brief.run(i);
  q.bench.launch({brief}, 1, 1);
  while (q.bench.ended.empty() && q.bench.now < 1000) q.run(1);
  EXPECT_EQ(q.issued(0), 20U);
  q.run(20);
  EXPECT_GT(q.issued(0), 60U);
}

TEST(IssueQuota, OffAgainLeavesNobodyWaiting) {
  QuotaBench q(2000);
  q.add(0, 20);
  q.add(1, 1'000'000);
  q.run(50);
  EXPECT_EQ(q.issued(0), 20U);
  q.bench.sm.set_issue_quota(0, 0);
  q.run(50);
  EXPECT_GT(q.issued(0), 60U);
  // A slot that is bound again has no quota.
  QuotaBench other;
  other.add(0, 5);
  other.run(2000);
  other.bench.bind(other.program, {256, 16, 0}, 0, 0);
  EXPECT_EQ(other.issued(0), 8U * 400);
}

TEST(IssueQuota, ResultsDoNotDependOnTheLengthOfWindows) {
  std::vector<Cycle> ends[2];
  for (const Cycle length : {1, 10}) {
    QuotaBench q(300);
    q.add(0, 17);
    q.add(1, 40);
    q.run(4000, length);
    for (const FinishedBlock& block : q.bench.ended) ends[length == 1 ? 0 : 1].push_back(block.time);
  }
  EXPECT_EQ(ends[0].size(), 2U);
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace gpumux::sm::testing
