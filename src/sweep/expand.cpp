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
#include "sweep/cases.hpp"
#include "sweep/run_hash.hpp"

namespace gpumux::sweep {
namespace {

namespace fs = std::filesystem;

/// A machine with one value for each setting.
struct Machine {
  arch::MachineConfig config;
  std::vector<std::pair<std::string, std::string>> overrides;
  std::map<std::string, std::string> hashes;  // by the policy's warp scheduler
};

/// Replaces every key by its canonical name: sm.l1.size by l1.size. The machine's reader rejects unknown
/// keys.
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
    std::vector<std::size_t> digits(file.settings.size(), 0);  // the last setting varies fastest
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

/// Adds every combination of `size` of the applications, in the file's order.
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

/// True if `workload` has all applications of `part`, each at least as often.
bool contains(Workload workload, Workload part) {
  std::sort(workload.begin(), workload.end());
  std::sort(part.begin(), part.end());
  return std::includes(workload.begin(), workload.end(), part.begin(), part.end());
}

std::vector<Workload> choose_workloads(const SweepFile& file) {
  constexpr std::size_t kMaxApps = 100;  // 161,700 trios: more than any sweep has, and quick to count
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
  if (file.cases != 0) {  // a workload that is both named and combined counts once
    std::set<Workload> seen;
    std::erase_if(workloads, [&](const Workload& workload) { return !seen.insert(workload).second; });
  }
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

/// Loads the applications of the workloads; other entries stay empty.
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
  const Placed<std::string>* goals = nullptr;  // nullptr: no goals
};
/// Number of pairs of goals and CPU programs. The goals with the first CPU programs come first.
std::size_t settings_of_workloads(const SweepFile& file) {
  return std::max<std::size_t>(file.goals.size(), 1) * file.cpus.size();
}
/// Seeds and goals of a workload that runs beside the CPU programs `cpus`. `cases`: of the workload, from
/// choose_cases().
std::vector<SeedAndGoals> seeds_and_goals(const SweepFile& file, std::size_t cpus,
                                          const std::vector<std::size_t>& cases) {
  const std::size_t goals = std::max<std::size_t>(file.goals.size(), 1);
  std::vector<SeedAndGoals> all;
  for (const std::uint64_t seed : file.seeds) {
    for (const std::size_t one : cases) {
      if (one / goals == cpus) all.push_back({seed, file.goals.empty() ? nullptr : &file.goals[one % goals]});
    }
  }
  return all;
}

/// Gives the goals to the first applications, one each.
void give_goals(const Placed<std::string>& goals, experiment::RunSpec& spec) {
  const std::vector<std::string> list = split(goals.value, '/');
  if (list.size() > spec.apps.size())
    throw UserError(goals.where, fmt::format("'{}' has {} goals, and a workload {} applications", goals.value,
                                             list.size(), spec.apps.size()));
  for (std::size_t i = 0; i < list.size(); ++i)
    located(goals.where, [&] { spec.apps[i].give_goal(*experiment::parse_goal(list[i])); });
}

/// Programs of the machine's CPU cores, for each entry of the sweep's `cpus`.
std::vector<std::vector<experiment::CpuProgram>> cpu_programs(const SweepFile& file,
                                                              const arch::MachineConfig& machine) {
  std::vector<std::vector<experiment::CpuProgram>> all;
  for (const Placed<std::string>& text : file.cpus) {
    std::vector<experiment::CpuProgram>& programs = all.emplace_back();
    if (text.value == kNoCpus) continue;
    if (machine.cpus == 0)
      throw UserError(text.where,
                      fmt::format("'{}': machine {} has no CPU cores (cpus)", text.value, machine.name));
    located(text.where, [&] { programs = experiment::parse_cpus(text.value, machine.cpus, file.folder); });
  }
  return all;
}

/// Names in the sweep that differ from those in the run's specification.
struct Labels {
  std::vector<std::string> names;
  std::string goals;
  std::string cpus = kNoCpus;
};

/// Collects runs, each once. Baselines come before all other runs.
class Collector {
 public:
  /// Adds a run. Without names in `labels`, the names of the specification apply.
  void add(Machine& machine, const experiment::RunSpec& spec, Labels labels = {}) {
    SweepRun run = prepared(machine, spec);
    if (!labels.names.empty()) run.names = std::move(labels.names);
    run.goals = std::move(labels.goals);
    run.cpus = std::move(labels.cpus);
    const auto [known, is_new] = wanted_.try_emplace(run.hash, runs_.size());
    if (!is_new) {
      ++duplicates_;
      return;
    }
    const std::vector<std::uint32_t> cores = experiment::cores_with_program(spec.cpus);
    if (spec.apps.size() + cores.size() > 1) {
      for (std::size_t i = 0; i < spec.apps.size(); ++i) {
        experiment::RunSpec isolated = experiment::isolated_run(spec, i);
        isolated.apps.front().text = run.names[i];
        SweepRun alone = prepared(machine, isolated);
        alone.spec.series = spec.series;
        run.baselines.push_back(add_baseline(std::move(alone)));
      }
      std::map<std::string, std::size_t> by_program;  // by identity: equal programs count once
      for (const std::uint32_t core : cores) {
        const auto [index, missing] = by_program.try_emplace(spec.cpus[core].identity, 0);
        if (missing)
          index->second = add_baseline(prepared(machine, experiment::isolated_cpu_run(spec, core)));
        run.cpu_baselines.push_back(index->second);
      }
    }
    runs_.push_back(std::move(run));
  }

