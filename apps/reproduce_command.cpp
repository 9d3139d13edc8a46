// gpumux reproduce ID|PAPER|all --db FILE
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "database/damage.hpp"
#include "database/results.hpp"
#include "experiment/result_json.hpp"
#include "reproduce/library.hpp"
#include "reproduce/measure.hpp"
#include "reproduce/samples.hpp"
#include "reproduce/write_up.hpp"
#include "sweep/expand.hpp"
#include "sweep/job.hpp"
#include "sweep_dry_run.hpp"
#include "sweep_run.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kReproduceHelp = R"(
WHAT is an experiment (basics/sharing), a folder of them (basics), a paper (dai18), `all`, or a file
(my_experiment.toml); `gpumux list experiments` shows them. Runs that the database has are not repeated, whichever
sweep or experiment made them. docs/experiments.md describes the files and how agreement is judged.)";

struct ReproduceOptions {
  std::string what;
  std::string db;
  std::string scale = "quick";
  std::string json;
  std::string markdown;
  unsigned jobs = processors();
  bool retry_failed = false;
  bool dry_run = false;
  bool quiet = false;
  ProgressMode progress = ProgressMode::Auto;
};

bool read_reproduce_options(const Arguments& args, ReproduceOptions& options) {
  CLI::App app("Runs experiments and shows our numbers beside the papers'.", "gpumux reproduce");
  app.footer(kReproduceHelp);
  const CLI::Validator not_empty(
      [](const std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "");
  app.add_option("WHAT", options.what, "experiment, folder, paper, file or all")->required();
  app.add_option("--db", options.db, "SQLite database of the runs; made where there is none")
      ->type_name("DB")
      ->required();
  app.add_option("--scale", options.scale, "quick, standard, paper, or another of the sweep's [quick]")
      ->type_name("SCALE")
      ->check(not_empty);
  app.add_option("--json", options.json, "write all of it to this file")->type_name("FILE")->check(not_empty);
  app.add_option("--markdown", options.markdown, "write tables to this file")
      ->type_name("FILE")
      ->check(not_empty);
  app.add_option("--jobs", options.jobs, "runs at a time [number of processors]")->check(CLI::Range(1, 1024));
  app.add_flag("--retry-failed", options.retry_failed, "run those again that failed earlier");
  app.add_flag("--dry-run", options.dry_run,
               "say how many runs there are, how many the database has, and about how long the others take");
  app.add_flag("--quiet", options.quiet, "print nothing but errors");
  std::string progress = "auto";
  app.add_option("--progress", progress, kProgressHelp)->type_name("auto|plain|off");
  if (!parse(app, args)) return false;
  if (options.dry_run && !(options.json.empty() && options.markdown.empty()))
    throw UserError("--dry-run makes no results: leave out --json and --markdown");
  options.progress = progress_mode(progress, options.quiet);
  return true;
}

/// An experiment and its plan; no plan if the experiment does not have the scale.
struct Task {
  reproduce::Experiment experiment;
  std::optional<sweep::SweepPlan> plan;
};

/// Reads and checks all experiments before the first run.
std::vector<Task> read_tasks(std::vector<reproduce::Experiment> experiments, const std::string& scale) {
  std::vector<Task> tasks;
  std::vector<std::string> scales;
  bool any = false;
  for (reproduce::Experiment& experiment : experiments) {
    Task task{std::move(experiment), std::nullopt};
    for (const auto& [name, file] : task.experiment.scales) {
      if (std::find(scales.begin(), scales.end(), name) == scales.end()) scales.push_back(name);
    }
    if (const sweep::SweepFile* file = task.experiment.find_scale(scale)) {
      task.plan = sweep::expand(*file);
      any = true;
    }
    tasks.push_back(std::move(task));
  }
  if (!any && !tasks.empty()) throw UserError(unknown_choice("scale", scale, scales));
  return tasks;
}

/// Executes the runs of all experiments. False if a signal stopped it. `exit_code`: of the gravest failure,
/// or of the signal.
bool work_off(const ReproduceOptions& options, const std::vector<Task>& tasks,
              std::vector<reproduce::ExperimentResult>& results, int& exit_code) {
  database::ResultStore store(options.db);
  std::set<std::string> planned;  // paths of sweeps, which experiments may share
  for (const Task& task : tasks) {
    if (!task.plan) {
      results.push_back(reproduce::not_measured(task.experiment, options.scale));
      continue;
    }
    const sweep::SweepPlan& plan = *task.plan;
    const std::string file = std::filesystem::path(plan.file.path).filename().string();
    const bool is_new = planned.insert(plan.file.path).second;
    store.plan({plan.file.name, plan.file.scale, file, plan.file.text}, sweep::planned_rows(plan),
               options.retry_failed && is_new);
    const SweepOutcome outcome = run_sweep(store, plan, options.jobs, options.progress);
    if (outcome.stopped) {
      exit_code = outcome.exit_code;
      return false;
    }
    if (outcome.exit_code != 0)
      exit_code = exit_code == 0 ? outcome.exit_code : std::min(exit_code, outcome.exit_code);
    database::Connection connection(options.db, database::Access::Read);
    database::reading(options.db, [&] {
      results.push_back(reproduce::measure(task.experiment, plan, reproduce::read_records(connection, plan)));
    });
  }
  return true;
}

}  // namespace

int reproduce_command(const Arguments& args) {
  ReproduceOptions options;
  if (!read_reproduce_options(args, options)) return 0;
  ResultFiles files;
  for (const std::string& path : {options.json, options.markdown}) {
    if (!path.empty()) ResultFiles::check(path);
  }
  check_apart({options.json, options.markdown}, {options.db});
  reproduce::Chosen chosen = reproduce::choose(options.what);
  const std::vector<Task> tasks = read_tasks(std::move(chosen.experiments), options.scale);

  if (options.dry_run) {
    std::vector<const sweep::SweepPlan*> plans;
    for (const Task& task : tasks)
      if (task.plan) plans.push_back(&*task.plan);
    const std::string text = dry_run_text(name_with_scale(options.what, options.scale), plans, options.db,
                                          options.jobs, options.progress);
    std::fputs(text.c_str(), stdout);
    return 0;
  }

  int exit_code = 0;
  bool stopped = false;
  std::vector<reproduce::ExperimentResult> results;
  database::guarded(options.db, [&] { stopped = !work_off(options, tasks, results, exit_code); });
  if (stopped) return exit_code;

  const reproduce::WriteUp all = reproduce::write_up(options.scale, std::move(results), chosen.papers);
  if (!options.json.empty()) files.add(options.json, experiment::json_text(reproduce::write_up_json(all)));
  if (!options.markdown.empty()) files.add(options.markdown, reproduce::write_up_markdown(all));
  files.write();
  const bool text = options.json != kStandardOutput && options.markdown != kStandardOutput;
  if (!options.quiet && text) std::fputs(reproduce::write_up_text(all).c_str(), stdout);
  return exit_code;
}

}  // namespace gpumux::cli
