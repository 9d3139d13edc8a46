#include "run_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/percentile.hpp"
#include "base/text.hpp"
#include "experiment/ledger.hpp"
#include "table.hpp"

namespace gpumux::cli {
namespace {

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string machine_line(const experiment::RunResult& result) {
  return fmt::format("machine {}, seed {}", result.machine, result.seed);
}

std::optional<double> isolated_of(const Report& report, std::size_t app) {
  return app < report.isolated.size() ? std::optional<double>(report.isolated[app]) : std::nullopt;
}

std::optional<double> normalized_of(const Report& report, std::size_t app) {
  return app < report.metrics.normalized_ipc.size() ? report.metrics.normalized_ipc[app] : std::nullopt;
}

std::string verified_line(bool verified) {
  return verified ? "verified: every completed run matched its reference\n" : "";
}

/// Explains columns that newcomers could misunderstand.
std::string words_line(const experiment::RunResult& result, std::string_view more) {
  return fmt::format("IPC: thread instructions of all {} SMs per core cycle\n{}terms: docs/glossary.md\n",
                     result.sms, more);
}

/// The policy's division of SMs, if any.
std::string partition_line(const experiment::RunResult& result) {
  std::string out;
  for (const policy::Report::Number& n : result.policy_report.numbers) {
    if (n.name == "blocks_per_sm" && n.app)
      out += fmt::format("{}{} {:.0f}", out.empty() ? "blocks per SM: " : ", ", result.apps[*n.app].app,
                         n.value);
  }
  for (const policy::Report::Number& n : result.policy_report.numbers) {
    if (n.name == "theoretical_weighted_speedup")
      out += fmt::format("; theoretical weighted speedup {:.4f}", n.value);
  }
  return out.empty() ? out : out + "\n";
}

/// Latency of preemptions.
std::string preemption_line(const experiment::RunResult& result) {
  const auto value = [&](std::string_view name) -> std::optional<double> {
    for (const policy::Report::Number& n : result.policy_report.numbers)
      if (n.name == name && !n.app) return n.value;
    return std::nullopt;
  };
  const auto count = value("preemptions");
  if (!count) return "";
  std::string out = fmt::format(
      "preemptions of SMs: {:.0f}; blocks switched {:.0f}, drained {:.0f}, flushed {:.0f}", *count,
      value("preempted_blocks_switched").value_or(0), value("preempted_blocks_drained").value_or(0),
      value("preempted_blocks_flushed").value_or(0));
  if (*count > 0)
    out +=
        fmt::format("; latency mean {:.0f}, p95 {:.0f}, max {:.0f} cycles, {:.0f} over the limit",
                    value("preemption_latency_mean").value_or(0), value("preemption_latency_p95").value_or(0),
                    value("preemption_latency_max").value_or(0), value("preemptions_over_limit").value_or(0));
  if (const auto middle = value("predicted_over_actual_p50"))
    out += fmt::format("; predicted over actual latency p5 {:.2f}, p50 {:.2f}, p95 {:.2f}",
                       value("predicted_over_actual_p5").value_or(0), *middle,
                       value("predicted_over_actual_p95").value_or(0));
  return out + "\n";
}

/// Requests of the applications that have requests.
std::string request_lines(const experiment::RunResult& result) {
  std::string out;
  for (const experiment::AppResult& app : result.apps) {
    if (!app.requests) continue;
    const experiment::RequestResult& requests = *app.requests;
    out += fmt::format("{}: requests {}, done {}", app.app, requests.arrived, requests.done());
    std::vector<Cycle> sorted = requests.turnaround;
    std::sort(sorted.begin(), sorted.end());
    if (!sorted.empty())
      out += fmt::format("; turnaround p50 {}, p95 {}, p99 {}, max {} cycles", percentile(sorted, 0.5),
                         percentile(sorted, 0.95), percentile(sorted, 0.99), sorted.back());
    if (requests.deadline)
      out += fmt::format("; past the deadline of {} cycles: {}", *requests.deadline, requests.missed);
    out += "\n";
  }
  return out;
}

/// Goals: whether they were reached, and why not.
std::string goal_lines(const experiment::RunResult& result) {
  std::string out;
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    const experiment::AppResult& app = result.apps[i];
    if (!app.goal) continue;
    const experiment::GoalResult& goal = *app.goal;
    out += fmt::format("{}: goal {} {}: {} (IPC {:.2f} of {:.2f})", app.app, goal.goal.text,
                       goal.reached() ? "reached" : "missed",
                       experiment::goal_amount(goal.goal, goal.achieved), goal.ipc, goal.target.ipc);
    if (!goal.reached() && !result.ledger.empty())
      out += result.ledger[i].resident_scheduler_cycles == 0
                 ? "; it never had a block on an SM"
                 : fmt::format("; lost to others: {:.1f}% of its cycles",
                               100 * experiment::lost_share(experiment::lost_cycles(result), i));
    if (!goal.reached() && goal.impossible())
      out += fmt::format("; alone its IPC is {:.2f}: no sharing reaches it", goal.target.alone_ipc);
    out += "\n";
  }
  return out;
}

/// Energy by component, for components of at least a percent, largest first.
std::string energy_lines(const experiment::RunResult& result) {
  if (!result.energy) return "";
  const experiment::Energy& energy = *result.energy;
  const double all = energy.joules();
  const auto share = [all](double joules) { return all == 0 ? 0 : 100 * joules / all; };
  std::string out =
      fmt::format("energy: {:.4g} J, {:.1f} W, {} IPC per watt; static {:.1f}%", all, energy.watts(),
                  number(energy.instructions_per_watt(), 3), share(energy.static_joules()));
  for (std::size_t i = 0; i < result.apps.size(); ++i)
    out += fmt::format(", {} {:.1f}%", result.apps[i].app, share(energy.apps[i].total()));
  std::vector<std::pair<double, std::string>> parts;
  const auto add = [&](double joules, std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    if (share(joules) >= 1) parts.emplace_back(share(joules), std::move(name));
  };
#define GPUMUX_FIELD(field, meaning) add(energy.gpu.field, #field);
  GPUMUX_DYNAMIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, meaning) add(energy.field, #field);
  GPUMUX_STATIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  out += "\n  of which";
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += fmt::format("{} {} {:.1f}%", i == 0 ? "" : ",", parts[i].second, parts[i].first);
  return out + "\n";
}

/// Explains an IPC of 0 if the run is too short for any kernel to start.
std::string launch_lines(const experiment::RunResult& result, const View& view) {
  std::string out;
  if (result.cycles > view.launch_latency) return out;
  for (const experiment::AppResult& app : result.apps) {
    if (app.counters.warp_instructions != 0) continue;
    out += fmt::format(
        "{} executed nothing: a kernel starts {} cycles after its launch (runtime.kernel_launch_latency), "
        "and the run ended after {}\n",
        app.app, view.launch_latency, result.cycles);
  }
  return out;
}

/// Lines about one run in a table of several, under a heading with its policy.
std::string lines_of_policy(const experiment::RunResult& result) {
  const std::string lines =
      preemption_line(result) + request_lines(result) + goal_lines(result) + experiment::ledger_lines(result);
  if (lines.empty()) return "";
  std::string out = result.policy + ":\n";
  for (const std::string& line : split(trim(lines), '\n')) out += fmt::format("  {}\n", line);
  return out;
}

/// Energy under each of several policies, in one line.
std::string energy_line(const std::vector<Report>& reports) {
  std::string out;
  for (const Report& report : reports) {
    if (!report.result.energy) continue;
    out += fmt::format("{}{} {:.4g} J", out.empty() ? "energy: " : ", ", report.result.policy,
                       report.result.energy->joules());
  }
  return out.empty() ? out : out + "\n";
}

/// The runs that came from a database.
std::string source_lines(std::span<const Report> reports) {
  std::string out;
  for (const Report& report : reports) {
    if (!report.taken_from.empty())
      out += fmt::format("{}: from {}, not simulated again\n", report.result.policy, report.taken_from);
  }
  return out;
}

}  // namespace

