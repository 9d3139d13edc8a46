#include "experiment/result_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/dump_json.hpp"
#include "base/percentile.hpp"
#include "base/text.hpp"
#include "experiment/ledger.hpp"
#include "experiment/memory_report.hpp"
#include "experiment/policy_report.hpp"
#include "experiment/series_output.hpp"

namespace gpumux::experiment {
namespace {

bool is_memory_counter(std::string_view name) {
#define GPUMUX_FIELD(field, unit, description) \
  if (name == #field) return true;
  GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return false;
}

using nlohmann::ordered_json;

/// The fraction part / whole; null if `whole` is 0.
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

/// The heading of a counter: "app 0: hotspot", "pair: app 1 to app 0", or the scope's name.
std::string heading(const RunResult& result, const arch::Counter& counter) {
  if (counter.scope == arch::Scope::App)
    return fmt::format("app {}: {}", counter.app, result.apps[counter.app].app);
  if (counter.scope == arch::Scope::Pair)
    return fmt::format("pair: app {} to app {}", counter.culprit, counter.app);
  if (counter.scope == arch::Scope::Sm) return fmt::format("sm {}", counter.app);
  return std::string(arch::scope_name(counter.scope));
}

arch::CounterTable counter_table(const RunResult& result) {
  arch::CounterTable table(result.apps.size());
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    table.apps[i] = result.apps[i].counters;
    table.memory[i] = result.apps[i].memory_counters;
  }
  table.schedulers = result.schedulers;
  table.partitions = result.partitions;
  table.pairs = result.pairs;
  table.ledger = result.ledger;
  table.sms = result.viewed;
  return table;
}

/// Adds the counters that have a place of their own in the document.
void add_table(ordered_json& document, const RunResult& result) {
  using arch::Scope;
  const arch::CounterTable table = counter_table(result);
  for (std::size_t i = 0; i < result.apps.size(); ++i) document["apps"][i]["memory"] = ordered_json::object();
  document["pairs"] = ordered_json::array();
  arch::for_each_counter(table, [&](const arch::Counter& c, std::uint64_t value) {
    if (lacks(result, c)) return;
    const std::string name(c.name);
    if (c.scope == Scope::App && is_memory_counter(name)) document["apps"][c.app]["memory"][name] = value;
    if (c.scope == Scope::App && arch::is_ledger_counter(name))
      document["apps"][c.app]["ledger"][name] = value;
    if (c.scope == Scope::Schedulers) document["gpu"]["scheduler_cycles"][name] = value;
    if (c.scope == Scope::Partitions) document["gpu"]["memory"][name] = value;
    if (c.scope == Scope::Sm && !is_unused_phase(c, value)) {
      ordered_json& views = document["views"];
      if (views.empty() || views.back()["sm"] != c.app)
        views.push_back(ordered_json::object({{"sm", c.app}}));
      views.back()[name] = value;
    }
    if (c.scope != Scope::Pair) return;
    ordered_json& pairs = document["pairs"];
    if (pairs.empty() || pairs.back()["victim"] != c.app || pairs.back()["culprit"] != c.culprit)
      pairs.push_back({{"victim", c.app}, {"culprit", c.culprit}});
    pairs.back()[name] = value;
  });
}

/// Adds the ledger: parts of applications' cycles, by pair and place.
void add_ledger(ordered_json& document, const RunResult& result) {
  if (result.ledger.empty()) return;
  ordered_json& ledger = document["ledger"] = ordered_json::array();
  const auto name = [&](std::size_t app) {
    return app < result.apps.size() ? ordered_json(app) : ordered_json("cpu");
  };
  for (const LostCycles& lost : lost_cycles(result))
    ledger.push_back({{"victim", lost.victim},
                      {"culprit", name(lost.culprit)},
                      {"place", ledger_places()[lost.place].name},
                      {"lost_share", lost.share}});
  if (!result.cpu_waits) return;
  document["cpu_ledger"] = ordered_json::array();
  for (const CpuWait& wait : cpu_waits(result))
    document["cpu_ledger"].push_back({{"culprit", name(wait.culprit)},
                                      {"place", ledger_places()[wait.place].name},
                                      {"cycles_per_request", wait.cycles}});
}

ordered_json requests_json(const RequestResult& requests) {
  ordered_json entry = {{"arrived", requests.arrived}, {"done", requests.done()}};
  if (requests.deadline) {
    entry["deadline_cycles"] = *requests.deadline;
    entry["missed"] = requests.missed;
    if (requests.killed) entry["killed"] = *requests.killed;
  }
  std::vector<Cycle> sorted = requests.turnaround;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return entry;
  double sum = 0;
  for (const Cycle cycles : sorted) sum += static_cast<double>(cycles);
  entry["turnaround_cycles"] = {{"mean", sum / static_cast<double>(sorted.size())},
                                {"p50", percentile(sorted, 0.5)},
                                {"p95", percentile(sorted, 0.95)},
                                {"p99", percentile(sorted, 0.99)},
                                {"max", sorted.back()}};
  entry["turnarounds"] = requests.turnaround;
  return entry;
}

ordered_json goal_json(const GoalResult& goal) {
  const auto finite = [](double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
  };
  return {{"goal", goal.goal.text},
          {"reached", goal.reached()},
          {"achieved", finite(goal.achieved)},
          {"ipc", goal.target.ipc},
          {"achieved_ipc", goal.ipc},
          {"overshoot", finite(goal.ipc / goal.target.ipc - 1)},
          {"alone_ipc", goal.target.alone_ipc},
          {"run_instructions", goal.target.run_instructions},
          {"impossible", goal.impossible()}};
}

/// The kernels of an application in the order of their first launches. Block times are means over completed
/// blocks.
ordered_json kernels_json(const RunResult& result, AppId app) {
  ordered_json kernels = ordered_json::array();
  for (const KernelResult& kernel : result.kernels) {
    if (kernel.app != app) continue;
    const auto blocks = static_cast<double>(kernel.blocks);
    kernels.push_back(
        {{"kernel", kernel.name},
         {"blocks_per_sm", kernel.max_blocks_per_sm},
         {"switch_cycles", kernel.switch_cycles},
         {"launches", kernel.launches},
         {"cycles", kernel.cycles},
         {"blocks", kernel.blocks},
         {"mean_block_cycles", share(static_cast<double>(kernel.block_cycles), blocks)},
         {"mean_block_instructions", share(static_cast<double>(kernel.block_instructions), blocks)}});
    if (kernel.idempotent) kernels.back()["idempotent"] = *kernel.idempotent;
  }
  return kernels;
}

void add_energy(ordered_json& document, const RunResult& result) {
  if (!result.energy) return;
  const Energy& energy = *result.energy;
  const auto parts = [](const DynamicEnergy& of) {
    ordered_json out;
#define GPUMUX_FIELD(field, meaning) out[#field] = of.field;
    GPUMUX_DYNAMIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    return out;
  };
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    document["apps"][i]["energy_joules"] = energy.apps[i].total();
    document["apps"][i]["energy"] = parts(energy.apps[i]);
  }
  ordered_json& gpu = document["gpu"];
  gpu["powered_sm_cycles"] = result.powered_sm_cycles;
  gpu["energy_joules"] = energy.joules();
  gpu["energy"] = parts(energy.gpu);
#define GPUMUX_FIELD(field, meaning) gpu["energy"][#field] = energy.field;
  GPUMUX_STATIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  gpu["average_watts"] = energy.watts();
  gpu["instructions_per_watt"] = optional_json(energy.instructions_per_watt());
  document["metrics"]["energy_joules"] = energy.joules();
  document["metrics"]["instructions_per_watt"] = optional_json(energy.instructions_per_watt());
}

/// Visits the counters that stand in `counters` of a CPU core's entry. Instructions and cycles are not among
/// them.
template <typename Counters, typename Do>
void for_each_cpu_counter(Counters& of, const Do& with) {
#define GPUMUX_FIELD(field) with(#field, of.field)
  GPUMUX_FIELD(loads);
  GPUMUX_FIELD(stores);
  GPUMUX_FIELD(branches);
  GPUMUX_FIELD(mispredictions);
  GPUMUX_FIELD(forwarded_loads);
  GPUMUX_FIELD(l1_accesses);
  GPUMUX_FIELD(l1_misses);
  GPUMUX_FIELD(l1_merges);
  GPUMUX_FIELD(l2_misses);
  GPUMUX_FIELD(l1_writebacks);
  GPUMUX_FIELD(l2_writebacks);
  GPUMUX_FIELD(stalled_by_load);
  GPUMUX_FIELD(stalled_by_mshrs);
  GPUMUX_FIELD(stalled_by_outbox);
  GPUMUX_FIELD(stalled_by_rest);
  GPUMUX_FIELD(stalled_by_branches);
  GPUMUX_FIELD(replies);
  GPUMUX_FIELD(memory_latency);
#undef GPUMUX_FIELD
}

/// Adds the CPU cores, and the start of the applications.
void add_cpus(ordered_json& document, const RunResult& result, const Metrics& metrics) {
  document["begin_cycle"] = result.begin;
  document["cpus"] = ordered_json::array();
  for (std::size_t i = 0; i < result.cpus.size(); ++i) {
    const CpuResult& cpu = result.cpus[i];
    const cpu::Counters& c = cpu.counters;
    ordered_json entry = {{"core", cpu.core}, {"program", cpu.program}, {"ipc", cpu.ipc()}};
    entry["ipc_isolated"] = metrics.cpus ? ordered_json(metrics.cpus->alone[i]) : ordered_json(nullptr);
    entry["normalized_ipc"] =
        metrics.cpus ? ordered_json(metrics.cpus->normalized_ipc[i]) : ordered_json(nullptr);
    entry["instructions"] = c.instructions;
    entry["cycles"] = c.cycles;
    entry["l2_mpki"] = optional_json(cpu.l2_mpki());
    entry["memory_latency"] = optional_json(cpu.memory_latency());
    entry["counters"] = ordered_json::object();
    for_each_cpu_counter(c, [&](const char* name, std::uint64_t value) { entry["counters"][name] = value; });
#define GPUMUX_FIELD(field, unit, description) entry["memory"][#field] = cpu.memory_counters.field;
    GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    document["cpus"].push_back(std::move(entry));
  }
}

}  // namespace

