// --machine and --set.
#pragma once

#include <string>
#include <vector>

#include "arch/config.hpp"

namespace gpumux::cli {

/// arch::load_machine(). What a user's own file or settings say that cannot all hold is told on standard
/// error; a preset repeats its source.
[[nodiscard]] arch::MachineConfig machine_of(const std::string& name,
                                             const std::vector<std::string>& settings);

}  // namespace gpumux::cli
