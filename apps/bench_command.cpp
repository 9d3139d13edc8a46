// gpumux bench [--json FILE] [--compare FILE] [--scaling]: how fast the simulation is, on kernels and
// machines that do not change. Each case runs in a child process, so that its peak memory is its own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "commands.hpp"
#include "embedded/bench.ptx.hpp"
#include "experiment/run.hpp"
#include "machine/config_file.hpp"
#include "runtime/application.hpp"
#include "trace/application.hpp"
#include "trace/reference.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "gpumux.bench/1";
constexpr std::uint32_t kBlocks = 2048;
constexpr std::uint32_t kThreads = 256;
constexpr std::int32_t kElements = kBlocks * kThreads;

/// Launches one of the kernels of benchmarks/bench once.
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
  /// A trace: its kernel, and the warp instructions per second of Accel-Sim (QV100 model, one thread of a
  /// 2-core machine) on it.
  std::optional<trace::ReferenceKernel> traced = std::nullopt;
  double reference = 0;
};
constexpr std::array<Case, 9> kCases = {{{"trace-compute", "v100", trace::ReferenceKernel::Compute, 100200},
                                         {"trace-stream", "v100", trace::ReferenceKernel::Stream, 7640},
                                         {"trace-diverge", "v100", trace::ReferenceKernel::Diverge, 3480},
                                         {"compute", "v100"},
                                         {"stream", "v100"},
                                         {"diverge", "v100"},
                                         {"compute", "dai18-maxwell"},
                                         {"stream", "dai18-maxwell"},
                                         {"diverge", "dai18-maxwell"}}};

/// What a child tells its parent.
struct Measured {
  double wall_seconds = 0;
  std::uint64_t cycles = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t memory_transactions = 0;
};

/// The compact traces that are measured, for as long as it lives.
class TraceFiles {
 public:
  TraceFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpumux-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw UserError({pattern}, "cannot be made; set TMPDIR to a folder with room for 20 MB");
    }
    folder_ = pattern;
    for (const trace::ReferenceKernel kernel : trace::kReferenceKernels) {
      trace::FileOutput output(path(kernel));
      trace::write_reference(kernel, trace::kReferenceBlocks, output);
    }
  }
  ~TraceFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TraceFiles(const TraceFiles&) = delete;
  TraceFiles& operator=(const TraceFiles&) = delete;
  [[nodiscard]] std::string path(trace::ReferenceKernel kernel) const {
    return fmt::format("{}/{}.gmt", folder_, trace::name(kernel));
  }

 private:
  std::string folder_;
};

Measured measure(const Case& which, const TraceFiles& traces, unsigned threads) {
  const auto begin = std::chrono::steady_clock::now();
  experiment::RunSpec spec;
  spec.machine = machine::load_machine(which.machine);
  spec.policy = policy::parse_choice("leftover");
  spec.threads = threads;
  experiment::AppSpec app;
  app.text = app.name = app.identity = which.kernel;
  if (which.traced) {
    const auto opened = trace::load_trace(traces.path(*which.traced));
    app.create = [opened](std::uint64_t) { return std::make_unique<trace::TraceApplication>(opened); };
  } else {
    app.create = [&which](std::uint64_t) { return std::make_unique<BenchApplication>(which.kernel); };
  }
  spec.apps.push_back(std::move(app));
  const experiment::RunResult result = experiment::simulate(spec);
  // Reading the trace is part of it.
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {which.traced ? wall.count() : result.wall_seconds, result.cycles, result.gpu.warp_instructions,
          result.gpu.l1_accesses};
}

[[noreturn]] void run_child(const Case& which, const TraceFiles& traces, unsigned threads, int pipe) {
  int code = 1;
  try {
    const Measured measured = measure(which, traces, threads);
    code = ::write(pipe, &measured, sizeof measured) == sizeof measured ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench {} on {}: {}\n", which.kernel, which.machine, error.what());
  }
  ::_exit(code);
}

