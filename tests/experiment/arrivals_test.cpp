// Arrival times of runs of applications: their text form, times worked out by hand, and whole runs.
#include "experiment/arrivals.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <cmath>
#include <fstream>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/percentile.hpp"
#include "experiment/run.hpp"
#include "temporary_folder.hpp"

namespace gpumux::experiment {
namespace {

arch::MachineConfig thousand_mhz() {
  arch::MachineConfig config;
  config.clocks.core = 1000;  // a cycle is a nanosecond
  return config;
}

Requests requests(const char* settings, std::uint64_t seed = 1) {
  return {split_arrivals(std::string("x:") + settings).second, thousand_mhz(), seed};
}

TEST(Arrivals, AreTakenOutOfWhatIsTyped) {
  const auto rest = [](const char* text) { return split_arrivals(text).first; };
  EXPECT_EQ(rest("hotspot"), "hotspot");
  EXPECT_EQ(rest("hotspot:size=256,steps=2"), "hotspot:size=256,steps=2");
  EXPECT_EQ(rest("hotspot:at=2ms"), "hotspot");
  EXPECT_EQ(rest("hotspot:size=256,at=2ms"), "hotspot:size=256");
  EXPECT_EQ(rest("hotspot:at=2ms,size=256,priority=3,steps=2"), "hotspot:size=256,steps=2");
  EXPECT_EQ(rest("k.ptx:scale:every=1ms,deadline=5us"), "k.ptx:scale");
  EXPECT_EQ(rest("folder/trace:arrivals=poisson:500/s,at=1us"), "folder/trace");
  EXPECT_EQ(split_arrivals("a:priority=3,at=2ms").second.identity(), " arrivals at=2ms");
  EXPECT_EQ(split_arrivals("a:priority=3").second.identity(), "");
  EXPECT_EQ(split_arrivals("a:deadline=1us").second.identity(), "");
  EXPECT_EQ(split_arrivals("a:late=kill,deadline=1us").second.identity(), " arrivals deadline=1us,late=kill");
}

TEST(Arrivals, WhatIsImpossibleIsRefused) {
  for (const char* text :
       {"a:at=soon", "a:every=0", "a:deadline=-1us", "a:priority=0", "a:priority=1001", "a:arrivals=500/s",
        "a:arrivals=poisson:0/s", "a:arrivals=poisson:5", "a:at=1us,at=2us", "a:late=kill",
        "a:deadline=1us,late=never", "a:every=1us,arrivals=poisson:5/s", "a:arrivals=missing.csv"})
    EXPECT_THROW((void)split_arrivals(text), UserError) << text;
}

TEST(Arrivals, AFileOfTimes) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/times.csv") << "0\n1.5\n\n20\n";
  std::ofstream(folder.path() + "/wrong.csv") << "5\n4\n";
  const ArrivalSpec spec = split_arrivals("a:arrivals=times.csv", folder.path()).second;
  ASSERT_EQ(spec.times.size(), 3U);
  Requests of(spec, thousand_mhz(), 1);
  EXPECT_EQ(of.next_arrival(), 0U);
  EXPECT_TRUE(of.begin(0));
  EXPECT_EQ(of.next_arrival(), 1500U);
  of.end(100);
  EXPECT_FALSE(of.all_done());
  EXPECT_TRUE(of.begin(20000));
  of.end(20001);
  EXPECT_TRUE(of.begin(20001));
  EXPECT_FALSE(of.all_done());
  of.end(20100);
  EXPECT_TRUE(of.all_done());
  EXPECT_EQ(of.result(30000).turnaround, (std::vector<Cycle>{100, 18501, 100}));
  try {
    (void)split_arrivals("a:arrivals=wrong.csv", folder.path());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("wrong.csv:2:1"), std::string::npos) << error.what();
  }
}

