#include "sweep/expand.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

#include "arch/config_file.hpp"
#include "arch/config_file_fields.hpp"
#include "base/error.hpp"
#include "base/located.hpp"
#include "base/text.hpp"
#include "experiment/make_app.hpp"
#include "sweep/run_hash.hpp"

namespace gpumux::sweep {
namespace {

namespace fs = std::filesystem;

/// A machine with one value of each setting.
struct Machine {
  arch::MachineConfig config;
  std::vector<std::pair<std::string, std::string>> overrides;
  std::map<std::string, std::string> hashes;  // by the policy's warp scheduler
};

/// Gives every key its one name: sm.l1.size is l1.size. Unknown ones are left to the machine's reader.
void name_settings(SweepFile& file) {
  std::set<std::string> seen;
  for (MachineSetting& setting : file.settings) {
    const int field = arch::find_field(setting.key);
    if (field >= 0) setting.key = arch::fields()[static_cast<std::size_t>(field)].key;
    if (seen.insert(setting.key).second) continue;
    throw UserError(setting.values.front().where, fmt::format("'{}' is set twice", setting.key));
  }
}

std::vector<Machine> load_machines(const SweepFile& file) {
  std::vector<Machine> machines;
  for (const Placed<std::string>& name : file.machines) {
    const bool is_file = name.value.ends_with(".toml") || name.value.find('/') != std::string::npos;
    const std::string path = is_file && !name.value.starts_with('/') && !file.folder.empty()
                                 ? (fs::path(file.folder) / name.value).string()
                                 : name.value;
    std::vector<std::size_t> digits(file.settings.size(), 0);  // the last setting counts fastest
    bool more = true;
    while (more) {
      Machine machine;
      std::vector<arch::Override> overrides;
      for (std::size_t i = 0; i < digits.size(); ++i) {
        const MachineSetting& setting = file.settings[i];
        const Placed<std::string>& value = setting.values[digits[i]];
        overrides.push_back({fmt::format("{}={}", setting.key, value.value), value.where});
        machine.overrides.emplace_back(setting.key, value.value);
      }
      machine.config = located(name.where, [&] { return arch::load_machine_with(path, overrides); });
      machines.push_back(std::move(machine));
      more = false;
      for (std::size_t i = digits.size(); i-- > 0 && !more;) {
        more = ++digits[i] < file.settings[i].values.size();
        if (!more) digits[i] = 0;
      }
    }
  }
  return machines;
}

/// Adds every choice of `size` of the applications, in the file's order.
void add_combinations(std::size_t apps, std::size_t size, std::vector<Workload>& out) {
  Workload chosen;
  const auto extend = [&](const auto& self, std::size_t from) -> void {
    if (chosen.size() == size) {
      out.push_back(chosen);
      return;
    }
    for (std::size_t i = from; i < apps; ++i) {
      chosen.push_back(i);
      self(self, i + 1);
      chosen.pop_back();
    }
  };
  extend(extend, 0);
}

/// True when `workload` has all of `part`, each as often.
bool contains(Workload workload, Workload part) {
  std::sort(workload.begin(), workload.end());
  std::sort(part.begin(), part.end());
  return std::includes(workload.begin(), workload.end(), part.begin(), part.end());
}

std::vector<Workload> choose_workloads(const SweepFile& file) {
  constexpr std::size_t kMaxApps = 100;  // 161,700 trios: beyond any sweep, and quick to count
  std::vector<Workload> workloads = file.workloads;
  for (const std::size_t size : file.combine) {
    if (file.apps.size() > kMaxApps) {
      throw UserError({file.path},
                      fmt::format("combines {} applications; at most {}", file.apps.size(), kMaxApps));
    }
    add_combinations(file.apps.size(), size, workloads);
  }
  for (std::size_t i = 0; file.ordered_pairs && i < file.apps.size(); ++i)
    for (std::size_t k = 0; k < file.apps.size(); ++k)
      if (i != k) workloads.push_back({i, k});
  for (const Placed<Workload>& excluded : file.exclude) {
    if (std::erase_if(workloads, [&](const Workload& w) { return contains(w, excluded.value); }) == 0) {
      throw UserError(excluded.where, "excludes nothing: no workload that is left has all of these");
    }
  }
  if (workloads.empty()) {
    throw UserError({file.path}, file.exclude.empty()
                                     ? "has no run: there are fewer applications than are to run together"
                                     : "has no run: every workload is excluded");
  }
  return workloads;
}

/// The applications of the workloads; others stay empty.
std::vector<experiment::AppSpec> load_apps(const SweepFile& file, const std::vector<Workload>& workloads) {
  std::vector<experiment::AppSpec> specs(file.apps.size());
  std::set<std::size_t> used;
  for (const Workload& workload : workloads) used.insert(workload.begin(), workload.end());
  for (const std::size_t i : used) {
    const SweepApp& app = file.apps[i];
    experiment::Applications made =
        located(app.where, [&] { return experiment::make_apps({app.arguments}, file.folder, false); });
    for (const auto& outputs : made.outputs) {
      if (outputs->paths.empty()) continue;
      throw UserError(app.where,
                      fmt::format("'{}' writes {}; a sweep keeps no files: use zero: for out:, and in: "
                                  "for inout:",
                                  app.name, outputs->paths.front()));
    }
    specs[i] = std::move(made.specs.front());
    specs[i].text = app.name;
  }
  return specs;
}

struct SeedAndGoals {
  std::uint64_t seed = 0;
  const Placed<std::string>* goals = nullptr;  // there are none
};
std::vector<SeedAndGoals> seeds_and_goals(const SweepFile& file) {
  std::vector<SeedAndGoals> all;
  for (const std::uint64_t seed : file.seeds) {
    if (file.goals.empty()) all.push_back({seed, nullptr});
    for (const Placed<std::string>& goals : file.goals) all.push_back({seed, &goals});
  }
  return all;
}

/// To the first applications, one each.
void give_goals(const Placed<std::string>& goals, experiment::RunSpec& spec) {
  const std::vector<std::string> list = split(goals.value, '/');
  if (list.size() > spec.apps.size())
    throw UserError(goals.where, fmt::format("'{}' has {} goals, and a workload {} applications", goals.value,
                                             list.size(), spec.apps.size()));
  for (std::size_t i = 0; i < list.size(); ++i)
    located(goals.where, [&] { spec.apps[i].give_goal(*experiment::parse_goal(list[i])); });
}

/// Collects runs, each once, baselines before all others.
class Collector {
 public:
  /// Without `names`, those that the specification has.
  void add(Machine& machine, const experiment::RunSpec& spec, std::vector<std::string> names = {},
           const std::string& goals = {}) {
    SweepRun run = prepared(machine, spec);
    if (!names.empty()) run.names = std::move(names);
    run.goals = goals;
    const auto [known, is_new] = wanted_.try_emplace(run.hash, runs_.size());
    if (!is_new) {
      ++duplicates_;
      return;
    }
    std::vector<std::size_t> baselines;
    if (spec.apps.size() > 1) {
      for (std::size_t i = 0; i < spec.apps.size(); ++i) {
        experiment::RunSpec isolated = experiment::isolated_run(spec, i);
        isolated.apps.front().text = run.names[i];
        SweepRun alone = prepared(machine, isolated);
        alone.is_baseline = true;
        alone.spec.series = spec.series;
        const auto [found, missing] = baselines_.try_emplace(alone.hash, alone_.size());
        if (missing) alone_.push_back(std::move(alone));
        baselines.push_back(found->second);
      }
    }
    run.baselines = std::move(baselines);
    runs_.push_back(std::move(run));
  }

