// gpumux run APP... | WORKLOAD.toml | -- PROGRAM [ARGUMENT...]
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "app_options.hpp"
#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "experiment/bundle_app.hpp"
#include "experiment/cache.hpp"
#include "experiment/make_app.hpp"
#include "experiment/result_json.hpp"
#include "experiment/run.hpp"
#include "experiment/series_output.hpp"
#include "experiment/timeline_output.hpp"
#include "experiment/workload_file.hpp"
#include "machine_option.hpp"
#include "paper_columns.hpp"
#include "policy/policy.hpp"
#include "program_apps.hpp"
#include "races_option.hpp"
#include "run_progress.hpp"
#include "run_report.hpp"
#include "stored_runs.hpp"
#include "terminal.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kRunHelp = R"(
APP is a built-in application with settings (hotspot, hotspot:size=256; see `gpumux list apps`), a trace (an
Accel-Sim trace folder, or its compact form FILE.gmt; see `gpumux convert`), a bundle (a recorded CUDA program,
FILE.gmx; with FILE.gmx:host_time=1, the time that the host computed passes, too), or a kernel of a PTX file,
file.ptx:kernel, followed by its own options:
  --grid X[,Y[,Z]]     blocks
  --block X[,Y[,Z]]    threads of a block
  --shared BYTES       dynamic shared memory
  --arg ARG            once per parameter, in order:
      TYPE:VALUE               a number; TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f32 f64
      bytes:FILE               a structure by value
      in:FILE                  a buffer with the file's bytes; in:TYPE=FILE and in:TYPE[N]=FILE say what it holds
      out:TYPE[N]=FILE         a zeroed buffer that is written to the file afterwards
      inout:TYPE[N]=IN,OUT     a buffer that is read from IN before and written to OUT afterwards
      zero:TYPE[N]             a zeroed buffer
      same:K or same:K+BYTES   the buffer of the Kth --arg again, from its start or from BYTES on
    Files are raw bytes; those that end in .txt hold one number per line.
  --symbol NAME=ARG    the content of a __constant__ or __device__ variable; ARG as above
A kernel has its C++ name (scale, reduce<float, 256>) or its name in the PTX. `gpumux inspect file.ptx` lists both.

After -- comes a CUDA program with its arguments. The program runs on the host, and its kernels run on the simulated
GPU beside the APPs. --app 'PROGRAM ARGUMENTS' does the same and may be repeated. The exit code of gpumux is the first
exit code of the programs that is not 0.

With --cycles, applications restart until the limit. Without it, they restart until each application has ended once or
has executed --instructions. If there are several policies, a table compares them.)";

struct RunOptions {
  std::optional<std::string> machine;
  std::vector<std::string> policies;
  std::vector<std::string> set;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> instructions;
  unsigned threads = 1;
  std::string baseline = "auto";
  bool verify = false;
  bool quiet = false;
  ProgressMode progress = ProgressMode::Auto;
  bool no_skip = false;
  std::string ledger = "auto";
  std::string view_sms;
  std::string races;
  std::string json;
  std::string stats;
  std::optional<std::uint64_t> series;
  std::string series_csv;
  std::string timeline;
  std::string db;
  std::string cpu;
  std::optional<std::uint64_t> cpu_warm_up;
  std::optional<std::uint64_t> cpu_instructions;
  double alpha = 0.5;
};

/// Parses a whole number of at least `low`; nothing for an empty text. (CLI11 would read -1 as a large
/// unsigned number.)
std::optional<std::uint64_t> whole_number(const char* option, const std::string& text, std::uint64_t low) {
  if (text.empty()) return std::nullopt;
  const std::optional<std::uint64_t> value = parse_count(text);
  if (!value || *value < low || *value > (1ULL << 60U)) {
    throw UserError(fmt::format("{} '{}' must be a whole number of at least {}, such as 500000, 5e5 or 500K",
                                option, text, low));
  }
  return value;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const policy::PolicyInfo& info : policy::policies()) names.push_back(info.name);
  return names;
}