TEST(Requests, WithoutSettingsTheNextBeginsWhenTheLastHasEnded) {
  Requests of = requests("priority=1");
  EXPECT_TRUE(of.begin(0));
  EXPECT_FALSE(of.begin(50));
  of.end(80);
  EXPECT_TRUE(of.begin(80));
  of.end(200);
  EXPECT_EQ(of.result(200).turnaround, (std::vector<Cycle>{80, 120}));
}

TEST(Requests, ArePeriodicAndWaitForEachOther) {
  Requests of = requests("at=1us,every=2us,deadline=2500ns");
  EXPECT_FALSE(of.begin(0));
  EXPECT_EQ(of.next_arrival(), 1000U);
  EXPECT_TRUE(of.begin(1008));
  EXPECT_EQ(of.next_arrival(), 3000U);
  EXPECT_FALSE(of.begin(3000));  // the first still runs
  of.end(4000);
  EXPECT_TRUE(of.begin(4000));
  of.end(5600);
  EXPECT_TRUE(of.begin(5600));
  const RequestResult result = of.result(7600);
  EXPECT_EQ(result.arrived, 3U);  // at 1000, 3000 and 5000: nobody has asked since
  EXPECT_EQ(result.turnaround, (std::vector<Cycle>{3000, 2600}));
  EXPECT_EQ(result.missed, 3U);  // the third is not done, and its deadline was 7500
  EXPECT_EQ(of.result(7500).missed, 2U);
}

TEST(Requests, AreKilledAtTheirDeadlines) {
  Requests of = requests("every=2us,deadline=1500ns,late=kill");
  EXPECT_EQ(of.kill_at(), kNever);
  EXPECT_TRUE(of.begin(0));
  EXPECT_EQ(of.kill_at(), 1500U);
  of.killed();
  EXPECT_EQ(of.kill_at(), kNever);
  EXPECT_TRUE(of.begin(2000));
  of.end(3400);
  EXPECT_TRUE(of.begin(8100));  // those of 4000 and 6000 are too late
  EXPECT_EQ(of.kill_at(), 9500U);
  const RequestResult result = of.result(8200);
  EXPECT_EQ(result.arrived, 5U);
  EXPECT_EQ(result.killed, 3U);
  EXPECT_EQ(result.missed, 3U);
  EXPECT_EQ(result.turnaround, (std::vector<Cycle>{1400}));
}

TEST(Requests, AtRandomWithTheirRate) {
  Requests of = requests("arrivals=poisson:1000000/s", 7);  // one a thousand cycles
  constexpr Cycle kEnd = 4'000'000;
  (void)of.begin(kEnd);
  const auto arrived = static_cast<double>(of.result(kEnd).arrived);
  EXPECT_NEAR(arrived, 4000, 5 * std::sqrt(4000.0));
  Requests same = requests("arrivals=poisson:1000000/s", 7),
           other = requests("arrivals=poisson:1000000/s", 8);
  EXPECT_EQ(same.next_arrival(), requests("arrivals=poisson:1000000/s", 7).next_arrival());
  EXPECT_NE(same.next_arrival(), other.next_arrival());
}

TEST(Percentile, IsTheNearestRank) {
  const std::vector<Cycle> sorted = {10, 20, 30, 40};
  EXPECT_EQ(percentile(sorted, 0.5), 20U);
  EXPECT_EQ(percentile(sorted, 0.51), 30U);
  EXPECT_EQ(percentile(sorted, 0.99), 40U);
  EXPECT_EQ(percentile(std::vector<Cycle>{5}, 0.01), 5U);
}

