#include "database/export.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "database/damage.hpp"
#include "database/schema.hpp"

namespace gpumux::database {
namespace {

using nlohmann::ordered_json;

template <typename T>
ordered_json optional_json(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// A cell of a CSV file; empty for NULL.
std::string cell(const Statement& row, int column) {
  switch (row.kind(column)) {
    case Kind::Null: return "";
    case Kind::Integer: return fmt::format("{}", row.integer(column));
    case Kind::Real: return ordered_json(row.real(column)).dump();  // shortest exact text
    case Kind::Text: break;
  }
  return csv_field(row.text(column));
}

ordered_json apps_json(Statement& query, std::int64_t run) {
  ordered_json apps = ordered_json::array();
  query.bind(run);
  while (query.step()) {
    apps.push_back({{"app", query.text(0)},
                    {"identity", query.text(1)},
                    {"seed", query.integer(2)},
                    {"isolated", query.is_null(3) ? ordered_json(nullptr) : ordered_json(query.text(3))}});
  }
  return apps;
}

ordered_json cpus_json(Statement& query, std::int64_t run) {
  ordered_json cpus = ordered_json::array();
  query.bind(run);
  while (query.step()) {
    cpus.push_back({{"core", query.integer(0)},
                    {"program", query.text(1)},
                    {"identity", query.text(2)},
                    {"isolated", query.is_null(3) ? ordered_json(nullptr) : ordered_json(query.text(3))}});
  }
  return cpus;
}

/// The object for a row in counters or series, by columns 0 and 1 of the query (application or SM, scope).
/// Layout as in `gpumux run --json`: `apps`, `views` of single SMs, and objects for the whole GPU.
ordered_json& scope_of(ordered_json& to, const Statement& query) {
  const std::string scope = query.text(1);
  if (scope == "app") {
    const auto app = static_cast<std::size_t>(query.integer(0));
    if (app >= to["apps"].size())
      throw ContentError(fmt::format("{} is of application {} of {}", query.text(2), app, to["apps"].size()));
    return to["apps"][app];
  }
  if (scope != "sm") return to[scope];
  ordered_json& views = to["views"];
  if (views.empty() || views.back()["sm"] != query.integer(0)) views.push_back({{"sm", query.integer(0)}});
  return views.back();
}

ordered_json objects(std::size_t count) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(ordered_json::object());
  return list;
}

ordered_json counters_json(Statement& query, std::int64_t run, std::size_t apps) {
  ordered_json counters = {{"apps", objects(apps)}};
  query.bind(run);
  while (query.step()) scope_of(counters, query)[query.text(2)] = query.integer(3);
  return counters;
}

/// Adds `pairs` to counters or series, if there are any. `value` reads column 3 of the query.
template <typename Value>
void add_pairs(ordered_json& to, Statement& query, std::int64_t run, const Value& value) {
  query.bind(run);
  while (query.step()) {
    ordered_json& pairs = to["pairs"];
    if (pairs.empty() || pairs.back()["victim"] != query.integer(0) ||
        pairs.back()["culprit"] != query.integer(1))
      pairs.push_back({{"victim", query.integer(0)}, {"culprit", query.integer(1)}});
    pairs.back()[query.text(2)] = value(query);
  }
}

/// A series as in `gpumux run --json`: `interval`, and samples by scope and counter.
ordered_json series_json(Statement& query, std::int64_t run, std::size_t apps) {
  ordered_json series;
  query.bind(run);
  while (query.step()) {
    if (series.is_null()) series = {{"interval", query.integer(4)}, {"apps", objects(apps)}};
    scope_of(series, query)[query.text(2)] = ordered_json::parse(query.text(3));
  }
  return series;
}

// Subqueries for a run r: overrides, as in "l1.size=24K sms=2", and CPU programs, as in "mcf*7,omnetpp*7" or
// NULL.
constexpr const char* kOverrides =
    "(SELECT group_concat(key || '=' || value, ' ') FROM (SELECT key, value FROM overrides WHERE run_id = "
    "r.id "
    "ORDER BY position))";
constexpr const char* kPrograms =
    "(SELECT group_concat(program || '*' || cores, ',') FROM (SELECT program, count(*) AS cores FROM cpus "
    "WHERE "
    "run_id = r.id GROUP BY program ORDER BY min(core)))";

}  // namespace

void export_csv(Connection& connection, const Sink& sink) {
  const ReadTransaction snapshot(connection);
  const std::int64_t version = check_readable(connection);
  std::vector<std::string> cells = {"hash",
                                    "machine",
                                    "overrides",
                                    "policy",
                                    "seed",
                                    "cycle_limit",
                                    "state",
                                    "cycles",
                                    "weighted_speedup",
                                    "antt",
                                    "stp",
                                    "fairness",
                                    "su_gpu",
                                    "ws_cpu",
                                    "oss",
                                    "gpu_energy_joules",
                                    "instructions_per_watt",
                                    "apps",
                                    "cpus",
                                    "position",
                                    "app",
                                    "ipc",
                                    "ipc_isolated",
                                    "normalized_ipc",
                                    "energy_joules",
                                    "wall_seconds",
                                    "error"};
  const std::size_t first_counter = cells.size();
  std::map<std::int64_t, std::size_t> columns;  // by id of the counter
  Statement names = connection.prepare("SELECT id, name FROM counters WHERE scope = 'app' ORDER BY id");
  while (names.step()) {
    columns[names.integer(0)] = cells.size();
    cells.push_back(csv_field(names.text(1)));
  }
  sink(fmt::format("{}\n", fmt::join(cells, ",")));

  // For counters of scope sm, which have no column here, `app` is an SM.
  Statement values = connection.prepare(
      "SELECT m.counter_id, m.value FROM metrics m LEFT JOIN counters c ON c.id = m.counter_id "
      "WHERE m.run_id = ? AND m.app = ? AND (c.scope = 'app' OR c.scope IS NULL)");
  // The first columns are the cells of a line before the counters, in order. The last two select the
  // counters.
  Statement rows = connection.prepare(fmt::format(
      "SELECT r.hash, m.name, {}, r.policy, r.seed, r.cycle_limit, r.state, r.cycles, r.weighted_speedup, "
      "r.antt, r.stp, r.fairness, {}, json_extract(CASE WHEN json_valid(r.result) THEN r.result END, "
      "'$.gpu.energy_joules'), json_extract(CASE WHEN json_valid(r.result) THEN r.result END, "
      "'$.gpu.instructions_per_watt'), (SELECT count(*) FROM apps WHERE run_id = r.id), {}, a.position, "
      "a.app, "
      "a.ipc, a.ipc_isolated, a.normalized_ipc, json_extract(CASE WHEN json_valid(r.result) THEN r.result "
      "END, "
      "'$.apps[' || a.position || '].energy_joules'), r.wall_seconds, r.error, r.id, a.position "
      "FROM runs r JOIN machines m ON m.id = r.machine_id JOIN apps a ON a.run_id = r.id "
      "ORDER BY r.id, a.position",
      kOverrides, version >= kCpuVersion ? "r.su_gpu, r.ws_cpu, r.oss" : "NULL, NULL, NULL",
      version >= kCpuVersion ? kPrograms : "NULL"));
  while (rows.step()) {
    for (std::size_t i = 0; i < first_counter; ++i) cells[i] = cell(rows, static_cast<int>(i));
    for (std::size_t i = first_counter; i < cells.size(); ++i) cells[i].clear();
    values.bind(rows.integer(static_cast<int>(first_counter)))
        .bind(rows.integer(static_cast<int>(first_counter) + 1));
    while (values.step()) {
      const auto column = columns.find(values.integer(0));
      if (column == columns.end())
        throw ContentError(fmt::format("there is no counter {}", values.integer(0)));
      cells[column->second] = fmt::format("{}", values.integer(1));
    }
    sink(fmt::format("{}\n", fmt::join(cells, ",")));
  }
}

void export_cpus_csv(Connection& connection, const Sink& sink) {
  const ReadTransaction snapshot(connection);
  const std::int64_t version = check_readable(connection);
  sink(
      "hash,machine,overrides,policy,seed,cycle_limit,state,su_gpu,ws_cpu,oss,apps,core,program,ipc,"
      "ipc_isolated,normalized_ipc,instructions,cycles,l2_mpki,memory_latency\n");
  if (version < kCpuVersion) return;
  Statement rows = connection.prepare(fmt::format(
      "SELECT r.hash, m.name, {}, r.policy, r.seed, r.cycle_limit, r.state, r.su_gpu, r.ws_cpu, r.oss, "
      "(SELECT "
      "group_concat(app, ' + ') FROM (SELECT app FROM apps WHERE run_id = r.id ORDER BY position)), c.core, "
      "c.program, c.ipc, c.ipc_isolated, c.normalized_ipc, c.instructions, c.cycles, c.l2_mpki, "
      "c.memory_latency FROM runs r JOIN machines m ON m.id = r.machine_id JOIN cpus c ON c.run_id = r.id "
      "ORDER BY r.id, c.core",
      kOverrides));
  constexpr int kColumns = 20;
  while (rows.step()) {
    std::vector<std::string> cells;
    for (int i = 0; i < kColumns; ++i) cells.push_back(cell(rows, i));
    sink(fmt::format("{}\n", fmt::join(cells, ",")));
  }
}

void export_json(Connection& connection, const Sink& sink) {
  const ReadTransaction snapshot(connection);
  const std::int64_t version = check_readable(connection);
  sink("{\"schema\": \"gpumux.results/1\", \"runs\": [");
  Statement overrides =
      connection.prepare("SELECT key, value FROM overrides WHERE run_id = ? ORDER BY position");
  Statement apps = connection.prepare(
      "SELECT a.app, a.identity, a.seed, i.hash FROM apps a LEFT JOIN runs i ON i.id = a.isolated_run_id "
      "WHERE a.run_id = ? ORDER BY a.position");
  Statement counters = connection.prepare(
      "SELECT m.app, c.scope, c.name, m.value FROM metrics m JOIN counters c ON c.id = m.counter_id "
      "WHERE m.run_id = ? ORDER BY m.app, m.counter_id");
  std::optional<Statement> series, pairs, pair_series, cpus;
  if (version >= kCpuVersion)
    cpus = connection.prepare(
        "SELECT c.core, c.program, c.identity, i.hash FROM cpus c LEFT JOIN runs i ON i.id = "
        "c.isolated_run_id "
        "WHERE c.run_id = ? ORDER BY c.core");
  if (version >= kPairVersion) {
    const auto of_pairs = [&](const char* table, const char* column) {
      return connection.prepare(fmt::format(
          "SELECT p.victim, p.culprit, c.name, p.{} FROM {} p JOIN counters c ON c.id = p.counter_id "
          "WHERE p.run_id = ? ORDER BY p.victim, p.culprit, p.counter_id",
          column, table));
    };
    pairs = of_pairs("pair_metrics", "value");
    pair_series = of_pairs("pair_series", "samples");
  }
  if (version >= kSeriesVersion)
    series = connection.prepare(
        "SELECT s.app, c.scope, c.name, s.samples, s.interval FROM series s JOIN counters c "
        "ON c.id = s.counter_id WHERE s.run_id = ? ORDER BY s.app < 0, s.app, s.counter_id");
  Statement rows = connection.prepare(
      "SELECT r.id, r.hash, r.state, m.name, r.policy, r.seed, r.cycle_limit, r.program, r.exit_code, "
      "r.error, "
      "r.finished_at, r.result, r.wall_seconds FROM runs r JOIN machines m ON m.id = r.machine_id "
      "ORDER BY r.id");
  const char* separator = "\n";
  while (rows.step()) {
    const std::int64_t id = rows.integer(0);
    ordered_json run = {{"hash", rows.text(1)}, {"state", rows.text(2)}, {"machine", rows.text(3)}};
    run["overrides"] = ordered_json::object();
    overrides.bind(id);
    while (overrides.step()) run["overrides"][overrides.text(0)] = overrides.text(1);
    run["policy"] = rows.text(4);
    run["seed"] = rows.integer(5);
    run["cycle_limit"] = optional_json(rows.optional_integer(6));
    run["program"] = rows.text(7);
    run["apps"] = apps_json(apps, id);
    if (cpus) {
      if (ordered_json programs = cpus_json(*cpus, id); !programs.empty()) run["cpus"] = std::move(programs);
    }
    if (rows.text(2) == "failed") {
      run["exit_code"] = rows.integer(8);
      run["error"] = rows.text(9);
    }
    if (rows.text(2) == "done") {
      try {
        run["result"] = ordered_json::parse(rows.text(11));
      } catch (const nlohmann::json::exception& error) {
        throw ContentError(fmt::format("the result of run {} is no JSON ({})", id, error.what()));
      }
      run["counters"] = counters_json(counters, id, run["apps"].size());
      if (pairs) add_pairs(run["counters"], *pairs, id, [](const Statement& q) { return q.integer(3); });
      ordered_json samples = series ? series_json(*series, id, run["apps"].size()) : ordered_json();
      if (pair_series && !samples.is_null())
        add_pairs(samples, *pair_series, id,
                  [](const Statement& q) { return ordered_json::parse(q.text(3)); });
      if (!samples.is_null()) run["result"]["series"] = std::move(samples);
    }
    run["wall_seconds"] = optional_json(rows.optional_real(12));
    run["finished_at"] = rows.is_null(10) ? ordered_json(nullptr) : ordered_json(rows.text(10));
    // Names of files need not be UTF-8.
    sink(separator + dump_json(run));
    separator = ",\n";
  }
  sink("\n]}\n");
}

}  // namespace gpumux::database
