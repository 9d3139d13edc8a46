// Isolated baselines, kept in a folder of small files. A file's name is a hash of everything that determines
// the baseline, so an entry is never stale: a different simulator, machine, input or limit gives a different
// name.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "arch/config_file.hpp"
#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "embedded/sources.hpp"
#include "experiment/cache.hpp"
#include "experiment/run.hpp"
#include "experiment/sources.hpp"

namespace gpumux::experiment {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSchema = "gpumux.isolated/2";
constexpr const char* kPolicy = "leftover";

std::string cache_key(const RunSpec& spec) {
  ContentHash hash;
  hash.add(kSchema);
  hash.add(embedded::simulator_sources);  // another simulator may compute another value
  hash.add(policy_sources(kPolicy));
  hash.add(arch::acting_toml(spec.machine));
  if (!spec.apps.empty()) hash.add(spec.apps.front().identity);
  for (const CpuProgram& program : spec.cpus) hash.add(program.identity);
  if (!spec.cpus.empty()) {
    hash.add(spec.cpu_span.warm_up);
    hash.add(spec.cpu_span.instructions);
  }
  hash.add(spec.policy.warps);
  hash.add(spec.seed);
  hash.add(spec.cycles);
  if (spec.instructions != 0) hash.add(spec.instructions);
  return hash.hex();
}

/// Reads an entry of the cache; nothing if there is none, or its content is not valid.
std::optional<Alone> read_entry(const std::string& path, const std::string& key) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    const nlohmann::json entry = nlohmann::json::parse(read_file(path));
    if (entry.at("schema") != kSchema || entry.at("key") != key) return std::nullopt;
    const Alone alone{entry.at("ipc").get<double>(), entry.at("kernel_share").get<double>(),
                      entry.at("instructions").get<double>()};
    const bool possible = std::isfinite(alone.ipc) && alone.ipc >= 0 && alone.kernel_share >= 0 &&
                          alone.kernel_share <= 1 && alone.instructions >= 0;
    return possible ? std::optional<Alone>(alone) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Measures how many cycles an application that runs alone had a kernel, until the kernel's last block ended.
class KernelTime final : public policy::Observer {
 public:
  void kernel_arrived(const policy::View&, const policy::RunningKernel& kernel,
                      const policy::Launch&) override {
    if (kernels_++ == 0) since_ = kernel.arrival_cycle;
  }
  void block_ended(const policy::View&, const policy::RunningKernel&, const policy::BlockPlace&,
                   Cycle at) override {
    last_ = std::max(last_, at);
  }
  void kernel_ended(const policy::View&, const policy::RunningKernel&) override {
    if (--kernels_ == 0) cycles_ += std::max(last_, since_) - since_;  // killed: maybe no ended block
  }
  void run_ended(const policy::Probes& probes) override {
    if (kernels_ > 0) cycles_ += probes.now() - since_;
  }
  [[nodiscard]] Cycle cycles() const { return cycles_; }

 private:
  std::uint32_t kernels_ = 0;
  Cycle since_ = 0, last_ = 0, cycles_ = 0;
};

/// Writes an entry. Errors are ignored, because a cache that cannot be written costs time but changes no
/// result.
void write_entry(const std::string& path, const std::string& key, const RunSpec& spec, const Alone& alone) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return;
  const nlohmann::ordered_json entry = {
      {"schema", kSchema},
      {"key", key},
      {"machine", spec.machine.name},
      {"app", spec.apps.empty() ? spec.cpus.back().name : spec.apps.front().text},
      {"cycles", spec.cycles},
      {"seed", spec.seed},
      {"ipc", alone.ipc},
      {"kernel_share", alone.kernel_share},
      {"instructions", alone.instructions}};
  try {
    write_file_atomically(path, dump_json(entry, 2) + "\n");
  } catch (const UserError&) {
  }
}

Alone of_app(const RunResult& result, Cycle kernel_cycles) {
  const AppResult& app = result.apps.front();
  const double share = static_cast<double>(kernel_cycles) / static_cast<double>(result.cycles);
  return {app.ipc(), std::min(share, 1.0), static_cast<double>(app.counters.useful_instructions())};
}
Alone of_cpu(const RunResult& result) {
  const CpuResult& cpu = result.cpus.front();
  return {cpu.ipc(), 0, static_cast<double>(cpu.counters.instructions)};
}

}  // namespace

AppSpec AppSpec::aside() const {
  AppSpec app = *this;
  if (create_aside) app.create = create_aside;
  return app;
}

void AppSpec::use(const ArrivalSpec& spec) {
  arrivals = spec;
  identity += spec.identity();
}

void AppSpec::give_goal(const GoalSpec& goal) {
  if (arrivals.goal) throw UserError(fmt::format("{} has a goal of its own; give one", text));
  arrivals.goal = goal;
  std::string& beside = arrivals.beside_text;
  beside += fmt::format("{}goal={}", beside.empty() ? "" : ",", goal.text);
  text += fmt::format("{}goal={}", text.find(':') == std::string::npos ? ':' : ',', goal.text);
}

