#include "experiment/cpus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "cpu/trace/applications.hpp"
#include "cpu/trace/file_trace.hpp"
#include "experiment/run.hpp"
#include "machine/gpu.hpp"

namespace gpumux::experiment {

namespace {

CpuProgram file_program(const std::string& name, const std::string& folder) {
  const bool moved = !folder.empty() && !name.starts_with('/');
  const std::string path = moved ? (std::filesystem::path(folder) / name).string() : name;
  ContentHash hash;
  hash.add(read_file(path));
  return {name, "file " + hash.hex(), [path](std::uint64_t /*seed*/, std::uint32_t /*core*/) {
            return std::unique_ptr<cpu::TraceSource>(std::make_unique<cpu::FileTrace>(path));
          }};
}

CpuProgram application(const cpu::CpuApplication& application) {
  const std::string name(application.name);
  return {name, "generated " + name, [application](std::uint64_t seed, std::uint32_t core) {
            return cpu::generated_trace(application, seed, core);
          }};
}

/// The programs that one item of the list stands for: one program, or those of a mix.
std::vector<CpuProgram> programs_of(const std::string& item, const std::string& folder) {
  if (item == "-") return {CpuProgram{}};
  if (item.find_first_of("./") != std::string::npos) return {file_program(item, folder)};
  for (const cpu::CpuMix& mix : cpu::cpu_mixes()) {
    if (mix.name != item) continue;
    std::vector<CpuProgram> all;
    for (const std::string_view name : mix.applications)
      all.push_back(application(cpu::cpu_application(name)));
    return all;
  }
  for (const cpu::CpuApplication& known : cpu::cpu_applications())
    if (known.name == item) return {application(known)};
  std::string mixes, names;
  for (const cpu::CpuMix& mix : cpu::cpu_mixes())
    mixes += fmt::format("{}{}", mixes.empty() ? "" : ", ", mix.name);
  for (const cpu::CpuApplication& known : cpu::cpu_applications())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  throw UserError(fmt::format("CPU program '{}' is no mix ({}), no application ({}) and no path of a trace",
                              item, mixes, names));
}

}  // namespace

std::vector<CpuProgram> parse_cpus(std::string_view text, std::uint32_t cores, const std::string& folder) {
  std::vector<CpuProgram> all;
  for (const std::string& part : split(text, ',')) {
    std::string item = part;
    std::uint64_t times = 1;
    if (const std::size_t star = part.rfind('*'); star != std::string::npos) {
      const std::optional<std::uint64_t> count = parse_count(part.substr(star + 1));
      if (!count || *count == 0)
        throw UserError(fmt::format("CPU program '{}' must end in a number of cores, such as mcf*14", part));
      times = *count;
      item = part.substr(0, star);
    }
    std::vector<CpuProgram> programs = programs_of(item, folder);
    const bool is_mix = programs.size() > 1;
    if (is_mix && all.size() < cores)
      programs.resize(std::min<std::size_t>(programs.size(), cores - all.size()));
    if (times > cores || all.size() + programs.size() * times > cores) {
      throw UserError(
          fmt::format("CPU programs '{}': more than the machine's CPU cores, cpus = {}", text, cores));
    }
    for (std::uint64_t i = 0; i < times; ++i) all.insert(all.end(), programs.begin(), programs.end());
  }
  if (std::all_of(all.begin(), all.end(), [](const CpuProgram& one) { return one.name.empty(); }))
    throw UserError(fmt::format("CPU programs '{}': no core has one", text));
  return all;
}

void CpuWaits::subtract(const CpuWaits& earlier) {
  requests -= earlier.requests;
  among.subtract(earlier.among);
  for (std::size_t app = 0; app < of_app.size(); ++app) {
    of_app[app].subtract(earlier.of_app[app]);
    for_app[app].subtract(earlier.for_app[app]);
  }
}

std::vector<std::uint32_t> cores_with_program(const std::vector<CpuProgram>& cpus) {
  std::vector<std::uint32_t> cores;
  for (std::uint32_t i = 0; i < cpus.size(); ++i)
    if (cpus[i].create) cores.push_back(i);
  return cores;
}

std::optional<double> CpuResult::l2_mpki() const {
  if (counters.instructions == 0) return std::nullopt;
  return 1000 * static_cast<double>(counters.l2_misses) / static_cast<double>(counters.instructions);
}

std::optional<double> CpuResult::memory_latency() const {
  if (counters.replies == 0) return std::nullopt;
  return static_cast<double>(counters.memory_latency) / static_cast<double>(counters.replies);
}

CpuRun::CpuRun(machine::Gpu& gpu, const std::vector<CpuProgram>& programs, const CpuSpan& span)
    : gpu_(gpu), span_(span) {
  for (std::uint32_t i = 0; i < programs.size(); ++i)
    if (gpu.cpu(i) != nullptr) cores_.push_back({i, programs[i].name, {}, {}, 0, 0});
}

bool CpuRun::warm() const {
  return std::all_of(cores_.begin(), cores_.end(), [this](const Core& core) {
    return gpu_.cpu(core.index)->core().counters().instructions >= span_.warm_up;
  });
}

void CpuRun::begin() {
  for (Core& core : cores_) {
    cpu::Core& of_node = gpu_.cpu(core.index)->core();
    core.begin = of_node.counters();
    core.memory_begin = gpu_.memory_counters(machine::cpu_app(core.index));
    of_node.watch(core.begin.instructions + span_.instructions);
  }
}

bool CpuRun::done() const {
  return std::all_of(cores_.begin(), cores_.end(),
                     [this](const Core& core) { return gpu_.cpu(core.index)->core().watched().has_value(); });
}

void CpuRun::expect_progress() {
  for (Core& core : cores_) {
    const std::uint64_t executed = gpu_.cpu(core.index)->core().counters().instructions;
    if (executed != core.seen_instructions) {
      core.seen_instructions = executed;
      core.seen = gpu_.now();
    } else if (gpu_.now() - core.seen > gpu_.config().watchdog_cycles) {
      throw SimulationFault(fmt::format(
          "error: watchdog: CPU core {} ({}) has executed nothing since cycle {} (now {})\n{}", core.index,
          core.program, core.seen, gpu_.now(), gpu_.cpu(core.index)->describe_waits()));
    }
  }
}

std::uint64_t CpuRun::requests() const {
  std::uint64_t sum = 0;
  for (const Core& core : cores_) sum += gpu_.cpu(core.index)->requests_sent();
  return sum;
}

std::vector<CpuResult> CpuRun::results() const {
  std::vector<CpuResult> all;
  for (const Core& core : cores_) {
    const cpu::Core& of_node = gpu_.cpu(core.index)->core();
    CpuResult& result = all.emplace_back();
    result.core = core.index;
    result.program = core.program;
    result.counters = of_node.watched().value_or(of_node.counters()) - core.begin;
    result.memory_counters = gpu_.memory_counters(machine::cpu_app(core.index));
    result.memory_counters.subtract(core.memory_begin);
  }
  return all;
}

CpuMetrics cpu_metrics(const std::vector<CpuResult>& shared, const std::vector<double>& alone) {
  GPUMUX_CHECK(shared.size() == alone.size());
  CpuMetrics metrics;
  metrics.alone = alone;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const double normalized = alone[i] > 0 ? shared[i].ipc() / alone[i] : 0;
    metrics.normalized_ipc.push_back(normalized);
    metrics.weighted_speedup += normalized;
  }
  return metrics;
}

}  // namespace gpumux::experiment
