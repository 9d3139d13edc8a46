// Profiles: isolated runs with a limit on the blocks per SM. Runs are kept like baselines (isolated.cpp), in
// small files named after a hash of everything that determines them.
#include "experiment/profile.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
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

namespace gpumux::experiment {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using policy::AppProfile;
using policy::KernelProfile;
using policy::ProfilePoint;
using policy::ProfileRequest;
constexpr const char* kPointSchema = "gpumux.profile-point/1";
constexpr const char* kFileSchema = "gpumux.profile/1";

/// Speeds from one isolated run.
struct Point {
  struct Kernel {
    ProfilePoint speed;
    std::uint32_t most = 0;  // blocks that fit an SM
  };
  std::map<std::string, Kernel> kernels;
  ProfilePoint whole;
};

/// Sums over the launches of a kernel.
struct Sum {
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  Cycle cycles = 0;
  std::uint32_t most = 0;
};
using Sums = std::map<std::string, Sum>;

/// Gives all SMs to a single application, with at most `cap` blocks of a kernel per SM.
class Alone final : public policy::Policy {
 public:
  Alone(std::uint32_t cap, Sums& sums) : cap_(cap), sums_(sums) {}

  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      control.sm(sm).limit_blocks(kernel.slot, std::max(cap_, needed(control, kernel)));
    std::vector<arch::KernelSlot> order;
    for (const policy::RunningKernel& running : control.kernels()) order.push_back(running.slot);
    control.set_dispatch_order(order);
  }
  void kernel_ended(policy::Control& control, const policy::RunningKernel& kernel) override {
    add(control, kernel);
  }
  [[nodiscard]] policy::Report report(const policy::Probes& control) const override {
    for (const policy::RunningKernel& kernel : control.kernels()) add(control, kernel);
    return {};
  }

 private:
  /// Blocks per SM that a cooperative grid needs to be resident as a whole; 0 for other kernels.
  [[nodiscard]] static std::uint32_t needed(const policy::View& view, const policy::RunningKernel& kernel) {
    const std::uint64_t sms = view.config().sms;
    return kernel.cooperative ? static_cast<std::uint32_t>((kernel.blocks_total + sms - 1) / sms) : 0;
  }
  void add(const policy::Probes& control, const policy::RunningKernel& kernel) const {
    if (kernel.first_block_cycle >= control.now() || needed(control, kernel) > cap_) return;
    Sum& sum = sums_[kernel.name];
    sum.cycles += control.now() - kernel.first_block_cycle;
    sum.most = kernel.max_blocks_per_sm;
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      const arch::KernelCounters& counters = control.sm(sm).counters(kernel.slot);
      sum.warp_instructions += counters.warp_instructions;
      sum.thread_instructions += counters.thread_instructions;
    }
  }

  std::uint32_t cap_;
  Sums& sums_;
};

ProfilePoint speed(std::uint64_t warp, std::uint64_t thread, Cycle cycles, std::uint32_t sms) {
  const double sm_cycles = static_cast<double>(cycles) * sms;
  return {static_cast<double>(warp) / sm_cycles, static_cast<double>(thread) / sm_cycles};
}

Point simulate_point(const RunSpec& alone, std::uint32_t cap) {
  Sums sums;
  const RunResult result = simulate_under(alone, std::make_unique<Alone>(cap, sums));
  Point point;
  const std::uint32_t sms = alone.machine.sms;
  for (const auto& [name, sum] : sums) {
    point.kernels[name] = {speed(sum.warp_instructions, sum.thread_instructions, sum.cycles, sms), sum.most};
  }
  point.whole = speed(result.gpu.warp_instructions, result.gpu.thread_instructions, result.cycles, sms);
  return point;
}

std::string acting(const RunSpec& spec) { return arch::acting_toml(effective_machine(spec)); }

