#include "arch/warp_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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

WarpsChoice parse_warps(std::string_view text) {
  constexpr std::string_view kLimited = "swl";
  constexpr std::uint64_t kMostWarps = 256;  // warps of an SM: four schedulers with 64 warps
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (name != kLimited) {
    std::vector<std::string> names = warp_scheduler_names();
    names.emplace_back("ccws");
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.emplace_back("swl:N");
      throw UserError(unknown_choice("warp scheduler", std::string(name), names));
    }
    if (colon != std::string_view::npos)
      throw UserError(fmt::format("warps={}: {} takes no argument", text, name));
    if (name == "ccws") return {.ccws = true};
    return {.scheduler = warp_scheduler_named(name)};
  }
  const std::optional<std::uint64_t> limit =
      colon == std::string_view::npos ? std::nullopt : parse_uint(std::string(text.substr(colon + 1)));
  if (!limit || *limit == 0 || *limit > kMostWarps)
    throw UserError(
        fmt::format("warps={}: a number of warps from 1 to {} must follow, as in swl:8", text, kMostWarps));
  return {.limit = static_cast<std::uint32_t>(*limit)};
}

std::string warps_choices() { return fmt::format("{}|ccws|swl:N", fmt::join(warp_scheduler_names(), "|")); }

WarpScheduler warp_scheduler_named(std::string_view name) {
  const std::vector<std::string>& names = warp_scheduler_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError(unknown_choice("warp scheduler", std::string(name), names));
  return static_cast<WarpScheduler>(found - names.begin());
}

}  // namespace gpumux::arch
