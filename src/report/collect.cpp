#include "report/collect.hpp"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "arch/ledger_places.hpp"
#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/toml_text.hpp"
#include "database/schema.hpp"
#include "database/workload_class.hpp"
#include "report/timeline.hpp"

namespace gpumux::report {
namespace {

using database::Connection;
using database::Statement;
using nlohmann::ordered_json;

/// A list of the different texts in a column. Rows refer to a text by its index.
class Dictionary {
 public:
  std::int64_t index(const std::string& text) {
    const auto [entry, is_new] = indices_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  [[nodiscard]] ordered_json json() const { return texts_; }

 private:
  std::unordered_map<std::string, std::int64_t> indices_;
  std::vector<std::string> texts_;
};

/// Number of SMs in a complete machine file; nothing if the file does not say.
std::optional<std::int64_t> sms(const std::string& machine) {
  try {
    return parse_toml(machine, "machine")["sms"].value<std::int64_t>();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

class Collector {
 public:
  Collector(Connection& connection, Blocks& blocks) : connection_(connection), blocks_(blocks) {}

  void collect() {
    core_ = {{"schema", "gpumux.report/1"},
             {"database", std::filesystem::path(connection_.path()).filename().string()},
             {"memory_share", database::kMemoryStallShare}};
    machines();
    runs();
    results();
    apps();
    cpus();
    counters();
    stall_shares();
    sweeps();
    series();
    timelines();
    blocks_.add("core", core_);
  }

 private:
  using Row = std::size_t;

  void machines() {
    Statement query = connection_.prepare("SELECT id, name, hash, toml FROM machines ORDER BY id");
    ordered_json list = ordered_json::array();
    ordered_json texts = ordered_json::array();
    while (query.step()) {
      machine_rows_[query.integer(0)] = static_cast<std::int64_t>(list.size());
      machine_sms_.push_back(sms(query.text(3)));
      list.push_back(
          {{"name", query.text(1)},
           {"hash", query.text(2)},
           {"sms", machine_sms_.back() ? ordered_json(*machine_sms_.back()) : ordered_json(nullptr)}});
      texts.push_back(query.text(3));
    }
    core_["machines"] = std::move(list);
    blocks_.add("machines", texts);
  }

  void runs() {
    run_count_ = static_cast<std::size_t>(connection_.value("SELECT count(*) FROM runs"));
    std::map<std::string, Column> columns;
    for (const char* name : {"id", "state", "machine", "policy", "overrides", "seed", "cycle_limit", "cycles",
                             "weighted_speedup", "antt", "stp", "fairness", "wall_seconds"}) {
      columns.emplace(name, Column(run_count_));
    }
    Dictionary policies;
    Dictionary states;
    for (const char* state : {"done", "failed", "pending"}) states.index(state);
    std::set<std::string> programs;
    ordered_json failures = ordered_json::array();
    ordered_json hashes = ordered_json::array();
    Statement query = connection_.prepare(
        "SELECT id, state, machine_id, policy, seed, cycle_limit, cycles, weighted_speedup, antt, stp, "
        "fairness, "
        "wall_seconds, exit_code, error, program, hash, finished_at FROM runs ORDER BY id");
    std::string last;  // end of the run that ended last
    for (Row row = 0; query.step(); ++row) {
      run_rows_[query.integer(0)] = row;
      run_machine_.push_back(machine_rows_.at(query.integer(2)));
      columns.at("id").set(row, query.integer(0));
      columns.at("state").set(row, states.index(query.text(1)));
      columns.at("machine").set(row, run_machine_.back());
      columns.at("policy").set(row, policies.index(query.text(3)));
      int column = 4;
      for (const char* name :
           {"seed", "cycle_limit", "cycles", "weighted_speedup", "antt", "stp", "fairness", "wall_seconds"}) {
        columns.at(name).set(row, query, column++);
      }
      run_cycles_.push_back(query.optional_integer(6));
      if (query.text(1) == "failed") {
        failures.push_back({{"run", row}, {"exit_code", query.integer(12)}, {"error", query.text(13)}});
      }
      programs.insert(query.text(14));
      hashes.push_back(query.text(15));
      last = std::max(last, query.text(16));
    }
    overrides(columns.at("overrides"));
    ordered_json names = ordered_json::array();
    for (const auto& [name, column] : columns) {
      names.push_back(name);
      blocks_.add("run-" + name, column.json());
    }
    core_["runs"] = run_count_;
    core_["run_columns"] = std::move(names);
    core_["policies"] = policies.json();
    core_["states"] = states.json();
    core_["programs"] = programs;
    core_["finished_at"] = last;
    core_["failures"] = std::move(failures);
    blocks_.add("hashes", hashes);
  }

  /// Fills the column with indices into a list of the machines' sets of overridden keys; index 0 is the empty
  /// set.
  void overrides(Column& column) {
    std::vector<std::string> sets(run_count_);
    std::vector<ordered_json> values(run_count_, ordered_json::array());
    Statement query =
        connection_.prepare("SELECT run_id, key, value FROM overrides ORDER BY run_id, position");
    while (query.step()) {
      values[run_rows_.at(query.integer(0))].push_back({query.text(1), query.text(2)});
    }
    Dictionary known;
    ordered_json list = ordered_json::array({ordered_json::array()});
    known.index(list[0].dump());
    for (Row row = 0; row < run_count_; ++row) {
      const std::int64_t index = known.index(dump_json(values[row]));
      if (index == static_cast<std::int64_t>(list.size())) list.push_back(values[row]);
      column.set(row, index);
    }
    core_["overrides"] = std::move(list);
  }

  /// Adds numbers of results that are not in columns and counters, such as a mechanism's metrics.
  void results() {
    std::map<std::string, Column> columns;
    std::set<std::string> known = {"weighted_speedup", "antt", "stp", "fairness"};
    Statement counters = connection_.prepare("SELECT name FROM counters WHERE scope = 'gpu'");
    while (counters.step()) known.insert(counters.text(0));
    Statement query = connection_.prepare("SELECT id, result FROM runs WHERE result IS NOT NULL ORDER BY id");
    while (query.step()) {
      const Row row = run_rows_.at(query.integer(0));
      const ordered_json document = ordered_json::parse(query.text(1), nullptr, false);
      const auto take = [&](const char* part, const char* inner, const std::string& prefix) {
        const ordered_json::json_pointer at(std::string("/") + part + inner);
        if (!document.is_object() || !document.contains(at) || !document[at].is_object()) return;
        for (const auto& [name, value] : document[at].items()) {
          if (!value.is_number() || known.contains(prefix + name)) continue;
          columns.try_emplace(prefix + name, Column(run_count_)).first->second.set(row, value.get<double>());
        }
      };
      take("gpu", "", "");
      take("metrics", "", "");
      take("metrics", "/policy", "policy.");
      requests(row, document);
      ledger(row, document);
    }
    core_["ledger_runs"] = ledger_runs_;
    core_["ledger_places"] = places_.json();
    blocks_.add("ledger", losses_);
    ordered_json names = ordered_json::array();
    for (const auto& [name, column] : columns) {
      blocks_.add("extra-" + std::to_string(names.size()), column.json());
      names.push_back(name);
    }
    core_["extras"] = std::move(names);
  }

  /// Collects the numbers on requests of a run's applications from the run's document.
  void requests(Row run, const ordered_json& document) {
    if (!document.is_object() || !document.contains("apps") || !document["apps"].is_array()) return;
    std::size_t app = 0;
    for (const ordered_json& entry : document["apps"]) {
      const std::size_t at = app++;
      if (!entry.is_object() || !entry.contains("requests") || !entry["requests"].is_object()) continue;
      const auto keep = [&](const std::string& name, const ordered_json& value) {
        if (value.is_number()) requests_["requests_" + name].push_back({run, at, value.get<double>()});
      };
      for (const auto& [name, value] : entry["requests"].items()) {
        keep(name, value);
        if (name != "turnaround_cycles" || !value.is_object()) continue;
        for (const auto& [part, cycles] : value.items()) keep("turnaround_" + part, cycles);
      }
    }
  }

  /// Adds what a run's applications lost to each other and to CPU cores: a row per pair and place. The index
  /// after the last application stands for all CPU cores.
  void ledger(Row run, const ordered_json& document) {
    if (!document.is_object() || !document.contains("ledger") || !document["ledger"].is_array()) return;
    ledger_runs_.push_back(run);
    const std::size_t apps =
        document.contains("apps") && document["apps"].is_array() ? document["apps"].size() : 0;
    for (ordered_json entry : document["ledger"]) {
      const auto whole = [&](const char* name) {
        return entry.is_object() && entry.contains(name) && entry[name].is_number_unsigned();
      };
      if (entry.is_object() && entry.value("culprit", ordered_json()) == "cpu") entry["culprit"] = apps;
      if (!whole("victim") || !whole("culprit") || !entry.contains("place") || !entry["place"].is_string() ||
          !entry.contains("lost_share") || !entry["lost_share"].is_number())
        continue;
      const auto place =
          places_.index(std::string(arch::ledger_words(entry["place"].get_ref<const std::string&>())));
      losses_.push_back({run, entry["victim"], entry["culprit"], place, entry["lost_share"]});
    }
  }

  void apps() {
    app_count_ = static_cast<std::size_t>(connection_.value("SELECT count(*) FROM apps"));
    std::map<std::string, Column> columns;
    for (const char* name :
         {"run", "app", "seed", "isolated", "ipc", "ipc_isolated", "normalized_ipc", "completions"}) {
      columns.emplace(name, Column(app_count_));
    }
    first_app_.assign(run_count_, app_count_);
    apps_of_.assign(run_count_, 0);
    Dictionary names;
    Statement query = connection_.prepare(
        "SELECT run_id, app, seed, isolated_run_id, ipc, ipc_isolated, normalized_ipc, completions FROM apps "
        "ORDER BY run_id, position");
    for (Row row = 0; query.step(); ++row) {
      const Row run = run_rows_.at(query.integer(0));
      if (apps_of_[run]++ == 0) first_app_[run] = row;
      columns.at("run").set(row, static_cast<std::int64_t>(run));
      columns.at("app").set(row, names.index(query.text(1)));
      columns.at("seed").set(row, query, 2);
      // A run without a baseline is its own baseline.
      const Row isolated = query.is_null(3) ? run : run_rows_.at(query.integer(3));
      isolated_.push_back(isolated);
      columns.at("isolated").set(row, static_cast<std::int64_t>(isolated));
      int column = 4;
      for (const char* name : {"ipc", "ipc_isolated", "normalized_ipc", "completions"}) {
        columns.at(name).set(row, query, column++);
      }
    }
    for (const auto& [name, values] : requests_) {
      Column& column = columns.try_emplace(name, Column(app_count_)).first->second;
      for (const Request& value : values)
        if (value.app < apps_of_[value.run]) column.set(first_app_[value.run] + value.app, value.value);
    }
    ordered_json list = ordered_json::array();
    for (const auto& [name, column] : columns) {
      list.push_back(name);
      blocks_.add("app-" + name, column.json());
    }
    core_["apps"] = app_count_;
    core_["app_columns"] = std::move(list);
    core_["app_names"] = names.json();
  }

  /// Adds a row per CPU core with a program.
  void cpus() {
    ordered_json rows = ordered_json::array();
    Dictionary programs;
    if (has_table("cpus")) {
      Statement query = connection_.prepare(
          "SELECT run_id, core, program, ipc, ipc_isolated, normalized_ipc, l2_mpki, memory_latency FROM "
          "cpus "
          "ORDER BY run_id, core");
      while (query.step()) {
        ordered_json row = {run_rows_.at(query.integer(0)), query.integer(1), programs.index(query.text(2))};
        for (int column = 3; column < 8; ++column) {
          const std::optional<double> value = query.optional_real(column);
          row.push_back(value ? ordered_json(*value) : ordered_json(nullptr));
        }
        rows.push_back(std::move(row));
      }
    }
    core_["cpu_programs"] = programs.json();
    blocks_.add("cpus", rows);
  }

  void counters() {
    ordered_json list = ordered_json::array();
    struct Counter {
      bool of_apps;
      Column values;
    };
    std::map<std::int64_t, Counter> columns;
    std::set<std::int64_t> of_viewed;  // counters of single SMs
    Statement names = connection_.prepare("SELECT id, scope, name, unit, meaning FROM counters ORDER BY id");
    while (names.step()) {
      const bool of_apps = names.text(1) == "app";
      if (names.text(1) == "sm") of_viewed.insert(names.integer(0));
      if (names.text(1) != "pair" && names.text(1) != "sm")
        columns.emplace(names.integer(0), Counter{of_apps, Column(of_apps ? app_count_ : run_count_)});
      list.push_back({{"id", names.integer(0)},
                      {"scope", names.text(1)},
                      {"name", names.text(2)},
                      {"unit", names.text(3)},
                      {"meaning", names.text(4)}});
      if (of_apps && names.text(2) == "lsu_stall_cycles") stall_counter_ = names.integer(0);
    }
    stalls_.assign(app_count_, std::nullopt);
    Statement query = connection_.prepare("SELECT run_id, app, counter_id, value FROM metrics");
    ordered_json of_sms = ordered_json::array();
    while (query.step()) {
      if (of_viewed.contains(query.integer(2))) {
        of_sms.push_back(
            {run_rows_.at(query.integer(0)), query.integer(1), query.integer(2), query.integer(3)});
        continue;
      }
      Counter& counter = columns.at(query.integer(2));
      const Row run = run_rows_.at(query.integer(0));
      const Row row = counter.of_apps ? first_app_[run] + static_cast<Row>(query.integer(1)) : run;
      if (row >= (counter.of_apps ? app_count_ : run_count_)) continue;
      counter.values.set(row, query.integer(3));
      if (query.integer(2) == stall_counter_) stalls_[row] = query.integer(3);
    }
    for (const auto& [id, counter] : columns) {
      blocks_.add("counter-" + std::to_string(id), counter.values.json());
    }
    core_["counters"] = std::move(list);
    blocks_.add("sms", of_sms);
    pairs();
  }

  /// Adds the pair counters of applications: a row per run, pair and counter.
  void pairs() {
    ordered_json rows = ordered_json::array();
    if (has_table("pair_metrics")) {
      Statement query =
          connection_.prepare("SELECT run_id, victim, culprit, counter_id, value FROM pair_metrics");
      while (query.step()) {
        rows.push_back({run_rows_.at(query.integer(0)), query.integer(1), query.integer(2), query.integer(3),
                        query.integer(4)});
      }
    }
    blocks_.add("pairs", rows);
  }

  /// Adds the share of LSU stalls in each application's isolated run, which determines the application's
  /// class.
  void stall_shares() {
    Column shares(app_count_);
    for (Row row = 0; row < app_count_; ++row) {
      const Row run = isolated_[row];
      const std::optional<std::int64_t> cycles = run_cycles_[run];
      const std::optional<std::int64_t> machine = machine_sms_[static_cast<std::size_t>(run_machine_[run])];
      if (!cycles || *cycles == 0 || !machine || *machine == 0) continue;
      if (apps_of_[run] != 1) continue;  // several applications without baselines
      if (const std::optional<std::int64_t> stalls = stalls_[first_app_[run]]) {
        shares.set(row, static_cast<double>(*stalls) /
                            (static_cast<double>(*cycles) * static_cast<double>(*machine)));
      }
    }
    blocks_.add("app-isolated_stall_share", shares.json());
    core_["app_columns"].push_back("isolated_stall_share");
  }

  void sweeps() {
    ordered_json list = ordered_json::array();
    ordered_json texts = ordered_json::array();
    std::map<std::int64_t, std::size_t> rows;
    Statement query = connection_.prepare("SELECT id, name, scale, file, toml FROM sweeps ORDER BY id");
    while (query.step()) {
      rows[query.integer(0)] = list.size();
      list.push_back({{"name", query.text(1)},
                      {"scale", query.text(2)},
                      {"file", query.text(3)},
                      {"runs", ordered_json::array()},
                      {"baselines", ordered_json::array()}});
      texts.push_back(query.text(4));
    }
    Statement members =
        connection_.prepare("SELECT sweep_id, run_id, role FROM sweep_runs ORDER BY sweep_id, position");
    while (members.step()) {
      list[rows.at(members.integer(0))][members.text(2) == "run" ? "runs" : "baselines"].push_back(
          run_rows_.at(members.integer(1)));
    }
    core_["sweeps"] = std::move(list);
    blocks_.add("sweeps", texts);
  }

  [[nodiscard]] bool has_table(std::string_view name) {
    return connection_.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
        .bind(name)
        .step();
  }

  /// Adds one block per run with a series. `core` lists these runs.
  void series() {
    ordered_json having = ordered_json::array();
    if (has_table("series")) {
      const char* const pairs =
          has_table("pair_series")
              ? " UNION ALL SELECT run_id, victim, culprit, counter_id, interval, samples "
                "FROM pair_series"
              : "";
      Statement query = connection_.prepare(
          fmt::format("SELECT run_id, app, -1 AS culprit, counter_id, interval, samples FROM series{} "
                      "ORDER BY run_id, app, culprit, counter_id",
                      pairs));
      ordered_json of_run = ordered_json::array();
      Row run = run_count_;
      const auto flush = [&] {
        if (run == run_count_) return;
        having.push_back(run);
        blocks_.add("series-" + std::to_string(run), of_run);
        of_run = ordered_json::array();
      };
      while (query.step()) {
        const Row next = run_rows_.at(query.integer(0));
        if (next != run) flush();
        run = next;
        const ordered_json samples = ordered_json::parse(query.text(5), nullptr, false);
        if (!samples.is_array()) {
          throw UserError({connection_.path()},
                          fmt::format("is damaged: the series of run {} are no JSON", query.integer(0)));
        }
        of_run.push_back({{"app", query.integer(1)},
                          {"counter", query.integer(3)},
                          {"interval", query.integer(4)},
                          {"samples", samples}});
        if (query.integer(2) >= 0) of_run.back()["culprit"] = query.integer(2);
      }
      flush();
    }
    core_["series"] = std::move(having);
  }

  void timelines() {
    ordered_json having = ordered_json::array();
    if (has_table("timelines")) {
      Statement query = connection_.prepare("SELECT run_id, trace FROM timelines ORDER BY run_id");
      while (query.step()) {
        const Row run = run_rows_.at(query.integer(0));
        having.push_back(run);
        blocks_.add(
            "timeline-" + std::to_string(run),
            pack_timeline(query.text(1), fmt::format("{}: run {}", connection_.path(), query.integer(0))));
      }
    }
    core_["timelines"] = std::move(having);
  }

  struct Request {
    Row run;
    std::size_t app;  // index in the run
    double value;
  };

  Connection& connection_;
  Blocks& blocks_;
  ordered_json core_;
  std::map<std::string, std::vector<Request>> requests_;  // by name of the column
  ordered_json ledger_runs_ = ordered_json::array();
  ordered_json losses_ = ordered_json::array();
  Dictionary places_;
  std::size_t run_count_ = 0;
  std::size_t app_count_ = 0;
  std::unordered_map<std::int64_t, Row> run_rows_;  // by id in the database
  std::unordered_map<std::int64_t, std::int64_t> machine_rows_;
  std::vector<std::optional<std::int64_t>> machine_sms_;
  std::vector<std::int64_t> run_machine_;                // by run
  std::vector<std::optional<std::int64_t>> run_cycles_;  // by run
  std::vector<Row> first_app_;                           // by run
  std::vector<std::size_t> apps_of_;                     // number of applications, by run
  std::vector<Row> isolated_;                            // baseline run, by application
  std::vector<std::optional<std::int64_t>> stalls_;      // LSU stall cycles, by application
  std::int64_t stall_counter_ = 0;
};

}  // namespace

void collect(Connection& connection, Blocks& blocks) {
  const database::ReadTransaction snapshot(connection);
  database::check_readable(connection);
  Collector(connection, blocks).collect();
}

}  // namespace gpumux::report
