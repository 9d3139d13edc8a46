// Planning of runs, claims and results, in one process and in several.
#include "database/results.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "base/error.hpp"
#include "store_fixture.hpp"

namespace gpumux::database {
namespace {

using test::StoreTest;

class Results : public StoreTest {};

/// What a full disk is to SQLite, without a disk: files cannot grow beyond so many bytes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uintmax_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { lift(); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  void lift() const { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(Results, ARunIsPlannedOnce) {
  ResultStore store(db());
  store.plan(sweep(), {run("a"), run("b")}, false);
  store.plan(sweep(), {run("b"), run("c"), run("a")}, false);
  EXPECT_EQ(store.counts().pending, 3U);
  EXPECT_EQ(text("SELECT group_concat(hash) FROM runs"), "a,b,c");
  EXPECT_EQ(
      text("SELECT group_concat(hash) FROM (SELECT r.hash FROM sweep_runs s JOIN runs r ON r.id = s.run_id "
           "ORDER BY s.position)"),
      "b,c,a");
  EXPECT_EQ(number("SELECT count(*) FROM machines"), 1);
}

TEST_F(Results, RunsAreClaimedInOrderAndOnce) {
  ResultStore store(db());
  store.plan(sweep(), {run("a"), run("b")}, false);
  const std::optional<Claim> first = store.claim();
  const std::optional<Claim> second = store.claim();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->index, 0U);
  EXPECT_EQ(second->index, 1U);
  EXPECT_FALSE(store.claim());
  store.release(first->id);
  const std::optional<Claim> again = store.claim();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, first->id);
}

TEST_F(Results, SeveralAreClaimedAtOnce) {
  ResultStore store(db());
  std::vector<PlannedRow> runs = {run("alone")};
  for (int i = 0; i < 10; ++i) runs.push_back(run("run" + std::to_string(i), i % 2 == 0 ? "alone" : ""));
  store.plan(sweep(), runs, false);
  std::vector<std::size_t> indices;
  for (const Claim& claim : store.claim(4)) indices.push_back(claim.index);
  EXPECT_EQ(indices, (std::vector<std::size_t>{0, 2, 4, 6}));  // the others wait for their baseline
  indices.clear();
  for (const Claim& claim : store.claim(100)) indices.push_back(claim.index);
  EXPECT_EQ(indices, (std::vector<std::size_t>{8, 10}));
  EXPECT_TRUE(store.claim(100).empty());
  EXPECT_TRUE(store.finish(1, result(2)));
  const std::vector<Claim> freed = store.claim(100);
  ASSERT_EQ(freed.size(), 5U);
  EXPECT_EQ(freed[0].index, 1U);
  EXPECT_EQ(freed[0].isolated, std::vector<double>{2});
}

// The search goes on where it ended, and comes back to what was passed over.
TEST_F(Results, WhatWasPassedOverIsFoundAgain) {
  ResultStore store(db());
  std::vector<PlannedRow> runs;
  for (int i = 0; i < 50; ++i) runs.push_back(run("run" + std::to_string(i)));
  store.plan(sweep(), runs, false);
  std::set<RunId> finished;
  for (int i = 0; i < 50; ++i) {
    const std::vector<Claim> claims = store.claim(3);
    ASSERT_FALSE(claims.empty());
    for (std::size_t k = 1; k < claims.size(); ++k) store.release(claims[k].id);
    EXPECT_TRUE(store.finish(claims[0].id, result(1)));
    EXPECT_TRUE(finished.insert(claims[0].id).second);
  }
  EXPECT_FALSE(store.claim());
  EXPECT_EQ(store.counts().done, 50U);
  EXPECT_FALSE(store.is_pending("run7"));
  EXPECT_EQ(store.mean_seconds(), 0.0);
}

TEST_F(Results, FinishedRunsAreKeptAndNotClaimed) {
  {
    ResultStore store(db());
    store.plan(sweep(), {run("a")}, false);
    const std::optional<Claim> claim = store.claim();
    ASSERT_TRUE(claim);
    EXPECT_TRUE(store.finish(claim->id, result(1.5)));
    EXPECT_FALSE(store.finish(claim->id, result(2.5)));  // no claim any more
  }
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, true);
  EXPECT_FALSE(store.claim());
  EXPECT_EQ(store.counts().done, 1U);
  EXPECT_EQ(text("SELECT ipc FROM apps"), "1.5");
  EXPECT_EQ(text("SELECT group_concat(scope || '.' || name || '=' || value) FROM (SELECT * FROM metrics JOIN "
                 "counters ON id = counter_id ORDER BY scope)"),
            "app.loads=7,gpu.loads=9");
  EXPECT_EQ(number("SELECT count(*) FROM claims"), 0);
}

