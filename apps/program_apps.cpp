#include "program_apps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "program/process.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

std::vector<std::string> take_program(Arguments& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  if (dashes == args.end()) return {};
  std::vector<std::string> program(dashes + 1, args.end());
  args.erase(dashes, args.end());
  if (program.empty() || program.front().empty())
    throw UserError("a CUDA program is needed after --, with its arguments: gpumux run -- ./program 1 2");
  return program;
}

ProgramApp program_app(const std::vector<std::string>& command) {
  program::Program of;
  of.command = command;
  of.name = std::filesystem::path(program::find_program(command.front())).filename().string();
  of.libraries = program::library_folder();
  ProgramApp app;
  app.program = std::make_shared<const program::Program>(std::move(of));
  experiment::AppSpec& spec = app.spec;
  spec.name = app.program->name;
  for (const std::string& word : command) spec.text += (spec.text.empty() ? "" : " ") + word;
  spec.identity = "program";
  for (const std::string& word : command) spec.identity += '\0' + word;
  spec.live = true;
  spec.create = [of = app.program](std::uint64_t) { return program::make_application(of, true); };
  spec.create_aside = [of = app.program](std::uint64_t) { return program::make_application(of, false); };
  return app;
}

int report_program(const ProgramApp& app) {
  const program::Outcome& outcome = *app.program->outcome;
  const std::string& name = app.program->name;
  if (!outcome.ended) {
    say(fmt::format("note: {} had not ended when the simulation did, and was stopped\n", name));
  } else if (!outcome.connected) {
    say(fmt::format("note: {} made no CUDA call of a shared run time: compile it with nvcc -cudart shared\n",
                    name));
  } else if (outcome.launches == 0) {
    say(fmt::format("note: {} launched no kernel\n", name));
  }
  return outcome.exit_code;
}

}  // namespace gpumux::cli
