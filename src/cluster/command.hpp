// Runs other programs of the system: Slurm's commands.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::cluster {

struct CommandOutcome {
  int exit_code = 0;  // 128 plus the signal's number if a signal ended it
  bool too_late = false;
  std::string out;
  std::string err;
};

/// Runs words[0], found on PATH, with `input` (at most a few KiB) as its standard input, and kills it after
/// `limit`. Environment variables that start with `without` are not passed on (empty: all are). Ctrl-C does
/// not reach the program. Nothing if there is no such program. Throws UserError if no process can be created.
[[nodiscard]] std::optional<CommandOutcome> run_command(const std::vector<std::string>& words,
                                                        std::string_view input, std::chrono::seconds limit,
                                                        std::string_view without = "");

}  // namespace gpumux::cluster
