// Execution of a sweep: the rows are the same whatever happens during the sweep.
#include "sweep/runner.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "database/export.hpp"
#include "experiment/result_json.hpp"
#include "sweep/job.hpp"
#include "temporary_folder.hpp"

namespace gpumux::sweep {
namespace {

using nlohmann::json;

class RunnerTest : public testing::Test {
 protected:
  static SweepPlan plan() {
    return expand(
        parse_sweep("policies = [\"even\", \"spatial\"]\napps = [\"add\", \"stream\", "
                    "\"pathfinder\"]\ncombine = \"pairs\"\n"
                    "cycles = 600\nset.sms = 2\n",
                    "s.toml", ""));
  }
  Progress work(const std::string& name, const SweepPlan& plan, const RunnerOptions& options,
                bool retry = false) const {
    database::ResultStore store(folder_ + "/" + name);
    store.plan({plan.file.name, "", "s.toml", ""}, planned_rows(plan), retry);
    return work_off(store, plan, options);
  }
  /// Everything in the database but clocks.
  [[nodiscard]] json rows(const std::string& name) const {
    database::Connection connection(folder_ + "/" + name, database::Access::Read);
    std::string text;
    database::export_json(connection, [&](std::string_view part) { text += part; });
    json all = json::parse(text)["runs"];
    for (json& run : all) {
      run.erase("finished_at");
      run.erase("wall_seconds");
    }
    return all;
  }

  test::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(RunnerTest, ResultsAreThoseOfASingleRun) {
  const SweepPlan p = plan();
  RunnerOptions options;
  options.jobs = 2;
  const Progress progress = work("a", p, options);
  EXPECT_EQ(progress.counts.done, p.runs.size());
  const json all = rows("a");
  ASSERT_EQ(all.size(), p.runs.size());
  for (std::size_t i = 0; i < p.runs.size(); ++i) {
    const experiment::RunSpec& spec = p.runs[i].spec;
    const experiment::RunResult result = experiment::simulate(spec);
    std::vector<double> shared;
    for (const auto& app : result.apps) shared.push_back(app.ipc());
    const std::vector<double> alone = spec.apps.size() == 1 ? shared : experiment::isolated_ipcs(spec, "");
    json expected = experiment::result_document(result, alone, experiment::metrics(shared, alone));
    EXPECT_EQ(all[i]["result"], expected) << i;
    EXPECT_EQ(all[i]["counters"]["gpu"]["warp_instructions"], result.gpu.warp_instructions);
    EXPECT_EQ(all[i]["counters"]["apps"].size(), spec.apps.size());
  }
}

TEST_F(RunnerTest, RowsDoNotDependOnTheNumberOfJobsNorOnInterruptions) {
  const SweepPlan p = plan();
  RunnerOptions options;
  options.jobs = 1;
  (void)work("a", p, options);
  // Stopped before the start, then after about three runs each time.
  volatile std::sig_atomic_t stop = 1;
  options.jobs = 3;
  options.stop = &stop;
  EXPECT_EQ(work("b", p, options).finished, 0U);
  std::uint64_t passes = 0;
  while (true) {
    stop = 0;
    std::uint64_t seen = 0;
    options.work = [](const SweepRun& run, const std::vector<double>& isolated) {
      return perform(run.spec, isolated);
    };
    options.progress = [&](const Progress& now) {
      seen = now.finished;
      if (passes < 3) stop = 1;
    };
    const Progress progress = work("b", p, options);
    ++passes;
    EXPECT_EQ(progress.finished, seen);
    if (progress.counts.pending == 0) break;
    ASSERT_LT(passes, 20U);
  }
  EXPECT_EQ(rows("a"), rows("b"));
}

TEST_F(RunnerTest, ACrashIsOneFailedRun) {
  const SweepPlan p = plan();
  const std::string victim = p.runs.back().hash;
  RunnerOptions options;
  options.jobs = 2;
  options.work = [&](const SweepRun& run, const std::vector<double>& isolated) {
    if (run.hash == victim) {
      ::signal(SIGABRT, SIG_DFL);
      ::raise(SIGABRT);
    }
    return perform(run.spec, isolated);
  };
  const Progress progress = work("a", p, options);
  EXPECT_EQ(progress.counts.failed, 1U);
  EXPECT_EQ(progress.counts.done, p.runs.size() - 1);
  EXPECT_EQ(rows("a").back()["state"], "failed");
  EXPECT_EQ(rows("a").back()["exit_code"], 1);
  EXPECT_NE(rows("a").back()["error"].get<std::string>().find("signal 6"), std::string::npos);
  // It stays so until it is asked for again.
  options.work = nullptr;
  EXPECT_EQ(work("a", p, options).finished, 0U);
  EXPECT_EQ(work("a", p, options, true).finished, 1U);
  EXPECT_EQ(rows("a").back()["state"], "done");
}

TEST_F(RunnerTest, AFailedBaselineFailsWhatNeedsIt) {
  const SweepPlan p = plan();
  ASSERT_TRUE(p.runs[0].is_baseline);
  RunnerOptions options;
  options.work = [&](const SweepRun& run, const std::vector<double>& isolated) {
    if (run.hash == p.runs[0].hash) throw SimulationFault("error: trap");
    return perform(run.spec, isolated);
  };
  const Progress progress = work("a", p, options);
  std::size_t dependent = 0;
  for (const SweepRun& run : p.runs) {
    dependent += static_cast<std::size_t>(std::count(run.baselines.begin(), run.baselines.end(), 0U));
  }
  EXPECT_EQ(progress.counts.failed, 1 + dependent);
  EXPECT_EQ(rows("a")[0]["exit_code"], 3);
  EXPECT_EQ(rows("a").back()["state"], "done");
}

TEST_F(RunnerTest, AWorkerThatIsKilledOnceIsTriedAgain) {
  const SweepPlan p = plan();
  RunnerOptions options;
  options.jobs = 2;
  options.work = [&](const SweepRun& run, const std::vector<double>& isolated) {
    const std::string mark = folder_ + "/" + run.hash;
    if (!std::filesystem::exists(mark)) {
      write_file_atomically(mark, "");
      ::raise(SIGKILL);
    }
    return perform(run.spec, isolated);
  };
  EXPECT_EQ(work("a", p, options).counts.done, p.runs.size());
  options.work = [](const SweepRun&, const std::vector<double>&) -> std::string {
    ::raise(SIGKILL);
    return "";
  };
  EXPECT_EQ(work("b", p, options).counts.failed, p.runs.size());
}

// Whatever the database refuses ends the sweep at once; what is in flight is killed, what was kept stays.
TEST_F(RunnerTest, ADatabaseThatTakesNothingMoreStopsTheSweep) {
  const SweepPlan p = plan();
  database::ResultStore store(folder_ + "/a");
  store.plan({"s", "", "s.toml", ""}, planned_rows(p), false);
  const auto execute = [&](const char* sql) {
    database::Connection(folder_ + "/a", database::Access::Write).execute(sql);
  };
  execute(
      "CREATE TRIGGER full BEFORE INSERT ON metrics WHEN (SELECT count(*) FROM runs WHERE state = 'done') > "
      "2 "
      "BEGIN SELECT RAISE(ABORT, 'no room'); END");
  RunnerOptions options;
  options.jobs = 2;
  EXPECT_THROW((void)work_off(store, p, options), InternalError);
  execute("DROP TRIGGER full");
  EXPECT_GE(store.counts().done, 2U);
  EXPECT_LE(store.counts().done, 3U);
}

}  // namespace
}  // namespace gpumux::sweep
