#include "database/results.hpp"

#include <fmt/format.h>

#include <ctime>

#include "base/error.hpp"
#include "database/schema.hpp"

namespace gpumux::database {
namespace {

std::int64_t signed_value(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Of runs r and the plan p: what this process wants of the run is not there. `open`: it may be so.
constexpr const char* kLacks =
    "(p.open AND ((p.series > 0 AND NOT EXISTS (SELECT 1 FROM series s WHERE s.run_id = r.id AND s.interval "
    "= "
    "p.series)) OR (p.timeline AND NOT EXISTS (SELECT 1 FROM timelines t WHERE t.run_id = r.id))))";

}  // namespace

ResultStore::ResultStore(const std::string& path) : connection_(path, Access::Create), self_(this_process()) {
  migrate(connection_);
}

ResultStore::~ResultStore() {
  try {  // what cannot be given back is taken over
    connection_.prepare("DELETE FROM claims WHERE host = ? AND pid = ? AND started = ?")
        .bind(self_.host)
        .bind(self_.pid)
        .bind(self_.started)
        .run();
  } catch (const std::exception&) {
  }
}

// --- planning ---------------------------------------------------------------------------------------------

RunId ResultStore::find_run(const std::string& hash) {
  Statement query = connection_.prepare("SELECT id FROM runs WHERE hash = ?");
  return query.bind(hash).step() ? query.integer(0) : 0;
}

RunId ResultStore::add_run(const PlannedRow& run) {
  connection_.prepare("INSERT OR IGNORE INTO machines (hash, name, toml) VALUES (?, ?, ?)")
      .bind(run.machine_hash)
      .bind(run.machine)
      .bind(run.machine_toml)
      .run();
  connection_
      .prepare(
          "INSERT INTO runs (hash, machine_id, policy, seed, cycle_limit, program) VALUES "
          "(?, (SELECT id FROM machines WHERE hash = ?), ?, ?, ?, ?)")
      .bind(run.hash)
      .bind(run.machine_hash)
      .bind(run.policy)
      .bind(signed_value(run.seed))
      .bind(run.cycle_limit == 0 ? std::nullopt : std::optional(signed_value(run.cycle_limit)))
      .bind(run.program)
      .run();
  const RunId id = connection_.last_row_id();
  for (std::size_t i = 0; i < run.overrides.size(); ++i) {
    connection_.prepare("INSERT INTO overrides VALUES (?, ?, ?, ?)")
        .bind(id)
        .bind(static_cast<std::int64_t>(i))
        .bind(run.overrides[i].first)
        .bind(run.overrides[i].second)
        .run();
  }
  for (std::size_t i = 0; i < run.apps.size(); ++i) {
    const PlannedRow::App& app = run.apps[i];
    std::optional<std::int64_t> isolated;
    if (!app.isolated_hash.empty()) isolated = find_run(app.isolated_hash);
    GPUMUX_CHECK(isolated != std::optional<std::int64_t>(0));
    connection_
        .prepare(
            "INSERT INTO apps (run_id, position, app, identity, seed, isolated_run_id) VALUES "
            "(?, ?, ?, ?, ?, ?)")
        .bind(id)
        .bind(static_cast<std::int64_t>(i))
        .bind(app.app)
        .bind(app.identity)
        .bind(signed_value(app.seed))
        .bind(isolated)
        .run();
  }
  return id;
}

void ResultStore::plan(const SweepRow* sweep, const std::vector<PlannedRow>& runs, bool retry_failed) {
  connection_.execute("DROP TABLE IF EXISTS temp.plan");
  connection_.execute(
      "CREATE TEMP TABLE plan (run_id INTEGER PRIMARY KEY, position INTEGER NOT NULL, series INTEGER NOT "
      "NULL, "
      "timeline INTEGER NOT NULL, open INTEGER NOT NULL, exit_code INTEGER, error TEXT); "
      "CREATE INDEX temp.plan_open ON plan (run_id) WHERE open");
  Transaction transaction(connection_);
  std::int64_t sweep_id = 0;
  if (sweep) {
    // The sweep keeps its row, so that another process that plans the same changes nothing.
    connection_
        .prepare(
            "INSERT INTO sweeps (name, scale, file, toml) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name, scale) DO UPDATE SET file = excluded.file, toml = excluded.toml")
        .bind(sweep->name)
        .bind(sweep->scale)
        .bind(sweep->file)
        .bind(sweep->toml)
        .run();
    Statement find_sweep = connection_.prepare("SELECT id FROM sweeps WHERE name = ? AND scale = ?");
    find_sweep.bind(sweep->name).bind(sweep->scale).step();
    sweep_id = find_sweep.integer(0);
    connection_.prepare("DELETE FROM sweep_runs WHERE sweep_id = ?").bind(sweep_id).run();
  }

  Statement add_member = connection_.prepare("INSERT INTO sweep_runs VALUES (?, ?, ?, ?)");
  Statement add_plan = connection_.prepare("INSERT INTO temp.plan VALUES (?, ?, ?, ?, ?, NULL, NULL)");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlannedRow& run = runs[i];
    RunId id = find_run(run.hash);
    if (id == 0) id = add_run(run);
    if (sweep) {
      add_member.bind(sweep_id)
          .bind(static_cast<std::int64_t>(i))
          .bind(id)
          .bind(std::string_view(run.is_baseline ? "baseline" : "run"))
          .run();
    }
    add_plan.bind(id)
        .bind(static_cast<std::int64_t>(i))
        .bind(signed_value(run.series_interval))
        .bind(std::int64_t{run.timeline})
        .bind(std::int64_t{run.series_interval != 0 || run.timeline})
        .run();
  }
  if (retry_failed) {
    connection_.execute(
        "UPDATE runs SET state = 'pending', exit_code = NULL, error = NULL, finished_at = NULL "
        "WHERE state = 'failed' AND id IN (SELECT run_id FROM temp.plan)");
  }
  transaction.commit();
}

// --- claims -----------------------------------------------------------------------------------------------

/// The first of (run, position, claim) that nobody alive has claimed; 0: none.
RunId ResultStore::take(Statement& candidates, std::int64_t now, std::size_t& index) {
  while (candidates.step()) {
    const bool free =
        candidates.is_null(2) || is_gone({candidates.text(2), candidates.integer(3), candidates.integer(4)},
                                         candidates.integer(5), now);
    if (!free) continue;
    index = static_cast<std::size_t>(candidates.integer(1));
    return candidates.integer(0);
  }
  return 0;
}

std::optional<Claim> ResultStore::claim() {
  const std::int64_t now = std::time(nullptr);
  Transaction transaction(connection_);
  Claim claim;
  {
    Statement pending = connection_.prepare(
        "SELECT r.id, p.position, c.host, c.pid, c.started, c.heartbeat FROM runs r "
        "JOIN temp.plan p ON p.run_id = r.id LEFT JOIN claims c ON c.run_id = r.id "
        "WHERE r.state = 'pending' AND NOT EXISTS (SELECT 1 FROM apps a JOIN runs b ON b.id = "
        "a.isolated_run_id WHERE a.run_id = r.id AND b.state = 'pending') ORDER BY r.id");
    claim.id = take(pending, now, claim.index);
  }
  if (claim.id == 0) {
    Statement lacking = connection_.prepare(
        fmt::format("SELECT r.id, p.position, c.host, c.pid, c.started, c.heartbeat FROM temp.plan p "
                    "JOIN runs r ON r.id = p.run_id LEFT JOIN claims c ON c.run_id = r.id "
                    "WHERE p.open AND r.state = 'done' AND {} ORDER BY p.run_id",
                    kLacks));
    claim.id = take(lacking, now, claim.index);
  }
  if (claim.id == 0) return std::nullopt;
  connection_.prepare("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)")
      .bind(claim.id)
      .bind(self_.host)
      .bind(self_.pid)
      .bind(self_.started)
      .bind(now)
      .run();
  Statement baselines = connection_.prepare(
      "SELECT a.app, b.state, b.error, i.ipc FROM apps a JOIN runs b ON b.id = a.isolated_run_id "
      "JOIN apps i ON i.run_id = b.id WHERE a.run_id = ? ORDER BY a.position");
  baselines.bind(claim.id);
  while (baselines.step()) {
    if (baselines.text(1) == "failed" && claim.failed_baseline.empty()) {
      claim.failed_baseline = fmt::format("{}: {}", baselines.text(0), baselines.text(2));
    }
    claim.isolated.push_back(baselines.real(3));
  }
  transaction.commit();
  return claim;
}

void ResultStore::heartbeat() {
  connection_.prepare("UPDATE claims SET heartbeat = ? WHERE host = ? AND pid = ? AND started = ?")
      .bind(static_cast<std::int64_t>(std::time(nullptr)))
      .bind(self_.host)
      .bind(self_.pid)
      .bind(self_.started)
      .run();
}

bool ResultStore::drop_claim(RunId run) {
  connection_.prepare("DELETE FROM claims WHERE run_id = ? AND host = ? AND pid = ? AND started = ?")
      .bind(run)
      .bind(self_.host)
      .bind(self_.pid)
      .bind(self_.started)
      .run();
  return connection_.changes() == 1;
}

void ResultStore::release(RunId run) {
  Transaction transaction(connection_);
  (void)drop_claim(run);
  transaction.commit();
}

// --- results ----------------------------------------------------------------------------------------------

std::int64_t ResultStore::counter_id(const CounterRow& counter) {
  const auto [known, missing] = counter_ids_.try_emplace({counter.scope, counter.name}, 0);
  if (missing) {
    connection_
        .prepare(
            "INSERT INTO counters (scope, name, unit, meaning) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (scope, name) DO NOTHING")
        .bind(counter.scope)
        .bind(counter.name)
        .bind(counter.unit)
        .bind(counter.meaning)
        .run();
    Statement query = connection_.prepare("SELECT id FROM counters WHERE scope = ? AND name = ?");
    query.bind(counter.scope).bind(counter.name).step();
    known->second = query.integer(0);
  }
  return known->second;
}

bool ResultStore::finish(RunId run, const ResultRow& result) {
  counter_ids_.clear();  // a transaction that failed may have taken theirs with it
  Transaction transaction(connection_);
  if (!drop_claim(run)) return false;
  Statement state = connection_.prepare("SELECT state FROM runs WHERE id = ?");
  const bool done = state.bind(run).step() && state.text(0) == "done";
  if (done) {
    check_same(run, result);
  } else {
    keep_result(run, result);
  }
  keep_series(run, result);
  connection_.prepare("UPDATE temp.plan SET open = 0 WHERE run_id = ?").bind(run).run();
  transaction.commit();
  return true;
}

/// The hash names all that determines a run: it cannot end otherwise the second time.
void ResultStore::check_same(RunId run, const ResultRow& result) {
  Statement query =
      connection_.prepare("SELECT value FROM metrics WHERE run_id = ? AND app = ? AND counter_id = ?");
  for (const CounterRow& counter : result.counters) {
    const bool found = query.bind(run).bind(counter.app).bind(counter_id(counter)).step();
    if (!found || query.integer(0) != signed_value(counter.value)) {
      throw InternalError(fmt::format(
          "{}: run {} was done again, for its series or timeline, and {} of {} is {} instead of {}",
          connection_.path(), run, counter.name, counter.app, counter.value, found ? query.text(0) : "none"));
    }
    while (query.step()) {
    }
  }
}

void ResultStore::keep_series(RunId run, const ResultRow& result) {
  if (result.series_interval != 0) {
    connection_.prepare("DELETE FROM series WHERE run_id = ?").bind(run).run();
    Statement add = connection_.prepare("INSERT INTO series VALUES (?, ?, ?, ?, ?)");
    for (const SeriesRow& series : result.series) {
      add.bind(run)
          .bind(series.counter.app)
          .bind(counter_id(series.counter))
          .bind(signed_value(result.series_interval))
          .bind(series.samples)
          .run();
    }
  }
  if (result.timeline) {
    connection_.prepare("INSERT OR REPLACE INTO timelines VALUES (?, ?)")
        .bind(run)
        .bind(*result.timeline)
        .run();
  }
}

void ResultStore::keep_result(RunId run, const ResultRow& result) {
  connection_
      .prepare(
          "UPDATE runs SET state = 'done', cycles = ?, weighted_speedup = ?, antt = ?, stp = ?, "
          "fairness = ?, result = ?, exit_code = 0, wall_seconds = ?, finished_at = ? WHERE id = ?")
      .bind(signed_value(result.cycles))
      .bind(result.weighted_speedup)
      .bind(result.antt)
      .bind(result.stp)
      .bind(result.fairness)
      .bind(result.document)
      .bind(result.wall_seconds)
      .bind(utc_now())
      .bind(run)
      .run();
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const ResultRow::App& app = result.apps[i];
    connection_
        .prepare(
            "UPDATE apps SET ipc = ?, ipc_isolated = ?, normalized_ipc = ?, completions = ? "
            "WHERE run_id = ? AND position = ?")
        .bind(app.ipc)
        .bind(app.ipc_isolated)
        .bind(app.normalized_ipc)
        .bind(signed_value(app.completions))
        .bind(run)
        .bind(static_cast<std::int64_t>(i))
        .run();
  }
  Statement add = connection_.prepare("INSERT INTO metrics VALUES (?, ?, ?, ?)");
  for (const CounterRow& counter : result.counters) {
    add.bind(run).bind(counter.app).bind(counter_id(counter)).bind(signed_value(counter.value)).run();
  }
}

