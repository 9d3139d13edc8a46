#include "arch/warp_scheduler.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::arch {

const std::vector<std::string>& warp_scheduler_names() {
  static const std::vector<std::string> names = {
#define GPUMUX_NAME(name, type, description) #name,
      GPUMUX_WARP_SCHEDULERS(GPUMUX_NAME)
#undef GPUMUX_NAME
  };
  return names;
}

std::string warp_scheduler_help() {
  std::string help;
#define GPUMUX_HELP(name, type, description) \
  help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", #name, description);
  GPUMUX_WARP_SCHEDULERS(GPUMUX_HELP)
#undef GPUMUX_HELP
  return help;
}

WarpScheduler warp_scheduler_named(std::string_view name) {
  const std::vector<std::string>& names = warp_scheduler_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError(unknown_choice("warp scheduler", std::string(name), names));
  return static_cast<WarpScheduler>(found - names.begin());
}

}  // namespace gpumux::arch