  /// `file` goes into the plan.
  [[nodiscard]] SweepPlan plan(SweepFile file) && {
    SweepPlan plan{std::move(file), std::move(alone_), duplicates_};
    for (SweepRun& run : runs_) {
      const auto baseline = baselines_.find(run.hash);
      if (baseline == baselines_.end()) {
        plan.runs.push_back(std::move(run));
      } else {  // the sweep asks for it by itself, too
        plan.runs[baseline->second].is_baseline = false;
        plan.runs[baseline->second].spec.timeline = run.spec.timeline;
      }
    }
    return plan;
  }

 private:
  static SweepRun prepared(Machine& machine, const experiment::RunSpec& spec) {
    SweepRun run;
    run.spec = spec;
    std::string& hash = machine.hashes[spec.policy.warps];
    if (hash.empty()) hash = machine_hash(experiment::effective_machine(spec));
    run.machine_hash = hash;
    run.hash = run_hash(spec, hash, simulator_sources());
    run.overrides = machine.overrides;
    for (const experiment::AppSpec& app : spec.apps) run.names.push_back(app.text);
    return run;
  }

  std::vector<SweepRun> alone_;
  std::vector<SweepRun> runs_;
  std::unordered_map<std::string, std::size_t> baselines_;  // index in alone_ by hash
  std::unordered_map<std::string, std::size_t> wanted_;
  std::size_t duplicates_ = 0;
};

}  // namespace

SweepPlan plan_runs(const std::vector<experiment::RunSpec>& specs,
                    const std::vector<std::pair<std::string, std::string>>& overrides) {
  Collector collector;
  for (const experiment::RunSpec& spec : specs) {
    Machine machine{spec.machine, overrides, {}};
    collector.add(machine, spec);
  }
  return std::move(collector).plan({});
}

SweepPlan expand(SweepFile file) {
  const std::vector<Workload> workloads = choose_workloads(file);
  double runs = static_cast<double>(workloads.size()) * static_cast<double>(file.machines.size()) *
                static_cast<double>(file.policies.size()) * static_cast<double>(file.seeds.size()) *
                static_cast<double>(std::max<std::size_t>(file.goals.size(), 1));
  for (const MachineSetting& setting : file.settings) runs *= static_cast<double>(setting.values.size());
  if (runs > static_cast<double>(kMaxRuns)) {
    throw UserError({file.path}, fmt::format("has {:.0f} runs; at most {} fit a sweep", runs, kMaxRuns));
  }
  std::vector<policy::PolicyChoice> policies;
  for (const Placed<std::string>& text : file.policies) {
    policies.push_back(located(text.where, [&] { return policy::parse_choice(text.value); }));
    policies.back().text = policy::canonical_text(policies.back());
  }
  name_settings(file);
  std::vector<Machine> machines = load_machines(file);
  const std::vector<experiment::AppSpec> apps = load_apps(file, workloads);

  Collector collector;
  for (Machine& machine : machines) {
    for (const Workload& workload : workloads) {
      for (std::size_t p = 0; p < policies.size(); ++p) {
        const policy::PolicyChoice& policy = policies[p];
        located(file.policies[p].where,
                [&] { policy::check_choice(policy, machine.config, workload.size()); });
        for (const SeedAndGoals& each : seeds_and_goals(file)) {
          experiment::RunSpec spec;
          std::vector<std::string> names;
          for (const std::size_t i : workload) names.push_back(apps[i].text);
          spec.machine = machine.config;
          for (const std::size_t i : workload) spec.apps.push_back(apps[i]);
          spec.policy = policy;
          spec.seed = each.seed;
          if (each.goals != nullptr) give_goals(*each.goals, spec);
          spec.cycles = file.cycles;
          spec.instructions = file.instructions;
          spec.series = file.series;
          spec.timeline = file.timeline;
          if (file.view_sms)
            located(file.view_sms->where,
                    [&] { spec.viewed = experiment::parse_sms(file.view_sms->value, machine.config.sms); });
          spec.device_output = false;
          collector.add(machine, spec, names, each.goals == nullptr ? "" : each.goals->value);
        }
      }
    }
  }
  return std::move(collector).plan(std::move(file));
}

}  // namespace gpumux::sweep
