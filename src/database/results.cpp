#include "database/results.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/error.hpp"
#include "database/at_rest.hpp"
#include "database/damage.hpp"
#include "database/schema.hpp"
#include "database/values.hpp"

namespace gpumux::database {
namespace {

/// Creates the database if there is none, completely or not at all, and returns the path. If this is not
/// possible, Connection creates it.
const std::string& made(const std::string& path) {
  check_place(path, Access::Create);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) make_new(path);
  return path;
}

// SQL condition on run r and plan p: the run lacks an output that this process wants. `open` is 0 once it has
// the outputs.
constexpr const char* kLacks =
    "(p.open AND ((p.series > 0 AND NOT EXISTS (SELECT 1 FROM series s WHERE s.run_id = r.id AND s.interval "
    "= "
    "p.series)) OR (p.timeline AND NOT EXISTS (SELECT 1 FROM timelines t WHERE t.run_id = r.id))))";

/// SQL condition: this process has to do the run, now or later.
std::string open_condition() {
  return fmt::format("(r.state = 'pending' OR (r.state = 'done' AND {}))", kLacks);
}

}  // namespace

ResultStore::ResultStore(const std::string& path)
    : connection_(made(path), Access::Create), self_(this_process()) {
  migrate(connection_);
}

ResultStore::~ResultStore() {
  try {  // claims that cannot be released are taken over later
    connection_.wait_for_others(1);
    connection_.prepare("DELETE FROM claims WHERE host = ? AND pid = ? AND started = ?")
        .bind(self_.host)
        .bind(self_.pid)
        .bind(self_.started)
        .run();
  } catch (const std::exception&) {
  }
}

// --- planning ---------------------------------------------------------------------------------------------

/// Adds runs. Prepares all statements once.
class ResultStore::Planner {
 public:
  explicit Planner(Connection& connection)
      : connection_(connection),
        find_run_(connection.prepare("SELECT id FROM runs WHERE hash = ?")),
        add_machine_(
            connection.prepare("INSERT OR IGNORE INTO machines (hash, name, toml) VALUES (?, ?, ?)")),
        find_machine_(connection.prepare("SELECT id FROM machines WHERE hash = ?")),
        add_run_(connection.prepare(
            "INSERT INTO runs (hash, machine_id, policy, seed, cycle_limit, program) VALUES "
            "(?, ?, ?, ?, ?, ?)")),
        add_override_(connection.prepare("INSERT INTO overrides VALUES (?, ?, ?, ?)")),
        add_app_(connection.prepare(
            "INSERT INTO apps (run_id, position, app, identity, seed, isolated_run_id) VALUES "
            "(?, ?, ?, ?, ?, ?)")),
        add_cpu_(connection.prepare(
            "INSERT INTO cpus (run_id, core, program, identity, isolated_run_id) VALUES (?, ?, ?, ?, ?)")) {}

  /// Adds a run if the database does not have it. Returns its id.
  RunId add(const PlannedRow& run) {
    const RunId known = find(find_run_, run.hash);
    const RunId id = known != 0 ? known : insert(run);
    runs_.emplace(run.hash, id);
    return id;
  }

 private:
  static std::int64_t find(Statement& query, const std::string& hash) {
    const std::int64_t id = query.bind(hash).step() ? query.integer(0) : 0;
    query.reset();
    return id;
  }

  std::int64_t machine(const PlannedRow& run) {
    const auto [known, missing] = machines_.try_emplace(run.machine_hash, 0);
    if (missing) {
      add_machine_.bind(run.machine_hash)
          .bind(run.machine)
          .bind(run.machine_toml ? std::string_view(*run.machine_toml) : std::string_view())
          .run();
      known->second = find(find_machine_, run.machine_hash);
    }
    return known->second;
  }

