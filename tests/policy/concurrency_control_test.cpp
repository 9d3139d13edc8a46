// Concurrency controls: the number of warps per SM that may issue, from the congestion of memory. Decisions
// by hand, and in the machine.
#include "policy/concurrency_control.hpp"

#include <gtest/gtest.h>

#include <set>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"
#include "policy/concurrency_controls/balanced_level.hpp"
#include "policy/concurrency_controls/mean_over_time.hpp"
#include "policy/concurrency_controls/warp_steps.hpp"
#include "tests/policy/fake_control.hpp"

namespace gpumux {
namespace {

using policy::BalancedLevel;
using policy::BalanceReason;
using policy::BalanceSettings;
using policy::Change;
using policy::CongestionCounters;
using policy::CongestionSettings;
using policy::WarpSteps;

std::string concurrency_error(const std::string& policy) {
  try {
    (void)policy::parse_choice(policy);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

std::string canonical(const std::string& policy) {
  return policy::canonical_text(policy::parse_choice(policy));
}

// --- congestion -----------------------------------------------------------------------------------------

/// Of eight partitions, of an interval of 1024 cycles.
CongestionCounters counted(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& partitions,
                           const CongestionSettings& settings = {}) {
  CongestionCounters counters(settings, 8);
  for (const auto& [controller, network] : partitions) counters.add(controller, network);
  return counters;
}

TEST(Congestion, CountersHaveTheBitsOfThePaper) {
  const CongestionCounters counters({}, 8);
  EXPECT_EQ(counters.partition_bits(), 10U);
  EXPECT_EQ(counters.sum_bits(), 13U);
  const CongestionCounters larger({.interval = 4096}, 6);
  EXPECT_EQ(larger.partition_bits(), 12U);
  EXPECT_EQ(larger.sum_bits(), 15U) << "6 x 4096 = 24576";
}

TEST(Congestion, IsHighMediumOrLow) {
  EXPECT_EQ(counted({}).decide(), Change::Increase);
  EXPECT_EQ(counted({{512, 0}, {512, 0}}).decide(), Change::Decrease) << "one partition a cycle: t_H";
  EXPECT_EQ(counted({{512, 0}, {511, 0}}).decide(), Change::Keep);
  EXPECT_EQ(counted({{0, 1000}, {0, 24}}).decide(), Change::Decrease) << "the network alone";
  EXPECT_EQ(counted({{1000, 600}, {0, 24}}).decide(), Change::Keep) << "both medium";
  EXPECT_EQ(counted({{255, 0}}).decide(), Change::Increase);
  EXPECT_EQ(counted({{256, 0}}).decide(), Change::Keep) << "t_L is not low";
  EXPECT_EQ(counted({{100, 256}}).decide(), Change::Keep) << "both have to be low";
  EXPECT_EQ(counted({{512, 0}, {512, 0}}, {.high_at = false}).decide(), Change::Keep);
  EXPECT_EQ(counted({{512, 0}, {513, 0}}, {.high_at = false}).decide(), Change::Decrease);
  EXPECT_EQ(counted({{512, 0}, {512, 0}}, {.high = 2}).decide(), Change::Keep);
  EXPECT_EQ(counted({{400, 0}}, {.low = 0.5}).decide(), Change::Increase);
  EXPECT_EQ(counted({{400, 0}}, {.interval = 512}).decide(), Change::Keep) << "0.78 a cycle";
}

TEST(Congestion, CountersSaturate) {
  // Ten bits hold 1023 of 1024 cycles: one partition that is stalled throughout is not quite one a cycle.
  EXPECT_EQ(counted({{1024, 0}}).controller(), 1023.0 / 1024);
  EXPECT_EQ(counted({{1024, 0}}).decide(), Change::Keep);
  EXPECT_EQ(counted({{1024, 0}}, {.saturates = false}).decide(), Change::Decrease);
  EXPECT_EQ(counted({{1023, 5000}, {1, 0}}).network(), 1023.0 / 1024);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> twice(16, {1024, 1024});
  EXPECT_EQ(counted(twice).controller(), 8191.0 / 1024) << "13 bits";
  EXPECT_EQ(counted(twice, {.saturates = false}).network(), 16.0);
}

// --- CM-CPU ---------------------------------------------------------------------------------------------

TEST(WarpSteps, AreOfTwoWarpsFromEightOn) {
  const WarpSteps steps;
  const auto down = [&](std::uint32_t limit) { return steps.next(limit, Change::Decrease, 48); };
  const auto up = [&](std::uint32_t limit) { return steps.next(limit, Change::Increase, 48); };
  EXPECT_EQ(down(48), 46U);
  EXPECT_EQ(down(10), 8U);
  EXPECT_EQ(down(9), 8U) << "not past the edge";
  EXPECT_EQ(down(8), 7U);
  EXPECT_EQ(down(2), 1U);
  EXPECT_EQ(down(1), 1U);
  EXPECT_EQ(up(1), 2U);
  EXPECT_EQ(up(7), 8U);
  EXPECT_EQ(up(8), 10U);
  EXPECT_EQ(up(47), 48U);
  EXPECT_EQ(up(48), 48U);
  EXPECT_EQ(steps.next(17, Change::Keep, 48), 17U);
  // From all warps to one: twenty steps of two and seven of one.
  std::uint32_t limit = 48;
  for (int i = 0; i < 26; ++i) limit = down(limit);
  EXPECT_EQ(limit, 2U);
  EXPECT_EQ(down(limit), 1U);
}

TEST(WarpSteps, AtTheEdgeAreASetting) {
  const WarpSteps small{.at_edge = WarpSteps::AtEdge::Small}, large{.at_edge = WarpSteps::AtEdge::Large};
  EXPECT_EQ(small.next(8, Change::Increase, 48), 9U);
  EXPECT_EQ(small.next(8, Change::Decrease, 48), 7U);
  EXPECT_EQ(large.next(8, Change::Increase, 48), 10U);
  EXPECT_EQ(large.next(8, Change::Decrease, 48), 6U);
  const WarpSteps one{.edge = 1};
  EXPECT_EQ(one.next(1, Change::Decrease, 48), 1U);
  EXPECT_EQ(one.next(2, Change::Decrease, 48), 1U);
}

// --- CM-BAL ---------------------------------------------------------------------------------------------

const std::vector<std::uint32_t> kLevels = {1, 2, 3, 4, 6, 8, 16, 24, 48};

TEST(BalancedLevel, LevelsAreThoseOfThePaper) {
  EXPECT_EQ(policy::balance_levels(48), kLevels);
  EXPECT_EQ(policy::balance_levels(64), (std::vector<std::uint32_t>{1, 2, 3, 4, 6, 8, 16, 24, 48, 64}));
  EXPECT_EQ(policy::balance_levels(12), (std::vector<std::uint32_t>{1, 2, 3, 4, 6, 8, 12}));
  EXPECT_EQ(policy::balance_levels(1), std::vector<std::uint32_t>{1});
}

TEST(BalancedLevel, WithoutAveragesItGoesByLevelsAsCongestionAsks) {
  BalancedLevel sm({}, kLevels, 48);
  for (const std::uint32_t warps : {24U, 16U, 8U, 6U, 4U, 3U, 2U, 1U}) {
    // Each level stalls it as much as the one before: nothing is lost by fewer.
    EXPECT_EQ(sm.step(700, Change::Decrease), BalanceReason::Congestion);
    EXPECT_EQ(sm.warps(), warps);
  }
  EXPECT_EQ(sm.step(700, Change::Decrease), BalanceReason::Congestion);
  EXPECT_EQ(sm.warps(), 1U) << "there is no lower one";
  EXPECT_EQ(sm.step(700, Change::Increase), BalanceReason::Congestion);
  EXPECT_EQ(sm.warps(), 2U);
  BalancedLevel top({}, kLevels, 48);
  top.step(700, Change::Increase);
  EXPECT_EQ(top.warps(), 48U);
  EXPECT_EQ(BalancedLevel({}, kLevels, 20).warps(), 16U);
  EXPECT_EQ(BalancedLevel({}, kLevels, 1).warps(), 1U);
}

TEST(BalancedLevel, AveragesMove) {
  BalancedLevel sm({}, kLevels, 16);
  EXPECT_FALSE(sm.average(16).has_value());
  sm.step(1000, Change::Keep);
  EXPECT_EQ(sm.average(16), 1000) << "as it is";
  sm.step(1001, Change::Keep);
  EXPECT_EQ(sm.average(16), 1000) << "a quarter of 1000 and three of 1001, in whole numbers";
  sm.step(2048, Change::Keep);
  EXPECT_EQ(sm.average(16), 1785) << "250 + 0.75 x 2047, which 11 bits hold";
  EXPECT_FALSE(sm.average(8).has_value() || sm.average(24).has_value()) << "the level in use alone";
  sm.invalidate();
  EXPECT_FALSE(sm.average(16).has_value());
  sm.step(500, Change::Keep);
  EXPECT_EQ(sm.average(16), 500) << "the first of a kernel";
  BalancedLevel exact({.most_stall = 0}, kLevels, 16);
  exact.step(1000, Change::Keep);
  exact.step(1001, Change::Keep);
  EXPECT_EQ(exact.average(16), 1000.75);
  exact.step(2048, Change::Keep);
  EXPECT_EQ(exact.average(16), 1000.75 / 4 + 1536);
}

TEST(BalancedLevel, MoreWarpsWhereTheyHaveStalledLess) {
  BalancedLevel sm({.k = 32}, kLevels, 48);
  sm.step(600, Change::Decrease);  // 48: 600
  EXPECT_EQ(sm.step(632, Change::Keep), BalanceReason::Congestion) << "24: 32 more is not more than k";
  EXPECT_EQ(sm.warps(), 24U);
  // Average 632/4 + 3/4 x 634 = 633.5.
  EXPECT_EQ(sm.step(634, Change::Decrease), BalanceReason::RaiseForLatency) << "633";
  EXPECT_EQ(sm.warps(), 48U);
}

TEST(BalancedLevel, NoFewerWhereThatHasStalledMore) {
  BalancedLevel sm({.k = 32}, kLevels, 8);
  sm.step(900, Change::Increase);  // 8: 900
  ASSERT_EQ(sm.warps(), 16U);
  EXPECT_EQ(sm.step(860, Change::Decrease), BalanceReason::RefuseDecrease) << "16: 40 fewer";
  EXPECT_EQ(sm.warps(), 16U);
  EXPECT_EQ(sm.step(860, Change::Keep), BalanceReason::Congestion) << "nothing to refuse";
  EXPECT_EQ(sm.step(872, Change::Decrease), BalanceReason::Congestion) << "869: 31 fewer";
  EXPECT_EQ(sm.warps(), 8U);
}

TEST(BalancedLevel, InvalidNeighboursOverrideNothing) {
  BalancedLevel sm({.k = 0}, kLevels, 8);
  sm.step(2000, Change::Increase);
  ASSERT_EQ(sm.warps(), 16U);
  sm.invalidate();
  EXPECT_EQ(sm.step(100, Change::Decrease), BalanceReason::Congestion);
  EXPECT_EQ(sm.warps(), 8U);
  EXPECT_EQ(sm.step(99, Change::Keep), BalanceReason::Congestion);
  EXPECT_EQ(sm.step(150, Change::Keep), BalanceReason::RaiseForLatency)
      << "137 and 100: both are known again";
}

TEST(BalancedLevel, NeighboursAreRefreshedAfterFourIntervals) {
  for (const auto& [from, to] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {48, 24}, {24, 16}, {8, 6}, {6, 4}, {4, 6}, {2, 3}, {1, 2}}) {
    BalancedLevel sm({}, kLevels, from);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(sm.step(500, Change::Keep), BalanceReason::Congestion);
      ASSERT_EQ(sm.warps(), from);
    }
    EXPECT_EQ(sm.step(500, Change::Keep), BalanceReason::Refresh);
    EXPECT_EQ(sm.warps(), to);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(sm.step(500, Change::Keep), BalanceReason::Congestion) << "anew";
    EXPECT_EQ(sm.step(500, Change::Keep), BalanceReason::Refresh);
  }
  BalancedLevel off({.refreshes = false}, kLevels, 48);
  for (int i = 0; i < 20; ++i) off.step(500, Change::Keep);
  EXPECT_EQ(off.warps(), 48U);
  BalancedLevel only({}, std::vector<std::uint32_t>{1}, 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(only.step(500, Change::Decrease), BalanceReason::Congestion);
}

/// At 16 warps for the fourth interval, with more stalls at 8 and fewer at 24, while congestion asks for
/// fewer.
BalanceReason first_of(std::array<BalanceSettings::Rule, 3> order, bool fewer_at_24) {
  BalancedLevel sm({.k = 32, .order = order}, kLevels, 24);
  sm.step(fewer_at_24 ? 500 : 800, Change::Decrease);  // 24
  sm.step(800, Change::Decrease);                      // 16
  if (sm.warps() == 24) return BalanceReason::RaiseForLatency;
  EXPECT_EQ(sm.warps(), 8U);
  sm.step(1200, Change::Increase);  // 8
  if (sm.warps() != 16) return BalanceReason::Congestion;
  for (int i = 0; i < 3; ++i) sm.step(800, Change::Keep);
  return sm.step(800, Change::Decrease);
}

TEST(BalancedLevel, TheOrderOfTheRulesIsASetting) {
  using enum BalanceSettings::Rule;
  EXPECT_EQ(first_of({RaiseForLatency, Refresh, RefuseDecrease}, false), BalanceReason::Refresh);
  EXPECT_EQ(first_of({RaiseForLatency, RefuseDecrease, Refresh}, false), BalanceReason::RefuseDecrease);
  EXPECT_EQ(first_of({Refresh, RefuseDecrease, RaiseForLatency}, true), BalanceReason::RaiseForLatency)
      << "in the first interval in which nothing else holds";
}

// The points of figure 14 (section 6.1), on one SM: k = 32.
TEST(BalancedLevel, Figure14) {
  BalancedLevel sm({.k = 32}, kLevels, 8);
  sm.step(1020, Change::Increase);  // 8 warps: 1020
  sm.step(1000, Change::Increase);  // 16: 1000
  sm.step(1000, Change::Decrease);  // 24: 1000
  ASSERT_EQ(sm.warps(), 16U);
  // A: diff_up = 1100 - 1000 > k, of 1000 / 4 + 3 / 4 x 1134. One level more, though memory is congested.
  EXPECT_EQ(sm.step(1134, Change::Decrease), BalanceReason::RaiseForLatency);
  EXPECT_EQ(sm.warps(), 24U);
  // B: congestion asks for fewer, and diff_low = 1100 - 1000 > k. It stays.
  for (int interval = 1; interval <= 3; ++interval) {
    EXPECT_EQ(sm.step(1000, Change::Decrease), BalanceReason::RefuseDecrease);
    EXPECT_EQ(sm.warps(), 24U);
  }
  // C: likewise, but it is the fourth interval at this level. One level fewer.
  EXPECT_EQ(sm.step(1000, Change::Decrease), BalanceReason::Refresh);
  EXPECT_EQ(sm.warps(), 16U);
  // D: neither difference is above k: 1100 / 4 + 3 / 4 x 980 = 1010, ten from both. Part 1 decides: fewer.
  EXPECT_EQ(sm.step(980, Change::Decrease), BalanceReason::Congestion);
  EXPECT_EQ(sm.average(16), 1010);
  EXPECT_EQ(sm.warps(), 8U);
}

TEST(BalancedLevel, WithALargeKItIsPart1) {
  BalancedLevel sm({.k = 2048, .refreshes = false}, kLevels, 48);
  std::size_t level = kLevels.size() - 1;
  std::uint64_t stall = 1;
  for (int i = 0; i < 500; ++i) {
    stall = stall * 1'103'515'245 + 12345;
    const auto change = static_cast<Change>(stall >> 20U & 1U ? 0 : stall >> 21U & 1U ? 1 : 2);
    EXPECT_EQ(sm.step(stall >> 16U & 2047U, change), BalanceReason::Congestion);
    if (change == Change::Decrease && level > 0) --level;
    if (change == Change::Increase && level + 1 < kLevels.size()) ++level;
    ASSERT_EQ(sm.warps(), kLevels[level]);
  }
}

TEST(MeanOverTime, HalvesItsPointsWhenTheyAreTooMany) {
  policy::MeanOverTime mean(4);
  for (Cycle i = 1; i <= 4; ++i) mean.add(i * 10, 10, static_cast<double>(i));
  EXPECT_EQ(mean.points(), (std::vector<std::pair<double, double>>{{10, 1}, {20, 2}, {30, 3}, {40, 4}}));
  mean.add(60, 20, 9);
  EXPECT_EQ(mean.points(), (std::vector<std::pair<double, double>>{{20, 1.5}, {40, 3.5}, {60, 9}}));
  mean.add(70, 10, 0);
  EXPECT_EQ(mean.points().back(), (std::pair<double, double>(70, 6)));
}

// --- choices --------------------------------------------------------------------------------------------

TEST(ConcurrencyControl, StandsAloneOrBesideOthers) {
  EXPECT_EQ(canonical("cm-cpu"), "leftover,concurrency=cm-cpu");
  EXPECT_EQ(canonical("cm-bal:2"), "leftover,concurrency=cm-bal:2");
  EXPECT_EQ(canonical("cm-bal:k=64/interval=2048,warps=lrr"),
            "leftover,concurrency=cm-bal:k=64/interval=2048,warps=lrr");
  EXPECT_EQ(canonical("swl:4"), "leftover,warps=swl:4");
  EXPECT_EQ(canonical("dyncta"), "leftover,blocks=dyncta");
  EXPECT_EQ(canonical("dyncta:window=500,warps=gto"), "leftover,blocks=dyncta:window=500,warps=gto");
  EXPECT_EQ(canonical("onac"), "leftover,cores=onac");
  EXPECT_EQ(canonical("ccws,concurrency=cm-bal:1"), "leftover,concurrency=cm-bal:1,warps=ccws");
  EXPECT_EQ(canonical("none"), "leftover");
  EXPECT_EQ(canonical("even,concurrency=none"), "even");
  EXPECT_EQ(canonical("even,concurrency=cm-cpu,cores=onac,blocks=limit:2,warps=lrr"),
            "even,blocks=limit:2,cores=onac,concurrency=cm-cpu,warps=lrr");
}

TEST(ConcurrencyControl, BadOnesAreErrorsOfOneLine) {
  EXPECT_EQ(
      concurrency_error("concurrency=cm-cpo"),
      "error: unknown concurrency control 'cm-cpo'; did you mean 'cm-cpu'?; known: cm-bal, cm-cpu, none");
  EXPECT_NE(concurrency_error("cm-cpo").find("unknown policy 'cm-cpo'; did you mean 'cm-cpu'?"),
            std::string::npos);
  EXPECT_EQ(concurrency_error("none:1"), "error: concurrency=none:1: none takes no argument");
  EXPECT_EQ(concurrency_error("cm-bal"),
            "error: concurrency=cm-bal: give a number from 1 to 4, as in cm-bal:1, or k=N");
  EXPECT_EQ(concurrency_error("cm-bal:5"),
            "error: concurrency=cm-bal:5: a number from 1 to 4, or k=N, must follow, as in cm-bal:1 or "
            "cm-bal:k=32");
  EXPECT_NE(concurrency_error("cm-bal:").find("a number from 1 to 4"), std::string::npos);
  EXPECT_EQ(concurrency_error("cm-bal:2/k=50"),
            "error: concurrency=cm-bal:2/k=50: 2 means k=64; give it or k=");
  EXPECT_NE(concurrency_error("cm-bal:1/rules=aab").find("value of rules 'aab'"), std::string::npos);
  EXPECT_NE(concurrency_error("cm-bal:1/edge=9").find("setting 'edge'"), std::string::npos);
  EXPECT_EQ(concurrency_error("cm-cpu:low=2"), "error: concurrency=cm-cpu: low=2 must not be above high=1");
  EXPECT_EQ(concurrency_error("cm-cpu:interval=10"),
            "error: concurrency=cm-cpu: interval=10 must be a whole number from 64 to 1000000");
  EXPECT_EQ(concurrency_error("cm-cpu:start=0"),
            "error: concurrency=cm-cpu: start=0 must be a whole number from 1 to 256");
  EXPECT_EQ(
      concurrency_error("cm-cpu:high=2/low=0/at_high=medium/counters=exact/start=8/edge=4/at_edge=large"),
      "none");
  EXPECT_EQ(concurrency_error("cm-bal:k=0/rules=cba/refresh=off/start=8/interval=64"), "none");
}

TEST(ConcurrencyControl, WhatCannotBeTogetherIsRefused) {
  EXPECT_EQ(
      concurrency_error("swl:8,concurrency=cm-cpu"),
      "error: policy swl:8,concurrency=cm-cpu: concurrency=cm-cpu cannot go with warps=swl:8, which fixes "
      "the number of warps that it sets");
  EXPECT_NE(concurrency_error("mig,concurrency=cm-bal:1").find("cannot go with mig"), std::string::npos);
  std::set<std::string> refused;
  for (const policy::PolicyInfo& info : policy::policies())
    if (concurrency_error(info.name + ",concurrency=cm-cpu") != "none") refused.insert(info.name);
  EXPECT_EQ(refused, std::set<std::string>{"mig"});
  const auto check = [](const std::vector<std::string>& set) {
    policy::check_choice(policy::parse_choice("cm-cpu"), arch::load_machine("dai18-maxwell", set), 1);
  };
  EXPECT_NO_THROW(check({}));
  EXPECT_THROW(check({"sm.warp_limit=8"}), UserError);
}

// --- on a machine of numbers ----------------------------------------------------------------------------

/// Two SMs of 48 warps and two schedulers, eight partitions; a kernel runs.
struct Numbers {
  explicit Numbers(const std::string& text)
      : control(2), mechanism(policy::create_concurrency_control(text)) {
    control.config_.sm.max_warps = 48;
    control.config_.sm.schedulers = 2;
    control.config_.l2.partitions = 8;
    control.config_.l2.slices_per_partition = 2;
    control.arrive(*mechanism, {256, 16, 0}, 100);
  }
  /// An interval of so many cycles, in which each partition's queue was full for `full` of them, and the SMs
  /// issued in so many scheduler cycles.
  void interval(std::uint64_t full, std::uint64_t issued0 = 0, std::uint64_t issued1 = 0,
                Cycle cycles = 1024) {
    control.time += cycles;
    for (PartitionId p = 0; p < 8; ++p) control.partitions[p].controller_full_cycles += full;
    control.schedulers[0].issued += issued0;
    control.schedulers[1].issued += issued1;
    mechanism->epoch_ended(control);
  }
  double number(const std::string& name) {
    for (const policy::Report::Number& number : mechanism->report(control).numbers)
      if (number.name == name) return number.value;
    return -1;
  }
  policy::FakeControl control;
  std::unique_ptr<policy::ConcurrencyControl> mechanism;
};

// Of each of eight partitions with two slices: 128 of 1024 cycles are one partition at a time.
TEST(CmCpu, StallMcIsOfThePartitionOrOfItsQueue) {
  const auto limit = [](const char* text, auto counter, std::uint64_t cycles) {
    Numbers q(text);
    for (PartitionId p = 0; p < 8; ++p) q.control.partitions[p].*counter += cycles;
    q.interval(0);
    return q.control.warp_limits.empty() ? 48U : q.control.warp_limits[0];
  };
  constexpr auto kQueue = &arch::PartitionCounters::controller_full_cycles;
  constexpr auto kSlices = &arch::PartitionCounters::slice_full_cycles;
  EXPECT_EQ(limit("cm-cpu", kQueue, 128), 46U);
  EXPECT_EQ(limit("cm-cpu", kSlices, 256), 48U);
  EXPECT_EQ(limit("cm-cpu:stall_mc=partition", kSlices, 256), 46U);
  EXPECT_EQ(limit("cm-cpu:stall_mc=partition", kSlices, 255), 48U);
  EXPECT_EQ(limit("cm-cpu:stall_mc=partition", kQueue, 128), 48U);
}

TEST(CmCpu, SetsTheSameLimitOnAllSms) {
  Numbers q("cm-cpu");
  EXPECT_TRUE(q.control.warp_limits.empty()) << "48 of 48 are no limit";
  q.interval(128);  // eight partitions: one a cycle
  EXPECT_EQ(q.control.warp_limits, (std::map<SmId, std::uint32_t>{{0, 46}, {1, 46}}));
  q.interval(127);
  EXPECT_EQ(q.control.warp_limits[1], 46U);
  q.interval(31);
  EXPECT_EQ(q.control.warp_limits[0], 0U) << "48 again: none";
  q.interval(128, 0, 0, 1034);
  EXPECT_EQ(q.control.warp_limits[0], 0U) << "of ten cycles more it is less than one a cycle";
  q.interval(129, 0, 0, 1024);
  EXPECT_EQ(q.control.warp_limits[0], 46U);
  EXPECT_EQ(q.number("concurrency_intervals"), 5);
  EXPECT_DOUBLE_EQ(q.number("warp_limit"), (48.0 * (1024 + 1034 + 1024) + 46.0 * 2048) / (1024 * 4 + 1034));
  EXPECT_EQ(q.number("least_warp_limit"), 46) << "limits of intervals that have ended";
  EXPECT_EQ(q.number("warp_limit_decreases"), 4) << "two SMs";
  EXPECT_EQ(q.number("warp_limit_increases"), 2);
  // Section 5: 6 bits of an SM, two counters of 10, two sums and two thresholds of 13.
  EXPECT_EQ(q.number("storage_bits_per_sm"), 6);
  EXPECT_EQ(q.number("storage_bits_per_partition"), 20);
  EXPECT_EQ(q.number("storage_bits_of_block_scheduler"), 52);
}

TEST(CmCpu, BeginsWithSoManyWarps) {
  Numbers q("cm-cpu:start=9/edge=4");
  EXPECT_EQ(q.control.warp_limits[1], 9U);
  q.interval(200);
  EXPECT_EQ(q.control.warp_limits[1], 7U);
}

TEST(CmBal, DecidesForEachSm) {
  Numbers q("cm-bal:1");
  // Stalls of 2048 scheduler cycles: 1000 on both; then more on the first, which has lost by it.
  q.interval(1000, 1048, 1048);
  EXPECT_EQ(q.control.warp_limits, (std::map<SmId, std::uint32_t>{{0, 24}, {1, 24}}));
  q.interval(1000, 1015, 1016);  // 33 more; 32 more
  EXPECT_EQ(q.control.warp_limits, (std::map<SmId, std::uint32_t>{{0, 0}, {1, 16}}));
  q.interval(100, 1048, 1048);
  EXPECT_EQ(q.number("raised_for_latency"), 1);
  EXPECT_EQ(q.number("storage_bits_per_sm"), 9 * 11 + 6);
  const policy::Report report = q.mechanism->report(q.control);
  ASSERT_EQ(report.curves.size(), 4U);
  EXPECT_EQ(report.curves[0].points,
            (std::vector<std::pair<double, double>>{{1024, 48}, {2048, 24}, {3072, 32}}));
  EXPECT_EQ(report.curves[1].name, "warp_limit_by_sm");
  EXPECT_EQ(report.curves[1].points, (std::vector<std::pair<double, double>>{{0, 40}, {1, 88.0 / 3}}));
  EXPECT_EQ(report.curves[3].sm, SmId{1});
  EXPECT_EQ(report.curves[3].points,
            (std::vector<std::pair<double, double>>{{1024, 48}, {2048, 24}, {3072, 16}}));
}

TEST(CmBal, KGrowsWithTheInterval) {
  Numbers q("cm-bal:2/interval=2048");  // k = 128 of 4096
  q.interval(2048, 3000, 3000, 2048);
  q.interval(2048, 2872, 2871, 2048);
  EXPECT_EQ(q.control.warp_limits, (std::map<SmId, std::uint32_t>{{0, 16}, {1, 0}}));
}

TEST(CmBal, KernelsBeginAndEndWithoutAverages) {
  for (const bool ends : {false, true}) {
    Numbers q("cm-bal:1");
    const policy::KernelSlot other = q.control.arrive(*q.mechanism, {256, 16, 0}, 100);
    q.interval(1000, 1048, 1048);
    if (ends) {
      q.control.end(*q.mechanism, other);
    } else {
      q.control.arrive(*q.mechanism, {256, 16, 0}, 100);
    }
    q.interval(1000, 500, 500);  // it stalls far more than with all warps: not known any more
    EXPECT_EQ(q.control.warp_limits[0], 16U);
  }
}

// --- in the machine -------------------------------------------------------------------------------------

experiment::RunSpec spec_of(const std::string& policy, const std::vector<std::string>& apps,
                            Cycle cycles = 0) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("awatramani17-m2090", {});
  for (const std::string& app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.audit = true;
  return spec;
}

double number(const experiment::RunResult& result, const std::string& name) {
  for (const policy::Report::Number& number : result.policy_report.numbers)
    if (number.name == name) return number.value;
  return -1;
}

TEST(CmCpu, LowersTheLimitWhereMemoryIsTheBottleneck) {
  const experiment::RunResult stream =
      experiment::simulate(spec_of("cm-cpu", {"stream:blocks=1000"}, 60'000));
  EXPECT_LT(number(stream, "warp_limit"), 40);
  EXPECT_GT(number(stream, "stall_mc"), 1);
  const experiment::RunResult compute = experiment::simulate(spec_of("cm-cpu", {"hotspot:size=512"}, 60'000));
  EXPECT_GT(number(compute, "warp_limit"), 44);
  EXPECT_LT(number(compute, "stall_mc"), 0.25);
}

TEST(CmBal, StandsBetweenAllWarpsAndCmCpu) {
  const auto limit = [](const std::string& policy) {
    return number(experiment::simulate(spec_of(policy, {"stream:blocks=1000"}, 60'000)), "warp_limit");
  };
  EXPECT_LE(limit("cm-bal:4"), limit("cm-bal:1") + 0.5) << "the GPU counts less";
  EXPECT_LT(limit("cm-bal:k=1000000/refresh=off"), 40) << "as CM-CPU";
}

TEST(ConcurrencyControl, ResultsDoNotDependOnThreadsOrSkipping) {
  for (const char* policy : {"cm-cpu", "cm-bal:1", "even,concurrency=cm-bal:3/interval=300"}) {
    const auto run = [&](unsigned threads, bool no_skip) {
      experiment::RunSpec spec = spec_of(policy, {"stream:blocks=200", "bfs:nodes=4096"}, 20'000);
      spec.threads = threads;
      spec.no_skip = no_skip;
      const experiment::RunResult result = experiment::simulate(spec);
      std::string text;
      for (const policy::Report::Number& n : result.policy_report.numbers)
        text += fmt::format("{} {}\n", n.name, n.value);
      for (const policy::Report::Curve& curve : result.policy_report.curves)
        for (const auto& [x, y] : curve.points) text += fmt::format("{} {} {}\n", curve.name, x, y);
      return text + fmt::format("{} {} {} {}", result.gpu.warp_instructions, result.gpu.l1_misses,
                                result.partitions.controller_full_cycles,
                                result.partitions.network_full_cycles);
    };
    const std::string once = run(1, false);
    EXPECT_NE(once.find("warp_limit_over_time"), std::string::npos);
    EXPECT_EQ(once, run(3, false)) << policy;
    EXPECT_EQ(once, run(1, true)) << policy;
    EXPECT_EQ(once, run(2, true)) << policy;
  }
}

TEST(ConcurrencyControl, WithoutALimitTheMachineIsAsItWas) {
  // Thresholds that nothing reaches: no limit is ever set.
  const auto issued = [](const std::string& policy) {
    const experiment::RunResult result = experiment::simulate(spec_of(policy, {"stream:blocks=200"}, 20'000));
    return std::pair(result.gpu.warp_instructions, result.partitions.dram_reads);
  };
  EXPECT_EQ(issued("cm-cpu:high=1000/low=0"), issued("none"));
  EXPECT_EQ(issued("cm-cpu:high=1000/low=0/start=6,warps=gto"), issued("swl:6"));
}

}  // namespace
}  // namespace gpumux
