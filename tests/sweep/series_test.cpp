// Sweeps with series: they are stored with the results, completed if they are missing, and read back
// unchanged.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "database/damage.hpp"
#include "experiment/series_output.hpp"
#include "experiment/timeline_output.hpp"
#include "sweep/job.hpp"
#include "sweep/runner.hpp"
#include "temporary_folder.hpp"

namespace gpumux::sweep {
namespace {

const std::string kSweep =
    "policies = [\"even\", \"spatial\"]\napps = [\"add\", \"stream\"]\ncombine = \"pairs\"\ncycles = 2500\n"
    "set.sms = 2\n";

class SweepSeries : public testing::Test {
 protected:
  static SweepPlan plan(const std::string& more) { return expand(parse_sweep(kSweep + more, "s.toml", "")); }
  [[nodiscard]] Progress work(const SweepPlan& plan) const {
    database::ResultStore store(file_);
    store.plan({plan.file.name, "", "s.toml", ""}, planned_rows(plan), false);
    return work_off(store, plan, {});
  }
  static std::string error_of(const std::string& more) {
    try {
      (void)plan(more);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  test::TemporaryFolder temporary_;
  const std::string file_ = temporary_.path() + "/r.sqlite";
};

TEST_F(SweepSeries, AreNoPartOfWhatARunIs) {
  const SweepPlan without = plan("");
  const SweepPlan with = plan("series = 700\n");
  ASSERT_EQ(without.runs.size(), 4U);
  ASSERT_EQ(with.runs.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(with.runs[i].hash, without.runs[i].hash);
    EXPECT_EQ(with.runs[i].spec.series, 700U);  // baselines too
    EXPECT_EQ(without.runs[i].spec.series, 0U);
  }
}

TEST_F(SweepSeries, AreCompletedWithoutTouchingTheResults) {
  const SweepPlan without = plan("");
  const SweepPlan with = plan("series = 700\n");
  EXPECT_EQ(work(without).finished, 4U);
  const auto results = [&] {
    database::Connection connection(file_, database::Access::Write);
    database::Statement query = connection.prepare("SELECT group_concat(result || finished_at) FROM runs");
    return query.step() ? query.text(0) : "";
  };
  const std::string before = results();
  EXPECT_EQ(work(with).finished, 4U);
  EXPECT_EQ(work(with).finished, 0U);
  EXPECT_EQ(work(without).finished, 0U);
  EXPECT_EQ(results(), before);
}

TEST_F(SweepSeries, AStoredRunIsTheRunThatWasSimulated) {
  const SweepPlan with = plan("series = 700\n");
  database::ResultStore store(file_);
  store.plan({"s", "", "s.toml", ""}, planned_rows(with), false);
  (void)work_off(store, with, {});
  for (std::size_t i = 0; i < with.runs.size(); ++i) {
    const experiment::RunSpec& spec = with.runs[i].spec;
    experiment::RunResult simulated = experiment::simulate(spec);
    StoredRun stored = stored_run(spec, store.result(i).value());
    EXPECT_GT(stored.result.wall_seconds, 0);
    simulated.wall_seconds = stored.result.wall_seconds = 0;
    EXPECT_EQ(experiment::result_json(stored.result, {}, {}), experiment::result_json(simulated, {}, {}));
    EXPECT_EQ(experiment::stats_csv(stored.result), experiment::stats_csv(simulated));
    EXPECT_EQ(experiment::series_csv(stored.result), experiment::series_csv(simulated));
    ASSERT_EQ(stored.isolated.size(), spec.apps.size());
    for (std::size_t a = 0; a < with.runs[i].baselines.size(); ++a) {
      const auto& alone = with.runs[with.runs[i].baselines[a]].spec;
      EXPECT_EQ(stored.isolated[a], experiment::simulate(alone).apps[0].ipc());
    }
  }
  database::ResultRow row = store.result(0).value();
  const std::size_t all = experiment::counters(stored_run(with.runs[0].spec, row).result).size();
  const auto without = [&row](const char* name) {
    return std::erase_if(row.counters,
                         [name](const database::CounterRow& counter) { return counter.name == name; });
  };
  // A counter that an older program did not have is left out; what every result has is missing.
  const std::size_t gone = without("dram_wait_clocks");
  EXPECT_EQ(experiment::counters(stored_run(with.runs[0].spec, row).result).size(), all - gone);
  EXPECT_GT(gone, 0U);
  EXPECT_GT(without("completions"), 0U);
  EXPECT_THROW((void)stored_run(with.runs[0].spec, row), database::ContentError);
  EXPECT_FALSE(store.result(99));
}

TEST_F(SweepSeries, TimelinesAreThoseOfTheRunsAndNotOfBaselines) {
  const SweepPlan plain = plan("series = 700\n");
  const SweepPlan with = plan("series = 700\ntimeline = true\n");
  ASSERT_EQ(with.runs.size(), 4U);
  EXPECT_EQ(work(plain).finished, 4U);
  EXPECT_EQ(work(with).finished, 2U);  // what lacks one
  database::ResultStore store(file_);
  store.plan({"s", "", "s.toml", ""}, planned_rows(with), false);
  for (std::size_t i = 0; i < with.runs.size(); ++i) {
    const experiment::RunSpec& spec = with.runs[i].spec;
    EXPECT_EQ(with.runs[i].hash, plain.runs[i].hash);
    EXPECT_EQ(spec.timeline, !with.runs[i].is_baseline);
    const std::optional<std::string> kept = store.result(i).value().timeline;
    ASSERT_EQ(kept.has_value(), spec.timeline);
    if (!kept) continue;
    EXPECT_EQ(*kept, experiment::timeline_json(experiment::simulate(spec), spec.machine.clocks.core));
  }
  EXPECT_EQ(plan("timeline = true\n").runs[0].spec.series, experiment::kDefaultSeries);
  EXPECT_EQ(plan("timeline = false\n").runs[0].spec.series, 0U);
  // Of runs of one application, which are their own baselines.
  const std::string alone =
      "apps = [\"add\"]\ncombine = \"alone\"\nset.sms = 2\ncycles = 900\ntimeline = true\n";
  EXPECT_TRUE(expand(parse_sweep(alone, "s.toml", "")).runs.at(0).spec.timeline);
}

TEST_F(SweepSeries, TheKeyIsChecked) {
  EXPECT_EQ(error_of("timeline = 1\n"), "s.toml:6:12: error: 'timeline' must be true or false");
  EXPECT_EQ(error_of("series = 0\n"), "s.toml:6:10: error: 'series' must be a whole number of at least 1");
  EXPECT_NE(error_of("series = \"1000\"\n").find("s.toml:6:10: error: 'series'"), std::string::npos);
  EXPECT_NE(error_of("serie = 1000\n").find("did you mean 'series'?"), std::string::npos);
}

}  // namespace
}  // namespace gpumux::sweep
