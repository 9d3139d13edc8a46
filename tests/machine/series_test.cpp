// Interval series: exact to the cycle, complete, and without an effect on the run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "experiment/run.hpp"
#include "experiment/series_output.hpp"
#include "machine/recorder.hpp"

namespace gpumux {
namespace {

experiment::RunSpec series_spec(const std::vector<const char*>& apps, const char* policy,
                                const char* machine = "dai18-maxwell") {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine);
  for (const char* app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = 20'011;  // no multiple of any window
  return spec;
}

std::string without_clock(experiment::RunResult result) {
  result.wall_seconds = 0;
  return experiment::result_json(result, {}, {}) + experiment::stats_csv(result);
}

/// Sums of the first `count` intervals, in the order of counters().
std::vector<std::uint64_t> sums(const experiment::RunResult& result, std::size_t count) {
  std::vector<std::uint64_t> sums;
  for (const experiment::CounterSeries& series : experiment::counter_series(result)) {
    EXPECT_EQ(series.samples.size(), result.series.samples.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += series.samples[i];
    if (!experiment::is_unused_phase(series.counter, sum)) sums.push_back(sum);
  }
  return sums;
}

/// The counters of arch/statistics.hpp at the end of the run.
std::vector<std::uint64_t> finals(const experiment::RunResult& result) {
  std::vector<std::uint64_t> finals;
  for (const experiment::CounterValue& c : experiment::counters(result)) {
    if (c.name == "completions" || c.name == "first_completion" || c.name == "active_cycles" ||
        c.name == "cycles")
      continue;
    finals.push_back(c.value);
  }
  return finals;
}

struct Case {
  std::vector<const char*> apps;
  const char* policy;
  const char* machine;
  std::vector<SmId> viewed = {};
};
class SeriesOf : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static experiment::RunSpec spec() {
    experiment::RunSpec spec = series_spec(GetParam().apps, GetParam().policy, GetParam().machine);
    spec.viewed = GetParam().viewed;
    return spec;
  }
};

TEST_P(SeriesOf, SamplingChangesNothingAndAddsUp) {
  experiment::RunSpec spec = this->spec();
  const experiment::RunResult plain = experiment::simulate(spec);
  EXPECT_EQ(plain.series.interval, 0U);
  Random random(7);
  for (const Cycle interval : {Cycle{1000}, Cycle{1 + random.below(200)}, Cycle{20'011}, Cycle{1'000'000}}) {
    spec.series = interval;
    experiment::RunResult sampled = experiment::simulate(spec);
    const std::size_t intervals = sampled.series.samples.size();
    EXPECT_EQ(intervals, (sampled.cycles + interval - 1) / interval);
    EXPECT_EQ(sampled.series.end, sampled.cycles);
    EXPECT_EQ(sums(sampled, intervals), finals(plain)) << "intervals of " << interval;
    sampled.series = {};
    EXPECT_EQ(without_clock(sampled), without_clock(plain)) << "intervals of " << interval;
  }
}

TEST_P(SeriesOf, ASampleIsOfItsExactCycle) {
  experiment::RunSpec spec = this->spec();
  spec.series = 1777;
  const experiment::RunResult sampled = experiment::simulate(spec);
  spec.series = 0;
  for (const std::size_t count : {1U, 4U, 9U}) {
    spec.cycles = count * 1777;  // a run that ends there has these counters
    EXPECT_EQ(sums(sampled, count), finals(experiment::simulate(spec))) << "at cycle " << spec.cycles;
  }
}

TEST_P(SeriesOf, ToViewSmsChangesNothingElse) {
  experiment::RunSpec spec = this->spec();
  if (spec.viewed.empty()) spec.viewed = {1};
  experiment::RunResult viewed = experiment::simulate(spec);
  for (const arch::CounterTable::OfSm& of : viewed.viewed) {
    arch::SmViewCounters view = of.view;
    EXPECT_EQ(view.core_active_cycles + view.core_pipeline_cycles + view.core_mixed_cycles +
                  view.core_scoreboard_cycles + view.core_idle_cycles,
              viewed.cycles);
    std::uint64_t in_phases = 0;
    for (std::size_t phase = 0; phase < arch::kViewedPhases; ++phase) in_phases += view.phase(phase);
    EXPECT_EQ(in_phases, view.warps_fetch + view.warps_alu_scoreboard + view.warps_memory_scoreboard +
                             view.warps_alu_stall + view.warps_memory_stall + view.warps_can_issue_alu +
                             view.warps_can_issue_memory + view.warps_barrier + view.warps_held);
    EXPECT_GT(in_phases, 0U);
    EXPECT_LE(view.overlap_cycles, std::min(view.alu_cycles, view.memory_cycles));
    EXPECT_LE(view.memory_overlapped, view.memory_in_flight);
    EXPECT_LE(view.tail_cycles, view.warps_completed);
    EXPECT_GT(view.memory_in_flight_begun, 0U);
  }
  viewed.viewed.clear();
  spec.viewed.clear();
  EXPECT_EQ(without_clock(viewed), without_clock(experiment::simulate(spec)));
}

TEST_P(SeriesOf, ThreadsAndSkippingChangeNothing) {
  experiment::RunSpec spec = this->spec();
  spec.series = 331;
  const std::string one = without_clock(experiment::simulate(spec));
  spec.threads = 3;
  EXPECT_EQ(one, without_clock(experiment::simulate(spec)));
  spec.threads = 1;
  spec.no_skip = true;
  EXPECT_EQ(one, without_clock(experiment::simulate(spec)));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SeriesOf,
    testing::Values(
        Case{{"hotspot", "kmeans"}, "even", "dai18-maxwell"},
        Case{{"hotspot", "bfs"}, "sequential", "dai18-maxwell"},
        Case{{"stream", "pathfinder", "add"}, "spatial,warps=lrr", "chimera15-fermi30"},
        Case{{"kmeans"}, "leftover", "v100"},
        Case{{"kmeans", "lud"}, "even,warps=tlgto", "awatramani17-m2090", {0, 2, 7}},
        Case{{"hotspot", "bfs"}, "time-slice:slice=3000", "chimera15-fermi30", {0}},
        Case{{"hotspot", "bfs"}, "priority:levels=1/2,preempt=switch", "chimera15-fermi30", {0, 1}},
        Case{{"kmeans", "hotspot"}, "ws,warps=ccws", "dai18-maxwell", {1}}));

TEST(ViewedSms, AreNumbersAndRanges) {
  using experiment::parse_sms;
  EXPECT_EQ(parse_sms("0", 4), std::vector<SmId>({0}));
  EXPECT_EQ(parse_sms("3,0-1,1", 4), std::vector<SmId>({0, 1, 3}));
  EXPECT_EQ(parse_sms("all", 3), std::vector<SmId>({0, 1, 2}));
  for (const char* text : {"", "4", "0-4", "0-", "-1", "2-1", "0,,1", "all,1", "1 2", "99999999999999999999",
                           "0-18446744073709551615"})
    EXPECT_THROW((void)parse_sms(text, 4), UserError) << text;
}

// Short kernels with idle time between them, which is skipped: intervals in which nothing happens are there.
TEST(Series, IdleIntervalsAreSampled) {
  experiment::RunSpec spec = series_spec({"bfs"}, "leftover");
  spec.cycles = 40'000;
  spec.machine.runtime.kernel_launch_latency = 5000;
  const experiment::RunResult plain = experiment::simulate(spec);
  spec.series = 500;
  experiment::RunResult sampled = experiment::simulate(spec);
  EXPECT_EQ(sums(sampled, sampled.series.samples.size()), finals(plain));
  EXPECT_EQ(sampled.series.samples.size(), (plain.cycles + 499) / 500);
  std::size_t idle = 0;
  for (const auto& sample : sampled.series.samples) idle += sample.apps[0].warp_instructions == 0 ? 1 : 0;
  EXPECT_GE(idle, 9U);  // at least the first launch's
  EXPECT_LT(idle, sampled.series.samples.size());
  EXPECT_EQ(sampled.series.samples[0].schedulers.issued, 0U);
}

// An interval may begin or end before a block that was placed in it begins: it has issued nothing yet.
TEST(Series, SchedulersIssueWhatApplicationsIssue) {
  for (const std::uint64_t interval : {3U, 75U, 500U}) {
    experiment::RunSpec spec = series_spec({"bfs"}, "leftover");
    ASSERT_EQ(spec.machine.sm.issue_interval, 1U);
    spec.cycles = 9000;
    spec.series = interval;
    const experiment::RunResult result = experiment::simulate(spec);
    for (std::size_t k = 0; k < result.series.samples.size(); ++k) {
      ASSERT_EQ(result.series.samples[k].schedulers.issued,
                result.series.samples[k].apps[0].warp_instructions)
          << "interval " << k << " of " << interval;
    }
  }
}

TEST(Series, TooManyIntervalsAreAnError) {
  machine::Recorder recorder({.series_interval = 3}, 0);
  for (Cycle now = 3; now <= 300'000; now += 3) recorder.keep(now, {});
  EXPECT_EQ(recorder.series().samples.size(), 100'000U);
  EXPECT_EQ(recorder.next_sample(), 300'003U);
  recorder.check_length();
  recorder.keep(300'003, {});
  EXPECT_EQ(recorder.next_sample(), kNever);
  try {
    recorder.check_length();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "error: series 3: the run has more than 100000 intervals; choose longer ones");
  }
}

TEST(Series, DocumentAndCsvHaveEveryCounter) {
  experiment::RunSpec spec = series_spec({"hotspot", "kmeans"}, "even");
  spec.cycles = 2500;
  spec.series = 1000;
  const experiment::RunResult result = experiment::simulate(spec);
  const auto document = nlohmann::json::parse(experiment::result_json(result, {}, {}));
  const nlohmann::json& series = document.at("series");
  EXPECT_EQ(series.at("interval"), 1000);
  EXPECT_EQ(series, nlohmann::json(experiment::series_document(result)));
  EXPECT_EQ(series.at("apps").size(), 2U);
  std::size_t counters = 0;
  for (const experiment::CounterSeries& s : experiment::counter_series(result)) {
    using arch::Scope;
    const arch::Counter& c = s.counter;
    const nlohmann::json& scope = c.scope == Scope::App ? series.at("apps").at(c.app)
                                  : c.scope == Scope::Pair
                                      ? series.at("pairs").at(2 * c.app + c.culprit)
                                      : series.at(std::string(arch::scope_name(c.scope)));
    if (c.scope == Scope::Pair) {
      EXPECT_EQ(scope.at("victim"), c.app);
      EXPECT_EQ(scope.at("culprit"), c.culprit);
    }
    EXPECT_EQ(scope.at(std::string(s.counter.name)), s.samples);
    ++counters;
  }
  EXPECT_EQ(counters, finals(result).size());

  const std::string csv = experiment::series_csv_head() + experiment::series_csv(result);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < csv.size(); at = csv.find('\n', at) + 1)
    lines.push_back(csv.substr(at, csv.find('\n', at) - at));
  ASSERT_EQ(lines.size(), 1U + 3 * 3);
  for (const std::string& line : lines)
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(lines[0].begin(), lines[0].end(), ','));
  EXPECT_TRUE(lines[0].starts_with("policy,position,app,begin,end,warp_instructions,"));
  EXPECT_NE(lines[0].find(",schedulers.issued,"), std::string::npos);
  EXPECT_NE(lines[0].find(",partitions.dram_reads,"), std::string::npos);
  EXPECT_TRUE(lines[1].starts_with("even,0,hotspot,0,1000,")) << lines[1];
  EXPECT_TRUE(lines[9].starts_with("even,-1,,2000,2500,")) << lines[9];
}

TEST(Counters, OfApplicationsAddUpToThoseOfPartitions) {
  const experiment::RunResult result = experiment::simulate(series_spec({"stream", "kmeans"}, "even"));
  const auto document = nlohmann::json::parse(experiment::result_json(result, {}, {}));
  const nlohmann::json& whole = document.at("gpu").at("memory");
  for (const char* name : {"l2_accesses", "l2_misses", "l2_writebacks", "l2_wait_cycles", "dram_reads",
                           "dram_writes", "dram_row_hits", "dram_bytes", "dram_wait_clocks"}) {
    std::uint64_t sum = 0;
    for (const nlohmann::json& app : document.at("apps")) {
      if (std::string_view(name).find("write") == std::string_view::npos) {
        EXPECT_GT(app.at("memory").at(name).get<std::uint64_t>(), 0U) << name;
      }
      sum += app.at("memory").at(name).get<std::uint64_t>();
    }
    EXPECT_EQ(sum, whole.at(name).get<std::uint64_t>()) << name;
  }
  ASSERT_EQ(document.at("pairs").size(), 4U);
  EXPECT_EQ(document.at("pairs").at(1).at("victim"), 0);
  EXPECT_EQ(document.at("pairs").at(1).at("culprit"), 1);
}

TEST(Counters, ThoseThatAnOlderResultLacksAreLeftOut) {
  experiment::RunSpec spec = series_spec({"stream"}, "even");
  spec.series = 5000;
  experiment::RunResult result = experiment::simulate(spec);
  const std::size_t all = experiment::counters(result).size();
  result.absent = {"app.dram_wait_clocks", "pair.l2_evictions"};
  EXPECT_EQ(experiment::counters(result).size(), all - 2);
  EXPECT_EQ(experiment::counter_series(result).size(), all - 2 - 4);  // and four that have no series
  const auto document = nlohmann::json::parse(experiment::result_json(result, {}, {}));
  EXPECT_FALSE(document.at("apps").at(0).at("memory").contains("dram_wait_clocks"));
  EXPECT_TRUE(document.at("apps").at(0).at("memory").contains("dram_bytes"));
  EXPECT_TRUE(document.at("pairs").empty());
}

}  // namespace
}  // namespace gpumux
