// The option --races[=MODE] of commands that execute kernels (docs/races.md).
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "emulator/race_log.hpp"

namespace gpumux::cli {

/// Number of instruction pairs that are shown. The result file has all.
inline constexpr std::size_t kRaceLines = 20;

inline void add_races_option(CLI::App& app, std::string& text) {
  app.add_flag(
         "--races{lockstep}", text,
         "report unsynchronised accesses of kernels to shared and global memory; --races=warp: also those "
         "within a warp, whose lanes it takes to go on independently")
      ->check(CLI::IsMember({"lockstep", "warp"}));
}

/// The mode that add_races_option() has read; nothing without the option.
[[nodiscard]] inline std::optional<emulator::RaceMode> race_mode(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text == "warp" ? emulator::RaceMode::Warp : emulator::RaceMode::Lockstep;
}

}  // namespace gpumux::cli
