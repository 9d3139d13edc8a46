// The ledger of interference in whole runs.
#include "experiment/ledger.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "arch/config_file.hpp"
#include "experiment/result_json.hpp"
#include "experiment/series_output.hpp"
#include "tests/figures.hpp"

namespace gpumux::experiment {
namespace {

constexpr const char* kComputeKernel = "sgemm:m=256,n=256,k=64";
constexpr const char* kMemoryKernel = "stream:words=8,blocks=800";

RunSpec ledger_spec(const std::vector<std::string>& apps, const std::string& policy,
                    const char* machine = "dai18-maxwell", Cycle cycles = 30'000) {
  RunSpec spec;
  spec.machine = arch::load_machine(machine, {"sms=4"});
  for (const std::string& app : apps) spec.apps.push_back(builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.audit = true;
  spec.ledger = true;
  return spec;
}

std::string ledger_figures(const RunResult& result) {
  std::string text;
  const arch::CounterTable table = [&] {
    arch::CounterTable all(result.apps.size(), true);
    all.pairs = result.pairs;
    all.ledger = result.ledger;
    return all;
  }();
  arch::for_each_counter(table, [&](const arch::Counter& counter, std::uint64_t value) {
    text += fmt::format("{} {} {}: {}\n", counter.app, counter.culprit, counter.name, value);
  });
  return text;
}

TEST(Ledger, ChangesNothingElse) {
  for (const char* machine : {"dai18-maxwell", "v100", "awatramani17-m2090", "wang17-56sm"})
    for (const char* policy : {"even", "spatial", "ws-dmil"}) {
      SCOPED_TRACE(std::string(machine) + ' ' + policy);
      if (std::string(policy) == "ws-dmil" && std::string(machine) != "dai18-maxwell") continue;
      RunSpec spec = ledger_spec({kComputeKernel, kMemoryKernel}, policy, machine, 15'000);
      const std::string with = figures(simulate(spec));
      spec.ledger = false;
      const RunResult without = simulate(spec);
      EXPECT_EQ(with, figures(without));
      EXPECT_TRUE(without.ledger.empty());
      EXPECT_TRUE(lost_cycles(without).empty());
      EXPECT_EQ(result_document(without, {}, {}).count("ledger"), 0U);
    }
}

TEST(Ledger, IsTheSameHoweverItIsSimulated) {
  for (const char* policy : {"even", "spatial"}) {
    RunSpec spec = ledger_spec({kComputeKernel, kMemoryKernel, "bfs:nodes=4000"}, policy);
    const std::string first = ledger_figures(simulate(spec));
    spec.threads = 3;
    EXPECT_EQ(first, ledger_figures(simulate(spec))) << "three threads";
    spec.no_skip = true;
    EXPECT_EQ(first, ledger_figures(simulate(spec))) << "window by window";
  }
}

TEST(Ledger, IsEmptyOfOneAlone) {
  for (const char* app : {kComputeKernel, kMemoryKernel, "bfs:nodes=4000"}) {
    const RunResult result = simulate(ledger_spec({app}, "leftover"));
    EXPECT_TRUE(lost_cycles(result).empty()) << app;
    EXPECT_EQ(ledger_lines(result), "");
    EXPECT_GT(result.ledger[0].resident_scheduler_cycles, 0U);
    EXPECT_GT(result.ledger[0].request_cycles, 0U);
  }
}

TEST(Ledger, OneAloneWaitsForMemoryWheneverItsSchedulersDo) {
  for (const char* app : {kComputeKernel, kMemoryKernel, "bfs:nodes=4000"}) {
    const RunResult result = simulate(ledger_spec({app}, "leftover"));
    EXPECT_EQ(result.ledger[0].memory_scheduler_cycles,
              result.schedulers.scoreboard_memory + result.schedulers.pipeline_memory)
        << app;
  }
}

TEST(Ledger, OfInstancesIsEmpty) {
  RunSpec spec = ledger_spec({kComputeKernel, kMemoryKernel}, "mig:4/3", "v100");
  spec.machine = arch::load_machine("v100", {"sms=14"});
  EXPECT_TRUE(lost_cycles(simulate(spec)).empty());
}

TEST(Ledger, PlacesAreThoseThatAreShared) {
  const auto places = [](const RunResult& result, std::size_t victim) {
    std::set<std::string_view> found;
    for (const LostCycles& lost : lost_cycles(result)) {
      EXPECT_NE(lost.victim, lost.culprit);
      EXPECT_GT(lost.share, 0);
      if (lost.victim == victim) found.insert(ledger_places()[lost.place].name);
    }
    return found;
  };
  // On SMs of its own an application meets others beyond them alone.
  const auto apart = places(simulate(ledger_spec({kComputeKernel, kMemoryKernel}, "spatial")), 0);
  EXPECT_EQ(apart.count("issue") + apart.count("unit") + apart.count("lsu") + apart.count("request_port"),
            0U);
  EXPECT_EQ(apart.count("dram_bus"), 1U);
  const auto together = places(simulate(ledger_spec({kComputeKernel, kMemoryKernel}, "even")), 0);
  EXPECT_EQ(together.count("issue") + together.count("lsu") + together.count("request_port"), 3U);
}

TEST(Ledger, SeriesAddUpToItsCounters) {
  RunSpec spec = ledger_spec({kComputeKernel, kMemoryKernel}, "even");
  spec.series = 1'000;
  const RunResult result = simulate(spec);
  arch::CounterTable all(2, true);
  all.pairs = result.pairs;
  all.ledger = result.ledger;
  std::map<std::string, std::uint64_t> ends;
  arch::for_each_counter(all, [&](const arch::Counter& counter, std::uint64_t value) {
    ends[fmt::format("{} {} {} {}", static_cast<int>(counter.scope), counter.app, counter.culprit,
                     counter.name)] = value;
  });
  std::size_t compared = 0;
  for (const CounterSeries& series : counter_series(result)) {
    const CounterValue& c = series.counter;
    const std::string name(c.name);
    const auto end = ends.find(fmt::format("{} {} {} {}", static_cast<int>(c.scope), c.app, c.culprit, name));
    const bool of_ledger = c.scope == arch::Scope::Pair || name.find("_cycles") != std::string::npos;
    if (!of_ledger || end == ends.end() || end->second == 0) continue;
    ++compared;
    EXPECT_EQ(series.samples.size(), 30U);
    EXPECT_EQ(c.value, end->second) << name;
  }
  EXPECT_GT(compared, 20U);
  spec.ledger = false;
  EXPECT_EQ(series_csv(result), series_csv(simulate(spec))) << "the CSV does without it";
}

TEST(Ledger, TheEstimateByHand) {
  RunResult result;
  result.cycles = 1000;
  result.apps.resize(2);
  result.ledger.resize(2);
  result.pairs.resize(4);
  arch::LedgerAppCounters& own = result.ledger[0];
  own.resident_scheduler_cycles = 1000;
  own.memory_scheduler_cycles = 500;
  own.barrier_scheduler_cycles = 200;  // so memory stalls are 5/8
  own.memory_instruction_cycles = 1000;
  own.lsu_queue_cycles = 400;  // half of them until requests come back: 4/5 go with requests
  own.lsu_head_cycles = 100;
  own.lsu_head_stall_cycles = 50;
  own.request_cycles = 2000;
  own.credit_wait_cycles = 400;
  own.tag_wait_cycles = 1000;
  arch::PairCounters& pair = result.pairs[1];
  pair.issue_cycles = 100;
  pair.l2_queue_cycles = 500;  // half of what it waits for L2, and so of what it waits for room before it
  const auto share = [&](std::size_t at) { return lost_cycles(result).at(at).share; };
  ASSERT_EQ(lost_cycles(result).size(), 2U);
  EXPECT_DOUBLE_EQ(share(0), 0.1);
  EXPECT_DOUBLE_EQ(share(1), 0.625 * 0.8 * 700 / 2000);
  own.busiest_slice_cycles = 890;  // 0.275 is more than it can lose
  EXPECT_DOUBLE_EQ(lost_share(lost_cycles(result), 0), 0.11);
  EXPECT_DOUBLE_EQ(share(0), 0.1 * 0.11 / 0.275);
  own.busiest_slice_cycles = 500;
  EXPECT_DOUBLE_EQ(lost_share(lost_cycles(result), 0), 0.275);
  own.lsu_head_cycles = 50 + 450;  // 450 without stalls, in 500 cycles of an SM of two schedulers
  result.schedulers_per_sm = 2;
  EXPECT_DOUBLE_EQ(lost_share(lost_cycles(result), 0), 0.1);
  result.schedulers_per_sm = 1;
  own.lsu_head_cycles = 100;
  pair.issue_cycles = 1000;  // whole, and 0.175 beside it
  EXPECT_DOUBLE_EQ(lost_share(lost_cycles(result), 0), 0.5);
}

TEST(Ledger, WhatIsLostAddsUp) {
  const RunResult result = simulate(ledger_spec({kComputeKernel, kMemoryKernel}, "even"));
  const std::vector<LostCycles> lost = lost_cycles(result);
  for (std::size_t victim = 0; victim < 2; ++victim) {
    double sum = 0;
    for (const LostCycles& entry : lost)
      if (entry.victim == victim) sum += entry.share;
    EXPECT_GT(sum, 0);
    EXPECT_LE(sum, 1);
    EXPECT_DOUBLE_EQ(lost_share(lost, victim), sum);
    const arch::LedgerAppCounters& own = result.ledger[victim];
    EXPECT_LE(own.memory_scheduler_cycles, own.resident_scheduler_cycles);
    EXPECT_LE(own.lsu_queue_cycles, own.memory_instruction_cycles);
    EXPECT_LE(own.memory_scheduler_cycles + own.barrier_scheduler_cycles, own.resident_scheduler_cycles);
    EXPECT_LE(own.lsu_head_stall_cycles, own.lsu_head_cycles);
    EXPECT_LE(own.busiest_slice_cycles, result.cycles);
  }
  EXPECT_NE(ledger_lines(result).find(" of its cycles to stream"), std::string::npos);
  EXPECT_EQ(result_document(result, {}, {}).at("ledger").size(), lost.size());
}

}  // namespace
}  // namespace gpumux::experiment
