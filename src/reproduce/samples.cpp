#include "reproduce/samples.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "arch/counter_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "experiment/result_json.hpp"

namespace gpumux::reproduce {
namespace {

using nlohmann::json;

/// Names of the counters of an application.
std::vector<std::string> app_counters() {
  std::vector<std::string> names;
  arch::for_each_counter(arch::CounterTable(), [&](const arch::Counter& c, std::uint64_t) {
    if (c.scope == arch::Scope::Gpu) names.emplace_back(c.name);
  });
  return names;
}

/// Adds the names of the counters of the whole GPU, its schedulers and its partitions.
void add_run_counters(std::vector<std::string>& names) {
  arch::for_each_counter(arch::CounterTable(), [&](const arch::Counter& c, std::uint64_t) {
    names.push_back(c.scope == arch::Scope::Gpu ? std::string(c.name)
                                                : fmt::format("{}.{}", arch::scope_name(c.scope), c.name));
  });
}

std::vector<std::string> run_names() {
  std::vector<std::string> names = {"cycles",
                                    "sms",
                                    "applications",
                                    "weighted_speedup",
                                    "antt",
                                    "stp",
                                    "fairness",
                                    "ipc",
                                    "completions",
                                    "alu_utilization",
                                    "dram_bandwidth_utilization",
                                    "energy_joules",
                                    "average_watts",
                                    "instructions_per_watt",
                                    "begin_cycle",
                                    "su_gpu",
                                    "ws_cpu",
                                    "oss",
                                    "oss_alpha"};
  add_run_counters(names);
  return names;
}

std::vector<std::string> app_names() {
  std::vector<std::string> names = {
      "cycles",         "sms",         "position",         "ipc",           "ipc_isolated",
      "normalized_ipc", "completions", "first_completion", "active_cycles", "energy_joules"};
  for (std::string& name : app_counters()) names.push_back(std::move(name));
  return names;
}

/// Visits all numbers in an entry of a result's `cpus`, as in with("ipc", value), with("l1_misses", value),
/// with("memory.l2_misses", value).
template <typename Do>
void for_each_cpu_number(const json& entry, const Do& with) {
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_object()) {
      if (key != "program") with(key, value);
      continue;
    }
    for (const auto& [name, inner] : value.items())
      with(key == "counters" ? name : fmt::format("{}.{}", key, name), inner);
  }
}

/// Names of the numbers of a CPU core, from a result that has one.
std::vector<std::string> cpu_names() {
  experiment::RunResult result;
  result.cpus.emplace_back();
  std::vector<std::string> names;
  for_each_cpu_number(json(experiment::result_document(result, {}, {}).at("cpus").at(0)),
                      [&](const std::string& name, const json&) { names.push_back(name); });
  return names;
}

/// A number, or a boolean as 0 or 1; nothing for other values.
std::optional<double> number(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? std::optional<double>(value.get<double>()) : std::nullopt;
}

void take_document(RunRecord& record) {
  const json document = json::parse(record.document);
  const json& gpu = document.at("gpu");
  for (const char* name : {"ipc", "completions", "alu_utilization", "dram_bandwidth_utilization"}) {
    record.run[name] = number(gpu.at(name));
  }
  if (gpu.contains("average_watts")) record.run["average_watts"] = number(gpu["average_watts"]);
  for (const auto& [name, value] : document.at("metrics").items()) record.run[name] = number(value);
  record.run["begin_cycle"] = document.value("begin_cycle", 0.0);
  if (document.contains("cpus")) {
    for (const json& entry : document["cpus"]) {
      RunRecord::Numbers& numbers = record.cpus.emplace_back();
      for_each_cpu_number(entry,
                          [&](const std::string& name, const json& value) { numbers[name] = number(value); });
    }
  }
  const json& apps = document.at("apps");
  record.run["applications"] = static_cast<double>(apps.size());
  for (std::size_t i = 0; i < apps.size(); ++i) {
    RunRecord::Numbers& numbers = record.apps.emplace_back();
    numbers["position"] = static_cast<double>(i);
    for (const char* name : {"ipc", "ipc_isolated", "normalized_ipc"})
      numbers[name] = number(apps[i].at(name));
    if (apps[i].contains("energy_joules")) numbers["energy_joules"] = number(apps[i]["energy_joules"]);
  }
}

