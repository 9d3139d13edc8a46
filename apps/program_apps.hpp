// CUDA programs among the applications of `run`: gpumux run [OPTIONS] -- PROGRAM [ARGUMENT...].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "experiment/run.hpp"
#include "program/application.hpp"

namespace gpumux::cli {

/// Takes what follows a `--` out of `args`, and the `--`: a program and its arguments; nothing: there is no
/// `--`. Throws UserError for a `--` that nothing follows.
[[nodiscard]] std::vector<std::string> take_program(Arguments& args);

struct ProgramApp {
  experiment::AppSpec spec;
  std::shared_ptr<const program::Program> program;
};
/// Throws UserError when there is no such program.
[[nodiscard]] ProgramApp program_app(const std::vector<std::string>& command);

/// After the run: says on standard error what a user would wonder about, and returns the exit code of the
/// program.
int report_program(const ProgramApp& app);

}  // namespace gpumux::cli