void read_kernels(const ordered_json& app_entry, AppId app, std::vector<KernelResult>& to) {
  if (!app_entry.contains("kernels")) return;
  for (const ordered_json& entry : app_entry["kernels"]) {
    KernelResult& kernel = to.emplace_back();
    kernel.app = app;
    kernel.name = entry.at("kernel").get<std::string>();
    kernel.max_blocks_per_sm = entry.at("blocks_per_sm").get<std::uint32_t>();
    kernel.switch_cycles = entry.at("switch_cycles").get<double>();
    kernel.launches = entry.at("launches").get<std::uint64_t>();
    kernel.blocks = entry.at("blocks").get<std::uint64_t>();
    kernel.cycles = entry.value("cycles", Cycle{0});
    const auto all = [&](const char* mean) {
      const double each = kernel.blocks == 0 ? 0 : entry.at(mean).get<double>();
      return static_cast<std::uint64_t>(std::llround(each * static_cast<double>(kernel.blocks)));
    };
    kernel.block_cycles = all("mean_block_cycles");
    kernel.block_instructions = all("mean_block_instructions");
    if (entry.contains("idempotent")) kernel.idempotent = entry["idempotent"].get<bool>();
  }
}

void read_cpus(const ordered_json& document, RunResult& to, std::vector<double>& alone) {
  if (!document.contains("cpus")) return;
  to.begin = document.at("begin_cycle").get<Cycle>();
  for (const ordered_json& entry : document["cpus"]) {
    CpuResult& cpu = to.cpus.emplace_back();
    cpu.core = entry.at("core").get<std::uint32_t>();
    cpu.program = entry.at("program").get<std::string>();
    cpu.counters.instructions = entry.at("instructions").get<std::uint64_t>();
    cpu.counters.cycles = entry.at("cycles").get<std::uint64_t>();
    const ordered_json& counters = entry.at("counters");
    for_each_cpu_counter(cpu.counters, [&](const char* name, std::uint64_t& value) {
      value = counters.at(name).get<std::uint64_t>();
    });
#define GPUMUX_FIELD(field, unit, description) \
  cpu.memory_counters.field = entry.at("memory").at(#field).get<std::uint64_t>();
    GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    if (!entry.at("ipc_isolated").is_null()) alone.push_back(entry["ipc_isolated"].get<double>());
  }
}

void read_requests(const ordered_json& app_entry, AppResult& to) {
  if (!app_entry.contains("requests")) return;
  const ordered_json& entry = app_entry["requests"];
  RequestResult& requests = to.requests.emplace();
  requests.arrived = entry.at("arrived").get<std::uint64_t>();
  if (entry.contains("turnarounds")) requests.turnaround = entry["turnarounds"].get<std::vector<Cycle>>();
  if (!entry.contains("deadline_cycles")) return;
  requests.deadline = entry["deadline_cycles"].get<Cycle>();
  requests.missed = entry.at("missed").get<std::uint64_t>();
  if (entry.contains("killed")) requests.killed = entry["killed"].get<std::uint64_t>();
}

void read_goal(const ordered_json& app_entry, double core_mhz, AppResult& to) {
  if (!app_entry.contains("goal")) return;
  const ordered_json& entry = app_entry["goal"];
  const auto goal = parse_goal(entry.at("goal").get<std::string>());
  if (!goal) return;
  GoalTarget target;
  target.ipc = entry.at("ipc").get<double>();
  target.alone_ipc = entry.at("alone_ipc").get<double>();
  target.run_instructions = entry.at("run_instructions").get<double>();
  to.goal = goal_result(*goal, target, entry.at("achieved_ipc").get<double>(), core_mhz);
}

std::string json_text(const ordered_json& document) { return dump_json(document, 2) + "\n"; }

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

namespace {

ordered_json race_access_json(const emulator::RaceAccess& access) {
  const auto triple = [](const Dim3& d) { return ordered_json::array({d.x, d.y, d.z}); };
  return {{"access", access.what},
          {"place", access.place},
          {"block", triple(access.block)},
          {"thread", triple(access.thread)}};
}

ordered_json races_json(const RunResult& result) {
  ordered_json races = ordered_json::array();
  for (const emulator::Race& race : result.races->sorted()) {
    ordered_json entry;
    entry["app"] = result.apps[race.app].app;
    entry["kernel"] = race.kernel;
    entry["space"] = isa::name(race.space);
    entry["count"] = race.count();
    entry["read_after_write"] = race.read_after_write;
    entry["write_after_read"] = race.write_after_read;
    entry["write_after_write"] = race.write_after_write;
    entry["same_value"] = race.same_value;
    entry["first"] = race_access_json(race.first);
    entry["second"] = race_access_json(race.second);
    entry["address"] = race.address;
    entry["bytes"] = race.bytes;
    if (race.space == isa::Space::Global) entry["where"] = race.where;
    races.push_back(std::move(entry));
  }
  return races;
}

}  // namespace

ordered_json result_document(const RunResult& result, const std::vector<double>& isolated,
                             const Metrics& metrics) {
  ordered_json document;
  document["schema"] = "gpumux.result/1";
  document["machine"] = result.machine;
  document["sms"] = result.sms;
  document["policy"] = result.policy;
  document["cycles"] = result.cycles;
  document["seed"] = result.seed;

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
    if (app.active_instructions) {
      entry["active_instructions"] = *app.active_instructions;
      entry["active_cycles"] = app.active_cycles;
    }
    entry["completions"] = app.completions;
    entry["first_completion_cycle"] =
        app.completions > 0 ? ordered_json(app.first_completion) : ordered_json(nullptr);
    if (app.untimed_warp_instructions > 0) entry["untimed_warp_instructions"] = app.untimed_warp_instructions;
    if (app.host_order_varies) entry["host_order_varies"] = true;
    add_counters(entry, app.counters, sm_cycles);
    entry["memory"] = nullptr;
    if (app.memory) entry["memory_control"] = memory_json(*app.memory);
    if (app.requests) entry["requests"] = requests_json(*app.requests);
    if (app.goal) entry["goal"] = goal_json(*app.goal);
    entry["kernels"] = kernels_json(result, static_cast<AppId>(i));
    document["apps"].push_back(std::move(entry));
    completions += app.completions;
  }

  if (!result.cpus.empty()) add_cpus(document, result, metrics);

  ordered_json gpu;
  gpu["ipc"] = result.cycles == 0 ? 0.0
                                  : static_cast<double>(result.gpu.useful_instructions()) /
                                        static_cast<double>(result.cycles);
  gpu["ipc_per_sm"] = share(gpu["ipc"].get<double>(), result.sms);
  gpu["completions"] = completions;
  add_counters(gpu, result.gpu, sm_cycles);
  gpu["dram_bandwidth_utilization"] = result.dram_bandwidth_utilization;
  gpu["alu_utilization"] = result.alu_utilization;
  document["gpu"] = std::move(gpu);
  add_table(document, result);
  add_ledger(document, result);

  if (result.races) document["races"] = races_json(result);
  document["metrics"] = {{"weighted_speedup", optional_json(metrics.weighted_speedup)},
                         {"antt", optional_json(metrics.antt)},
                         {"stp", optional_json(metrics.stp)},
                         {"fairness", optional_json(metrics.fairness)}};
  if (!result.cpus.empty()) {
    document["metrics"]["su_gpu"] = optional_json(metrics.gpu_speedup());
    document["metrics"]["ws_cpu"] =
        metrics.cpus ? ordered_json(metrics.cpus->weighted_speedup) : ordered_json(nullptr);
    document["metrics"]["oss"] = optional_json(metrics.overall_speedup());
    document["metrics"]["oss_alpha"] = metrics.alpha;
  }
  add_energy(document, result);
  add_policy_report(document, result.policy_report);
  return document;
}

