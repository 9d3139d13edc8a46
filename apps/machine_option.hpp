// The options --machine and --set.
#pragma once

#include <string>
#include <vector>

#include "arch/config.hpp"

namespace gpumux::cli {

/// Loads a machine with arch::load_machine(). For a user's own file or settings, prints warnings about
/// contradictory values on standard error. A preset follows its source and gives no warnings.
[[nodiscard]] arch::MachineConfig machine_of(const std::string& name,
                                             const std::vector<std::string>& settings);

}  // namespace gpumux::cli
