// gpumux list machines|policies|apps|experiments [NAME] [--class CLASS] [--json|--toml]
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "arch/config_file.hpp"
#include "arch/warp_scheduler.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "database/workload_class.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/memory_scheme.hpp"
#include "policy/policy.hpp"
#include "reproduce/library.hpp"
#include "runtime/application.hpp"
#include "sweep/expand.hpp"
#include "terminal.hpp"
#include "usual_runs.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

ordered_json machines_json() {
  ordered_json list = ordered_json::array();
  for (const std::string& name : arch::machine_names()) {
    const arch::MachineConfig m = arch::load_machine(name);
    list.push_back(
        {{"name", name},
         {"description", m.description},
         {"source", m.source},
         {"variant_of", m.variant_of},
         {"sms", m.sms},
         {"core_mhz", m.clocks.core},
         {"threads_per_sm", m.sm.max_threads},
         {"l1_bytes", m.l1.bytes},
         {"l2_bytes", std::uint64_t{m.l2.partitions} * m.l2.slices_per_partition * m.l2.slice_bytes},
         {"dram_bytes_per_second", m.dram_peak_bytes_per_second()}});
  }
  return list;
}

ordered_json policies_json() {
  ordered_json list = ordered_json::array();
  for (const policy::PolicyInfo& info : policy::policies()) {
    ordered_json settings = ordered_json::object();
    for (const auto& [key, description] : info.settings) settings[key] = description;
    list.push_back({{"name", info.name}, {"description", info.description}, {"settings", settings}});
  }
  return list;
}

ordered_json memory_schemes_json() {
  ordered_json list = ordered_json::array();
  for (const policy::MemorySchemeInfo& info : policy::memory_schemes()) {
    ordered_json settings = ordered_json::object();
    if (const std::string& key = info.per_app.key; !key.empty())
      settings[fmt::format("{0}0, {0}1, ...", key)] = info.per_app.description;
    for (const policy::MemorySetting& setting : info.settings) settings[setting.key] = setting.description;
    list.push_back({{"name", info.name}, {"description", info.description}, {"settings", settings}});
  }
  return list;
}

template <typename Info>
ordered_json level_json(const std::vector<Info>& infos) {
  ordered_json list = ordered_json::array();
  for (const Info& info : infos)
    list.push_back({{"name", info.name},
                    {"description", info.description},
                    {"argument", info.argument},
                    {"example", info.example}});
  return list;
}

ordered_json block_schedulers_json() { return level_json(policy::block_schedulers()); }
ordered_json core_controls_json() { return level_json(policy::core_controls()); }
ordered_json concurrency_controls_json() { return level_json(policy::concurrency_controls()); }

/// The usual run of an application; null if it was not measured.
ordered_json usual_run_json(const std::string& app) {
  const std::optional<UsualRun> run = usual_run(app);
  if (!run) return nullptr;
  return {{"machine", run->machine},
          {"cycles", run->cycles},
          {"warp_instructions", run->warp_instructions},
          {"seconds", run->seconds},
          {"lsu_stall_share", run->lsu_stall_share},
          {"ends", run->ends}};
}

/// The application's class in its usual run; empty if it was not measured.
std::string class_of(const std::string& app) {
  const std::optional<UsualRun> run = usual_run(app);
  if (!run) return "";
  return database::application_class(run->lsu_stall_share, 1) == 'M' ? "memory" : "compute";
}

