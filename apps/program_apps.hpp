// CUDA programs among the applications of `run`: gpumux run [OPTIONS] [--app 'PROGRAM ARGUMENT...']... or
// gpumux run [OPTIONS] -- PROGRAM [ARGUMENT...].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "experiment/run.hpp"
#include "program/application.hpp"

namespace gpumux::cli {

struct ProgramApp {
  experiment::AppSpec spec;
  std::shared_ptr<const program::Program> program;
};

/// Takes the CUDA programs out of `args`: each --app with its shell command, then the program after `--`, in
/// this order. Also takes --stop-at-errors, which applies to all programs. Throws UserError for an option
/// without a program, and for programs that do not exist.
[[nodiscard]] std::vector<ProgramApp> take_programs(Arguments& args);

/// The program after `--`. `usage`: of the command, for the error if there is no program. Throws UserError
/// then, and if the program does not exist.
[[nodiscard]] std::shared_ptr<const program::Program> program_after_dashes(
    const std::vector<std::string>& dashes_and_program, const std::string& usage, bool stops_at_errors);

/// Reports surprising outcomes of programs on standard error, after the run. Returns the first exit code of a
/// program that is not 0.
int report_programs(const std::vector<ProgramApp>& programs);

}  // namespace gpumux::cli
