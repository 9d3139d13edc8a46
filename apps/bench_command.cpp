// gpumux bench [--json FILE] [--compare FILE] [--scaling]: measures simulation speed on fixed kernels and
// machines.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "bench_runs.hpp"
#include "commands.hpp"
#include "embedded/bench.ptx.hpp"
#include "experiment/run.hpp"
#include "experiment/workload_file.hpp"
#include "runtime/application.hpp"
#include "terminal.hpp"
#include "trace/reference.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kBenchSchema = "gpumux.bench/1";
constexpr std::uint32_t kBlocks = 2048;
constexpr std::uint32_t kThreads = 256;
constexpr std::int32_t kElements = kBlocks * kThreads;

/// Launches one of the kernels of benchmarks/bench, once.
class BenchApplication final : public runtime::Application {
 public:
  explicit BenchApplication(std::string kernel) : kernel_(std::move(kernel)) {}

  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(embedded::bench_ptx, "bench.ptx");
    const runtime::LaunchSpec launch{{kBlocks, 1, 1}, {kThreads, 1, 1}, 0, 0};
    if (kernel_ == "compute") {
      const auto in = host.malloc<float>(4 * std::size_t{kElements});
      const auto out = host.malloc<float>(kElements);
      host.launch(module, kernel_, launch, in, out, kElements);
    } else if (kernel_ == "stream") {
      const auto x = host.malloc<float>(8 * std::size_t{kElements});
      const auto y = host.malloc<float>(8 * std::size_t{kElements});
      const auto z = host.malloc<float>(8 * std::size_t{kElements});
      host.launch(module, kernel_, launch, x, y, z, kElements);
    } else {
      constexpr std::int32_t kSmall = 64 << 8;   // integers: 64 KB
      constexpr std::int32_t kLarge = 16 << 18;  // 16 MB
      const auto small = host.malloc<std::int32_t>(kSmall);
      const auto large = host.malloc<std::int32_t>(kLarge);
      const auto out = host.malloc<std::int32_t>(kElements);
      host.launch(module, kernel_, launch, small, large, out, kSmall - 1, kLarge - 1);
    }
    co_await host.synchronize();
  }

 private:
  std::string kernel_;
};

struct Case {
  const char* kernel;
  const char* machine;
  /// For a trace: its kernel, and the warp instructions per second that Accel-Sim simulates on it (QV100
  /// model, one thread of a 2-core machine).
  std::optional<trace::ReferenceKernel> traced = std::nullopt;
  double reference = 0;
};
constexpr std::array<Case, 9> kCases = {{{"trace-compute", "v100", trace::ReferenceKernel::Compute, 100200},
                                         {"trace-stream", "v100", trace::ReferenceKernel::Stream, 7640},
                                         {"trace-diverge", "v100", trace::ReferenceKernel::Diverge, 3480},
                                         {"compute", "v100"},
                                         {"stream", "v100"},
                                         {"diverge", "v100"},
                                         {"compute", experiment::kDefaultMachine},
                                         {"stream", experiment::kDefaultMachine},
                                         {"diverge", experiment::kDefaultMachine}}};

Measured measure(const Case& which, unsigned threads) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(which.machine);
  spec.policy = policy::parse_choice("leftover");
  spec.threads = threads;
  experiment::AppSpec app;
  app.text = app.name = app.identity = which.kernel;
  app.create = [&which](std::uint64_t) { return std::make_unique<BenchApplication>(which.kernel); };
  spec.apps.push_back(std::move(app));
  const experiment::RunResult result = experiment::simulate(spec);
  return {result.wall_seconds, result.cycles, result.gpu.warp_instructions, result.gpu.l1_accesses, 0};
}

Measured run_case(const Case& which, TraceFiles& traces, unsigned threads) {
  if (!which.traced) return measure(which, threads);
  return run_trace(traces.path(*which.traced, traces.blocks()), 1, arch::load_machine(which.machine),
                   "leftover", threads);
}

/// Runs a case with each number of threads.
std::vector<Repeated> repeat(const Case& which, TraceFiles& traces, const std::vector<unsigned>& threads,
                             unsigned repeats) {
  if (which.traced) (void)traces.path(*which.traced, traces.blocks());  // before time is measured
  std::vector<std::function<Measured()>> works;
  for (const unsigned count : threads)
    works.emplace_back([&which, &traces, count] { return run_case(which, traces, count); });
  return in_turns(fmt::format("{} on {}", which.kernel, which.machine), works, repeats);
}

