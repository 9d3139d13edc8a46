// Parses the arguments of `run` in order, because --grid, --block, --shared, --arg and --symbol belong to the
// APP before them. An option parser that collects options by name cannot express this.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::cli {

/// Takes the APPs with their options out of `args`, and leaves the rest. `value_options`: the other options
/// with a value. Throws UserError for an option before any APP, without a value, or given twice.
[[nodiscard]] std::vector<experiment::AppArguments> take_apps(Arguments& args,
                                                              const std::vector<std::string>& value_options);

}  // namespace gpumux::cli
