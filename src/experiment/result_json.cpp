#include "experiment/result_json.hpp"

#include <fmt/format.h>

namespace gpumux::experiment {
namespace {

using nlohmann::ordered_json;

void add_counters(ordered_json& to, const machine::KernelCounters& counters) {
  to["warp_instructions"] = counters.warp_instructions;
  to["thread_instructions"] = counters.thread_instructions;
  to["memory_instructions"] = counters.memory_instructions;
  to["l1d"] = {{"accesses", counters.l1_accesses},
               {"misses", counters.l1_misses},
               {"reservation_failures", counters.reservation_failures()}};
  to["lsu_stall_cycles"] = counters.lsu_stall_cycles;
  to["blocks_completed"] = counters.blocks_completed;
}

/// Calls visit(scope, counter, value, unit, meaning) for every counter of the run.
template <typename Visit>
void each_counter(const RunResult& result, const Visit& visit) {
  const auto kernel = [&](const std::string& scope, const machine::KernelCounters& c) {
#define GPUMUX_FIELD(field, unit, description) visit(scope, #field, c.field, unit, description);
    GPUMUX_KERNEL_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  };
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const AppResult& app = result.apps[i];
    const std::string scope = fmt::format("app {}: {}", i, app.app);
    visit(scope, "completions", app.completions, "runs", "of the application, from start to end");
    visit(scope, "first_completion", app.first_completion, "core cycles", "end of its first run; 0: none");
    visit(scope, "active_cycles", app.active_cycles, "core cycles", "that count for its IPC");
    kernel(scope, app.counters);
  }
  kernel("gpu", result.gpu);
  visit("gpu", "cycles", result.cycles, "core cycles", "simulated");
#define GPUMUX_FIELD(field, unit, description) \
  visit("schedulers", #field, result.schedulers.field, unit, description);
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) \
  visit("partitions", #field, result.partitions.field, unit, description);
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string json_text(const ordered_json& document) { return document.dump(2) + "\n"; }

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json result_document(const RunResult& result, const std::vector<double>& isolated,
                             const Metrics& metrics) {
  ordered_json document;
  document["schema"] = "gpumux.result/1";
  document["machine"] = result.machine;
  document["policy"] = result.policy;
  document["cycles"] = result.cycles;
  document["seed"] = result.seed;
  document["wall_seconds"] = result.wall_seconds;

  document["apps"] = ordered_json::array();
  std::uint64_t completions = 0;
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const AppResult& app = result.apps[i];
    ordered_json entry;
    entry["app"] = app.app;
    entry["ipc"] = app.ipc();
    entry["ipc_isolated"] = i < isolated.size() ? ordered_json(isolated[i]) : ordered_json(nullptr);
    entry["normalized_ipc"] =
        i < metrics.normalized_ipc.size() ? optional_json(metrics.normalized_ipc[i]) : ordered_json(nullptr);
    entry["completions"] = app.completions;
    entry["first_completion_cycle"] =
        app.completions > 0 ? ordered_json(app.first_completion) : ordered_json(nullptr);
    add_counters(entry, app.counters);
    document["apps"].push_back(std::move(entry));
    completions += app.completions;
  }

  ordered_json gpu;
  gpu["ipc"] = result.cycles == 0
                   ? 0.0
                   : static_cast<double>(result.gpu.thread_instructions) / static_cast<double>(result.cycles);
  gpu["completions"] = completions;
  add_counters(gpu, result.gpu);
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
  return document;
}

std::string result_json(const RunResult& result, const std::vector<double>& isolated,
                        const Metrics& metrics) {
  return json_text(result_document(result, isolated, metrics));
}

std::string stats_csv(const RunResult& result) {
  std::string out = "scope,counter,value,unit,meaning\n";
  each_counter(result, [&](std::string_view scope, std::string_view counter, std::uint64_t value,
                           std::string_view unit, std::string_view meaning) {
    out += fmt::format("{},{},{},{},{}\n", csv_field(scope), counter, value, csv_field(unit),
                       csv_field(meaning));
  });
  return out;
}

std::string stats_text(const RunResult& result) {
  std::string out =
      fmt::format("machine {}, policy {}, seed {}\n", result.machine, result.policy, result.seed);
  std::string last;
  each_counter(result, [&](std::string_view scope, std::string_view counter, std::uint64_t value,
                           std::string_view unit, std::string_view meaning) {
    if (scope != last) {
      last = scope;
      out += fmt::format("\n{}\n", scope);
    }
    out += fmt::format("  {:<24} {:>20} {}: {}\n", counter, value, unit, meaning);
  });
  return out;
}

}  // namespace gpumux::experiment