ordered_json apps_json() {
  ordered_json list = ordered_json::array();
  for (const runtime::AppInfo& info : runtime::apps()) {
    ordered_json params = ordered_json::array();
    runtime::AppParams defaults;
    for (const runtime::AppParamInfo& param : info.params) {
      defaults[param.name] = param.default_value;
      params.push_back({{"name", param.name},
                        {"default", param.default_value},
                        {"minimum", param.minimum},
                        {"maximum", param.maximum},
                        {"description", param.description}});
    }
    ordered_json kernels = ordered_json::array();
    for (const runtime::AppInfo::KernelShape& shape : info.shapes(defaults)) {
      kernels.push_back({{"kernel", shape.kernel},
                         {"grid", {shape.grid.x, shape.grid.y, shape.grid.z}},
                         {"block", {shape.block.x, shape.block.y, shape.block.z}},
                         {"dynamic_shared_bytes", shape.dynamic_shared_bytes}});
    }
    list.push_back({{"name", info.name},
                    {"class", class_of(info.name)},
                    {"description", info.description},
                    {"ptx", info.ptx_file},
                    {"parameters", params},
                    {"kernels", kernels},
                    {"usual_run", usual_run_json(info.name)}});
  }
  return list;
}

ordered_json experiments_json() {
  ordered_json list = ordered_json::array();
  for (const std::string& id : reproduce::experiment_ids()) {
    const reproduce::Experiment experiment = reproduce::builtin_experiment(id);
    ordered_json scales = ordered_json::object();
    for (const auto& [scale, file] : experiment.scales) {
      const sweep::SweepPlan plan = sweep::expand(file);
      const std::optional<reproduce::UsualTime> time = reproduce::usual_time(id, scale);
      scales[scale] = {{"runs", plan.runs.size()},
                       {"cycles", file.cycles == 0 ? ordered_json(nullptr) : ordered_json(file.cycles)},
                       {"usual_seconds", time && time->runs == plan.runs.size() ? ordered_json(time->seconds)
                                                                                : ordered_json(nullptr)}};
    }
    list.push_back(
        {{"name", id},
         {"title", experiment.title},
         {"paper", experiment.paper ? ordered_json(experiment.paper->paper) : ordered_json(nullptr)},
         {"quantities", experiment.quantities.size()},
         {"claims", experiment.claims.size()},
         {"trends", experiment.trends.size()},
         {"scales", std::move(scales)}});
  }
  return list;
}

std::string dimensions(const ordered_json& d) {
  std::string out = fmt::format("{}", d[0].get<std::uint32_t>());
  const bool z = d[2].get<std::uint32_t>() != 1;
  if (z || d[1].get<std::uint32_t>() != 1) out += fmt::format("x{}", d[1].get<std::uint32_t>());
  if (z) out += fmt::format("x{}", d[2].get<std::uint32_t>());
  return out;
}

void print_machines(const ordered_json& list) {
  for (const ordered_json& m : list) {
    fmt::print("{:<20} {}\n", m["name"].get<std::string>(), m["description"].get<std::string>());
    fmt::print("{:<20}   from {}\n", "", m["source"].get<std::string>());
  }
}

void print_policies(const ordered_json& list) {
  for (const ordered_json& p : list) {
    fmt::print("{:<12} {}\n", p["name"].get<std::string>(), p["description"].get<std::string>());
    for (const auto& [key, description] : p["settings"].items()) {
      fmt::print("{:<12}   :{}=  {}\n", "", key, description.get<std::string>());
    }
  }
}

/// Prints the settings that every policy takes in addition to its own.
void print_levels() {
  fmt::print("{:<12} take ,warps={}, the warp scheduler instead of the machine's,\n", "all",
             arch::warps_choices());
  fmt::print("{:<12} ,blocks=SCHEDULER, how thread blocks are dispatched to SMs,\n", "");
  fmt::print("{:<12} ,cores=CONTROL, how many SMs serve (all where none is given),\n", "");
  fmt::print("{:<12} ,concurrency=CONTROL, how many warps of an SM may issue (all where none is given),\n",
             "");
  fmt::print("{:<12} {}\n", "",
             "and ,memory=SCHEME with its settings behind it; `even-smil:k0=3` is even,memory=smil,k0=3");
  const auto print_level = [](const char* level, const ordered_json& list) {
    for (const ordered_json& s : list) {
      const auto argument = s["argument"].get<std::string>();
      const auto example = s["example"].get<std::string>();
      const std::string name = s["name"].get<std::string>() + (example.empty() ? "" : ":" + example);
      fmt::print("  {:<12} {}\n", fmt::format("{}={}", level, name), s["description"].get<std::string>());
      if (!argument.empty()) fmt::print("  {:<12}   {}\n", "", argument);
    }
  };
  print_level("blocks", block_schedulers_json());
  print_level("cores", core_controls_json());
  print_level("concurrency", concurrency_controls_json());
  for (const ordered_json& s : memory_schemes_json()) {
    fmt::print("  {:<12} {}\n", s["name"].get<std::string>(), s["description"].get<std::string>());
    for (const auto& [key, description] : s["settings"].items())
      fmt::print("  {:<12}   ,{}=  {}\n", "", key, description.get<std::string>());
  }
}