RunResult run(std::vector<std::string> apps, const char* policy, Cycle cycles) {
  RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  for (const std::string& app : apps) spec.apps.push_back(builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.verify = true;
  spec.audit = true;
  return simulate(spec);
}

TEST(ArrivalsInARun, APeriodicApplicationRunsOncePerPeriod) {
  const RunResult result = run({"add:blocks=8,loops=20,every=20000,deadline=15000"}, "leftover", 100000);
  ASSERT_TRUE(result.apps[0].requests);
  const RequestResult& requests = *result.apps[0].requests;
  EXPECT_EQ(requests.arrived, 6U);  // the last as the run ends
  EXPECT_EQ(requests.done(), 5U);
  EXPECT_EQ(requests.missed, 0U);
  EXPECT_EQ(result.apps[0].completions, 5U);
  for (const Cycle turnaround : requests.turnaround) EXPECT_LT(turnaround, 15000U);
}

TEST(ArrivalsInARun, OneThatArrivesLaterDoesNotRunBefore) {
  const RunResult result = run({"add:blocks=64,loops=200", "add:blocks=8,loops=20,at=30us"}, "even", 0);
  EXPECT_GT(result.apps[1].first_completion, 36000U);  // 1.2 GHz or more
  ASSERT_TRUE(result.apps[1].requests);
  EXPECT_FALSE(result.apps[0].requests);
  const Cycle arrival = split_arrivals("add:at=30us").second.at->cycles(arch::load_machine("dai18-maxwell"));
  EXPECT_EQ(result.apps[1].requests->turnaround.at(0), result.apps[1].first_completion - arrival);
}

TEST(ArrivalsInARun, ArrivalsAtRandomAreTheSameAloneAndBesideOthers) {
  const char* app = "add:blocks=2,loops=1,arrivals=poisson:100000/s";
  const auto arrived = [](const RunResult& result) { return result.apps.back().requests->arrived; };
  const std::uint64_t alone = arrived(run({app}, "leftover", 100000));
  EXPECT_GT(alone, 2U);
  EXPECT_EQ(arrived(run({"hotspot:size=64", app}, "leftover", 100000)), alone);
  EXPECT_NE(run({app, app}, "leftover", 100000).apps[1].requests->turnaround.size(), 0U);
}

TEST(ArrivalsInARun, ABaselineNeedsALimit) {
  RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  spec.apps = {builtin_app("add:blocks=2,loops=1,at=5us")};
  spec.policy = policy::parse_choice("leftover");
  EXPECT_THROW((void)isolated_ipcs(spec, ""), UserError);
  spec.cycles = 20000;
  EXPECT_GT(isolated_ipcs(spec, "").at(0), 0);
  EXPECT_EQ(spec.apps[0].without_arrivals().identity, builtin_app("add:blocks=2,loops=1").identity);
}

TEST(ArrivalsInARun, SlicesOfTimeEndWithEveryTechnique) {
  for (const char* technique : {"switch", "drain", "flush", "chimera"}) {
    SCOPED_TRACE(technique);
    const RunResult result = run({"hotspot:size=64", "add:blocks=32,loops=4"},
                                 fmt::format("time-slice:slice=5000,preempt={}", technique).c_str(), 300000);
    double slices = 0, preemptions = 0;
    for (const policy::Report::Number& n : result.policy_report.numbers) {
      if (n.name == "slices") slices = n.value;
      if (n.name == "preemptions") preemptions = n.value;
    }
    EXPECT_GT(slices, 20);
    EXPECT_GT(preemptions, 20);
    EXPECT_GT(result.apps[0].completions, 0U);
    EXPECT_GT(result.apps[1].completions, 0U);
  }
}

TEST(ArrivalsInARun, PriorityBesideTheApplicationIsThePolicys) {
  const std::vector<std::string> apps = {"add:blocks=640,loops=200,priority=1",
                                         "add:blocks=8,loops=2,every=20000,priority=2"};
  const RunResult first = run(apps, "priority:preempt=flush", 200000);
  const RunResult fcfs = run(apps, "fcfs", 200000);
  EXPECT_GE(first.apps[1].requests->done(), 8U);
  for (const Cycle turnaround : first.apps[1].requests->turnaround) EXPECT_LT(turnaround, 20000U);
  EXPECT_EQ(fcfs.apps[1].requests->done(), 0U);  // the long kernel is in its way
  EXPECT_THROW((void)run(apps, "priority:levels=1/2", 1000), UserError);
}

}  // namespace
}  // namespace gpumux::experiment