TEST_F(Results, ARunWaitsForItsBaseline) {
  ResultStore store(db());
  store.plan(sweep(), {run("alone"), run("shared", "alone")}, false);
  const std::optional<Claim> baseline = store.claim();
  ASSERT_TRUE(baseline);
  EXPECT_FALSE(store.claim());
  EXPECT_TRUE(store.finish(baseline->id, result(4.0)));
  const std::optional<Claim> shared = store.claim();
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->isolated, std::vector<double>{4.0});
  EXPECT_FALSE(shared->baseline_failure);
}

TEST_F(Results, AFailureIsKeptUntilItIsRetried) {
  ResultStore store(db());
  const std::vector<PlannedRow> runs = {run("alone"), run("shared", "alone")};
  store.plan(sweep(), runs, false);
  EXPECT_TRUE(store.fail(store.claim()->id, {3, "error: trap"}));
  const std::optional<Claim> shared = store.claim();
  ASSERT_TRUE(shared);
  ASSERT_TRUE(shared->baseline_failure);
  EXPECT_EQ(shared->baseline_failure->error, "error: its isolated baseline failed: app: error: trap");
  EXPECT_EQ(shared->baseline_failure->exit_code, 3);
  EXPECT_TRUE(store.fail(shared->id, {1, "baseline"}));
  ASSERT_EQ(store.failures().size(), 2U);
  EXPECT_EQ(store.failures()[0].first, 0U);
  EXPECT_EQ(store.failures()[0].second.exit_code, 3);
  EXPECT_EQ(store.failures()[0].second.error, "error: trap");
  store.plan(sweep(), runs, false);
  EXPECT_FALSE(store.claim());
  store.plan(sweep(), runs, true);
  EXPECT_EQ(store.counts().pending, 2U);
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE error IS NOT NULL"), 0);
}

TEST_F(Results, ARunOfAnotherSweepIsNotClaimed) {
  ResultStore store(db());
  store.plan(sweep("one"), {run("a")}, false);
  store.plan(sweep("two"), {run("b")}, false);
  const std::optional<Claim> claim = store.claim();
  ASSERT_TRUE(claim);
  EXPECT_TRUE(store.finish(claim->id, result(1)));
  EXPECT_FALSE(store.claim());
  EXPECT_EQ(text("SELECT group_concat(hash) FROM runs WHERE state = 'done'"), "b");
}

TEST_F(Results, TheClaimOfALivingProcessStands) {
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, false);
  const Claimant self = this_process();
  // However old its heartbeat is: it may have been stopped for a while.
  set_claim(1, self.host, self.pid, self.started, 0);
  EXPECT_FALSE(store.claim());
}

TEST_F(Results, TheClaimOfADeadProcessIsTakenOver) {
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, false);
  const Claimant self = this_process();
  const std::int64_t now = std::time(nullptr);
  set_claim(1, self.host, self.pid, self.started + 1, now);  // the pid is another process's by now
  EXPECT_TRUE(store.claim());
  set_claim(1, self.host, 1 << 30, 5, now);
  EXPECT_TRUE(store.claim());
}

TEST_F(Results, AClaimFromElsewhereLastsAsLongAsItsLease) {
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, false);
  const std::int64_t now = std::time(nullptr);
  set_claim(1, "elsewhere", 1, 1, now);
  EXPECT_FALSE(store.claim());
  set_claim(1, "elsewhere", 1, 1, now - kLeaseSeconds - 5);
  EXPECT_TRUE(store.claim());
}

TEST_F(Results, AResultOfALostClaimIsDropped) {
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, false);
  const std::optional<Claim> claim = store.claim();
  ASSERT_TRUE(claim);
  set_claim(claim->id, "elsewhere", 1, 1, std::time(nullptr));
  EXPECT_FALSE(store.finish(claim->id, result(1)));
  EXPECT_FALSE(store.fail(claim->id, {1, "x"}));
  EXPECT_EQ(store.counts().pending, 1U);
}

TEST_F(Results, AHeartbeatRenewsOnesOwnClaims) {
  ResultStore store(db());
  store.plan(sweep(), {run("a"), run("b")}, false);
  ASSERT_TRUE(store.claim());
  set_claim(2, "elsewhere", 1, 1, 5);
  execute("UPDATE claims SET heartbeat = 5");
  store.heartbeat();
  EXPECT_GT(number("SELECT heartbeat FROM claims WHERE run_id = 1"), 5);
  EXPECT_EQ(number("SELECT heartbeat FROM claims WHERE run_id = 2"), 5);
}