void take_counters(RunRecord& record, database::Statement& query, std::int64_t run) {
  query.bind(run);
  while (query.step()) {
    const std::int64_t app = query.integer(0);
    const std::string scope = query.text(1);
    const auto value = static_cast<double>(query.integer(3));
    if (scope == "app") {
      record.apps.at(static_cast<std::size_t>(app))[query.text(2)] = value;
    } else {
      record.run[scope == "gpu" ? query.text(2) : scope + "." + query.text(2)] = value;
    }
  }
}

/// Removes ANTT if an application has not completed once and made almost no progress. Its turnaround time
/// then depends only on the length of the run, whatever the policy.
void drop_turnaround_without_progress(RunRecord& record) {
  constexpr double kProgress = 0.001;  // of its progress alone
  if (record.apps.size() < 2) return;
  for (RunRecord::Numbers& app : record.apps) {
    const std::optional<double> of_alone = app["normalized_ipc"];
    if (of_alone && *of_alone < kProgress && app["completions"] == 0.0) record.run["antt"].reset();
  }
}

void take_series(RunRecord& record, database::Statement& query, std::int64_t run) {
  query.bind(run);
  record.app_series.resize(record.apps.size());
  while (query.step()) {
    const std::int64_t app = query.integer(0);
    const std::string scope = query.text(1);
    record.interval = static_cast<std::uint64_t>(query.integer(3));
    std::vector<double> samples = json::parse(query.text(4)).get<std::vector<double>>();
    if (scope == "app") {
      record.app_series.at(static_cast<std::size_t>(app))[query.text(2)] = std::move(samples);
    } else {
      record.run_series[scope == "gpu" ? query.text(2) : scope + "." + query.text(2)] = std::move(samples);
    }
  }
}

/// Follows the path result.a.b from entry `entry` of the list `part`, or from the whole document. In lists,
/// numbers are indices from 0.
Value document_value(const RunRecord& record, const char* part, std::optional<std::size_t> entry,
                     const std::string& name) {
  const json document = json::parse(record.document);
  const json* at = &document;
  if (entry) at = &document.at(part).at(*entry);
  for (const std::string& key : split(std::string_view(name).substr(kResultPrefix.size()), '.')) {
    const std::optional<std::uint64_t> index = at->is_array() ? parse_uint(key) : std::nullopt;
    if (index && *index < at->size()) {
      at = &at->at(*index);
    } else if (at->is_object() && at->contains(key)) {
      at = &at->at(key);
    } else {
      return Value::none(fmt::format("the results have no {}", name));
    }
  }
  if (at->is_number()) return {at->get<double>(), ""};
  if (at->is_boolean()) return {at->get<bool>() ? 1.0 : 0.0, ""};
  return Value::none(at->is_null() ? fmt::format("{} is undefined", name)
                                   : fmt::format("{} is no number", name));
}

}  // namespace

const std::vector<std::string>& sample_names(Per per) {
  static const std::vector<std::string> run = run_names();
  static const std::vector<std::string> app = app_names();
  static const std::vector<std::string> cpu = cpu_names();
  return per == Per::Run ? run : per == Per::Cpu ? cpu : app;
}

Value value_of_cpu(const RunRecord& record, std::size_t cpu, const std::string& name) {
  if (cpu >= record.cpus.size()) return Value::none("the run has fewer CPU cores with a program");
  if (name.starts_with(kResultPrefix)) return document_value(record, "cpus", cpu, name);
  const auto found = record.cpus[cpu].find(name);
  if (found == record.cpus[cpu].end()) return Value::none(fmt::format("the results have no {}", name));
  if (!found->second) return Value::none(fmt::format("{} is undefined: nothing was counted for it", name));
  return {*found->second, ""};
}

Value value_of(const RunRecord& record, std::optional<std::size_t> app, const std::string& name) {
  if (name.starts_with(kResultPrefix)) return document_value(record, "apps", app, name);
  const RunRecord::Numbers& numbers = app ? record.apps.at(*app) : record.run;
  const auto found = numbers.find(name);
  if (found == numbers.end()) return Value::none(fmt::format("the results have no {}", name));
  if (!found->second) {
    return Value::none(fmt::format("{} is undefined: an application made no progress", name));
  }
  return {*found->second, ""};
}