  /// The plan of the collected runs. `file`: the plan's file.
  [[nodiscard]] SweepPlan plan(SweepFile file) && {
    SweepPlan plan{std::move(file), std::move(alone_), duplicates_};
    for (SweepRun& run : runs_) {
      const auto baseline = baselines_.find(run.hash);
      if (baseline == baselines_.end()) {
        plan.runs.push_back(std::move(run));
      } else {  // the sweep also asks for this baseline as a run
        SweepRun& planned = plan.runs[baseline->second];
        planned.is_baseline = false;
        planned.spec.timeline = run.spec.timeline;
        planned.spec.series = run.spec.series;
        planned.cpus = run.cpus;
      }
    }
    return plan;
  }

 private:
  /// Adds a baseline. Returns its index in alone_.
  std::size_t add_baseline(SweepRun alone) {
    alone.is_baseline = true;
    const auto [found, missing] = baselines_.try_emplace(alone.hash, alone_.size());
    if (missing) alone_.push_back(std::move(alone));
    return found->second;
  }
  static SweepRun prepared(Machine& machine, const experiment::RunSpec& spec) {
    SweepRun run;
    run.spec = spec;
    std::string& hash = machine.hashes[spec.policy.warps];
    if (hash.empty()) hash = machine_hash(experiment::effective_machine(spec));
    run.machine_hash = hash;
    run.hash = run_hash(spec, hash, simulator_sources());
    run.overrides = machine.overrides;
    run.cpus = kNoCpus;
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

std::string workload_text(const experiment::RunSpec& spec) {
  std::string text;
  for (const experiment::AppSpec& app : spec.apps) text += (text.empty() ? "" : " + ") + app.text;
  const std::vector<std::uint32_t> cores = experiment::cores_with_program(spec.cpus);
  if (cores.empty()) return text;
  if (text.empty() && cores.size() == 1)
    return fmt::format("CPU program {} on core {}", spec.cpus[cores[0]].name, cores[0]);
  std::vector<std::pair<std::string, std::size_t>> programs;  // program, number of cores
  for (const std::uint32_t core : cores) {
    const std::string& name = spec.cpus[core].name;
    const auto known =
        std::find_if(programs.begin(), programs.end(), [&](const auto& one) { return one.first == name; });
    if (known == programs.end())
      programs.emplace_back(name, 1);
    else
      ++known->second;
  }
  text += text.empty() ? "CPU programs " : " beside CPU programs ";
  for (std::size_t i = 0; i < programs.size(); ++i)
    text += fmt::format("{}{}*{}", i == 0 ? "" : ",", programs[i].first, programs[i].second);
  return text;
}

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
  const std::size_t all_cases = workloads.size() * settings_of_workloads(file);
  double runs = static_cast<double>(file.cases == 0 ? all_cases : std::min(file.cases, all_cases)) *
                static_cast<double>(file.machines.size()) * static_cast<double>(file.policies.size()) *
                static_cast<double>(file.seeds.size());
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
  const std::vector<std::vector<std::size_t>> cases = choose_cases(
      workloads, {settings_of_workloads(file), !file.goals.empty(), file.cases, file.workloads.size()});

  Collector collector;
  for (Machine& machine : machines) {
    const std::vector<std::vector<experiment::CpuProgram>> cpus = cpu_programs(file, machine.config);
    experiment::RunSpec common;
    common.machine = machine.config;
    common.cycles = file.cycles;
    common.instructions = file.instructions;
    common.series = file.series;
    common.timeline = file.timeline;
    common.alpha = file.alpha;
    if (file.cpu_warm_up) common.cpu_span.warm_up = *file.cpu_warm_up;
    if (file.cpu_instructions) common.cpu_span.instructions = *file.cpu_instructions;
    if (file.view_sms)
      located(file.view_sms->where,
              [&] { common.viewed = experiment::parse_sms(file.view_sms->value, machine.config.sms); });
    common.device_output = false;
    for (std::size_t w = 0; w < workloads.size(); ++w) {
      const Workload& workload = workloads[w];
      // Without applications, there is nothing to share, so one policy is enough.
      const std::size_t policy_count = workload.empty() ? 1 : policies.size();
      for (std::size_t p = 0; p < policy_count; ++p) {
        experiment::RunSpec spec = common;
        spec.policy = workload.empty() ? policy::parse_choice(experiment::kDefaultPolicy) : policies[p];
        if (!workload.empty())
          located(file.policies[p].where,
                  [&] { policy::check_choice(spec.policy, machine.config, workload.size()); });
        Labels labels;
        for (const std::size_t i : workload) labels.names.push_back(apps[i].text);
        for (std::size_t c = 0; c < cpus.size(); ++c) {
          spec.cpus = cpus[c];
          labels.cpus = file.cpus[c].value;
          for (const SeedAndGoals& each : seeds_and_goals(file, c, cases[w])) {
            spec.apps.clear();
            for (const std::size_t i : workload) spec.apps.push_back(apps[i]);
            spec.seed = each.seed;
            if (each.goals != nullptr) give_goals(*each.goals, spec);
            labels.goals = each.goals == nullptr ? "" : each.goals->value;
            collector.add(machine, spec, labels);
          }
        }
      }
    }
  }
  return std::move(collector).plan(std::move(file));
}

}  // namespace gpumux::sweep
