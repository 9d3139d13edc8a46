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

void ResultStore::plan(const SweepRow& sweep, const std::vector<PlannedRow>& runs, bool retry_failed) {
  connection_.execute("DROP TABLE IF EXISTS temp.plan");
  connection_.execute("CREATE TEMP TABLE plan (run_id INTEGER PRIMARY KEY, position INTEGER NOT NULL)");
  Transaction transaction(connection_);
  // The sweep keeps its row, so that another process that plans the same changes nothing.
  connection_
      .prepare(
          "INSERT INTO sweeps (name, scale, file, toml) VALUES (?, ?, ?, ?) "
          "ON CONFLICT (name, scale) DO UPDATE SET file = excluded.file, toml = excluded.toml")
      .bind(sweep.name)
      .bind(sweep.scale)
      .bind(sweep.file)
      .bind(sweep.toml)
      .run();
  Statement find_sweep = connection_.prepare("SELECT id FROM sweeps WHERE name = ? AND scale = ?");
  find_sweep.bind(sweep.name).bind(sweep.scale).step();
  const std::int64_t sweep_id = find_sweep.integer(0);
  connection_.prepare("DELETE FROM sweep_runs WHERE sweep_id = ?").bind(sweep_id).run();

  Statement add_member = connection_.prepare("INSERT INTO sweep_runs VALUES (?, ?, ?, ?)");
  Statement add_plan = connection_.prepare("INSERT INTO temp.plan VALUES (?, ?)");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RunId id = find_run(runs[i].hash);
    if (id == 0) id = add_run(runs[i]);
    add_member.bind(sweep_id)
        .bind(static_cast<std::int64_t>(i))
        .bind(id)
        .bind(std::string_view(runs[i].is_baseline ? "baseline" : "run"))
        .run();
    add_plan.bind(id).bind(static_cast<std::int64_t>(i)).run();
  }
  if (retry_failed) {
    connection_.execute(
        "UPDATE runs SET state = 'pending', exit_code = NULL, error = NULL, finished_at = NULL "
        "WHERE state = 'failed' AND id IN (SELECT run_id FROM temp.plan)");
  }
  transaction.commit();
}

// --- claims -----------------------------------------------------------------------------------------------

std::optional<Claim> ResultStore::claim() {
  const std::int64_t now = std::time(nullptr);
  Transaction transaction(connection_);
  Claim claim;
  {
    Statement query = connection_.prepare(
        "SELECT r.id, p.position, c.host, c.pid, c.started, c.heartbeat FROM runs r "
        "JOIN temp.plan p ON p.run_id = r.id LEFT JOIN claims c ON c.run_id = r.id "
        "WHERE r.state = 'pending' AND NOT EXISTS (SELECT 1 FROM apps a JOIN runs b ON b.id = "
        "a.isolated_run_id WHERE a.run_id = r.id AND b.state = 'pending') ORDER BY r.id");
    while (claim.id == 0 && query.step()) {
      const bool free = query.is_null(2) ||
                        is_gone({query.text(2), query.integer(3), query.integer(4)}, query.integer(5), now);
      if (!free) continue;
      claim.id = query.integer(0);
      claim.index = static_cast<std::size_t>(query.integer(1));
    }
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
  transaction.commit();
  return true;
}

bool ResultStore::fail(RunId run, const FailureRow& failure) {
  Transaction transaction(connection_);
  if (!drop_claim(run)) return false;
  connection_
      .prepare("UPDATE runs SET state = 'failed', exit_code = ?, error = ?, finished_at = ? WHERE id = ?")
      .bind(static_cast<std::int64_t>(failure.exit_code))
      .bind(failure.error)
      .bind(utc_now())
      .bind(run)
      .run();
  transaction.commit();
  return true;
}

Counts ResultStore::counts() {
  Counts counts;
  Statement query = connection_.prepare(
      "SELECT r.state, count(*) FROM temp.plan p JOIN runs r ON r.id = p.run_id GROUP BY r.state");
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
      "SELECT p.position, r.exit_code, r.error FROM temp.plan p JOIN runs r ON r.id = p.run_id "
      "WHERE r.state = 'failed' ORDER BY p.position");
  while (query.step()) {
    failures.push_back(
        {static_cast<std::size_t>(query.integer(0)), {static_cast<int>(query.integer(1)), query.text(2)}});
  }
  return failures;
}

}  // namespace gpumux::database
