// The ordered pass over the arguments of `run`: --grid, --block, --shared, --arg and --symbol bind to the APP
// that precedes them, which an option parser that gathers options by name cannot say.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::cli {

/// Takes the APPs with their options out of `args` and leaves the rest. `value_options` are the other options
/// that are followed by a value. Throws UserError for an option before any APP, without a value, or given
/// twice.
[[nodiscard]] std::vector<experiment::AppArguments> take_apps(Arguments& args,
                                                              const std::vector<std::string>& value_options);

}  // namespace gpumux::cli
