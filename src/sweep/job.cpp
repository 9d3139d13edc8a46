#include "sweep/job.hpp"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "arch/config_file.hpp"
#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "database/damage.hpp"
#include "experiment/cache.hpp"
#include "experiment/memory_report.hpp"
#include "experiment/policy_report.hpp"
#include "experiment/result_json.hpp"
#include "experiment/series_output.hpp"
#include "experiment/timeline_output.hpp"
#include "sweep/run_hash.hpp"

namespace gpumux::sweep {

using nlohmann::ordered_json;

namespace {

database::CounterRow row_of(const arch::Counter& c) {
  const bool pair = c.scope == arch::Scope::Pair;
  database::CounterRow row;
  row.scope = arch::scope_name(c.scope);
  row.app = c.scope == arch::Scope::App || c.scope == arch::Scope::Sm || pair
                ? static_cast<std::int64_t>(c.app)
                : -1;
  row.culprit = pair ? static_cast<std::int64_t>(c.culprit) : -1;
  row.name = c.name;
  row.unit = c.unit;
  row.meaning = c.meaning;
  return row;
}

ordered_json counter_json(const experiment::CounterValue& c) {
  const database::CounterRow row = row_of(c);
  return {row.scope, row.app, row.culprit, row.name, c.value, row.unit, row.meaning};
}

database::CounterRow counter_row(const ordered_json& c) {
  database::CounterRow row{c.at(0).get<std::string>(), c.at(1).get<std::int64_t>(),
                           c.at(3).get<std::string>(), c.at(4).get<std::uint64_t>(),
                           c.at(5).get<std::string>(), c.at(6).get<std::string>()};
  row.culprit = c.at(2).get<std::int64_t>();
  return row;
}

/// Values of counters, or samples, by scope, applications and name.
template <typename Value>
class Counters {
 public:
  void add(const database::CounterRow& row, Value value) {
    values_[{row.scope, row.app, row.culprit, row.name}] = std::move(value);
  }
  [[nodiscard]] const Value* find(const arch::Counter& counter) const {
    const database::CounterRow row = row_of(counter);
    const auto found = values_.find({row.scope, row.app, row.culprit, row.name});
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::string>, Value> values_;
};

}  // namespace

std::vector<database::PlannedRow> planned_rows(const SweepPlan& plan) {
  std::map<std::string, std::shared_ptr<const std::string>> machines;  // TOML of machines, by hash
  std::vector<database::PlannedRow> rows;
  rows.reserve(plan.runs.size());
  for (const SweepRun& run : plan.runs) {
    std::shared_ptr<const std::string>& toml = machines[run.machine_hash];
    if (!toml)
      toml = std::make_shared<const std::string>(arch::to_toml(experiment::effective_machine(run.spec)));
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
    row.series_interval = run.spec.series;
    row.timeline = run.spec.timeline;
    for (std::size_t i = 0; i < run.spec.apps.size(); ++i) {
      const experiment::AppSpec& app = run.spec.apps[i];
      row.apps.push_back({app.text, app.identity, run.spec.seed,
                          run.baselines.empty() ? "" : plan.runs[run.baselines[i]].hash});
    }
    const std::vector<std::uint32_t> cores = experiment::cores_with_program(run.spec.cpus);
    for (std::size_t i = 0; i < cores.size(); ++i) {
      const experiment::CpuProgram& program = run.spec.cpus[cores[i]];
      row.cpus.push_back({cores[i], program.name, program.identity,
                          run.cpu_baselines.empty() ? "" : plan.runs[run.cpu_baselines[i]].hash});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string perform(const experiment::RunSpec& spec, const std::vector<double>& isolated) {
  experiment::RunSpec cached = spec;
  if (cached.cache_folder.empty()) cached.cache_folder = experiment::default_cache_folder();
  const experiment::RunResult result = experiment::simulate(cached);
  std::vector<double> shared;
  for (const experiment::AppResult& app : result.apps) shared.push_back(app.ipc());
  std::vector<double> alone = isolated;
  if (alone.empty()) {  // a single application or program is its own baseline
    GPUMUX_CHECK(shared.size() + result.cpus.size() == 1);
    alone = shared;
    for (const experiment::CpuResult& cpu : result.cpus) alone.push_back(cpu.ipc());
  }
  GPUMUX_CHECK(alone.size() == shared.size() + result.cpus.size());
  const auto first_cpu = alone.begin() + static_cast<std::ptrdiff_t>(shared.size());
  const std::vector<double> cpus_alone(first_cpu, alone.end());
  alone.erase(first_cpu, alone.end());
  experiment::Metrics metrics = experiment::metrics(shared, alone);
  if (!result.cpus.empty()) metrics.cpus = experiment::cpu_metrics(result.cpus, cpus_alone);
  metrics.alpha = spec.alpha;
  ordered_json document = experiment::result_document(result, alone, metrics);
  ordered_json counters = ordered_json::array();
  for (const experiment::CounterValue& c : experiment::counters(result)) counters.push_back(counter_json(c));
  ordered_json series = ordered_json::array();
  for (const experiment::CounterSeries& s : experiment::counter_series(result)) {
    ordered_json entry = counter_json(s.counter);
    entry.push_back(ordered_json(s.samples).dump());
    series.push_back(std::move(entry));
  }
  ordered_json all = {{"result", std::move(document)},
                      {"wall_seconds", result.wall_seconds},
                      {"counters", std::move(counters)},
                      {"interval", result.series.interval},
                      {"series", std::move(series)}};
  if (result.timeline) all["timeline"] = experiment::timeline_json(result, spec.machine.clocks.core);
  // Names of files need not be UTF-8.
  return dump_json(all);
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
    if (metrics.contains("oss")) {
      row.su_gpu = optional(metrics.at("su_gpu"));
      row.ws_cpu = optional(metrics.at("ws_cpu"));
      row.oss = optional(metrics.at("oss"));
      for (const ordered_json& cpu : document.at("cpus")) {
        row.cpus.push_back({cpu.at("core").get<std::uint32_t>(), cpu.at("ipc").get<double>(),
                            optional(cpu.at("ipc_isolated")), optional(cpu.at("normalized_ipc")),
                            cpu.at("instructions").get<std::uint64_t>(),
                            cpu.at("cycles").get<std::uint64_t>(), optional(cpu.at("l2_mpki")),
                            optional(cpu.at("memory_latency"))});
      }
    }
    row.document = dump_json(document);
    for (const ordered_json& app : document.at("apps")) {
      row.apps.push_back({app.at("ipc").get<double>(), optional(app.at("ipc_isolated")),
                          optional(app.at("normalized_ipc")), app.at("completions").get<std::uint64_t>()});
    }
    for (const ordered_json& c : all.at("counters")) row.counters.push_back(counter_row(c));
    row.wall_seconds = all.at("wall_seconds").get<double>();
    row.series_interval = all.at("interval").get<std::uint64_t>();
    for (const ordered_json& s : all.at("series")) {
      row.series.push_back({counter_row(s), s.at(7).get<std::string>()});
    }
    if (all.contains("timeline")) row.timeline = all.at("timeline").get<std::string>();
    return row;
  } catch (const nlohmann::json::exception& error) {
    throw InternalError(fmt::format("a worker's result cannot be read: {}", error.what()));
  }
}

StoredRun stored_run(const experiment::RunSpec& spec, const database::ResultRow& row) {
  StoredRun run;
  experiment::RunResult& result = run.result;
  Counters<std::uint64_t> counters;
  for (const database::CounterRow& counter : row.counters) counters.add(counter, counter.value);
  const auto value = [&](std::size_t app, const char* name) {
    const std::uint64_t* const found = counters.find({arch::Scope::App, app, 0, name, "", ""});
    if (found == nullptr)
      throw database::ContentError(fmt::format("a result has no counter {} of app {}", name, app));
    return *found;
  };
  result.machine = spec.machine.name;
  result.sms = spec.machine.sms;
  result.policy = spec.policy.text;
  result.cycles = row.cycles;
  result.seed = spec.seed;
  result.cycles_of_dram_clock = spec.machine.clocks.core / spec.machine.clocks.dram;
  result.schedulers_per_sm = spec.machine.sm.schedulers;
  result.wall_seconds = row.wall_seconds;
  std::vector<double> shared;
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    experiment::AppResult entry;
    entry.app = spec.apps[i].text;
    entry.completions = value(i, "completions");
    entry.first_completion = value(i, "first_completion");
    entry.active_cycles = value(i, "active_cycles");
    if (const std::uint64_t* const counted =
            counters.find({arch::Scope::App, i, 0, "active_instructions", "", ""}))
      entry.active_instructions = *counted;
    result.apps.push_back(std::move(entry));
  }
  arch::CounterTable table(spec.apps.size(), spec.ledger, spec.viewed);
  arch::for_each_counter(table, [&](const arch::Counter& counter, std::uint64_t& into) {
    if (const std::uint64_t* const found = counters.find(counter)) {
      into = *found;
    } else if (!experiment::is_unused_phase(counter, 0)) {
      result.absent.insert(fmt::format("{}.{}", arch::scope_name(counter.scope), counter.name));
    }
  });
  experiment::set_counters(result, table);
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    shared.push_back(result.apps[i].ipc());
    run.isolated.push_back(row.apps.at(i).ipc_isolated.value_or(shared.back()));
  }
  const ordered_json document = ordered_json::parse(row.document);
  result.dram_bandwidth_utilization = document.at("gpu").at("dram_bandwidth_utilization").get<double>();
  result.alu_utilization = document.at("gpu").at("alu_utilization").get<double>();
  result.powered_sm_cycles =
      document.at("gpu").value("powered_sm_cycles", std::uint64_t{result.cycles} * result.sms);
  if (!result.absent.contains("gpu.register_reads"))  // as old as the other counters that energy needs
    result.energy = experiment::energy(spec.machine, table, result.cycles, result.powered_sm_cycles);
  result.policy_report = experiment::read_policy_report(document);
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const ordered_json& entry = document.at("apps").at(i);
    result.apps[i].memory = experiment::read_memory(entry);
    experiment::read_requests(entry, result.apps[i]);
    experiment::read_goal(entry, spec.machine.clocks.core, result.apps[i]);
    experiment::read_kernels(entry, static_cast<AppId>(i), result.kernels);
  }
  run.metrics = experiment::metrics(shared, run.isolated);
  std::vector<double> cpus_alone;
  experiment::read_cpus(document, result, cpus_alone);
  if (!result.cpus.empty()) run.metrics.cpus = experiment::cpu_metrics(result.cpus, cpus_alone);
  run.metrics.alpha = spec.alpha;

  if (row.series_interval == 0) return run;
  Counters<std::vector<std::uint64_t>> series;
  std::size_t intervals = 0;
  for (const database::SeriesRow& s : row.series) {
    auto samples = ordered_json::parse(s.samples).get<std::vector<std::uint64_t>>();
    intervals = samples.size();
    series.add(s.counter, std::move(samples));
  }
  result.series.interval = row.series_interval;
  result.series.end = row.cycles;
  for (std::size_t k = 0; k < intervals; ++k) {
    arch::Series::Sample sample(spec.apps.size(), spec.ledger, spec.viewed);
    arch::for_each_counter(sample, [&](const arch::Counter& counter, std::uint64_t& into) {
      if (const std::vector<std::uint64_t>* const found = series.find(counter)) into = found->at(k);
    });
    result.series.samples.push_back(std::move(sample));
  }
  return run;
}

}  // namespace gpumux::sweep
