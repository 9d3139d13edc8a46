// The warp schedulers. A warp scheduler consists of a line here and a header in
// src/sm/warp_schedulers. Names in machine files and policies, help, errors and the compiled variants
// of issue are generated from this list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::arch {

/// X(name in files, class in src/sm/warp_schedulers, description).
#define GPUMUX_WARP_SCHEDULERS(X)                                                          \
  X(gto, GreedyThenOldest, "greedy then oldest")                                           \
  X(lrr, LooseRoundRobin, "loose round robin")                                             \
  X(tlrr, TwoLevelRoundRobin, "two-level, round robin among sm.ready_queue")               \
  X(tlgto, TwoLevelOldest, "two-level, the oldest of sm.ready_queue")                      \
  X(phase, PhaseAware, "phase-aware, the nearest to its phase's end")                      \
  X(tlphase, TwoLevelPhaseAware, "two-level, short phases come into sm.ready_queue first") \
  X(oldest, OldestFirst, "always the oldest")

enum class WarpScheduler : std::uint8_t {
#define GPUMUX_ENUMERATOR(name, type, description) name,
  GPUMUX_WARP_SCHEDULERS(GPUMUX_ENUMERATOR)
#undef GPUMUX_ENUMERATOR
};

/// Meaning of `warps=`: a scheduler; or swl:N, gto among the N oldest warps of an SM (static warp limiting,
/// kayiran14 section 2.1); or ccws, gto among the warps that cache-conscious scheduling lets issue.
struct WarpsChoice {
  WarpScheduler scheduler = WarpScheduler::gto;
  std::uint32_t limit = 0;  // warps of an SM that may issue; 0: all
  bool ccws = false;
};
/// Throws UserError that lists the valid choices.
[[nodiscard]] WarpsChoice parse_warps(std::string_view text);
/// Text for help: "gto|lrr|...|ccws|swl:N".
[[nodiscard]] std::string warps_choices();

/// Names of the warp schedulers, in the order of the enumeration.
[[nodiscard]] const std::vector<std::string>& warp_scheduler_names();
/// Text for help: "gto: greedy then oldest; lrr: ...".
[[nodiscard]] std::string warp_scheduler_help();
/// Throws UserError that lists the warp schedulers, for an unknown name.
[[nodiscard]] WarpScheduler warp_scheduler_named(std::string_view name);

}  // namespace gpumux::arch