namespace {

/// A table of CPU programs. Equal programs share a row, with means over their cores.
std::string cpu_text(const Report& report, const View& view) {
  const experiment::RunResult& r = report.result;
  if (r.cpus.empty()) return "";
  Table table({"CPU program", "cores", "IPC", "normalized", "L2 MPKI", "memory latency", "LLC misses"}, 1);
  std::vector<std::string> programs;
  for (const experiment::CpuResult& cpu : r.cpus)
    if (std::find(programs.begin(), programs.end(), cpu.program) == programs.end())
      programs.push_back(cpu.program);
  for (const std::string& program : programs) {
    cpu::Counters sum;
    std::uint64_t accesses = 0, misses = 0;
    double cores = 0, ipc = 0, normalized = 0;
    for (std::size_t i = 0; i < r.cpus.size(); ++i) {
      const experiment::CpuResult& cpu = r.cpus[i];
      if (cpu.program != program) continue;
      ++cores;
      ipc += cpu.ipc();
      if (report.metrics.cpus) normalized += report.metrics.cpus->normalized_ipc[i];
      sum.instructions += cpu.counters.instructions;
      sum.l2_misses += cpu.counters.l2_misses;
      sum.replies += cpu.counters.replies;
      sum.memory_latency += cpu.counters.memory_latency;
      accesses += cpu.memory_counters.l2_accesses;
      misses += cpu.memory_counters.l2_misses;
    }
    const auto mean = [](std::uint64_t part, std::uint64_t whole, double factor) {
      return whole == 0 ? std::optional<double>()
                        : std::optional(factor * static_cast<double>(part) / static_cast<double>(whole));
    };
    table.add({program, fmt::format("{}", cores), number(ipc / cores, 3),
               report.metrics.cpus ? number(normalized / cores, 4) : "-",
               number(mean(sum.l2_misses, sum.instructions, 1000), 1),
               number(mean(sum.memory_latency, sum.replies, 1), 0), percent(misses, accesses)});
  }
  return fmt::format("\n{}\nGPU speedup {}, CPU weighted speedup {} of {}, overall {} (alpha {})\n",
                     table.text(view.width, view.colour), number(report.metrics.gpu_speedup(), 4),
                     report.metrics.cpus ? number(report.metrics.cpus->weighted_speedup, 4) : "-",
                     r.cpus.size(), number(report.metrics.overall_speedup(), 4), report.metrics.alpha);
}

}  // namespace