TEST_F(Results, ClaimsAreGivenBackAtTheEnd) {
  {
    ResultStore store(db());
    store.plan(sweep(), {run("a")}, false);
    ASSERT_TRUE(store.claim());
  }
  EXPECT_EQ(number("SELECT count(*) FROM claims"), 0);
}

TEST_F(Results, AFullDatabaseIsOneErrorAndLosesNothing) {
  ResultStore store(db());
  std::vector<PlannedRow> runs;
  for (int i = 0; i < 200; ++i) runs.push_back(run("run" + std::to_string(i)));
  store.plan(sweep(), {runs[0]}, false);
  EXPECT_TRUE(store.finish(store.claim()->id, result(1)));
  const FileSizeLimit limit(std::filesystem::file_size(db() + "-wal") + 10000);
  try {
    store.plan(sweep(), runs, false);
    FAIL() << "there was room";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              db() + ": error: cannot be written: the disk is full, or a file too large");
  }
  limit.lift();
  EXPECT_EQ(text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(text("SELECT group_concat(hash || state) FROM runs"), "run0done");
}

// A run waits for its CPU programs' baselines as for its applications', and gets their IPC behind these.
TEST_F(Results, CpuCoresHaveBaselinesAndAreKept) {
  PlannedRow alone = run("cpu");
  alone.apps.clear();
  alone.cpus = {{2, "mcf", "generated mcf", ""}};
  PlannedRow shared = run("shared", "app");
  shared.cpus = {{0, "-x", "x", "cpu"}, {2, "mcf", "generated mcf", "cpu"}};
  ResultStore store(db());
  store.plan(sweep(), {run("app"), alone, shared}, false);
  const std::optional<Claim> app = store.claim();
  const std::optional<Claim> cpu = store.claim();
  ASSERT_TRUE(app && cpu);
  ASSERT_TRUE(store.finish(app->id, result(4.0)));
  EXPECT_FALSE(store.claim()) << "its CPU baseline has not ended";
  ResultRow of_cpu = result(0);
  of_cpu.apps.clear();
  of_cpu.cpus = {{2, 0.25, 0.25, 1.0, 2000, 8000, 40.5, std::nullopt}};
  of_cpu.ws_cpu = 1;
  ASSERT_TRUE(store.finish(cpu->id, of_cpu));
  const std::optional<Claim> last = store.claim();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->isolated, (std::vector<double>{4.0, 0.25, 0.25}));
  ResultRow row = result(2.0);
  row.cpus = {{0, 0.5, 0.25, 2.0, 2000, 4000, 1.5, 300.0}, {2, 0.125, 0.25, 0.5, 2000, 16000, 40.5, 700.0}};
  row.su_gpu = 0.5;
  row.ws_cpu = 2.5;
  row.oss = 1.5;
  ASSERT_TRUE(store.finish(last->id, row));
  const std::optional<ResultRow> kept = store.result(2);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->su_gpu, 0.5);
  EXPECT_EQ(kept->ws_cpu, 2.5);
  EXPECT_EQ(kept->oss, 1.5);
  ASSERT_EQ(kept->cpus.size(), 2U);
  EXPECT_EQ(kept->cpus[1].core, 2U);
  EXPECT_EQ(kept->cpus[1].normalized_ipc, 0.5);
  EXPECT_EQ(kept->cpus[1].cycles, 16000U);
  EXPECT_EQ(kept->cpus[0].memory_latency, 300.0);
  EXPECT_EQ(store.result(1)->cpus[0].memory_latency, std::nullopt);
  EXPECT_EQ(text("SELECT group_concat(program || normalized_ipc) FROM cpus WHERE run_id = 3"),
            "-x2.0,mcf0.5");
}

TEST_F(Results, ACpuBaselineThatFailsFailsItsRuns) {
  PlannedRow alone = run("cpu");
  alone.apps.clear();
  alone.cpus = {{0, "mcf", "generated mcf", ""}};
  PlannedRow shared = run("shared");
  shared.cpus = {{0, "mcf", "generated mcf", "cpu"}};
  ResultStore store(db());
  store.plan(sweep(), {alone, shared}, false);
  ASSERT_TRUE(store.fail(store.claim()->id, {3, "error: trap"}));
  const std::optional<Claim> last = store.claim();
  ASSERT_TRUE(last && last->baseline_failure);
  EXPECT_EQ(last->baseline_failure->error, "error: its isolated baseline failed: mcf: error: trap");
}

}  // namespace
}  // namespace gpumux::database
