#include "sweep/job.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "experiment/result_json.hpp"
#include "machine/config_file.hpp"
#include "sweep/run_hash.hpp"

namespace gpumux::sweep {

using nlohmann::ordered_json;

std::vector<database::PlannedRow> planned_rows(const SweepPlan& plan) {
  std::map<std::string, std::shared_ptr<const std::string>> machines;  // TOML by hash
  std::vector<database::PlannedRow> rows;
  rows.reserve(plan.runs.size());
  for (const SweepRun& run : plan.runs) {
    std::shared_ptr<const std::string>& toml = machines[run.machine_hash];
    if (!toml) toml = std::make_shared<const std::string>(machine::to_toml(effective_machine(run.spec)));
    database::PlannedRow row;
    row.hash = run.hash;
    row.machine_hash = run.machine_hash;
    row.machine = run.spec.machine.name;
    row.machine_toml = toml;
    row.overrides = run.overrides;
    row.policy = run.spec.policy.text;
    row.seed = run.spec.seed;
    row.cycle_limit = run.spec.cycles;
    row.program = program_text();
    row.is_baseline = run.is_baseline;
    for (std::size_t i = 0; i < run.spec.apps.size(); ++i) {
      const experiment::AppSpec& app = run.spec.apps[i];
      row.apps.push_back({app.text, app.identity, run.spec.seed + i,
                          run.baselines.empty() ? "" : plan.runs[run.baselines[i]].hash});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string perform(const experiment::RunSpec& spec, const std::vector<double>& isolated) {
  const experiment::RunResult result = experiment::simulate(spec);
  std::vector<double> shared;
  for (const experiment::AppResult& app : result.apps) shared.push_back(app.ipc());
  const std::vector<double>& baselines = isolated.empty() ? shared : isolated;
  GPUMUX_CHECK(baselines.size() == shared.size() && (!isolated.empty() || shared.size() == 1));
  ordered_json document =
      experiment::result_document(result, baselines, experiment::metrics(shared, baselines));
  document.erase("wall_seconds");
  ordered_json counters = ordered_json::array();
  for (const experiment::CounterValue& c : experiment::counters(result)) {
    const std::int64_t app =
        c.scope == experiment::CounterValue::Scope::App ? static_cast<std::int64_t>(c.app) : -1;
    counters.push_back({experiment::scope_name(c.scope), app, c.name, c.value, c.unit, c.meaning});
  }
  // Names of files need not be UTF-8.
  return ordered_json{{"result", std::move(document)},
                      {"wall_seconds", result.wall_seconds},
                      {"counters", std::move(counters)}}
      .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

database::ResultRow read_result(std::string_view text) {
  const auto optional = [](const ordered_json& value) {
    return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
  };
  try {
    const ordered_json all = ordered_json::parse(text);
    const ordered_json& document = all.at("result");
    database::ResultRow row;
    row.cycles = document.at("cycles").get<std::uint64_t>();
    const ordered_json& metrics = document.at("metrics");
    row.weighted_speedup = optional(metrics.at("weighted_speedup"));
    row.antt = optional(metrics.at("antt"));
    row.stp = optional(metrics.at("stp"));
    row.fairness = optional(metrics.at("fairness"));
    row.document = document.dump();
    for (const ordered_json& app : document.at("apps")) {
      row.apps.push_back({app.at("ipc").get<double>(), optional(app.at("ipc_isolated")),
                          optional(app.at("normalized_ipc")), app.at("completions").get<std::uint64_t>()});
    }
    for (const ordered_json& c : all.at("counters")) {
      row.counters.push_back({c.at(0).get<std::string>(), c.at(1).get<std::int64_t>(),
                              c.at(2).get<std::string>(), c.at(3).get<std::uint64_t>(),
                              c.at(4).get<std::string>(), c.at(5).get<std::string>()});
    }
    row.wall_seconds = all.at("wall_seconds").get<double>();
    return row;
  } catch (const nlohmann::json::exception& error) {
    throw InternalError(fmt::format("a worker's result cannot be read: {}", error.what()));
  }
}

}  // namespace gpumux::sweep
