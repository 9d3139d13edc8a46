// What the program exits with: docs/exit-codes.md.
#pragma once

#include <string>

namespace gpumux {

enum ExitCode : int {
  kFine = 0,
  kOurFault = 1,      // a fault of gpumux, and nothing else
  kUserFault = 2,     // the input, the files or what the system gives is at fault
  kProgramFault = 3,  // the simulated program is at fault
};

struct Failure {
  int exit_code = kOurFault;
  std::string text;  // the line that is shown, or several
};

/// Of the exception that is being handled: call it inside a handler.
[[nodiscard]] Failure current_failure();

}  // namespace gpumux