  RunId insert(const PlannedRow& run) {
    const std::int64_t machine_id = machine(run);
    add_run_.bind(run.hash)
        .bind(machine_id)
        .bind(run.policy)
        .bind(signed_value(run.seed))
        .bind(run.cycle_limit == 0 ? std::nullopt : std::optional(signed_value(run.cycle_limit)))
        .bind(run.program)
        .run();
    const RunId id = connection_.last_row_id();
    for (std::size_t i = 0; i < run.overrides.size(); ++i) {
      add_override_.bind(id)
          .bind(static_cast<std::int64_t>(i))
          .bind(run.overrides[i].first)
          .bind(run.overrides[i].second)
          .run();
    }
    for (std::size_t i = 0; i < run.apps.size(); ++i) {
      const PlannedRow::App& app = run.apps[i];
      add_app_.bind(id)
          .bind(static_cast<std::int64_t>(i))
          .bind(app.app)
          .bind(app.identity)
          .bind(signed_value(app.seed))
          .bind(baseline(app.isolated_hash))
          .run();
    }
    for (const PlannedRow::Cpu& cpu : run.cpus) {
      add_cpu_.bind(id)
          .bind(std::int64_t{cpu.core})
          .bind(cpu.program)
          .bind(cpu.identity)
          .bind(baseline(cpu.isolated_hash))
          .run();
    }
    return id;
  }
  [[nodiscard]] std::optional<std::int64_t> baseline(const std::string& hash) const {
    if (hash.empty()) return std::nullopt;
    const auto planned = runs_.find(hash);
    GPUMUX_CHECK(planned != runs_.end());
    return planned->second;
  }

  Connection& connection_;
  Statement find_run_, add_machine_, find_machine_, add_run_, add_override_, add_app_, add_cpu_;
  std::unordered_map<std::string, RunId> runs_;
  std::unordered_map<std::string, std::int64_t> machines_;
};

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
    // An existing sweep keeps its row, so that another process that plans the same sweep changes nothing.
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
  Planner planner(connection_);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlannedRow& run = runs[i];
    const RunId id = planner.add(run);
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
  reload_open();
  next_search_ = {};
  transaction.commit();
}

/// Reloads the runs to do. Another process may have made a run pending again, or removed its series.
void ResultStore::reload_open() {
  open_.clear();
  next_open_ = 0;
  Statement open =
      connection_.prepare(fmt::format("SELECT p.run_id, p.position FROM temp.plan p JOIN runs r ON r.id = "
                                      "p.run_id WHERE {} ORDER BY p.run_id",
                                      open_condition()));
  while (open.step()) open_.push_back({open.integer(0), static_cast<std::size_t>(open.integer(1))});
}

// --- claims -----------------------------------------------------------------------------------------------

/// Checks whether a run can be claimed now.
class ResultStore::Inspector {
 public:
  enum class Finding { Ended, NotNow, Free };

  Inspector(Connection& connection, const Claimant& self)
      : query_(connection.prepare(fmt::format(
            "SELECT {}, c.host, c.pid, c.started, c.heartbeat, EXISTS (SELECT 1 FROM apps a "
            "JOIN runs b ON b.id = a.isolated_run_id WHERE a.run_id = r.id AND b.state = 'pending') OR "
            "EXISTS "
            "(SELECT 1 FROM cpus p JOIN runs b ON b.id = p.isolated_run_id WHERE p.run_id = r.id AND b.state "
            "= "
            "'pending') "
            "FROM runs r JOIN temp.plan p ON p.run_id = r.id LEFT JOIN claims c ON c.run_id = r.id "
            "WHERE r.id = ?",
            open_condition()))),
        self_(self) {}

  Finding look(RunId run) {
    const bool known = query_.bind(run).step();
    const Finding finding = known ? look() : Finding::Ended;
    query_.reset();
    return finding;
  }

 private:
  Finding look() {
    if (query_.integer(0) == 0) return Finding::Ended;
    if (query_.integer(5) != 0) return Finding::NotNow;
    if (query_.is_null(1)) return Finding::Free;
    const Claimant holder{query_.text(1), query_.integer(2), query_.integer(3)};
    if (holder == self_) return Finding::NotNow;
    const std::int64_t heartbeat = query_.integer(4);
    // Remembers the last holder, because many runs may have one holder, and testing a process needs system
    // calls.
    if (!(holder == asked_ && heartbeat == asked_heartbeat_)) {
      asked_ = holder;
      asked_heartbeat_ = heartbeat;
      gone_ = is_gone(holder, heartbeat, now_);
    }
    return gone_ ? Finding::Free : Finding::NotNow;
  }

  Statement query_;
  const Claimant& self_;
  const std::int64_t now_ = std::time(nullptr);
  Claimant asked_;
  std::int64_t asked_heartbeat_ = -1;
  bool gone_ = false;
};