ordered_json to_json(const Case& which, const TraceFiles& traces, const Repeated& runs) {
  const Measured& measured = runs.fastest;
  const double speed = static_cast<double>(measured.warp_instructions) / measured.wall_seconds;
  ordered_json entry = {{"kernel", which.kernel},
                        {"machine", which.machine},
                        {"wall_seconds", measured.wall_seconds},
                        {"wall_seconds_of_runs", runs.seconds},
                        {"cycles", measured.cycles},
                        {"warp_instructions", measured.warp_instructions},
                        {"memory_transactions", measured.memory_transactions},
                        {"warp_instructions_per_second", speed},
                        {"cycles_per_second", static_cast<double>(measured.cycles) / measured.wall_seconds},
                        {"peak_memory_bytes", measured.peak_memory_bytes}};
  if (which.traced && traces.blocks() == trace::kReferenceBlocks) {
    entry["reference_warp_instructions_per_second"] = which.reference;
    entry["reference_ratio"] = speed / which.reference;
  }
  return entry;
}

/// Geometric mean of the ratios to Accel-Sim over the traces; nothing without a ratio.
std::optional<double> geometric_mean_ratio(const ordered_json& cases) {
  double sum = 0;
  double count = 0;
  for (const ordered_json& entry : cases) {
    if (!entry.contains("reference_ratio")) continue;
    sum += std::log(entry["reference_ratio"].get<double>());
    count += 1;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

ordered_json read_earlier(const std::string& path) {
  try {
    ordered_json document = ordered_json::parse(read_file(path));
    if (document.at("schema") != kBenchSchema)
      throw UserError({path}, fmt::format("is no {} document", kBenchSchema));
    bool good = true;
    // Files from before --repeat and --blocks have neither key.
    for (const char* count : {"threads", "repeats", "trace_blocks"})
      good = good && (!document.contains(count) || (document.at(count).is_number_unsigned() &&
                                                    document.at(count).get<std::uint64_t>() > 0));
    for (const ordered_json& entry : document.at("cases")) {
      (void)entry.at("kernel").get<std::string>();
      (void)entry.at("machine").get<std::string>();
      good = good && entry.at("warp_instructions_per_second").get<double>() > 0 &&
             entry.at("peak_memory_bytes").get<double>() > 0;
    }
    if (good) return document;
  } catch (const ordered_json::exception&) {  // reported below
  }
  throw UserError({path}, "is no result of `gpumux bench --json`");
}

/// Notes settings in which the two measurements differ, so that their ratios mean something else.
void note_differences(const ordered_json& earlier, const std::string& path, std::uint64_t threads,
                      std::uint64_t repeats, std::uint64_t blocks) {
  const auto note = [&](const char* key, std::uint64_t now, std::uint64_t unsaid, const char* option,
                        const char* what) {
    const std::uint64_t then = earlier.value(key, unsaid);
    if (then == now) return;
    say(fmt::format("note: {} has {} {}, this {}: compare with {} {}\n", path, what, then, now, option,
                    then));
  };
  note("repeats", repeats, 1, "--repeat", "the fastest of so many runs:");
  note("threads", threads, 1, "--threads", "host threads:");
  note("trace_blocks", blocks, trace::kReferenceBlocks, "--blocks", "thread blocks of each trace:");
}

/// Ratios to the same case of an earlier measurement: "x1.08 speed, x0.99 memory"; empty if the earlier one
/// lacks the case.
std::string compared(const ordered_json& now, const ordered_json& earlier) {
  for (const ordered_json& then : earlier.at("cases")) {
    if (then.at("kernel") != now.at("kernel") || then.at("machine") != now.at("machine")) continue;
    const auto ratio = [&](const char* key) {
      return now.at(key).get<double>() / then.at(key).get<double>();
    };
    return fmt::format("  x{:.2f} speed, x{:.2f} memory", ratio("warp_instructions_per_second"),
                       ratio("peak_memory_bytes"));
  }
  return "  (not in the earlier file)";
}

/// The numbers of threads to measure: 2, 4, 8, ... below the number of processors, and this number.
std::vector<unsigned> thread_counts() {
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<unsigned> counts;
  for (unsigned threads = 2; threads < processors; threads *= 2) counts.push_back(threads);
  if (processors > 1) counts.push_back(processors);
  return counts;
}

/// Prints the times with more threads. The first entry is the time with one thread.
ordered_json show_threads(const std::vector<unsigned>& threads, const std::vector<Repeated>& runs) {
  ordered_json scaling = ordered_json::array();
  for (std::size_t t = 1; t < threads.size(); ++t) {
    const double seconds = runs[t].fastest.wall_seconds;
    const double speedup = runs[0].fastest.wall_seconds / seconds;
    fmt::print("{:<13} {:<14} {:>9.2f}  with {} threads: x{:.2f}\n", "", "", seconds, threads[t], speedup);
    scaling.push_back({{"threads", threads[t]},
                       {"wall_seconds", seconds},
                       {"wall_seconds_of_runs", runs[t].seconds},
                       {"speedup", speedup}});
  }
  return scaling;
}

}  // namespace

int bench_command(const Arguments& args) {
  CLI::App app("Measures the speed of the simulation on fixed kernels and machines.", "gpumux bench");
  std::string json;
  std::string compare;
  unsigned threads = 1;
  app.add_option("--json", json, "write the figures to this file")->type_name("FILE");
  app.add_option("--compare", compare, "show ratios to an earlier --json file")->type_name("FILE");
  bool scaling = false;
  CLI::Option* threads_option =
      app.add_option("--threads", threads, "host threads [1]")->check(CLI::Range(1, 256));
  app.add_flag(
         "--scaling", scaling,
         "also: with 2, 4, ... host threads up to this computer's processors; cost by number of SMs and "
         "of applications")
      ->excludes(threads_option);
  unsigned repeats = 3;
  app.add_option("--repeat", repeats,
                 "runs of each case, of which the fastest counts: other work on the host only ever adds [3]")
      ->check(CLI::Range(1, 1000));
  std::uint32_t blocks = trace::kReferenceBlocks;
  app.add_option(
         "--blocks", blocks,
         "thread blocks of each trace [2048]: fewer are quicker and say less; only 2048 compare to Accel-Sim")
      ->check(CLI::Range(160, 1 << 20));
  std::string only;
  app.add_option("--only", only, "only kernels whose name contains this")->type_name("NAME");
  if (!parse(app, args)) return 0;
  if (json == kStandardOutput)
    throw UserError("bench prints its table to standard output; give --json the name of a file");
  if (!json.empty()) ResultFiles::check(json);
  std::optional<ordered_json> earlier;
  if (!compare.empty()) earlier = read_earlier(compare);

  const auto measured = [&](const Case& which) {
    return std::string_view(which.kernel).find(only) != std::string_view::npos;
  };
  if (std::none_of(kCases.begin(), kCases.end(), measured))
    throw UserError(
        fmt::format("--only {}: no kernel has such a name; the names are trace-compute, trace-stream, "
                    "trace-diverge, compute, stream and diverge",
                    only));
  std::vector<unsigned> thread_runs = {threads};
  if (scaling)
    for (const unsigned more : thread_counts()) thread_runs.push_back(more);
  if (earlier) note_differences(*earlier, compare, threads, repeats, blocks);
  TraceFiles traces(blocks);
  ordered_json cases = ordered_json::array();
  fmt::print("{:<13} {:<14} {:>9} {:>10} {:>12} {:>14} {:>12} {:>9} {:>12}\n", "kernel", "machine", "seconds",
             "cycles", "warp instr.", "warp instr./s", "cycles/s", "peak MB", "x Accel-Sim");
  for (const Case& which : kCases) {
    if (!measured(which)) continue;
    const std::vector<Repeated> runs = repeat(which, traces, thread_runs, repeats);
    ordered_json entry = to_json(which, traces, runs.front());
    fmt::print(
        "{:<13} {:<14} {:>9.2f} {:>10} {:>12} {:>14.0f} {:>12.0f} {:>9.0f} {:>12}{}\n", which.kernel,
        which.machine, entry["wall_seconds"].get<double>(), entry["cycles"].get<std::uint64_t>(),
        entry["warp_instructions"].get<std::uint64_t>(), entry["warp_instructions_per_second"].get<double>(),
        entry["cycles_per_second"].get<double>(), entry["peak_memory_bytes"].get<double>() / (1 << 20),
        entry.contains("reference_ratio") ? fmt::format("{:.1f}", entry["reference_ratio"].get<double>())
                                          : "",
        earlier ? compared(entry, *earlier) : "");
    if (scaling) entry["threads"] = show_threads(thread_runs, runs);
    std::fflush(stdout);
    cases.push_back(std::move(entry));
  }
  ordered_json document = {
      {"schema", kBenchSchema}, {"threads", threads}, {"repeats", repeats}, {"trace_blocks", blocks}};
  if (const std::optional<double> mean = geometric_mean_ratio(cases)) {
    fmt::print(
        "traces: {:.1f} times as fast as Accel-Sim's QV100 model in the geometric mean; its speed is not "
        "measured "
        "here: one\nthread of another 2-core computer (docs/performance.md)\n",
        *mean);
    document["reference_ratio_geometric_mean"] = *mean;
    document["reference_host"] = "another: see docs/performance.md";
  }
  document["cases"] = cases;
  if (scaling) document["scaling"] = bench_scaling(traces, only, repeats);
  if (!json.empty()) {
    ResultFiles files;
    files.add(json, document.dump(2) + "\n");
    files.write();
  }
  return 0;
}

}  // namespace gpumux::cli
