// gpumux capture -o FILE [--machine M] [--set KEY=VALUE]... -- PROGRAM [ARGUMENT...]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "bundle/recorder.hpp"
#include "bundle/writer.hpp"
#include "commands.hpp"
#include "machine_option.hpp"
#include "program/application.hpp"
#include "program/functional.hpp"
#include "program_apps.hpp"
#include "races_option.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

int capture_command(Arguments args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  const Arguments program_words(dashes, args.end());
  args.erase(dashes, args.end());
  CLI::App app(
      "Runs a CUDA program, its kernels executed without their time, and writes what it does with its GPU as "
      "a "
      "bundle, which runs without the program, beside any application and under any policy. Ends with the "
      "program's exit code.",
      "gpumux capture");
  std::string file;
  std::string machine_name = "v100";
  std::vector<std::string> settings;
  app.add_option("-o,--output", file, "the bundle, FILE.gmx")->type_name("FILE")->required();
  app.add_option("--machine", machine_name,
                 "preset or machine file: what the program learns when it asks for its device")
      ->type_name("MACHINE")
      ->capture_default_str();
  bool stop_at_errors = false;
  app.add_flag("--stop-at-errors", stop_at_errors,
               "faults of its kernels end the capture; else its calls return them, as on a GPU, and accesses "
               "outside of allocations pass within pages of 2 MB");
  app.add_option("--set", settings, "changes one key of the machine; may be repeated")
      ->type_name("KEY=VALUE");
  std::string races_text;
  add_races_option(app, races_text);
  app.footer("The program and its arguments come after --: gpumux capture -o a.gmx -- ./program 1 2");
  if (!parse(app, args)) return 0;
  if (!file.ends_with(".gmx")) throw UserError({file}, "the name of a bundle ends in .gmx");
  const std::shared_ptr<const program::Program> program =
      program_after_dashes(program_words, "gpumux capture -o " + file, stop_at_errors);
  const arch::MachineConfig machine = machine_of(machine_name, settings);
  ResultFiles::check(file);

  std::optional<emulator::RaceLog> races;
  if (const auto mode = race_mode(races_text)) races.emplace(*mode);
  bundle::Writer writer(file, first_line_of(AppId{0}) * kLineBytes);
  const std::uint64_t executed =
      program::run_functionally(bundle::record(program::make_application(program, true), writer),
                                program->name, machine, races ? &*races : nullptr);
  const program::Outcome& outcome = *program->outcome;
  if (outcome.launches == 0) {
    throw UserError(fmt::format("{} launched no kernel{}: there is nothing to capture", program->name,
                                outcome.connected
                                    ? ""
                                    : ", and made no CUDA call of a shared run time (compile it "
                                      "with nvcc -cudart shared)"));
  }
  writer.finish();
  if (races) say(emulator::races_text(*races, kRaceLines));
  say(fmt::format("captured {} launches, {} warp instructions: {}\n", outcome.launches, executed, file));
  return outcome.exit_code;
}

}  // namespace gpumux::cli