bool ResultStore::fail(RunId run, const FailureRow& failure) {
  Transaction transaction(connection_);
  if (!drop_claim(run)) return false;
  connection_
      .prepare(
          "UPDATE runs SET state = 'failed', exit_code = ?, error = ?, finished_at = ? WHERE id = ? "
          "AND state <> 'done'")
      .bind(static_cast<std::int64_t>(failure.exit_code))
      .bind(failure.error)
      .bind(utc_now())
      .bind(run)
      .run();
  connection_.prepare("UPDATE temp.plan SET open = 0, exit_code = ?, error = ? WHERE run_id = ?")
      .bind(static_cast<std::int64_t>(failure.exit_code))
      .bind(failure.error)
      .bind(run)
      .run();
  transaction.commit();
  return true;
}

Counts ResultStore::counts() {
  Counts counts;
  Statement query = connection_.prepare(
      fmt::format("SELECT CASE WHEN r.state <> 'done' THEN r.state WHEN p.error IS NOT NULL THEN 'failed' "
                  "WHEN {} THEN 'pending' ELSE 'done' END AS outcome, count(*) "
                  "FROM temp.plan p JOIN runs r ON r.id = p.run_id GROUP BY outcome",
                  kLacks));
  while (query.step()) {
    const std::string state = query.text(0);
    const auto count = static_cast<std::uint64_t>(query.integer(1));
    (state == "done" ? counts.done : state == "failed" ? counts.failed : counts.pending) = count;
  }
  return counts;
}

