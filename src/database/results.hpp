// Runs and their results in a database that several processes share: planned runs, claims of runs by
// processes, and results.
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

/// A run as planned. Two runs with the same hash are the same run.
struct PlannedRow {
  struct App {
    std::string app;
    std::string identity;
    std::uint64_t seed = 0;
    std::string isolated_hash;  // of the baseline, which is planned before; empty: none
  };
  std::string hash;
  std::string machine_hash;
  std::string machine;                                         // the machine's name
  std::shared_ptr<const std::string> machine_toml;             // shared by all runs, as plans are long
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
    std::string isolated_hash;  // as in App
  };
  std::vector<Cpu> cpus;     // cores with a program
  bool is_baseline = false;  // wanted only as a baseline of other runs
  /// Outputs in addition to the result, not part of the hash. A completed run without a wanted output is done
  /// again.
  std::uint64_t series_interval = 0;  // core cycles; 0: no series
  bool timeline = false;
};

struct SweepRow {
  std::string name;
  std::string scale;  // empty: the file has no scales
  std::string file;   // file name, without folders
  std::string toml;
};

struct CounterRow {
  std::string scope;      // "app", "gpu", ...
  std::int64_t app = -1;  // position of the application (for a pair, of the victim); else -1
  std::string name;
  std::uint64_t value = 0;
  std::string unit;
  std::string meaning;
  std::int64_t culprit = -1;  // for a pair: position of the culprit; else -1
};

/// Samples of a counter over time. `counter.value` is not used.
struct SeriesRow {
  CounterRow counter;
  std::string samples;  // JSON array
};

/// The result of a completed run.
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
  std::string document;                       // as of `gpumux run --json`
  std::vector<App> apps;
  struct Cpu {
    std::uint32_t core = 0;
    double ipc = 0;
    std::optional<double> ipc_isolated, normalized_ipc;
    std::uint64_t instructions = 0, cycles = 0;  // measured instructions; CPU cycles
    std::optional<double> l2_mpki, memory_latency;
  };
  std::vector<Cpu> cpus;
  std::vector<CounterRow> counters;
  double wall_seconds = 0;
  std::uint64_t series_interval = 0;  // core cycles; 0: no series
  std::vector<SeriesRow> series;
  std::optional<std::string> timeline;  // Chrome trace
};

/// The error of a failed run.
struct FailureRow {
  int exit_code = 1;  // that `gpumux run` would return
  std::string error;
};

struct Counts {
  std::uint64_t pending = 0, done = 0, failed = 0;
  [[nodiscard]] std::uint64_t all() const { return pending + done + failed; }
};

/// A run that this process has to do.
struct Claim {
  RunId id = 0;
  std::size_t index = 0;  // in the plan
  /// IPC of each application's baseline, then of the baseline of each CPU core with a program; empty: no
  /// baselines.
  std::vector<double> isolated;
  /// Exit code and error of the first baseline that failed.
  std::optional<FailureRow> baseline_failure;
};

/// One process's view of the database. All calls throw UserError if the database cannot be read or written;
/// earlier commits stay.
class ResultStore {
 public:
  /// Creates or migrates the database.
  explicit ResultStore(const std::string& path);
  /// Releases the claims of this process.
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  /// Adds the runs that the database does not have, and records the runs of the sweep; all or nothing.
  /// Baselines must come before the runs that need them. `retry_failed`: failed runs become pending again.
  void plan(const SweepRow& sweep, const std::vector<PlannedRow>& runs, bool retry_failed) {
    plan(&sweep, runs, retry_failed);
  }
  /// Plans runs that belong to no sweep, as above for a sweep.
  void plan(const std::vector<PlannedRow>& runs, bool retry_failed) { plan(nullptr, runs, retry_failed); }
  /// Claims the next planned run that is free: pending, or done without a wanted series or timeline; not
  /// claimed by a live process; all baselines have ended. The search is cyclic. Nothing if there is none.
  [[nodiscard]] std::optional<Claim> claim();
  /// Claims at most `most` free runs, and as many as there are.
  [[nodiscard]] std::vector<Claim> claim(std::size_t most);
  /// Renews the claims. Call at least every third of kLeaseSeconds while there are claims.
  void heartbeat();
  /// Throws UserError if the file was deleted or moved, because further results would be lost.
  void check_in_place() const { connection_.check_in_place(); }
  /// Keeps the result of a claimed run. False: another process took the claim over, and its result counts.
  /// For a run that was done, only series and timeline are kept; throws ContentError if its counters differ
  /// from those before.
  bool finish(RunId run, const ResultRow& result);
  /// Keeps the failure of a claimed run. A run that was done stays done, and counts as failed only for this
  /// process.
  bool fail(RunId run, const FailureRow& failure);
  void release(RunId run);
  /// True if the database has this run, of any sweep, and the run has not ended.
  [[nodiscard]] bool is_pending(const std::string& hash);
  /// Mean wall time of the planned runs that are done, in seconds; nothing if none is done.
  [[nodiscard]] std::optional<double> mean_seconds();
  /// States of the planned runs. Runs without a wanted output count as pending.
  [[nodiscard]] Counts counts();
  /// The result of the planned run at `index`; nothing if the run is not done.
  [[nodiscard]] std::optional<ResultRow> result(std::size_t index);
  /// Indices of the planned runs that failed, with their errors.
  [[nodiscard]] std::vector<std::pair<std::size_t, FailureRow>> failures();

 private:
  void plan(const SweepRow* sweep, const std::vector<PlannedRow>& runs, bool retry_failed);
  class Planner;
  class Inspector;
  /// A planned run that was not yet found to have ended.
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
  std::size_t next_open_ = 0;  // where the next search starts
  Clock::time_point next_search_;
  std::map<std::pair<std::string, std::string>, std::int64_t> counter_ids_;
};

}  // namespace gpumux::database
