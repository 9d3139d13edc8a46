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

/// Takes each --app with its text, which a shell reads, and what follows a `--` out of `args`; in this order.
/// And --stop-at-errors, which holds for all of them. Throws UserError for those without a program, and when
/// there is no such program.
[[nodiscard]] std::vector<ProgramApp> take_programs(Arguments& args);

/// What follows the `--`, its name for messages, and where it finds the run-time library. `usage`: of the
/// command, where there is no program. Throws UserError then, and when it does not exist.
[[nodiscard]] std::shared_ptr<const program::Program> program_after_dashes(
    const std::vector<std::string>& dashes_and_program, const std::string& usage, bool stops_at_errors);

/// After the run: says on standard error what a user would wonder about, and returns the first exit code of a
/// program that is not 0.
int report_programs(const std::vector<ProgramApp>& programs);

}  // namespace gpumux::cli