/// Reads the options of `run`. False if help was shown. `has_programs`: there are programs besides the APPs.
bool read_run_options(Arguments args, bool has_programs, RunOptions& options,
                      std::vector<experiment::AppArguments>& apps) {
  CLI::App app("Simulates applications that share a GPU.", "gpumux run");
  app.footer(kRunHelp);
  std::string machine;
  std::string seed;
  std::string cycles;
  std::string instructions;
  std::string series;
  std::string cpu_warm_up;
  std::string cpu_instructions;
  const CLI::Validator not_empty(
      [](const std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "");
  std::vector<std::string> programs;  // only for the help; take_programs() has taken the programs
  app.add_option("--app", programs,
                 "a CUDA program with its arguments, as a shell reads them; may be repeated")
      ->type_name("'PROGRAM ARGUMENTS'");
  bool stop_at_errors = false;
  app.add_flag(
      "--stop-at-errors", stop_at_errors,
      "a fault of a CUDA program's kernel ends the run; without this option the program's calls return "
      "the error, as on a GPU, and accesses outside of allocations pass within pages of 2 MB");
  std::vector<std::string> positional;  // only for the help; take_apps() has taken the applications
  app.add_option("APP", positional, "applications to run together, or one WORKLOAD.toml");
  CLI::Option* machine_option =
      app.add_option("--machine", machine,
                     fmt::format("a preset (gpumux list machines) or a machine file [{}]",
                                 experiment::kDefaultMachine))
          ->type_name("MACHINE");
  app.add_option("--policy", options.policies,
                 fmt::format("sharing policy with its settings [{}]; separate several by commas, or repeat "
                             "the option; {}, or "
                             "all: every one of them (gpumux list policies)",
                             experiment::kDefaultPolicy, fmt::join(policy_names(), ", ")))
      ->type_name("POLICY")
      ->allow_extra_args(false);
  app.add_option("--set", options.set, "changes one key of the machine: sm.l1.size=48K; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--seed", seed, "seed of the random inputs [1]")->type_name("N")->check(not_empty);
  app.add_option("--cycles", cycles,
                 "core cycles to simulate, such as 500000, 5e5 or 500K; applications that end start again")
      ->type_name("CYCLES")
      ->check(not_empty);
  app.add_option("--instructions", instructions,
                 "an application also counts as ended after this many thread instructions, such as 1e9")
      ->type_name("N")
      ->check(not_empty);
  app.add_option("--threads", options.threads, "host threads; results do not depend on the number [1]")
      ->check(CLI::Range(1, 256));
  app.add_option("--baseline", options.baseline,
                 "auto: also run each application alone, and keep that run in the cache [auto]")
      ->check(CLI::IsMember({"auto", "off"}));
  app.add_flag("--verify", options.verify, "check the results of every completed run");
  app.add_option(
         "--json", options.json,
         "write the result to this file (a list if there are several policies); -: to standard output, "
         "without the table")
      ->type_name("FILE")
      ->check(not_empty);
  app.add_option("--stats", options.stats, "write all counters to this file; .csv gives CSV")
      ->type_name("FILE")
      ->check(not_empty);
  app.add_option(
         "--series", series,
         "sample all counters each time this many core cycles have passed, for --json and --series-csv")
      ->type_name("CYCLES")
      ->check(not_empty);
  app.add_option("--series-csv", options.series_csv,
                 fmt::format("write the series to this file [--series {}]", experiment::kDefaultSeries))
      ->type_name("FILE")
      ->check(not_empty);
  app.add_option("--timeline", options.timeline,
                 fmt::format("write a Chrome trace of kernels, blocks and series [--series {}]",
                             experiment::kDefaultSeries))
      ->type_name("FILE")
      ->check(not_empty);
  app.add_option("--db", options.db, "keep runs and baselines in this database, and reuse those that it has")
      ->type_name("DB")
      ->check(not_empty);
  app.add_flag("--quiet", options.quiet, "print nothing but errors");
  std::string progress = "auto";
  app.add_option("--progress", progress, kProgressHelp)->type_name("auto|plain|off");
  app.add_option(
         "--ledger", options.ledger,
         "record which application delayed which, and where; auto: if an application has a goal [auto]")
      ->check(CLI::IsMember({"on", "off", "auto"}));
  app.add_option(
         "--view-sms", options.view_sms,
         "record the state of the warps of these SMs in each cycle, such as 0,2-3, or all; the result is "
         "in --json, --stats and series")
      ->type_name("SMS")
      ->check(not_empty);
  add_races_option(app, options.races);
  app.add_option(
         "--cpu", options.cpu,
         "programs of the machine's CPU cores, separated by commas: a mix (H2), an application (mcf), a "
         "ChampSim trace (a path with a . or /), or - for none; NAME*N for N cores")
      ->type_name("PROGRAMS")
      ->check(not_empty);
  app.add_option("--cpu-warm-up", cpu_warm_up,
                 fmt::format("instructions that the slowest CPU core executes before APPs start [{}]",
                             experiment::CpuSpan().warm_up))
      ->type_name("N")
      ->check(not_empty);
  app.add_option("--cpu-instructions", cpu_instructions,
                 fmt::format("instructions of each CPU core that count after the warm-up [{}]; APPs restart "
                             "until all cores have executed them",
                             experiment::CpuSpan().instructions))
      ->type_name("N")
      ->check(not_empty);
  const CLI::Option* const alpha =
      app.add_option("--alpha", options.alpha, "weight of the GPU in the overall system speedup [0.5]")
          ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--no-skip", options.no_skip, "simulate idle cycles, too: slower, with the same results");

  std::vector<std::string> value_options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_expected_max() == 0) continue;
    for (const std::string& name : option->get_lnames()) value_options.push_back("--" + name);
  }
  apps = take_apps(args, value_options);
  if (!parse(app, args)) return false;
  if (*machine_option) options.machine = machine;
  options.progress = progress_mode(progress, options.quiet);
  options.seed = whole_number("--seed", seed, 0);
  options.cycles = whole_number("--cycles", cycles, 1);
  options.instructions = whole_number("--instructions", instructions, 1);
  options.series = whole_number("--series", series, 1);
  options.cpu_warm_up = whole_number("--cpu-warm-up", cpu_warm_up, 0);
  options.cpu_instructions = whole_number("--cpu-instructions", cpu_instructions, 1);
  if (options.cpu.empty() && (options.cpu_warm_up || options.cpu_instructions || *alpha))
    throw UserError("--cpu-warm-up, --cpu-instructions and --alpha are of CPU cores: give --cpu");
  if (apps.empty() && !has_programs)
    throw UserError("run needs at least one APP, such as hotspot (see gpumux list apps)");
  return true;
}

