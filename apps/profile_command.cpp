// gpumux profile APP... -o FILE
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app_options.hpp"
#include "arch/config_file.hpp"
#include "arch/warp_scheduler.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "experiment/cache.hpp"
#include "experiment/make_app.hpp"
#include "experiment/profile.hpp"
#include "machine_option.hpp"
#include "run_progress.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kProfileHelp = R"(
Runs each APP alone with at most 1, 2, 3... thread blocks of a kernel per SM, and writes what its kernels issue. Policies
that need profiles (see `gpumux list policies`) read the file with profile=FILE instead of making these runs. APP and its
options are those of `gpumux run`.)";

std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t least) {
  const auto value = parse_uint(text);
  if (!value || *value < least)
    throw UserError(fmt::format("{} '{}' must be a whole number of at least {}", option, text, least));
  return *value;
}

}  // namespace

int profile_command(Arguments args) {
  CLI::App app("Writes the scalability curves of applications alone.", "gpumux profile");
  app.footer(kProfileHelp);
  std::string machine = experiment::kDefaultMachine;
  std::vector<std::string> set;
  std::string seed = "1";
  std::string cycles = std::to_string(policy::kProfileCycles);
  std::string warps;
  std::string file;
  unsigned threads = 1;
  bool quiet = false;
  app.add_option("--machine", machine, fmt::format("preset or machine file [{}]", machine))
      ->type_name("MACHINE");
  app.add_option("--set", set, "KEY=VALUE, a setting of the machine; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--warps", warps,
                 "warp scheduler [the machine's]; " + arch::warp_scheduler_help() +
                     "; ccws: gto, loads throttled by lost locality; swl:N: gto among the N oldest of an SM")
      ->type_name("SCHEDULER");
  app.add_option("--seed", seed, "of the inputs [1]")->type_name("N");
  app.add_option("--cycles", cycles, fmt::format("core cycles of each run, at least 1000 [{}]", cycles))
      ->type_name("CYCLES");
  app.add_option("--threads", threads, "host threads; results never depend on them [1]")
      ->check(CLI::Range(1, 256));
  app.add_option("-o,--output", file, "the profile, a JSON file")->type_name("FILE")->required();
  app.add_flag("--quiet", quiet, "print nothing but errors");
  std::string progress_text = "auto";
  app.add_option("--progress", progress_text, kProgressHelp)->type_name("auto|plain|off");
  const std::vector<experiment::AppArguments> apps = take_apps(
      args,
      {"--machine", "--set", "--warps", "--seed", "--cycles", "--threads", "--output", "-o", "--progress"});
  if (!parse(app, args)) return 0;
  if (apps.empty()) throw UserError("profile needs at least one APP, such as hotspot (see gpumux list apps)");

  experiment::RunSpec spec;
  spec.machine = machine_of(machine, set);
  spec.policy = policy::parse_choice(warps.empty() ? "leftover" : "leftover,warps=" + warps);
  spec.seed = whole_number("--seed", seed, 0);
  spec.threads = threads;
  spec.apps = experiment::make_apps(apps, "", false).specs;
  constexpr std::uint64_t kLeastCycles = 1000;
  policy::ProfileRequest request;
  request.depth = policy::ProfileRequest::Depth::Curve;
  request.cycles = whole_number("--cycles", cycles, kLeastCycles);
  ResultFiles::check(file);
  std::vector<policy::AppProfile> made;
  {
    Progress progress(progress_mode(progress_text, quiet));
    for (const experiment::AppSpec& one : spec.apps) {
      experiment::RunSpec alone = spec;
      alone.apps = {one};
      alone.progress = progress.line(fmt::format("{} alone", one.text), request.cycles);
      made.push_back(experiment::profiles(alone, request, experiment::default_cache_folder()).front());
    }
  }
  ResultFiles files;
  files.add(file, experiment::profile_document(spec, request.cycles, made));
  files.write();
  if (quiet || file == kStandardOutput) return 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    for (const policy::KernelProfile& kernel : made[i].kernels) {
      fmt::print("{}: {}: IPC per SM with 1 to {} blocks:", spec.apps[i].text, kernel.kernel,
                 kernel.points.size());
      for (const policy::ProfilePoint& point : kernel.points) fmt::print(" {:.1f}", point.thread_ipc);
      fmt::print("\n");
    }
  }
  return 0;
}

}  // namespace gpumux::cli
