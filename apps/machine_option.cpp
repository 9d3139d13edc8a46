#include "machine_option.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

arch::MachineConfig machine_of(const std::string& name, const std::vector<std::string>& settings) {
  arch::MachineConfig machine = arch::load_machine(name, settings);
  const std::vector<std::string> presets = arch::machine_names();
  if (settings.empty() && std::find(presets.begin(), presets.end(), name) != presets.end()) return machine;
  for (const std::string& warning : arch::machine_warnings(machine))
    say(fmt::format("warning: {}: {}\n", name, warning));
  return machine;
}

}  // namespace gpumux::cli
