// Isolated baselines, kept in a folder of small files named after the content of everything that determines
// them, so that an entry is never stale: another simulator, machine, input or limit has another name.
#include <cmath>
#include <filesystem>
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
constexpr const char* kSchema = "gpumux.isolated/1";
constexpr const char* kPolicy = "leftover";

std::string cache_key(const RunSpec& spec) {
  ContentHash hash;
  hash.add(kSchema);
  hash.add(embedded::simulator_sources);  // another simulator may find another figure
  hash.add(policy_sources(kPolicy));
  hash.add(arch::acting_toml(spec.machine));
  hash.add(spec.apps.front().identity);
  hash.add(spec.policy.warps);
  hash.add(spec.seed);
  hash.add(spec.cycles);
  if (spec.instructions != 0) hash.add(spec.instructions);
  return hash.hex();
}

/// Nothing when there is no entry, or one that cannot be what was written.
std::optional<double> read_entry(const std::string& path, const std::string& key) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    const nlohmann::json entry = nlohmann::json::parse(read_file(path));
    if (entry.at("schema") != kSchema || entry.at("key") != key) return std::nullopt;
    const double ipc = entry.at("ipc").get<double>();
    return std::isfinite(ipc) && ipc >= 0 ? std::optional<double>(ipc) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// A cache that cannot be written costs time, never a result.
void write_entry(const std::string& path, const std::string& key, const RunSpec& spec, double ipc) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return;
  const nlohmann::ordered_json entry = {{"schema", kSchema},
                                        {"key", key},
                                        {"machine", spec.machine.name},
                                        {"app", spec.apps.front().text},
                                        {"cycles", spec.cycles},
                                        {"seed", spec.seed},
                                        {"ipc", ipc}};
  try {
    write_file_atomically(path, dump_json(entry, 2) + "\n");
  } catch (const UserError&) {
  }
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

AppSpec AppSpec::without_arrivals() const {
  AppSpec app = *this;
  app.arrivals = {};
  app.identity.resize(identity.size() - arrivals.identity().size());
  return app;
}

RunSpec isolated_run(const RunSpec& spec, std::size_t index) {
  RunSpec isolated = spec;
  isolated.apps = {spec.apps[index].aside()};
  const std::string& warps = spec.policy.warps;
  isolated.policy =
      policy::parse_choice(warps.empty() ? kPolicy : fmt::format("{},warps={}", kPolicy, warps));
  isolated.verify = false;
  isolated.series = 0;
  isolated.timeline = false;
  isolated.observers.clear();
  isolated.device_output = false;  // printed once, by the shared run, whether or not the cache knows this one
  return isolated;
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
    const std::string key = cache_folder.empty() ? "" : cache_key(isolated);
    const std::string path = cache_path(cache_folder, kIsolatedKind, key);
    std::optional<double> ipc;
    if (!cache_folder.empty()) ipc = read_entry(path, key);
    if (ipc) mark_used(path);
    if (!ipc) {
      ipc = simulate(isolated).apps.front().ipc();
      if (!cache_folder.empty()) write_entry(path, key, isolated, *ipc);
    }
    ipcs.push_back(*ipc);
  }
  return ipcs;
}

}  // namespace gpumux::experiment