/// Prints one line per application.
void print_apps(const ordered_json& list) {
  std::size_t names = 0;
  for (const ordered_json& app : list) names = std::max(names, app["name"].get<std::string>().size());
  const std::optional<std::size_t> width = terminal_width(STDOUT_FILENO);
  for (const ordered_json& app : list) {
    std::string line = fmt::format("{:<{}}  {:<7}  ", app["name"].get<std::string>(), names,
                                   app["class"].get<std::string>());
    const std::string description = app["description"].get<std::string>();
    line += width ? shortened(description, *width - std::min(*width, line.size())) : description;
    fmt::print("{}\n", line);
  }
}

void print_app(const ordered_json& list) {
  for (const ordered_json& app : list) {
    fmt::print("{:<12} {}\n", app["name"].get<std::string>(), app["description"].get<std::string>());
    for (const ordered_json& p : app["parameters"]) {
      fmt::print("{:<12}   {}={}  {} to {}: {}\n", "", p["name"].get<std::string>(),
                 p["default"].get<std::int64_t>(), p["minimum"].get<std::int64_t>(),
                 p["maximum"].get<std::int64_t>(), p["description"].get<std::string>());
    }
    for (const ordered_json& k : app["kernels"]) {
      fmt::print("{:<12}   kernel {}: {} blocks of {} threads\n", "", k["kernel"].get<std::string>(),
                 dimensions(k["grid"]), dimensions(k["block"]));
    }
    const ordered_json& run = app["usual_run"];
    if (run.is_null()) continue;
    fmt::print(
        "{:<12}   usual run on {}: {}{:.3g} million cycles, {:.3g} million warp instructions, {:.2g} s\n", "",
        run["machine"].get<std::string>(), run["ends"].get<bool>() ? "" : "the first ",
        run["cycles"].get<double>() / 1e6, run["warp_instructions"].get<double>() / 1e6,
        run["seconds"].get<double>());
    fmt::print("{:<12}   class {}: its SMs' LSU stall {:.1f}% of that time\n", "",
               app["class"].get<std::string>(), 100 * run["lsu_stall_share"].get<double>());
  }
}

void print_experiments(const ordered_json& list) {
  for (const ordered_json& e : list) {
    fmt::print("{:<18} {}\n", e["name"].get<std::string>(), e["title"].get<std::string>());
    if (!e["paper"].is_null()) {
      fmt::print("{:<18}   answers {} claims and {} trends of {}\n", "", e["claims"].get<std::size_t>(),
                 e["trends"].get<std::size_t>(), e["paper"].get<std::string>());
    }
    for (const auto& [scale, size] : e["scales"].items()) {
      fmt::print("{:<18}   {}: {} runs", "", scale, size["runs"].get<std::size_t>());
      if (!size["cycles"].is_null()) fmt::print(" of {} cycles", size["cycles"].get<std::uint64_t>());
      if (!size["usual_seconds"].is_null()) {
        fmt::print(", usually {} of one core", duration(size["usual_seconds"].get<double>()));
      }
      fmt::print("\n");
    }
  }
}

/// Prints the machine with the values of all keys, as a file for `--machine`.
void print_toml(const std::string& name) {
  std::fputs(arch::to_toml(arch::load_machine(name)).c_str(), stdout);
}

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

