#include "program_apps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/exit_code.hpp"
#include "program/process.hpp"
#include "program/shell_words.hpp"
#include "terminal.hpp"

namespace gpumux::cli {
namespace {

/// Describes a program. `name`: for results and messages.
std::shared_ptr<const program::Program> make_program(std::vector<std::string> command,
                                                     const std::string& name, bool stops_at_errors,
                                                     bool in_shell = false) {
  program::Program of;
  of.stops_at_errors = stops_at_errors;
  of.in_shell = in_shell;
  of.command = std::move(command);
  of.name = name;
  of.libraries = program::library_folder();
  return std::make_shared<const program::Program>(std::move(of));
}

/// The application for a program. `text`: as typed.
ProgramApp program_app(std::shared_ptr<const program::Program> program, const std::string& text) {
  ProgramApp app;
  app.program = std::move(program);
  experiment::AppSpec& spec = app.spec;
  spec.name = app.program->name;
  spec.text = text;
  spec.identity = "program";
  for (const std::string& word : app.program->command) spec.identity += '\0' + word;
  spec.live = true;
  spec.create = [of = app.program](std::uint64_t) { return program::make_application(of, true); };
  spec.create_aside = [of = app.program](std::uint64_t) { return program::make_application(of, false); };
  return app;
}

std::string file_name(const std::string& program) {
  return std::filesystem::path(program).filename().string();
}

/// True if the system can start the file itself. A shell would interpret other files as shell commands.
bool can_be_started(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> first{};
  file.read(first.data(), first.size());
  const std::string_view text(first.data(), static_cast<std::size_t>(file.gcount()));
  return text.starts_with(
             "\x7f"
             "ELF") ||
         text.starts_with("#!");
}

/// The application for a shell command, named after its first word. If the shell would only start a program,
/// the program is started directly, so that it ends in the same way as a program after `--`.
ProgramApp shell_app(const std::string& text, bool stops_at_errors) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos)
    throw UserError("--app needs a CUDA program with its arguments: --app './program 1 2'");
  if (const auto words = program::plain_words(text)) {
    const std::string path = program::find_program(words->front());
    if (can_be_started(path))
      return program_app(make_program(*words, file_name(path), stops_at_errors), text);
  }
  const std::string word = text.substr(first, text.find(' ', first) - first);
  return program_app(make_program({"/bin/sh", "-c", text}, file_name(word), stops_at_errors, true), text);
}

int report_program(const ProgramApp& app) {
  const program::Outcome& outcome = *app.program->outcome;
  const std::string& name = app.program->name;
  if (!outcome.ended) {
    say(fmt::format("note: {} had not ended when the simulation did, and was stopped\n", name));
  } else if (!outcome.connected) {
    say(fmt::format("note: {} made no CUDA call of a shared run time: compile it with nvcc -cudart shared\n",
                    name));
  } else if (outcome.launches == 0 && !outcome.refused_library.empty()) {
    say(fmt::format("note: {} launched no kernel: those of {} cannot be simulated\n", name,
                    outcome.refused_library));
    return kProgramFault;
  } else if (outcome.launches == 0 && !outcome.refused_launch.empty()) {
    say(fmt::format("note: {} launched no kernel, and asked for what is not supported: {}\n", name,
                    outcome.refused_launch));
    return kProgramFault;
  } else if (outcome.launches == 0) {
    say(fmt::format("note: {} launched no kernel\n", name));
  }
  return outcome.exit_code;
}

}  // namespace

std::shared_ptr<const program::Program> program_after_dashes(
    const std::vector<std::string>& dashes_and_program, const std::string& usage, bool stops_at_errors) {
  const std::vector<std::string>& words = dashes_and_program;
  if (words.size() < 2 || words[1].empty()) {
    throw UserError(
        fmt::format("a CUDA program is needed after --, with its arguments: {} -- ./program 1 2", usage));
  }
  return make_program({words.begin() + 1, words.end()}, file_name(program::find_program(words[1])),
                      stops_at_errors);
}

std::vector<ProgramApp> take_programs(Arguments& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  const std::vector<std::string> last(dashes, args.end());
  args.erase(dashes, args.end());
  const bool stops_at_errors = std::erase(args, "--stop-at-errors") > 0;
  std::vector<ProgramApp> programs;
  constexpr std::string_view kOption = "--app";
  Arguments rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == kOption) {
      programs.push_back(shell_app(i + 1 < args.size() ? args[++i] : "", stops_at_errors));
    } else if (args[i].starts_with(std::string(kOption) + "=")) {
      programs.push_back(shell_app(args[i].substr(kOption.size() + 1), stops_at_errors));
    } else {
      rest.push_back(args[i]);
    }
  }
  args = std::move(rest);
  if (stops_at_errors && last.empty() && programs.empty())
    throw UserError("--stop-at-errors is for CUDA programs: errors of other applications always end a run");
  if (last.empty()) return programs;
  std::shared_ptr<const program::Program> program = program_after_dashes(last, "gpumux run", stops_at_errors);
  std::string text = program->name;
  for (std::size_t i = 2; i < last.size(); ++i) text += " " + last[i];
  programs.push_back(program_app(std::move(program), text));
  return programs;
}

int report_programs(const std::vector<ProgramApp>& programs) {
  int code = 0;
  for (const ProgramApp& app : programs)
    if (const int of_program = report_program(app); code == 0) code = of_program;
  return code;
}

}  // namespace gpumux::cli
