// --races[=MODE] of the commands that execute kernels (docs/races.md).
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "emulator/race_log.hpp"

namespace gpumux::cli {

/// Pairs of instructions that are shown; the result file has all.
inline constexpr std::size_t kRaceLines = 20;

inline void add_races_option(CLI::App& app, std::string& text) {
  app.add_flag(
         "--races{lockstep}", text,
         "report unsynchronised accesses of kernels to shared and global memory; --races=warp: also those "
         "within a warp, whose lanes it takes to go on independently")
      ->check(CLI::IsMember({"lockstep", "warp"}));
}

/// Of what add_races_option() has read.
[[nodiscard]] inline std::optional<emulator::RaceMode> race_mode(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text == "warp" ? emulator::RaceMode::Warp : emulator::RaceMode::Lockstep;
}

}  // namespace gpumux::cli