std::string point_key(const RunSpec& alone, std::uint32_t cap) {
  ContentHash hash;
  hash.add(kPointSchema);
  hash.add(embedded::simulator_sources);
  hash.add(acting(alone));
  hash.add(alone.apps.front().identity);
  hash.add(alone.seed);
  hash.add(alone.cycles);
  hash.add(cap);
  return hash.hex();
}

ordered_json speed_json(const ProfilePoint& point) { return {point.warp_ipc, point.thread_ipc}; }

/// Reads a speed. Throws json::exception if the value is not a speed.
ProfilePoint read_speed(const json& from) {
  const ProfilePoint point{from.at(0).get<double>(), from.at(1).get<double>()};
  for (const double value : {point.warp_ipc, point.thread_ipc})
    if (!std::isfinite(value) || value < 0) throw json::other_error::create(500, "no speed", nullptr);
  return point;
}

std::optional<Point> read_point(const std::string& path, const std::string& key) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    const json entry = json::parse(read_file(path));
    if (entry.at("schema") != kPointSchema || entry.at("key") != key) return std::nullopt;
    Point point;
    point.whole = read_speed(entry.at("whole"));
    for (const auto& [name, kernel] : entry.at("kernels").items())
      point.kernels[name] = {read_speed(kernel.at("speed")), kernel.at("most").get<std::uint32_t>()};
    return point;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Writes an entry. Errors are ignored, because a cache that cannot be written costs time but changes no
/// result.
void write_point(const std::string& path, const std::string& key, const RunSpec& alone, std::uint32_t cap,
                 const Point& point) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return;
  ordered_json kernels = ordered_json::object();
  for (const auto& [name, kernel] : point.kernels)
    kernels[name] = {{"speed", speed_json(kernel.speed)}, {"most", kernel.most}};
  const ordered_json entry = {
      {"schema", kPointSchema},
      {"key", key},
      {"machine", alone.machine.name},
      {"app", alone.apps.front().text},
      {"cycles", alone.cycles},
      {"seed", alone.seed},
      {"most_blocks_per_sm", cap == policy::kUnlimited ? ordered_json(nullptr) : ordered_json(cap)},
      {"whole", speed_json(point.whole)},
      {"kernels", std::move(kernels)}};
  try {
    write_file_atomically(path, dump_json(entry, 2) + "\n");
  } catch (const UserError&) {
  }
}

Point point_of(const RunSpec& alone, std::uint32_t cap, const std::string& cache_folder) {
  if (cache_folder.empty() || alone.apps.front().live) return simulate_point(alone, cap);
  const std::string key = point_key(alone, cap);
  const std::string path = cache_path(cache_folder, kProfileKind, key);
  if (std::optional<Point> known = read_point(path, key)) {
    mark_used(path);
    return std::move(*known);
  }
  Point point = simulate_point(alone, cap);
  write_point(path, key, alone, cap, point);
  return point;
}

AppProfile profile_of(const RunSpec& alone, ProfileRequest::Depth depth, const std::string& cache_folder) {
  const Point full = point_of(alone, policy::kUnlimited, cache_folder);
  std::uint32_t most = 0;
  for (const auto& [name, kernel] : full.kernels) most = std::max(most, kernel.most);
  std::vector<Point> points;  // with 1, 2... blocks per SM
  for (std::uint32_t cap = 1; depth == ProfileRequest::Depth::Curve && cap < most; ++cap)
    points.push_back(point_of(alone, cap, cache_folder));
  points.push_back(full);

  AppProfile profile;
  for (const Point& point : points) profile.whole.points.push_back(point.whole);
  for (const auto& [name, kernel] : full.kernels) {
    KernelProfile& curve = profile.kernels.emplace_back();
    curve.kernel = name;
    // From the kernel's occupancy on, a limit of blocks changes nothing, so the run without limit is the last
    // point.
    for (std::uint32_t t = 1; points.size() > 1 && t < kernel.most; ++t) {
      const auto found = points[t - 1].kernels.find(name);
      // The kernel may not start in a run with fewer blocks, because such a run is slower.
      curve.points.push_back(found == points[t - 1].kernels.end() ? ProfilePoint{} : found->second.speed);
    }
    curve.points.push_back(kernel.speed);
  }
  return profile;
}

