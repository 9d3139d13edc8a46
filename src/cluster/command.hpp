// Other programs of the system: Slurm's commands.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::cluster {

struct CommandOutcome {
  int exit_code = 0;  // 128 and the signal's number when a signal ended it
  bool too_late = false;
  std::string out;
  std::string err;
};

/// Runs words[0], looked up on PATH, with `input` (at most a few KiB) as its standard input, until it ends
/// or, at `limit`, is killed. Variables of the environment that begin with `without` are kept from it (empty:
/// none). Ctrl-C does not reach it. Nothing when there is no such program. Throws InternalError when no
/// process is to be had.
[[nodiscard]] std::optional<CommandOutcome> run_command(const std::vector<std::string>& words,
                                                        std::string_view input, std::chrono::seconds limit,
                                                        std::string_view without = "");

}  // namespace gpumux::cluster
