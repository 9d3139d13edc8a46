// Runs and their results in a database that any number of processes share: what is planned, who works on
// what, and what came of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/claimant.hpp"
#include "database/sqlite.hpp"

namespace gpumux::database {

using RunId = std::int64_t;

/// A run as planned. Its hash names it: two runs with the same hash are the same run.
struct PlannedRow {
  struct App {
    std::string app;
    std::string identity;
    std::uint64_t seed = 0;
    std::string isolated_hash;  // of the baseline, which is planned before it; empty: it has none
  };
  std::string hash;
  std::string machine_hash;
  std::string machine;                                         // its name
  std::shared_ptr<const std::string> machine_toml;             // shared by all runs on it: plans are long
  std::vector<std::pair<std::string, std::string>> overrides;  // key, value
  std::string policy;
  std::uint64_t seed = 0;
  std::uint64_t cycle_limit = 0;  // 0: until every application has ended once
  std::string program;
  std::vector<App> apps;
  struct Cpu {
    std::uint32_t core = 0;
    std::string program;
    std::string identity;
    std::string isolated_hash;  // as an application's
  };
  std::vector<Cpu> cpus;     // cores with a program
  bool is_baseline = false;  // wanted by other runs alone
  /// Wanted beside the result, and no part of the hash: a run that ended without them is done again for them.
  std::uint64_t series_interval = 0;  // core cycles; 0: no series
  bool timeline = false;
};

struct SweepRow {
  std::string name;
  std::string scale;  // empty: the file has none
  std::string file;   // its name, without folders
  std::string toml;
};

struct CounterRow {
  std::string scope;      // "app", "gpu", ...
  std::int64_t app = -1;  // its position; of a pair, the victim's; -1: not of an application
  std::string name;
  std::uint64_t value = 0;
  std::string unit;
  std::string meaning;
  std::int64_t culprit = -1;  // of a pair: its position; else -1
};

/// A counter over time; its value is not used.
struct SeriesRow {
  CounterRow counter;
  std::string samples;  // JSON array
};

/// What a run that ended well leaves.
struct ResultRow {
  struct App {
    double ipc = 0;
    std::optional<double> ipc_isolated;
    std::optional<double> normalized_ipc;
    std::uint64_t completions = 0;
  };
  std::uint64_t cycles = 0;
  std::optional<double> weighted_speedup, antt, stp, fairness;
  std::optional<double> su_gpu, ws_cpu, oss;  // of runs with CPU cores
  std::string document;                       // of `gpumux run --json`
  std::vector<App> apps;
  struct Cpu {
    std::uint32_t core = 0;
    double ipc = 0;
    std::optional<double> ipc_isolated, normalized_ipc;
    std::uint64_t instructions = 0, cycles = 0;  // that count; CPU cycles
    std::optional<double> l2_mpki, memory_latency;
  };
  std::vector<Cpu> cpus;
  std::vector<CounterRow> counters;
  double wall_seconds = 0;
  std::uint64_t series_interval = 0;  // core cycles; 0: no series
  std::vector<SeriesRow> series;
  std::optional<std::string> timeline;  // Chrome trace
};

/// What a run that did not leaves.
struct FailureRow {
  int exit_code = 1;  // that `gpumux run` would have had
  std::string error;
};

struct Counts {
  std::uint64_t pending = 0, done = 0, failed = 0;
  [[nodiscard]] std::uint64_t all() const { return pending + done + failed; }
};

/// A run that is this process's to do.
struct Claim {
  RunId id = 0;
  std::size_t index = 0;  // in the plan
  /// IPC of each application's baseline, then of each CPU core's with a program; empty: it has none.
  std::vector<double> isolated;
  /// Of the first baseline that failed: its exit code, and an error that says so.
  std::optional<FailureRow> baseline_failure;
};

/// One process's view. All calls throw UserError when the database cannot be read or written; what was
/// committed before stays.
class ResultStore {
 public:
  /// Makes or migrates the database.
  explicit ResultStore(const std::string& path);
  /// Gives its claims back.
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  /// Adds the runs that the database does not have, and notes which belong to the sweep; all or nothing.
  /// Baselines come before the runs that need them. `retry_failed`: those that failed are pending again.
  void plan(const SweepRow& sweep, const std::vector<PlannedRow>& runs, bool retry_failed) {
    plan(&sweep, runs, retry_failed);
  }
  /// The same for runs of no sweep.
  void plan(const std::vector<PlannedRow>& runs, bool retry_failed) { plan(nullptr, runs, retry_failed); }
  /// Takes the next planned run that is pending, or done without the series or timeline that are wanted of
  /// it, claimed by nobody alive, and whose baselines have ended; after the last, the first again.
  [[nodiscard]] std::optional<Claim> claim();
  /// As many of them as there are, but at most so many.
  [[nodiscard]] std::vector<Claim> claim(std::size_t most);
  /// To be called at least every third of kLeaseSeconds while there are claims.
  void heartbeat();
  /// Throws UserError when the file was deleted or moved: what ends now would be lost.
  void check_in_place() const { connection_.check_in_place(); }
  /// False: another process took the claim over, and its result stands. Of a run that was done, series and
  /// timeline alone are kept; throws ContentError when its counters are not the same as before.
  bool finish(RunId run, const ResultRow& result);
  /// A run that was done stays so, and counts as failed for this process alone.
  bool fail(RunId run, const FailureRow& failure);
  void release(RunId run);
  /// True when the database has this run, of whichever sweep, and it has not ended.
  [[nodiscard]] bool is_pending(const std::string& hash);
  /// Mean wall time of the planned runs that are done, in seconds; nothing when none is.
  [[nodiscard]] std::optional<double> mean_seconds();
  /// Of the planned runs; those that lack something are pending.
  [[nodiscard]] Counts counts();
  /// What the planned run at `index` left; nothing when it is not done.
  [[nodiscard]] std::optional<ResultRow> result(std::size_t index);
  /// Indices of the planned runs that failed, with their errors.
  [[nodiscard]] std::vector<std::pair<std::size_t, FailureRow>> failures();

 private:
  void plan(const SweepRow* sweep, const std::vector<PlannedRow>& runs, bool retry_failed);
  class Planner;
  class Inspector;
  /// A planned run that has not been seen ended.
  struct OpenRun {
    RunId id = 0;
    std::size_t index = 0;  // in the plan
  };
  using Clock = std::chrono::steady_clock;

  void reload_open();
  std::vector<OpenRun> free_runs(std::size_t most);
  [[nodiscard]] Claim take(const OpenRun& run, std::int64_t now);
  std::int64_t counter_id(const CounterRow& counter);
  bool drop_claim(RunId run);
  void keep_result(RunId run, const ResultRow& result);
  void check_same(RunId run, const ResultRow& result);
  void keep_series(RunId run, const ResultRow& result);

  Connection connection_;
  Claimant self_;
  std::vector<OpenRun> open_;  // by id
  std::size_t next_open_ = 0;  // where the next search begins
  Clock::time_point next_search_;
  std::map<std::pair<std::string, std::string>, std::int64_t> counter_ids_;
};

}  // namespace gpumux::database