std::string machine_text(const RunSpec& spec) {
  ContentHash hash;
  hash.add(acting(spec));
  return hash.hex();
}

std::string app_text(const AppSpec& app) {
  ContentHash hash;
  hash.add(app.identity);
  return hash.hex();
}

ordered_json points_json(const KernelProfile& profile) {
  ordered_json points = ordered_json::array();
  for (const ProfilePoint& point : profile.points) points.push_back(speed_json(point));
  return points;
}

std::vector<ProfilePoint> read_points(const json& from) {
  std::vector<ProfilePoint> points;
  for (const json& point : from) points.push_back(read_speed(point));
  if (points.empty()) throw json::other_error::create(500, "no points", nullptr);
  return points;
}

std::vector<AppProfile> read_profiles(const RunSpec& spec, const std::string& path) {
  const SourceLocation where{path};
  const std::string text = read_file(path);
  try {
    const json document = json::parse(text);
    if (document.at("schema") != kFileSchema) throw json::other_error::create(500, "schema", nullptr);
    if (document.at("machine_hash") != machine_text(spec)) {
      throw UserError(where, fmt::format("is a profile of another machine ({}, or with other settings); make "
                                         "one for this machine with gpumux profile",
                                         document.at("machine").get<std::string>()));
    }
    std::vector<AppProfile> profiles;
    for (const AppSpec& app : spec.apps) {
      const json& apps = document.at("apps");
      const auto found = std::find_if(
          apps.begin(), apps.end(), [&](const json& entry) { return entry.at("identity") == app_text(app); });
      if (found == apps.end()) {
        throw UserError(where, fmt::format("has no profile of {}; make one of all applications of the run "
                                           "with gpumux profile",
                                           app.text));
      }
      AppProfile& profile = profiles.emplace_back();
      profile.whole.points = read_points(found->at("whole"));
      for (const json& kernel : found->at("kernels"))
        profile.kernels.push_back({kernel.at("kernel").get<std::string>(), read_points(kernel.at("points"))});
    }
    return profiles;
  } catch (const json::exception&) {
    throw UserError(where, "is no profile; gpumux profile writes them");
  }
}

}  // namespace

std::vector<policy::AppProfile> profiles(const RunSpec& spec, const policy::ProfileRequest& request,
                                         const std::string& cache_folder) {
  if (!request.file.empty()) return read_profiles(spec, request.file);
  std::vector<AppProfile> all;
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    RunSpec alone = isolated_run(spec, i);
    alone.apps.front() = alone.apps.front().without_arrivals();
    alone.cycles = request.cycles;
    all.push_back(profile_of(alone, request.depth, cache_folder));
  }
  return all;
}

std::string profile_document(const RunSpec& spec, Cycle cycles,
                             const std::vector<policy::AppProfile>& profiles) {
  ordered_json apps = ordered_json::array();
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    ordered_json kernels = ordered_json::array();
    for (const KernelProfile& kernel : profiles[i].kernels)
      kernels.push_back({{"kernel", kernel.kernel}, {"points", points_json(kernel)}});
    apps.push_back({{"app", spec.apps[i].text},
                    {"identity", app_text(spec.apps[i])},
                    {"seed", spec.seed},
                    {"whole", points_json(profiles[i].whole)},
                    {"kernels", std::move(kernels)}});
  }
  const ordered_json document = {{"schema", kFileSchema},
                                 {"machine", spec.machine.name},
                                 {"machine_hash", machine_text(spec)},
                                 {"cycles", cycles},
                                 {"columns", {"warp_ipc_per_sm", "thread_ipc_per_sm"}},
                                 {"apps", std::move(apps)}};
  return dump_json(document, 2) + "\n";
}

}  // namespace gpumux::experiment
