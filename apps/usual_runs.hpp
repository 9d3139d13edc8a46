// What a built-in application takes alone, as it was measured once (benchmarks/usual_runs.txt).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpumux::cli {

struct UsualRun {
  std::string machine;
  std::uint64_t cycles = 0;
  std::uint64_t warp_instructions = 0;
  double seconds = 0;          // of one core
  double lsu_stall_share = 0;  // of its SMs' cycles
  bool ends = true;            // false: these are the first cycles of a longer run
};
/// Nothing when it was not measured.
[[nodiscard]] std::optional<UsualRun> usual_run(const std::string& app);

}  // namespace gpumux::cli