/// Searches free runs, at most once around the list; if there are none, reloads the list. Takes no lock, so
/// other processes may claim the runs found before this process does.
std::vector<ResultStore::OpenRun> ResultStore::free_runs(std::size_t most) {
  using std::chrono::milliseconds;
  std::vector<OpenRun> found;
  const Clock::time_point begin = Clock::now();
  if (begin < next_search_) return found;
  Transaction transaction(connection_, Transaction::Intent::Read);
  Inspector inspector(connection_, self_);
  std::size_t ended = 0;
  std::size_t looked = 0;
  for (; looked < open_.size() && found.size() < most; ++looked) {
    if (next_open_ >= open_.size()) next_open_ = 0;
    OpenRun& run = open_[next_open_++];
    const Inspector::Finding finding = inspector.look(run.id);
    if (finding == Inspector::Finding::Free) found.push_back(run);
    if (finding == Inspector::Finding::Ended) {
      run.id = 0;
      ++ended;
    }
  }
  if (looked == open_.size()) next_open_ = 0;
  if (found.empty()) {
    reload_open();
  } else if (ended > 0) {
    const auto next = open_.begin() + static_cast<std::ptrdiff_t>(next_open_);
    next_open_ -= static_cast<std::size_t>(
        std::count_if(open_.begin(), next, [](const OpenRun& run) { return run.id == 0; }));
    std::erase_if(open_, [](const OpenRun& run) { return run.id == 0; });
  }
  transaction.commit();
  // Callers ask repeatedly. After a search of a long list without success, the next search waits, so that
  // searches take at most a twentieth of the time.
  const Clock::duration took = Clock::now() - begin;
  if (found.empty() && took > milliseconds(10)) next_search_ = Clock::now() + 20 * took;
  return found;
}

Claim ResultStore::take(const OpenRun& run, std::int64_t now) {
  Claim claim;
  claim.id = run.id;
  claim.index = run.index;
  connection_.prepare("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)")
      .bind(claim.id)
      .bind(self_.host)
      .bind(self_.pid)
      .bind(self_.started)
      .bind(now)
      .run();
  Statement baselines = connection_.prepare(
      "SELECT a.app, b.state, b.error, i.ipc, b.exit_code, 0 AS kind, a.position AS at FROM apps a JOIN runs "
      "b "
      "ON b.id = a.isolated_run_id JOIN apps i ON i.run_id = b.id WHERE a.run_id = ?1 UNION ALL SELECT "
      "a.program, b.state, b.error, i.ipc, b.exit_code, 1, a.core FROM cpus a JOIN runs b ON b.id = "
      "a.isolated_run_id JOIN cpus i ON i.run_id = b.id WHERE a.run_id = ?1 ORDER BY kind, at");
  baselines.bind(claim.id);
  while (baselines.step()) {
    if (baselines.text(1) == "failed" && !claim.baseline_failure) {
      claim.baseline_failure = {
          static_cast<int>(baselines.integer(4)),
          fmt::format("error: its isolated baseline failed: {}: {}", baselines.text(0), baselines.text(2))};
    }
    claim.isolated.push_back(baselines.real(3));
  }
  return claim;
}

std::vector<Claim> ResultStore::claim(std::size_t most) {
  std::vector<Claim> claims;
  while (claims.empty()) {
    const std::vector<OpenRun> found = free_runs(most);
    if (found.empty()) break;
    Transaction transaction(connection_);
    Inspector inspector(connection_, self_);
    const std::int64_t now = std::time(nullptr);
    for (const OpenRun& run : found) {  // another process may have claimed it
      if (inspector.look(run.id) == Inspector::Finding::Free) claims.push_back(take(run, now));
    }
    transaction.commit();
  }
  return claims;
}

std::optional<Claim> ResultStore::claim() {
  std::vector<Claim> claims = claim(1);
  if (claims.empty()) return std::nullopt;
  return std::move(claims.front());
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

bool ResultStore::finish(RunId run, const ResultRow& result) {
  counter_ids_.clear();  // a failed transaction may have removed its counters
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
  // A result made for another process may lack an output that this process wants. The run then stays open.
  connection_
      .prepare(
          "UPDATE temp.plan SET open = 0, exit_code = NULL, error = NULL WHERE run_id = ? AND (series = 0 OR "
          "series = ?) AND (NOT timeline "
          "OR ?)")
      .bind(run)
      .bind(signed_value(result.series_interval))
      .bind(std::int64_t{result.timeline.has_value()})
      .run();
  transaction.commit();
  return true;
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

bool ResultStore::is_pending(const std::string& hash) {
  Statement query = connection_.prepare("SELECT 1 FROM runs WHERE hash = ? AND state = 'pending'");
  return query.bind(hash).step();
}

std::optional<double> ResultStore::mean_seconds() {
  Statement query = connection_.prepare(
      "SELECT avg(r.wall_seconds) FROM temp.plan p JOIN runs r ON r.id = p.run_id WHERE r.state = 'done'");
  query.step();
  return query.optional_real(0);
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

}  // namespace gpumux::database
