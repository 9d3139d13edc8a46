// gpumux sweep SWEEP.toml --db FILE
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "cluster/follow.hpp"
#include "commands.hpp"
#include "database/damage.hpp"
#include "database/results.hpp"
#include "sweep/expand.hpp"
#include "sweep/job.hpp"
#include "sweep/runner.hpp"
#include "sweep_dry_run.hpp"
#include "sweep_run.hpp"
#include "terminal.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kSweepHelp = R"(
Runs that the database has are not repeated: the same command goes on where an earlier one was stopped, however that
was, and several may work on one database at a time. A run is named by the hash of all that determines it, so that
a changed kernel, machine or setting is another run. docs/sweeps.md describes the file and the database.)";

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t stop_signal = 0;

extern "C" void note_signal(int signal) { stop_signal = signal; }

/// During its lifetime, signals are recorded and do not end the program.
class SignalsNoted {
 public:
  SignalsNoted() {
    struct sigaction action {};
    action.sa_handler = note_signal;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~SignalsNoted() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

std::string progress_text(const sweep::Progress& p) {
  // The speed follows from the runs of this process only.
  const double all = static_cast<double>(p.finished + p.counts.pending);
  const std::string left =
      all == 0 ? "" : time_left(p.elapsed_seconds, static_cast<double>(p.finished) / all);
  const std::string failed = p.counts.failed == 0 ? "" : fmt::format(", {} failed", p.counts.failed);
  const std::string note = p.note.empty() ? "" : ", " + p.note;
  return fmt::format("{} of {} runs done{}, {} running{}{}", p.counts.done, p.counts.all(), failed, p.running,
                     note, left);
}

/// Description of a run: "hotspot + kmeans under even on v100, l1.size=24K, seed 1".
std::string run_text(const sweep::SweepRun& run) {
  std::string text = sweep::workload_text(run.spec);
  text += fmt::format(" under {} on {}", run.spec.policy.text, run.spec.machine.name);
  for (const auto& [key, value] : run.overrides) text += fmt::format(", {}={}", key, value);
  return text + fmt::format(", seed {}", run.spec.seed);
}

/// Prints the failures. Returns the exit code of the sweep: of the gravest failure, which has the smallest
/// code.
int report_failures(const sweep::SweepPlan& plan,
                    const std::vector<std::pair<std::size_t, database::FailureRow>>& failures) {
  constexpr std::size_t kShown = 10;
  int code = 0;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const auto& [index, failure] = failures[i];
    code = code == 0 ? failure.exit_code : std::min(code, failure.exit_code);
    if (i < kShown) {
      const std::string line = fmt::format("failed: {}: {}", run_text(plan.runs[index]),
                                           failure.error.substr(0, failure.error.find('\n')));
      say(fmt::format("{}\n", error_line(line, wants_colour(STDERR_FILENO))));
    }
  }
  if (failures.size() > kShown) say(fmt::format("failed: and {} more\n", failures.size() - kShown));
  return code;
}

struct SweepOptions {
  std::string file;
  std::string db;
  std::string scale;
  std::string shared;  // the user's folder, with our own folder in it
  unsigned jobs = processors();
  bool retry_failed = false;
  bool dry_run = false;
  bool quiet = false;
  ProgressMode progress = ProgressMode::Auto;
  bool slurm = false;
  bool cancel = false;
  double poll = 5;  // seconds
  cluster::FollowOptions cluster;
};

/// Our own folder inside a shared folder that may hold other files, and serve other databases.
std::string part_of_shared(const std::string& folder, const std::string& db) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(std::filesystem::absolute(db), error);
  ContentHash hash;
  hash.add(error ? db : whole.string());
  return (std::filesystem::path(folder) / ("gpumux-slurm-" + hash.hex().substr(0, 16))).string();
}

/// Reads the options for a cluster. --jobs applies only if given, because a cluster has its own limit.
void read_cluster_options(const CLI::App& app, SweepOptions& options) {
  if (!options.slurm) {
    for (const char* option : {"--partition", "--array-size", "--runs-per-task", "--sbatch", "--shared",
                               "--program", "--tries", "--poll", "--cancel"}) {
      if (app.count(option) > 0) throw UserError(fmt::format("{} needs --slurm", option));
    }
    return;
  }
  cluster::FollowOptions& cluster = options.cluster;
  cluster.database = options.db;
  const bool is_given = app.count("--shared") > 0;
  if (!is_given) options.shared = options.db + ".slurm";
  cluster.folder = is_given ? part_of_shared(options.shared, options.db) : options.shared;
  if (cluster.program.empty()) cluster.program = std::filesystem::read_symlink("/proc/self/exe").string();
  if (app.count("--jobs") > 0) cluster.at_a_time = options.jobs;
  cluster.poll = std::chrono::milliseconds(static_cast<std::int64_t>(options.poll * 1000));
  cluster.retry_failed = options.retry_failed;
}

