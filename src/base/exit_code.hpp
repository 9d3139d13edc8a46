// Exit codes of the program (docs/exit-codes.md).
#pragma once

#include <string>

namespace gpumux {

enum ExitCode : int {
  kFine = 0,
  kOurFault = 1,      // a fault of gpumux itself
  kUserFault = 2,     // the input, a file or a lack of system resources is at fault
  kProgramFault = 3,  // the simulated program is at fault
};

struct Failure {
  int exit_code = kOurFault;
  std::string text;  // the message to show, one or more lines
};

/// Exit code and message for the exception that is being handled. Call only inside a handler.
[[nodiscard]] Failure current_failure();

}  // namespace gpumux
