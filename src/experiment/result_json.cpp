#include "experiment/result_json.hpp"

#include <fmt/format.h>

#include "base/dump_json.hpp"
#include "base/text.hpp"
#include "experiment/memory_report.hpp"
#include "experiment/policy_report.hpp"
#include "experiment/series_output.hpp"

namespace gpumux::experiment {
namespace {

using nlohmann::ordered_json;

/// Null where the whole is nothing.
ordered_json share(double part, double whole) {
  return whole == 0 ? ordered_json(nullptr) : ordered_json(part / whole);
}

void add_counters(ordered_json& to, const arch::KernelCounters& counters, double sm_cycles) {
  to["warp_instructions"] = counters.warp_instructions;
  to["thread_instructions"] = counters.thread_instructions;
  to["memory_instructions"] = counters.memory_instructions;
  to["l1d"] = {{"accesses", counters.l1_accesses},
               {"misses", counters.l1_misses},
               {"reservation_failures", counters.reservation_failures()}};
  to["lsu_stall_cycles"] = counters.lsu_stall_cycles;
  to["lsu_stall_share"] = share(static_cast<double>(counters.lsu_stall_cycles), sm_cycles);
  to["blocks_completed"] = counters.blocks_completed;
}

/// "app 0: hotspot", or the scope's name.
std::string heading(const RunResult& result, const CounterValue& counter) {
  if (counter.scope != CounterValue::Scope::App) return std::string(scope_name(counter.scope));
  return fmt::format("app {}: {}", counter.app, result.apps[counter.app].app);
}

}  // namespace

std::string json_text(const ordered_json& document) { return dump_json(document, 2) + "\n"; }

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json result_document(const RunResult& result, const std::vector<double>& isolated,
                             const Metrics& metrics) {
  ordered_json document;
  document["schema"] = "gpumux.result/1";
  document["machine"] = result.machine;
  document["sms"] = result.sms;
  document["policy"] = result.policy;
  document["cycles"] = result.cycles;
  document["seed"] = result.seed;
  document["wall_seconds"] = result.wall_seconds;

  const double sm_cycles = static_cast<double>(result.cycles) * result.sms;
  document["apps"] = ordered_json::array();
  std::uint64_t completions = 0;
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const AppResult& app = result.apps[i];
    ordered_json entry;
    entry["app"] = app.app;
    entry["ipc"] = app.ipc();
    entry["ipc_per_sm"] = share(app.ipc(), result.sms);
    entry["ipc_isolated"] = i < isolated.size() ? ordered_json(isolated[i]) : ordered_json(nullptr);
    entry["normalized_ipc"] =
        i < metrics.normalized_ipc.size() ? optional_json(metrics.normalized_ipc[i]) : ordered_json(nullptr);
    entry["completions"] = app.completions;
    entry["first_completion_cycle"] =
        app.completions > 0 ? ordered_json(app.first_completion) : ordered_json(nullptr);
    add_counters(entry, app.counters, sm_cycles);
    if (app.memory) entry["memory_control"] = memory_json(*app.memory);
    document["apps"].push_back(std::move(entry));
    completions += app.completions;
  }

  ordered_json gpu;
  gpu["ipc"] = result.cycles == 0
                   ? 0.0
                   : static_cast<double>(result.gpu.thread_instructions) / static_cast<double>(result.cycles);
  gpu["ipc_per_sm"] = share(gpu["ipc"].get<double>(), result.sms);
  gpu["completions"] = completions;
  add_counters(gpu, result.gpu, sm_cycles);
  gpu["dram_bandwidth_utilization"] = result.dram_bandwidth_utilization;
  gpu["alu_utilization"] = result.alu_utilization;
#define GPUMUX_FIELD(field, unit, description) gpu["scheduler_cycles"][#field] = result.schedulers.field;
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) gpu["memory"][#field] = result.partitions.field;
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  document["gpu"] = std::move(gpu);

  document["metrics"] = {{"weighted_speedup", optional_json(metrics.weighted_speedup)},
                         {"antt", optional_json(metrics.antt)},
                         {"stp", optional_json(metrics.stp)},
                         {"fairness", optional_json(metrics.fairness)}};
  add_policy_report(document, result.policy_report);
  return document;
}

std::string result_json(const RunResult& result, const std::vector<double>& isolated,
                        const Metrics& metrics) {
  return with_series(json_text(result_document(result, isolated, metrics)), series_document(result));
}

std::string_view scope_name(CounterValue::Scope scope) {
  switch (scope) {
    case CounterValue::Scope::App: return "app";
    case CounterValue::Scope::Gpu: return "gpu";
    case CounterValue::Scope::Schedulers: return "schedulers";
    case CounterValue::Scope::Partitions: return "partitions";
  }
  return "";
}

std::vector<CounterValue> counters(const RunResult& result) {
  using Scope = CounterValue::Scope;
  std::vector<CounterValue> all;
  const auto kernel = [&](Scope scope, std::size_t app, const arch::KernelCounters& c) {
#define GPUMUX_FIELD(field, unit, description) \
  all.push_back({scope, app, #field, c.field, unit, description});
    GPUMUX_KERNEL_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  };
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const AppResult& app = result.apps[i];
    all.push_back(
        {Scope::App, i, "completions", app.completions, "runs", "of the application, from start to end"});
    all.push_back({Scope::App, i, "first_completion", app.first_completion, "core cycles",
                   "end of its first run; 0: none"});
    all.push_back(
        {Scope::App, i, "active_cycles", app.active_cycles, "core cycles", "that count for its IPC"});
    kernel(Scope::App, i, app.counters);
  }
  kernel(Scope::Gpu, 0, result.gpu);
  all.push_back({Scope::Gpu, 0, "cycles", result.cycles, "core cycles", "simulated"});
#define GPUMUX_FIELD(field, unit, description) \
  all.push_back({Scope::Schedulers, 0, #field, result.schedulers.field, unit, description});
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) \
  all.push_back({Scope::Partitions, 0, #field, result.partitions.field, unit, description});
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return all;
}

std::string stats_csv(const RunResult& result) {
  std::string out = "scope,counter,value,unit,meaning\n";
  for (const CounterValue& c : counters(result)) {
    out += fmt::format("{},{},{},{},{}\n", csv_field(heading(result, c)), c.name, c.value, csv_field(c.unit),
                       csv_field(c.meaning));
  }
  return out;
}

std::string stats_text(const RunResult& result) {
  std::string out =
      fmt::format("machine {}, policy {}, seed {}\n", result.machine, result.policy, result.seed);
  std::string last;
  for (const CounterValue& c : counters(result)) {
    if (const std::string scope = heading(result, c); scope != last) {
      last = scope;
      out += fmt::format("\n{}\n", scope);
    }
    out += fmt::format("  {:<24} {:>20} {}: {}\n", c.name, c.value, c.unit, c.meaning);
  }
  return out;
}

}  // namespace gpumux::experiment
