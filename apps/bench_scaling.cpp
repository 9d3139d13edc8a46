// Measures how the cost of a simulated warp instruction grows with the machine and with the number of
// applications.
#include <fmt/core.h>

#include <array>
#include <bit>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "arch/config_file.hpp"
#include "bench_runs.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;
using trace::ReferenceKernel;

constexpr std::array<std::uint32_t, 4> kSmCounts = {4, 16, 80, 132};
constexpr std::array<std::uint32_t, 4> kAppCounts = {1, 2, 4, 8};

/// v100 with `sms` SMs, and at least as many memory partitions per SM as v100. The number of partitions is a
/// power of two, which its hashes require.
arch::MachineConfig sized_v100(std::uint32_t sms) {
  arch::MachineConfig config = arch::load_machine("v100");
  config.l2.partitions = std::bit_ceil((config.l2.partitions * sms + config.sms - 1) / config.sms);
  config.sms = sms;
  return config;
}

double nanoseconds_per_instruction(const Measured& m) {
  return 1e9 * m.wall_seconds / static_cast<double>(m.warp_instructions);
}

/// Prints a row of costs, each with its ratio to the first cost, and returns the row.
template <typename Counts, typename Measure>
ordered_json row(const char* what, ReferenceKernel kernel, const Counts& counts, unsigned repeats,
                 const Measure& measure) {
  std::vector<std::function<Measured()>> works;
  for (const std::uint32_t count : counts)
    works.emplace_back([&measure, kernel, count] { return measure(kernel, count); });
  const std::vector<Repeated> runs =
      in_turns(fmt::format("{} with other numbers of {}", trace::name(kernel), what), works, repeats);
  ordered_json entries = ordered_json::array();
  const double first = nanoseconds_per_instruction(runs.front().fastest);
  fmt::print("{:<14}", trace::name(kernel));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Measured& best = runs[i].fastest;
    const double cost = nanoseconds_per_instruction(best);
    fmt::print(" {:>9.1f} (x{:.2f})", cost, cost / first);
    entries.push_back({{"kernel", trace::name(kernel)},
                       {what, counts[i]},
                       {"nanoseconds_per_warp_instruction", cost},
                       {"ratio", cost / first},
                       {"peak_memory_bytes", best.peak_memory_bytes}});
  }
  fmt::print("\n");
  std::fflush(stdout);
  return entries;
}

template <typename Counts, typename Measure>
ordered_json table(const char* title, const char* what, const std::vector<ReferenceKernel>& kernels,
                   const Counts& counts, unsigned repeats, const Measure& measure) {
  fmt::print("\n{}\n{:<14}", title, "trace");
  for (const std::uint32_t count : counts) fmt::print(" {:>17}", fmt::format("{} {}", count, what));
  fmt::print("\n");
  ordered_json all = ordered_json::array();
  for (const ReferenceKernel kernel : kernels) {
    for (ordered_json& entry : row(what, kernel, counts, repeats, measure)) all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

nlohmann::ordered_json bench_scaling(TraceFiles& traces, const std::string& only, unsigned repeats) {
  std::vector<ReferenceKernel> kernels;
  for (const ReferenceKernel kernel : trace::kTimedKernels)
    if (fmt::format("trace-{}", trace::name(kernel)).find(only) != std::string::npos)
      kernels.push_back(kernel);
  const arch::MachineConfig v100 = arch::load_machine("v100");
  const auto blocks_for = [&](std::uint32_t sms) { return traces.blocks() * sms / v100.sms; };
  // Creates the trace files before anything is measured.
  for (const ReferenceKernel kernel : kernels) {
    for (const std::uint32_t sms : kSmCounts) (void)traces.path(kernel, blocks_for(sms));
    for (const std::uint32_t apps : kAppCounts) (void)traces.path(kernel, traces.blocks() / apps);
  }
  ordered_json scaling;
  scaling["sms"] = table(
      "Nanoseconds per warp instruction, v100 with other numbers of SMs, the same work for each SM:", "SMs",
      kernels, kSmCounts, repeats, [&](ReferenceKernel kernel, std::uint32_t sms) {
        return run_trace(traces.path(kernel, blocks_for(sms)), 1, sized_v100(sms), "leftover", 1);
      });
  const auto applications = [&](const char* title, const char* policy) {
    return table(title, "apps", kernels, kAppCounts, repeats,
                 [&](ReferenceKernel kernel, std::uint32_t apps) {
                   return run_trace(traces.path(kernel, traces.blocks() / apps), apps, v100, policy, 1);
                 });
  };
  scaling["applications"] = applications(
      "Nanoseconds per warp instruction, v100, the same work split over applications that share SMs (even):",
      "even");
  scaling["applications_leftover"] =
      applications("The same, one application after the other as there is room (leftover):", "leftover");
  return scaling;
}

}  // namespace gpumux::cli