bool read_sweep_options(const Arguments& args, SweepOptions& options) {
  CLI::App app("Runs all that a file describes, keeping the results in a database.", "gpumux sweep");
  app.footer(kSweepHelp);
  app.add_option("FILE", options.file, "SWEEP.toml")->required();
  app.add_option("--db", options.db, "SQLite database; made where there is none")
      ->type_name("DB")
      ->required();
  app.add_option("--scale", options.scale, "one of the file's scales, such as quick or paper")
      ->type_name("SCALE");
  app.add_option("--jobs", options.jobs, "runs at a time [number of processors]")->check(CLI::Range(1, 1024));
  app.add_flag("--retry-failed", options.retry_failed, "run those again that failed earlier");
  app.add_flag("--dry-run", options.dry_run,
               "say how many runs there are, how many the database has, and about how long the others take");
  app.add_flag("--quiet", options.quiet, "print nothing but errors");
  std::string progress = "auto";
  app.add_option("--progress", progress, kProgressHelp)->type_name("auto|plain|off");
  cluster::FollowOptions& cluster = options.cluster;
  const char* group = "On a cluster (docs/cluster.md)";
  app.add_flag("--slurm", options.slurm, "run as job arrays of Slurm")->group(group);
  app.add_option("--shared", options.shared, "folder that all nodes see [DB.slurm]")
      ->type_name("FOLDER")
      ->group(group);
  app.add_option("--partition", cluster.partition, "of the cluster [Slurm's default]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--sbatch", cluster.sbatch_arguments,
                 "another argument of sbatch, such as --sbatch=--time=60")
      ->type_name("ARGUMENT")
      ->group(group);
  app.add_option("--array-size", cluster.array_size,
                 "tasks of an array [as many as the cluster allows, 1000]")
      ->check(CLI::Range(1, 1'000'000))
      ->group(group);
  app.add_option("--runs-per-task", cluster.runs_per_task, "[by how long they take]")
      ->check(CLI::Range(1, 100'000))
      ->group(group);
  app.add_option("--tries", cluster.tries, "submissions of a run before it is given up [3]")
      ->check(CLI::Range(1, 100))
      ->group(group);
  app.add_option("--program", cluster.program, "gpumux on the nodes [this one]")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--poll", options.poll, "seconds between looks at Slurm's queue [5]")
      ->check(CLI::Range(0.1, 60.0))
      ->group(group);
  app.add_flag("--cancel", options.cancel,
               "end the jobs of this database in the shared folder, and run nothing")
      ->group(group);
  if (!parse(app, args)) return false;
  options.progress = progress_mode(progress, options.quiet);
  read_cluster_options(app, options);
  return true;
}

}  // namespace

unsigned processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

SweepOutcome run_sweep(database::ResultStore& store, const sweep::SweepPlan& plan, unsigned jobs,
                       ProgressMode progress, const cluster::FollowOptions* cluster) {
  sweep::RunnerOptions runner;
  runner.jobs = jobs;
  runner.stop = &stop_signal;
  ProgressLine line(progress);
  if (line.shown()) {
    runner.progress = [&](const sweep::Progress& p) {
      if (line.rewrites() || line.due()) line.show(progress_text(p));  // the runner calls once a second
    };
  }
  SweepOutcome outcome;
  {
    const SignalsNoted signals;
    if (cluster != nullptr) {
      cluster::FollowOptions follow = *cluster;
      follow.stop = runner.stop;
      follow.progress = runner.progress;
      outcome.progress = cluster::follow(store, plan, follow);
    } else {
      outcome.progress = sweep::work_off(store, plan, runner);
    }
  }
  line.clear();
  outcome.exit_code = report_failures(plan, store.failures());
  if (stop_signal != 0) {
    const std::size_t elsewhere = outcome.progress.elsewhere;
    fmt::print(
        stderr, "stopped; the same command goes on{}\n",
        elsewhere == 0
            ? ""
            : fmt::format(" with the {} tasks that stay with Slurm, and with --cancel ends them", elsewhere));
    std::fflush(nullptr);
    outcome.stopped = true;
    outcome.exit_code = kEndedBySignal + static_cast<int>(stop_signal);
  }
  return outcome;
}

int sweep_command(const Arguments& args) {
  SweepOptions options;
  if (!read_sweep_options(args, options)) return 0;
  if (options.cancel) {
    if (!std::filesystem::is_directory(options.shared)) {
      throw UserError({options.shared}, "there is no such shared folder");
    }
    const std::size_t arrays = cluster::cancel_all(options.cluster.folder);
    if (!options.quiet) fmt::print("{} job arrays cancelled\n", arrays);
    return 0;
  }
  const sweep::SweepPlan plan = sweep::expand(sweep::read_sweep(options.file, options.scale));
  if (options.dry_run) {
    const std::string text = dry_run_text(name_with_scale(plan.file.name, plan.file.scale), {&plan},
                                          options.db, options.jobs, options.progress);
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const std::string file = std::filesystem::path(options.file).filename().string();
  SweepOutcome outcome;
  database::guarded(options.db, [&] {
    database::ResultStore store(options.db);
    store.plan({plan.file.name, plan.file.scale, file, plan.file.text}, sweep::planned_rows(plan),
               options.retry_failed);
    outcome =
        run_sweep(store, plan, options.jobs, options.progress, options.slurm ? &options.cluster : nullptr);
  });
  const sweep::Progress& progress = outcome.progress;
  const database::Counts& counts = progress.counts;
  if (!options.quiet) {
    fmt::print("{}{}: {} runs: {} done, {} failed{}; {} of them now, in {}\n", plan.file.name,
               plan.file.scale.empty() ? "" : fmt::format(" ({})", plan.file.scale), counts.all(),
               counts.done, counts.failed,
               counts.pending == 0 ? "" : fmt::format(", {} still to do", counts.pending), progress.finished,
               duration(progress.elapsed_seconds));
  }
  return outcome.exit_code;
}

}  // namespace gpumux::cli