std::vector<std::pair<std::size_t, FailureRow>> ResultStore::failures() {
  std::vector<std::pair<std::size_t, FailureRow>> failures;
  Statement query = connection_.prepare(
      "SELECT p.position, coalesce(p.exit_code, r.exit_code), coalesce(p.error, r.error) FROM temp.plan p "
      "JOIN runs r ON r.id = p.run_id WHERE r.state = 'failed' OR (r.state = 'done' AND p.error IS NOT NULL) "
      "ORDER BY p.position");
  while (query.step()) {
    failures.push_back(
        {static_cast<std::size_t>(query.integer(0)), {static_cast<int>(query.integer(1)), query.text(2)}});
  }
  return failures;
}

std::optional<ResultRow> ResultStore::result(std::size_t index) {
  ResultRow row;
  // What a run left stays as it is, but for a series, which one statement reads.
  Statement run = connection_.prepare(
      "SELECT r.id, r.cycles, r.weighted_speedup, r.antt, r.stp, r.fairness, r.result, r.wall_seconds "
      "FROM temp.plan p JOIN runs r ON r.id = p.run_id WHERE p.position = ? AND r.state = 'done'");
  if (!run.bind(signed_value(index)).step()) return std::nullopt;
  const RunId id = run.integer(0);
  row.cycles = static_cast<std::uint64_t>(run.integer(1));
  row.weighted_speedup = run.optional_real(2);
  row.antt = run.optional_real(3);
  row.stp = run.optional_real(4);
  row.fairness = run.optional_real(5);
  row.document = run.text(6);
  row.wall_seconds = run.real(7);
  Statement apps = connection_.prepare(
      "SELECT ipc, ipc_isolated, normalized_ipc, completions FROM apps WHERE run_id = ? ORDER BY position");
  apps.bind(id);
  while (apps.step()) {
    row.apps.push_back({apps.real(0), apps.optional_real(1), apps.optional_real(2),
                        static_cast<std::uint64_t>(apps.integer(3))});
  }
  const auto counter = [](const Statement& query) {
    return CounterRow{query.text(0), query.integer(1), query.text(2), 0, query.text(3), query.text(4)};
  };
  Statement metrics = connection_.prepare(
      "SELECT c.scope, m.app, c.name, c.unit, c.meaning, m.value FROM metrics m JOIN counters c "
      "ON c.id = m.counter_id WHERE m.run_id = ? ORDER BY m.app, m.counter_id");
  metrics.bind(id);
  while (metrics.step()) {
    row.counters.push_back(counter(metrics));
    row.counters.back().value = static_cast<std::uint64_t>(metrics.integer(5));
  }
  Statement series = connection_.prepare(
      "SELECT c.scope, s.app, c.name, c.unit, c.meaning, s.samples, s.interval FROM series s JOIN counters c "
      "ON c.id = s.counter_id WHERE s.run_id = ? ORDER BY s.app, s.counter_id");
  series.bind(id);
  while (series.step()) {
    row.series.push_back({counter(series), series.text(5)});
    row.series_interval = static_cast<std::uint64_t>(series.integer(6));
  }
  Statement timeline = connection_.prepare("SELECT trace FROM timelines WHERE run_id = ?");
  timeline.bind(id);
  while (timeline.step()) row.timeline = timeline.text(0);
  return row;
}

}  // namespace gpumux::database