/// Reads a workload file for values that the options do not give. Returns the folder of its relative paths.
std::string read_workload_file(const std::string& path, RunOptions& options,
                               std::vector<experiment::AppArguments>& apps) {
  experiment::WorkloadFile workload = experiment::read_workload(path);
  if (!options.machine && workload.machine) {
    options.machine = *workload.machine;
    const bool is_file = workload.machine->ends_with(".toml") && !workload.machine->starts_with('/');
    if (is_file && !workload.folder.empty()) {
      options.machine = (std::filesystem::path(workload.folder) / *workload.machine).string();
    }
  }
  options.set.insert(options.set.begin(), workload.set.begin(), workload.set.end());
  if (options.policies.empty() && workload.policy) options.policies = {*workload.policy};
  if (!options.seed) options.seed = workload.seed;
  if (!options.cycles) options.cycles = workload.cycles;
  if (!options.instructions) options.instructions = workload.instructions;
  options.verify = options.verify || workload.verify;
  apps = std::move(workload.apps);
  return workload.folder;
}

std::vector<Report> run_all(experiment::RunSpec spec, const RunOptions& options,
                            const std::vector<policy::PolicyChoice>& policies) {
  Progress progress(options.progress);
  if (!options.db.empty()) {
    return stored_reports(options.db, spec, policies, options.set,
                          [&](const std::string& name) { return progress.line(name, spec.cycles); });
  }
  std::vector<Report> reports;
  std::map<std::string, std::vector<double>> baselines;  // by warp scheduler
  std::vector<double> cpu_baselines;                     // of CPU cores with a program
  for (const policy::PolicyChoice& choice : policies) {
    spec.policy = choice;
    spec.progress = progress.line(choice.text, spec.cycles);
    Report report;
    report.result = experiment::simulate(spec);
    if (spec.timeline) {
      report.timeline = experiment::timeline_json(report.result, spec.machine.clocks.core);
      report.result.timeline.reset();  // may be large
    }
    if (options.baseline == "auto" && spec.apps.size() == 1 && spec.cpus.empty()) {
      report.isolated = {report.result.apps.front().ipc()};  // an isolated run is its own baseline
    } else if (options.baseline == "auto") {
      const auto [known, missing] = baselines.try_emplace(choice.warps);
      if (missing) {
        known->second = experiment::isolated_ipcs(
            spec, experiment::default_cache_folder(),
            [&](const std::string& app) { return progress.line(fmt::format("{} alone", app), spec.cycles); });
      }
      report.isolated = known->second;
    }
    if (!report.isolated.empty()) {
      std::vector<double> shared;
      for (const experiment::AppResult& app : report.result.apps) shared.push_back(app.ipc());
      report.metrics = experiment::metrics(shared, report.isolated);
    }
    if (options.baseline == "auto" && !spec.cpus.empty()) {
      if (cpu_baselines.empty()) {
        cpu_baselines = experiment::isolated_cpu_ipcs(
            spec, experiment::default_cache_folder(),
            [&](const std::string& name) { return progress.line(fmt::format("{} alone", name), 0); });
      }
      report.metrics.cpus = experiment::cpu_metrics(report.result.cpus, cpu_baselines);
      report.metrics.alpha = spec.alpha;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

/// The result document. For a single application, with the columns that papers print of it.
std::string result_json(const Report& report, const arch::MachineConfig& machine) {
  const experiment::RunResult& result = report.result;
  nlohmann::ordered_json document = experiment::result_document(result, report.isolated, report.metrics);
  if (result.apps.size() == 1) add_paper_columns(document, result.apps.front().app, machine, &result);
  return experiment::with_series(experiment::json_text(document), experiment::series_document(result));
}

/// One document or, with several policies, a list of documents.
std::string results_json(const std::vector<Report>& reports, const arch::MachineConfig& machine) {
  std::string text;
  for (const Report& report : reports) {
    std::string document = result_json(report, machine);
    if (reports.size() == 1) return document;
    while (!document.empty() && document.back() == '\n') document.pop_back();
    text += (text.empty() ? "[" : ",\n") + document;
  }
  return text + "]\n";
}

/// The policies in texts such as "even,ws-dmil" and "even,warps=lrr,ws:window=5000". A part after a comma is
/// a setting if it has '=' and no ':' before it.
std::vector<std::string> expand_policies(const std::vector<std::string>& texts) {
  std::vector<std::string> policies;
  for (const std::string& text : texts) {
    bool first = true;
    for (const std::string& part : split(text, ',')) {
      const std::size_t equals = part.find('=');
      const bool is_setting = equals != std::string::npos && part.find(':') > equals;
      if (first || !is_setting) {
        policies.push_back(part);
      } else {
        policies.back() += "," + part;
      }
      first = false;
    }
  }
  std::vector<std::string> all;
  for (const std::string& text : policies) {
    if (text != "all") {
      all.push_back(text);
      continue;
    }
    for (const policy::PolicyInfo& info : policy::policies()) all.push_back(info.name);
  }
  return all;
}

void write_results(const RunOptions& options, const std::vector<Report>& reports,
                   const arch::MachineConfig& machine, const experiment::Applications& apps) {
  ResultFiles files;
  const Report& first = reports.front();
  if (!options.json.empty()) {
    files.add(options.json, results_json(reports, machine));
  }
  if (!options.stats.empty()) {
    files.add(options.stats, options.stats.ends_with(".csv") ? experiment::stats_csv(first.result)
                                                             : experiment::stats_text(first.result));
  }
  if (!options.series_csv.empty()) {
    std::string csv = experiment::series_csv_head();
    for (const Report& report : reports) csv += experiment::series_csv(report.result);
    files.add(options.series_csv, std::move(csv));
  }
  if (!options.timeline.empty()) {
    std::vector<std::string> traces;
    for (const Report& report : reports) traces.push_back(report.timeline);
    files.add(options.timeline, experiment::join_timelines(traces));
  }
  for (const auto& outputs : apps.outputs) {
    for (std::size_t i = 0; !outputs->complete && i < outputs->paths.size(); ++i) {
      say(fmt::format("note: {} was not written: the kernel did not end within the cycle limit\n",
                      outputs->paths[i]));
    }
    for (const experiment::KernelOutputs::File& file : outputs->files) files.add(file.path, file.content);
  }
  files.write();
}

/// Throws UserError for options that do not work with CUDA programs. A program may write to the terminal at
/// any time, so progress is off.
void check_program(const ProgramApp& app, RunOptions& options) {
  const std::string& name = app.spec.name;
  if (options.verify)
    throw UserError(
        fmt::format("{}: --verify has nothing to check: what a program computes it checks itself", name));
  if (!options.db.empty())
    throw UserError(
        fmt::format("{}: a database keeps runs whose input is known, which that of a program is not: leave "
                    "--db out",
                    name));
  if (options.progress == ProgressMode::Auto) options.progress = ProgressMode::Off;
}

/// Throws UserError for options that do not work with --db.
void check_database(const RunOptions& options, const experiment::Applications& apps) {
  if (!options.races.empty())
    throw UserError("--races needs a simulation, and --db may have the run already; give one of them");
  if (options.verify)
    throw UserError("--verify needs a simulation, and --db may have the run already; give one of them");
  if (options.baseline == "off")
    throw UserError("--db keeps runs with their baselines; leave --baseline off out");
  for (const auto& outputs : apps.outputs) {
    if (outputs->paths.empty()) continue;
    throw UserError(
        fmt::format("a database keeps no files, and a kernel writes {}: leave --db out, or use zero: for "
                    "out:, and in: for inout:",
                    outputs->paths.front()));
  }
}

}  // namespace

int run_command(Arguments args) {
  RunOptions options;
  std::vector<experiment::AppArguments> app_arguments;
  const std::vector<ProgramApp> programs = take_programs(args);
  if (!read_run_options(std::move(args), !programs.empty(), options, app_arguments)) return 0;
  std::string folder;
  std::string workload_file;
  if (!app_arguments.empty() && app_arguments.front().app.ends_with(".toml")) {
    if (app_arguments.size() != 1)
      throw UserError("a workload file names all its applications; give it alone");
    workload_file = app_arguments.front().app;
    folder = read_workload_file(workload_file, options, app_arguments);
  }

  experiment::RunSpec spec;
  spec.machine = machine_of(options.machine.value_or(experiment::kDefaultMachine), options.set);
  std::vector<policy::PolicyChoice> policies;
  if (options.policies.empty()) options.policies = {experiment::kDefaultPolicy};
  for (const std::string& text : expand_policies(options.policies))
    policies.push_back(policy::parse_choice(text));
  if (policies.size() > 1 && !options.stats.empty()) {
    throw UserError("--stats describes one run; give one --policy, or --json, which makes a list of several");
  }
  const experiment::Applications apps = experiment::make_apps(app_arguments, folder, options.verify);
  spec.apps = apps.specs;
  for (const std::string& note : apps.notes)
    if (!options.quiet) say(fmt::format("note: {}\n", note));
  for (const ProgramApp& program : programs) {
    check_program(program, options);
    spec.apps.push_back(program.spec);
  }
  for (const policy::PolicyChoice& choice : policies)
    policy::check_choice(choice, spec.machine, spec.apps.size());
  spec.seed = options.seed.value_or(1);
  spec.cycles = options.cycles.value_or(0);
  spec.instructions = options.instructions.value_or(0);
  spec.threads = options.threads;
  spec.verify = options.verify;
  spec.no_skip = options.no_skip;
  spec.ledger =
      options.ledger == "on" ||
      (options.ledger == "auto" && std::any_of(spec.apps.begin(), spec.apps.end(),
                                               [](const auto& of) { return of.arrivals.goal.has_value(); }));
  if (!options.view_sms.empty()) spec.viewed = experiment::parse_sms(options.view_sms, spec.machine.sms);
  spec.cache_folder = experiment::default_cache_folder();
  if (!options.cpu.empty()) {
    if (spec.machine.cpus == 0)
      throw UserError(
          fmt::format("--cpu {}: machine {} has no CPU cores (cpus)", options.cpu, spec.machine.name));
    spec.cpus = experiment::parse_cpus(options.cpu, spec.machine.cpus);
    if (options.cpu_warm_up) spec.cpu_span.warm_up = *options.cpu_warm_up;
    if (options.cpu_instructions) spec.cpu_span.instructions = *options.cpu_instructions;
    spec.alpha = options.alpha;
  }
  spec.races = race_mode(options.races);
  spec.timeline = !options.timeline.empty();
  spec.series =
      options.series.value_or(spec.timeline || !options.series_csv.empty() ? experiment::kDefaultSeries : 0);
  std::vector<std::string> written;
  for (const std::string& path : {options.json, options.stats, options.series_csv, options.timeline})
    if (!path.empty()) written.push_back(path);
  const auto to_standard_output = std::count(written.begin(), written.end(), kStandardOutput);
  for (const auto& outputs : apps.outputs)
    written.insert(written.end(), outputs->paths.begin(), outputs->paths.end());
  for (const std::string& path : written) ResultFiles::check(path);
  std::vector<std::string> inputs = {options.db, workload_file};
  if (const std::string& name = options.machine.value_or(""); name.ends_with(".toml")) inputs.push_back(name);
  for (const experiment::AppArguments& app : app_arguments) {
    const auto add = [&](const std::string& text) {
      std::string file = text;
      if (std::string path, kernel; experiment::split_kernel(text, path, kernel)) file = path;
      if (const std::string bundle = experiment::bundle_path(text); !bundle.empty()) file = bundle;
      if (file.find('/') == std::string::npos && file.find('.') == std::string::npos) return;  // built in
      inputs.push_back(
          folder.empty() || file.starts_with('/') ? file : (std::filesystem::path(folder) / file).string());
    };
    if (app.launches.empty()) add(app.app);
    for (const experiment::LaunchArguments& launch : app.launches) add(launch.kernel);
  }
  check_apart(written, inputs);
  if (!options.db.empty()) check_database(options, apps);

  const arch::MachineConfig machine = spec.machine;
  const std::vector<Report> reports = run_all(std::move(spec), options, policies);
  const int exit_code = report_programs(programs);
  for (const Report& report : reports) {
    if (options.quiet || !report.result.races) continue;
    if (reports.size() > 1) say(fmt::format("note: races under policy {}:\n", report.result.policy));
    say(emulator::races_text(*report.result.races, kRaceLines));
  }
  write_results(options, reports, machine, apps);
  if (!options.quiet && to_standard_output == 0) {
    const View view{options.verify, terminal_width(STDOUT_FILENO), wants_colour(STDOUT_FILENO),
                    machine.runtime.kernel_launch_latency};
    std::fputs(
        (reports.size() == 1 ? run_text(reports.front(), view) : comparison_text(reports, view)).c_str(),
        stdout);
    const experiment::RunResult& first = reports.front().result;
    if (reports.size() == 1 && first.apps.size() == 1) {
      std::fputs(paper_columns_text(first.apps.front().app, machine, &first, view.width, view.colour).c_str(),
                 stdout);
    }
  }
  return exit_code;
}

}  // namespace gpumux::cli