const std::vector<std::string>& series_names(bool per_app) {
  static const auto make = [](bool app) {
    std::vector<std::string> names = {"cycles", "sms"};
    if (!app) add_run_counters(names);
    if (app) {
      for (std::string& name : app_counters()) names.push_back(std::move(name));
    }
    return names;
  };
  static const std::vector<std::string> run = make(false);
  static const std::vector<std::string> app = make(true);
  return per_app ? app : run;
}

std::uint64_t end_of(const RunRecord& record) {
  return static_cast<std::uint64_t>(record.run.at("cycles").value_or(0));
}

std::vector<Span> intervals(const RunRecord& record, const std::optional<Span>& window) {
  std::vector<Span> spans;
  if (record.interval == 0) return spans;
  const std::uint64_t cycles = end_of(record);
  for (std::uint64_t from = 0; from < cycles; from += record.interval) {
    const Span span = {from, std::min(from + record.interval, cycles)};
    if (!window || (span.first >= window->first && span.second <= window->second)) spans.push_back(span);
  }
  return spans;
}

Value value_within(const RunRecord& record, std::optional<std::size_t> app, const std::string& name,
                   const Span& span) {
  const std::uint64_t cycles = end_of(record);
  if (record.interval == 0) return Value::none("the run has no series");
  if (span.second > cycles) {
    return Value::none(fmt::format("the run ends at cycle {}, before {}", cycles, span.second));
  }
  if (span.first % record.interval != 0 || (span.second % record.interval != 0 && span.second != cycles)) {
    return Value::none(fmt::format("cycles {} to {} are no whole intervals of {}", span.first, span.second,
                                   record.interval));
  }
  if (name == "cycles") return {static_cast<double>(span.second - span.first), ""};
  if (name == "sms") return {record.run.at("sms").value_or(0), ""};
  const RunRecord::Series& series = app ? record.app_series.at(*app) : record.run_series;
  const auto found = series.find(name);
  if (found == series.end()) return Value::none(fmt::format("the series has no {}", name));
  double sum = 0;
  const std::size_t end = (span.second + record.interval - 1) / record.interval;
  for (std::size_t i = span.first / record.interval; i < end && i < found->second.size(); ++i)
    sum += found->second[i];
  return {sum, ""};
}

std::vector<RunRecord> read_records(database::Connection& connection, const sweep::SweepPlan& plan) {
  std::vector<RunRecord> records(plan.runs.size());
  database::Statement find =
      connection.prepare("SELECT id, state, error, cycles, result FROM runs WHERE hash = ?");
  database::Statement counters = connection.prepare(
      "SELECT m.app, c.scope, c.name, m.value FROM metrics m JOIN counters c ON c.id = m.counter_id WHERE "
      "m.run_id = ?");
  database::Statement series = connection.prepare(
      "SELECT s.app, c.scope, c.name, s.interval, s.samples FROM series s JOIN counters c ON c.id = "
      "s.counter_id WHERE s.run_id = ?");
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    RunRecord& record = records[i];
    find.bind(plan.runs[i].hash);
    while (find.step()) {
      const std::string state = find.text(1);
      if (state == "failed") {
        const std::string error = find.text(2);
        record.state = RunRecord::State::Failed;
        record.error = error.substr(0, error.find('\n'));
      }
      if (state != "done") continue;
      record.state = RunRecord::State::Done;
      record.document = find.text(4);
      try {
        take_document(record);
        take_counters(record, counters, find.integer(0));
        if (plan.file.series != 0) take_series(record, series, find.integer(0));
      } catch (const json::exception& error) {
        throw UserError({connection.path()},
                        fmt::format("has a result that cannot be read: {}", error.what()));
      }
      drop_turnaround_without_progress(record);
      const auto cycles = static_cast<double>(find.integer(3));
      const double sms = plan.runs[i].spec.machine.sms;
      record.run["cycles"] = cycles;
      record.run["sms"] = sms;
      for (RunRecord::Numbers& app : record.apps) {
        app["cycles"] = cycles;
        app["sms"] = sms;
      }
    }
  }
  return records;
}

}  // namespace gpumux::reproduce