std::string run_text(const Report& report, const View& view) {
  const experiment::RunResult& r = report.result;
  std::string out = fmt::format("{}, policy {}: {} cycles in {:.2f} s\n\n", machine_line(r), r.policy,
                                r.cycles, r.wall_seconds);
  Table table({"app", "IPC", "per SM", "isolated", "normalized", "completed", "warp instr.", "blocks",
               "L1 misses", "LSU stalls"},
              1);
  for (std::size_t i = 0; i < r.apps.size(); ++i) {
    const arch::KernelCounters& c = r.apps[i].counters;
    table.add({r.apps[i].app, number(r.apps[i].ipc(), 2), number(r.apps[i].ipc() / r.sms, 2),
               number(isolated_of(report, i), 2), number(normalized_of(report, i), 4),
               fmt::format("{}", r.apps[i].completions), fmt::format("{}", c.warp_instructions),
               fmt::format("{}", c.blocks_completed), percent(c.l1_misses, c.l1_accesses),
               percent(c.lsu_stall_cycles, r.cycles * r.sms)});
  }
  out += table.text(view.width, view.colour);
  out += cpu_text(report, view);

  out += fmt::format("\nweighted speedup {}, ANTT {}, STP {}, fairness {}\n",
                     number(report.metrics.weighted_speedup, 4), number(report.metrics.antt, 4),
                     number(report.metrics.stp, 4), number(report.metrics.fairness, 4));
  out +=
      partition_line(r) + preemption_line(r) + request_lines(r) + goal_lines(r) + experiment::ledger_lines(r);
  const arch::PartitionCounters& p = r.partitions;
  const double ipc =
      r.cycles == 0 ? 0.0 : static_cast<double>(r.gpu.thread_instructions) / static_cast<double>(r.cycles);
  out += fmt::format(
      "GPU: IPC {:.2f} ({:.2f} per SM), ALUs {:.1f}% busy, DRAM bandwidth {:.1f}% used, L2 misses {}, row "
      "hits {}\n",
      ipc, ipc / r.sms, 100 * r.alu_utilization, 100 * r.dram_bandwidth_utilization,
      percent(p.l2_misses, p.l2_accesses), percent(p.dram_row_hits, p.dram_reads + p.dram_writes));
  out += energy_lines(r);
  out += launch_lines(r, view);
  out += words_line(r, "LSU stalls: share of SM cycles; ");
  return out + source_lines({&report, 1}) + verified_line(view.verified);
}

std::string comparison_text(const std::vector<Report>& reports, const View& view) {
  std::string out = machine_line(reports.front().result) + "\n\n";
  Table table({"policy", "app", "IPC", "isolated", "normalized", "completed", "cycles", "weighted speedup",
               "ANTT", "STP", "fairness"},
              2);
  for (const Report& report : reports) {
    const experiment::RunResult& r = report.result;
    table.rule();
    for (std::size_t i = 0; i < r.apps.size(); ++i) {
      const bool first = i == 0;
      const experiment::Metrics& m = report.metrics;
      table.add({first ? r.policy : "", r.apps[i].app, number(r.apps[i].ipc(), 2),
                 number(isolated_of(report, i), 2), number(normalized_of(report, i), 4),
                 fmt::format("{}", r.apps[i].completions), first ? fmt::format("{}", r.cycles) : "",
                 first ? number(m.weighted_speedup, 4) : "", first ? number(m.antt, 4) : "",
                 first ? number(m.stp, 4) : "", first ? number(m.fairness, 4) : ""});
    }
  }
  out += table.text(view.width, view.colour) + "\n";
  for (const Report& report : reports) out += lines_of_policy(report.result);
  out += energy_line(reports) + launch_lines(reports.front().result, view);
  return out + words_line(reports.front().result, "") + source_lines(reports) + verified_line(view.verified);
}

}  // namespace gpumux::cli
