// The warp schedulers. One line here and a header in src/sm/warp_schedulers make one: names in machine files
// and policies, help, errors and what issue is compiled for come from this list.
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

/// What `warps=` says: a scheduler; swl:N, gto among the N oldest warps of an SM (static warp limiting,
/// kayiran14 section 2.1); or ccws, gto among the warps that cache-conscious scheduling lets issue.
struct WarpsChoice {
  WarpScheduler scheduler = WarpScheduler::gto;
  std::uint32_t limit = 0;  // warps of an SM that may issue; 0: all
  bool ccws = false;
};
/// Throws UserError that says what there is.
[[nodiscard]] WarpsChoice parse_warps(std::string_view text);
/// "gto|lrr|...|ccws|swl:N".
[[nodiscard]] std::string warps_choices();

/// Names, in the order of the enumeration.
[[nodiscard]] const std::vector<std::string>& warp_scheduler_names();
/// "gto: greedy then oldest; lrr: ...".
[[nodiscard]] std::string warp_scheduler_help();
/// Throws UserError that says which there are.
[[nodiscard]] WarpScheduler warp_scheduler_named(std::string_view name);

}  // namespace gpumux::arch