AppSpec AppSpec::without_arrivals() const {
  AppSpec app = *this;
  app.arrivals = {};
  app.identity.resize(identity.size() - arrivals.identity().size());
  return app;
}

RunSpec isolated_run(const RunSpec& spec, std::size_t index) {
  RunSpec isolated = spec;
  isolated.apps = {spec.apps[index].aside()};
  isolated.cpus.clear();
  // Beside CPU cores, a limit of warps counts as part of the sharing scheme, like DYNCTA (kayiran14, section
  // 5).
  const bool limits = !spec.cpus.empty() && spec.policy.warps.starts_with("swl");
  const std::string warps = limits ? "" : spec.policy.warps;
  isolated.policy =
      policy::parse_choice(warps.empty() ? kPolicy : fmt::format("{},warps={}", kPolicy, warps));
  isolated.verify = false;
  isolated.series = 0;
  isolated.timeline = false;
  isolated.ledger = false;
  isolated.viewed.clear();
  isolated.observers.clear();
  ArrivalSpec& arrivals = isolated.apps.front().arrivals;
  arrivals.goal.reset();
  arrivals.priority = 0;
  arrivals.beside_text =
      arrivals.deadline && !arrivals.kills_late
          ? fmt::format("deadline={}{}", arrivals.deadline->amount, arrivals.deadline->unit)
          : "";
  isolated.device_output = false;  // the shared run prints it, once
  return isolated;
}

Alone run_alone(const RunSpec& spec, const std::string& cache_folder) {
  if (!cache_folder.empty() && !spec.apps.empty() && spec.apps.front().live) return run_alone(spec, "");
  const std::string key = cache_folder.empty() ? "" : cache_key(spec);
  const std::string path = cache_path(cache_folder, kIsolatedKind, key);
  if (!cache_folder.empty()) {
    if (const std::optional<Alone> known = read_entry(path, key)) {
      mark_used(path);
      return *known;
    }
  }
  RunSpec watched = spec;
  const auto time = std::make_shared<KernelTime>();
  watched.observers = {time};
  const RunResult result = simulate(watched);
  const Alone alone = spec.apps.empty() ? of_cpu(result) : of_app(result, time->cycles());
  if (!cache_folder.empty()) write_entry(path, key, spec, alone);
  return alone;
}

std::vector<double> isolated_ipcs(const RunSpec& spec, const std::string& cache_folder,
                                  const ProgressOf& progress) {
  std::vector<double> ipcs;
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    const ArrivalSpec& arrivals = spec.apps[i].arrivals;
    if (spec.cycles == 0 && spec.instructions == 0 && (arrivals.requests() || arrivals.at))
      throw UserError(
          fmt::format("app {}: its runs arrive at times of their own, so its IPC depends on how long is "
                      "simulated: give --cycles or --instructions, or --baseline off",
                      spec.apps[i].text));
    const auto same = [&](std::size_t earlier) {
      return spec.apps[earlier].identity == spec.apps[i].identity;
    };
    std::size_t first = 0;
    while (!same(first)) ++first;
    if (first < i) {
      ipcs.push_back(ipcs[first]);
      continue;
    }
    RunSpec isolated = isolated_run(spec, i);
    if (progress) isolated.progress = progress(spec.apps[i].text);
    ipcs.push_back(run_alone(isolated, cache_folder).ipc);
  }
  return ipcs;
}

RunSpec isolated_cpu_run(const RunSpec& spec, std::size_t core) {
  RunSpec isolated = spec;
  isolated.apps.clear();
  isolated.alpha = 0.5;
  isolated.cpus.assign(core + 1, {});
  isolated.cpus[core] = spec.cpus[core];
  isolated.policy = policy::parse_choice(kPolicy);
  isolated.cycles = isolated.instructions = 0;
  isolated.verify = false;
  isolated.series = 0;
  isolated.timeline = false;
  isolated.ledger = false;
  isolated.viewed.clear();
  isolated.observers.clear();
  return isolated;
}

std::vector<double> isolated_cpu_ipcs(const RunSpec& spec, const std::string& cache_folder,
                                      const ProgressOf& progress) {
  std::vector<double> ipcs;
  std::map<std::string, double> known;  // by identity of the program
  for (const std::uint32_t core : cores_with_program(spec.cpus)) {
    const CpuProgram& program = spec.cpus[core];
    const auto [found, missing] = known.try_emplace(program.identity, 0.0);
    if (missing) {
      RunSpec isolated = isolated_cpu_run(spec, core);
      isolated.progress = progress ? progress(program.name) : std::function<void(Cycle)>();
      found->second = run_alone(isolated, cache_folder).ipc;
    }
    ipcs.push_back(found->second);
  }
  return ipcs;
}

}  // namespace gpumux::experiment