/// Keeps only the entry with this name, or the entries that match a pattern with * and ?. Throws UserError if
/// there is none.
void keep_named(ordered_json& list, const std::string& what, const std::string& name) {
  std::vector<std::string> known;
  if (is_pattern(name)) {
    ordered_json kept = ordered_json::array();
    for (const ordered_json& entry : list)
      if (::fnmatch(name.c_str(), entry["name"].get<std::string>().c_str(), 0) == 0) kept.push_back(entry);
    if (kept.empty()) throw UserError(fmt::format("the name of no {} is like '{}'", what, name));
    list = std::move(kept);
    return;
  }
  for (const ordered_json& entry : list) known.push_back(entry["name"].get<std::string>());
  const auto at = std::find(known.begin(), known.end(), name);
  if (at == known.end()) throw UserError(unknown_choice(what, name, known));
  list = ordered_json::array({list[static_cast<std::size_t>(at - known.begin())]});
}

}  // namespace

int list_command(const Arguments& args) {
  CLI::App app("Lists what gpumux has built in.", "gpumux list");
  std::string what;
  std::string name;
  std::string of_class;
  bool json = false;
  bool toml = false;
  app.add_option("WHAT", what, "machines, policies, apps or experiments");
  app.add_option(
      "NAME", name,
      "only this one, with all that is known of it, or those like 'k*'; with --toml, a machine file too");
  app.add_option("--class", of_class,
                 "apps of this class: whose SMs' load/store units stall for long, or the others")
      ->check(CLI::IsMember({"memory", "compute"}));
  CLI::Option* json_option = app.add_flag("--json", json, "as a JSON document");
  app.add_flag("--toml", toml, "a machine with all keys, what it inherits resolved: a file for --machine")
      ->excludes(json_option);
  if (!parse(app, args)) return 0;
  if (what.empty())
    throw UserError("say WHAT to list: machines, policies, apps or experiments, as in `gpumux list apps`");
  if (toml) {
    if (what != "machines" || name.empty())
      throw UserError("--toml prints one machine: gpumux list machines NAME --toml");
    print_toml(name);
    return 0;
  }
  const std::vector<std::string> known = {"machines", "policies", "apps", "experiments"};
  ordered_json list;
  if (what == "machines") {
    list = machines_json();
  } else if (what == "policies") {
    list = policies_json();
  } else if (what == "apps") {
    list = apps_json();
  } else if (what == "experiments") {
    list = experiments_json();
  } else {
    throw UserError(unknown_choice("list", what, known));
  }
  if (!name.empty()) keep_named(list, what == "policies" ? "policy" : what.substr(0, what.size() - 1), name);
  if (!of_class.empty()) {
    if (what != "apps") throw UserError("--class is of apps: gpumux list apps --class memory");
    ordered_json kept = ordered_json::array();
    for (const ordered_json& entry : list)
      if (entry["class"] == of_class) kept.push_back(entry);
    list = std::move(kept);
  }
  if (json) {
    ordered_json document = {{"schema", "gpumux.list/1"}, {what, list}};
    if (what == "policies") {
      document["memory_schemes"] = memory_schemes_json();
      document["block_schedulers"] = block_schedulers_json();
      document["core_controls"] = core_controls_json();
      document["concurrency_controls"] = concurrency_controls_json();
      document["warp_schedulers"] = arch::warp_scheduler_names();
    }
    fmt::print("{}\n", document.dump(2));
  } else if (what == "machines") {
    print_machines(list);
  } else if (what == "policies") {
    print_policies(list);
    if (name.empty()) print_levels();
  } else if (what == "experiments") {
    print_experiments(list);
  } else if (name.empty() || is_pattern(name)) {
    print_apps(list);
    fmt::print("`gpumux list apps NAME` shows its settings, its kernels and how long it takes.\n");
  } else {
    print_app(list);
  }
  return 0;
}

}  // namespace gpumux::cli
