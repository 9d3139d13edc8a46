// Results of runs: their document, counters, series and timeline, and how these are written and read.
#include <fmt/core.h>

#include "base/error.hpp"
#include "database/damage.hpp"
#include "database/results.hpp"
#include "database/values.hpp"

namespace gpumux::database {

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

/// Checks a repeated result. The hash covers all that determines a run, so the result must be the same.
void ResultStore::check_same(RunId run, const ResultRow& result) {
  Statement of_one =
      connection_.prepare("SELECT value FROM metrics WHERE run_id = ? AND app = ? AND counter_id = ?");
  Statement of_pair = connection_.prepare(
      "SELECT value FROM pair_metrics WHERE run_id = ? AND victim = ? AND counter_id = ? AND culprit = ?");
  for (const CounterRow& counter : result.counters) {
    const bool pair = counter.culprit >= 0;
    Statement& query = pair ? of_pair : of_one;
    query.bind(run).bind(counter.app).bind(counter_id(counter));
    if (pair) query.bind(counter.culprit);
    const bool found = query.step();
    if (!found || query.integer(0) != signed_value(counter.value)) {
      throw ContentError(
          fmt::format("run {} was done again, for its series or timeline, and {} of {} is {} instead of the "
                      "{} that was kept",
                      run, counter.name, counter.app, counter.value, found ? query.text(0) : "nothing"));
    }
    while (query.step()) {
    }
  }
}

void ResultStore::keep_series(RunId run, const ResultRow& result) {
  if (result.series_interval != 0) {
    // A timeline has tracks of the series that it was made with, so a timeline for another interval is
    // deleted.
    connection_
        .prepare(
            "DELETE FROM timelines WHERE run_id = ?1 AND NOT EXISTS (SELECT 1 FROM series WHERE run_id = ?1 "
            "AND "
            "interval = ?2)")
        .bind(run)
        .bind(signed_value(result.series_interval))
        .run();
    connection_.prepare("DELETE FROM series WHERE run_id = ?").bind(run).run();
    connection_.prepare("DELETE FROM pair_series WHERE run_id = ?").bind(run).run();
    Statement add = connection_.prepare("INSERT INTO series VALUES (?, ?, ?, ?, ?)");
    Statement add_pair = connection_.prepare("INSERT INTO pair_series VALUES (?, ?, ?, ?, ?, ?)");
    for (const SeriesRow& series : result.series) {
      const CounterRow& counter = series.counter;
      Statement& to = counter.culprit >= 0 ? add_pair : add;
      to.bind(run).bind(counter.app);
      if (counter.culprit >= 0) to.bind(counter.culprit);
      to.bind(counter_id(counter)).bind(signed_value(result.series_interval)).bind(series.samples).run();
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
          "fairness = ?, su_gpu = ?, ws_cpu = ?, oss = ?, result = ?, exit_code = 0, wall_seconds = ?, "
          "finished_at = ? WHERE id = ?")
      .bind(signed_value(result.cycles))
      .bind(result.weighted_speedup)
      .bind(result.antt)
      .bind(result.stp)
      .bind(result.fairness)
      .bind(result.su_gpu)
      .bind(result.ws_cpu)
      .bind(result.oss)
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
  Statement of_cpu = connection_.prepare(
      "UPDATE cpus SET ipc = ?, ipc_isolated = ?, normalized_ipc = ?, instructions = ?, cycles = ?, l2_mpki "
      "= "
      "?, memory_latency = ? WHERE run_id = ? AND core = ?");
  for (const ResultRow::Cpu& cpu : result.cpus) {
    of_cpu.bind(cpu.ipc)
        .bind(cpu.ipc_isolated)
        .bind(cpu.normalized_ipc)
        .bind(signed_value(cpu.instructions))
        .bind(signed_value(cpu.cycles))
        .bind(cpu.l2_mpki)
        .bind(cpu.memory_latency)
        .bind(run)
        .bind(std::int64_t{cpu.core})
        .run();
  }
  Statement add = connection_.prepare("INSERT INTO metrics VALUES (?, ?, ?, ?)");
  Statement add_pair = connection_.prepare("INSERT INTO pair_metrics VALUES (?, ?, ?, ?, ?)");
  for (const CounterRow& counter : result.counters) {
    Statement& to = counter.culprit >= 0 ? add_pair : add;
    to.bind(run).bind(counter.app);
    if (counter.culprit >= 0) to.bind(counter.culprit);
    to.bind(counter_id(counter)).bind(signed_value(counter.value)).run();
  }
}

std::optional<ResultRow> ResultStore::result(std::size_t index) {
  ResultRow row;
  // Stored results do not change, except for a series, which a single statement reads.
  Statement run = connection_.prepare(
      "SELECT r.id, r.cycles, r.weighted_speedup, r.antt, r.stp, r.fairness, r.result, r.wall_seconds, "
      "r.su_gpu, "
      "r.ws_cpu, r.oss "
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
  row.su_gpu = run.optional_real(8);
  row.ws_cpu = run.optional_real(9);
  row.oss = run.optional_real(10);
  Statement apps = connection_.prepare(
      "SELECT ipc, ipc_isolated, normalized_ipc, completions FROM apps WHERE run_id = ? ORDER BY position");
  apps.bind(id);
  while (apps.step()) {
    row.apps.push_back({apps.real(0), apps.optional_real(1), apps.optional_real(2),
                        static_cast<std::uint64_t>(apps.integer(3))});
  }
  Statement cpus = connection_.prepare(
      "SELECT core, ipc, ipc_isolated, normalized_ipc, instructions, cycles, l2_mpki, memory_latency FROM "
      "cpus "
      "WHERE run_id = ? ORDER BY core");
  cpus.bind(id);
  while (cpus.step()) {
    row.cpus.push_back({static_cast<std::uint32_t>(cpus.integer(0)), cpus.real(1), cpus.optional_real(2),
                        cpus.optional_real(3), static_cast<std::uint64_t>(cpus.integer(4)),
                        static_cast<std::uint64_t>(cpus.integer(5)), cpus.optional_real(6),
                        cpus.optional_real(7)});
  }
  const auto counter = [](const Statement& query) {
    CounterRow counter_row{query.text(0), query.integer(1), query.text(2), 0, query.text(3), query.text(4)};
    counter_row.culprit = query.integer(5);
    return counter_row;
  };
  Statement metrics = connection_.prepare(
      "SELECT c.scope, m.app, c.name, c.unit, c.meaning, m.culprit, m.value FROM (SELECT app, -1 AS culprit, "
      "counter_id, value FROM metrics WHERE run_id = ?1 UNION ALL SELECT victim, culprit, counter_id, value "
      "FROM pair_metrics WHERE run_id = ?1) m JOIN counters c ON c.id = m.counter_id "
      "ORDER BY m.app, m.culprit, m.counter_id");
  metrics.bind(id);
  while (metrics.step()) {
    row.counters.push_back(counter(metrics));
    row.counters.back().value = static_cast<std::uint64_t>(metrics.integer(6));
  }
  Statement series = connection_.prepare(
      "SELECT c.scope, s.app, c.name, c.unit, c.meaning, s.culprit, s.samples, s.interval FROM (SELECT app, "
      "-1 "
      "AS culprit, counter_id, samples, interval FROM series WHERE run_id = ?1 UNION ALL SELECT victim, "
      "culprit, "
      "counter_id, samples, interval FROM pair_series WHERE run_id = ?1) s JOIN counters c ON c.id = "
      "s.counter_id "
      "ORDER BY s.app, s.culprit, s.counter_id");
  series.bind(id);
  while (series.step()) {
    row.series.push_back({counter(series), series.text(6)});
    row.series_interval = static_cast<std::uint64_t>(series.integer(7));
  }
  Statement timeline = connection_.prepare("SELECT trace FROM timelines WHERE run_id = ?");
  timeline.bind(id);
  while (timeline.step()) row.timeline = timeline.text(0);
  return row;
}

}  // namespace gpumux::database