std::string result_json(const RunResult& result, const std::vector<double>& isolated,
                        const Metrics& metrics) {
  return with_series(json_text(result_document(result, isolated, metrics)), series_document(result));
}

bool lacks(const RunResult& result, const arch::Counter& counter) {
  return !result.absent.empty() &&
         result.absent.contains(fmt::format("{}.{}", arch::scope_name(counter.scope), counter.name));
}

std::vector<CounterValue> counters(const RunResult& result) {
  using arch::Scope;
  std::vector<CounterValue> all;
  const auto add = [&all](Scope scope, std::size_t app, std::string_view name, std::uint64_t value,
                          std::string_view unit, std::string_view meaning) {
    all.push_back({{scope, app, 0, name, unit, meaning}, value});
  };
  std::size_t begun = 0;  // number of applications so far
  Scope last = Scope::App;
  arch::for_each_counter(counter_table(result), [&](const arch::Counter& c, std::uint64_t value) {
    if (c.scope == Scope::App && c.app == begun) {
      const AppResult& app = result.apps[begun++];
      add(c.scope, c.app, "completions", app.completions, "runs", "of the application, from start to end");
      add(c.scope, c.app, "first_completion", app.first_completion, "core cycles",
          "end of its first run; 0: none");
      add(c.scope, c.app, "active_cycles", app.active_cycles, "core cycles", "that count for its IPC");
      if (app.active_instructions)
        add(c.scope, c.app, "active_instructions", *app.active_instructions, "thread instructions",
            "that count for its IPC");
    }
    if (last == Scope::Gpu && c.scope != last)
      add(Scope::Gpu, 0, "cycles", result.cycles, "core cycles", "simulated");
    last = c.scope;
    if (!lacks(result, c) && !is_unused_phase(c, value)) all.push_back({c, value});
  });
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