ordered_json run_case(const Case& which, const TraceFiles& traces, unsigned threads) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw InternalError("bench: no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw InternalError("bench: no child process");
  if (child == 0) {
    ::close(pipe[0]);
    run_child(which, traces, threads, pipe[1]);
  }
  ::close(pipe[1]);
  Measured measured;
  ssize_t got = 0;
  do {
    got = ::read(pipe[0], &measured, sizeof measured);
  } while (got < 0 && errno == EINTR);
  ::close(pipe[0]);
  int status = 0;
  struct rusage usage {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (got != sizeof measured || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw InternalError(fmt::format("bench: {} on {} did not finish", which.kernel, which.machine));
  }
  const double speed = static_cast<double>(measured.warp_instructions) / measured.wall_seconds;
  ordered_json entry = {{"kernel", which.kernel},
                        {"machine", which.machine},
                        {"wall_seconds", measured.wall_seconds},
                        {"cycles", measured.cycles},
                        {"warp_instructions", measured.warp_instructions},
                        {"memory_transactions", measured.memory_transactions},
                        {"warp_instructions_per_second", speed},
                        {"cycles_per_second", static_cast<double>(measured.cycles) / measured.wall_seconds},
                        {"peak_memory_bytes", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024}};
  if (which.traced) {
    entry["reference_warp_instructions_per_second"] = which.reference;
    entry["reference_ratio"] = speed / which.reference;
  }
  return entry;
}

/// Of the ratios to Accel-Sim over the traces.
double geometric_mean_ratio(const ordered_json& cases) {
  double sum = 0;
  double count = 0;
  for (const ordered_json& entry : cases) {
    if (!entry.contains("reference_ratio")) continue;
    sum += std::log(entry["reference_ratio"].get<double>());
    count += 1;
  }
  return std::exp(sum / count);
}

ordered_json read_earlier(const std::string& path) {
  try {
    ordered_json document = ordered_json::parse(read_file(path));
    if (document.at("schema") != kSchema) throw UserError({path}, fmt::format("is no {} document", kSchema));
    for (const ordered_json& entry : document.at("cases")) {
      (void)entry.at("kernel").get<std::string>();
      (void)entry.at("machine").get<std::string>();
      (void)entry.at("warp_instructions_per_second").get<double>();
      (void)entry.at("peak_memory_bytes").get<double>();
    }
    return document;
  } catch (const ordered_json::exception&) {
    throw UserError({path}, "is no result of `gpumux bench --json`");
  }
}

/// "x1.08 speed, x0.99 memory" against the same case of an earlier measurement; empty when it has none.
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

/// 2, 4, 8, ... and the number of processors itself.
std::vector<unsigned> thread_counts() {
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<unsigned> counts;
  for (unsigned threads = 2; threads < processors; threads *= 2) counts.push_back(threads);
  if (processors > 1) counts.push_back(processors);
  return counts;
}

/// The same case with more threads, beside its time with one.
ordered_json measure_scaling(const Case& which, const TraceFiles& traces, double seconds_of_one) {
  ordered_json scaling = ordered_json::array();
  for (const unsigned threads : thread_counts()) {
    const double seconds = run_case(which, traces, threads)["wall_seconds"].get<double>();
    fmt::print("{:<13} {:<14} {:>9.2f}  with {} threads: x{:.2f}\n", "", "", seconds, threads,
               seconds_of_one / seconds);
    std::fflush(stdout);
    scaling.push_back(
        {{"threads", threads}, {"wall_seconds", seconds}, {"speedup", seconds_of_one / seconds}});
  }
  return scaling;
}

}  // namespace

int bench_command(const Arguments& args) {
  CLI::App app("Measures the speed of the simulation on fixed kernels and machines.", "gpumux bench");
  std::string json;
  std::string compare;
  unsigned threads = 1;
  app.add_option("--json", json, "write the figures to this file");
  app.add_option("--compare", compare, "show ratios to an earlier --json file");
  bool scaling = false;
  CLI::Option* threads_option =
      app.add_option("--threads", threads, "host threads [1]")->check(CLI::Range(1, 256));
  app.add_flag("--scaling", scaling, "also with 2, 4, ... host threads, up to this computer's processors")
      ->excludes(threads_option);
  if (!parse(app, args)) return 0;
  if (!json.empty()) ResultFiles::check(json);
  std::optional<ordered_json> earlier;
  if (!compare.empty()) earlier = read_earlier(compare);

  const TraceFiles traces;
  ordered_json cases = ordered_json::array();
  fmt::print("{:<13} {:<14} {:>9} {:>10} {:>12} {:>14} {:>12} {:>9} {:>12}\n", "kernel", "machine", "seconds",
             "cycles", "warp instr.", "warp instr./s", "cycles/s", "peak MB", "x Accel-Sim");
  for (const Case& which : kCases) {
    ordered_json entry = run_case(which, traces, threads);
    fmt::print("{:<13} {:<14} {:>9.2f} {:>10} {:>12} {:>14.0f} {:>12.0f} {:>9.0f} {:>12}{}\n", which.kernel,
               which.machine, entry["wall_seconds"].get<double>(), entry["cycles"].get<std::uint64_t>(),
               entry["warp_instructions"].get<std::uint64_t>(),
               entry["warp_instructions_per_second"].get<double>(), entry["cycles_per_second"].get<double>(),
               entry["peak_memory_bytes"].get<double>() / (1 << 20),
               which.traced ? fmt::format("{:.1f}", entry["reference_ratio"].get<double>()) : "",
               earlier ? compared(entry, *earlier) : "");
    std::fflush(stdout);
    if (scaling) entry["scaling"] = measure_scaling(which, traces, entry["wall_seconds"].get<double>());
    cases.push_back(std::move(entry));
  }
  const double mean = geometric_mean_ratio(cases);
  fmt::print("traces: {:.1f} times as fast as Accel-Sim's QV100 model in the geometric mean\n", mean);
  if (!json.empty()) {
    const ordered_json document = {{"schema", kSchema},
                                   {"threads", threads},
                                   {"reference_ratio_geometric_mean", mean},
                                   {"cases", cases}};
    ResultFiles files;
    files.add(json, document.dump(2) + "\n");
    files.write();
  }
  return 0;
}

}  // namespace gpumux::cli
