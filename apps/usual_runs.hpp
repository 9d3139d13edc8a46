// Figures of built-in applications alone, as measured once (benchmarks/usual_runs.txt).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpumux::cli {

struct UsualRun {
  std::string machine;
  std::uint64_t cycles = 0;
  std::uint64_t warp_instructions = 0;
  double seconds = 0;          // on one core
  double lsu_stall_share = 0;  // of its SM cycles
  bool ends = true;            // false: these are the first cycles of a longer run
};
/// The figures of an application; nothing if it was not measured.
[[nodiscard]] std::optional<UsualRun> usual_run(const std::string& app);

}  // namespace gpumux::cli
