// The issue stage's state of one of an SM's warp schedulers: its warps as masks, and its cycles by reason.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "arch/config.hpp"
#include "arch/statistics.hpp"
#include "sm/exec_units.hpp"
#include "sm/operand_collector.hpp"
#include "sm/warp.hpp"
#include "sm/warp_scheduler.hpp"

namespace gpumux::sm {

// Reasons of scheduler cycles, in the order of arch::SchedulerCounters.
enum class Reason : std::uint8_t {
#define GPUMUX_REASON(field, unit, description) field,
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_REASON)
#undef GPUMUX_REASON
      count,
  uncounted = count  // no resident block
};

struct Scheduler {
  Scheduler(std::uint32_t banks, const arch::SmConfig& config)
      : order(config),
        collector(banks, config.register_ports, config.register_writes, config.collectors_per_scheduler) {}
  std::array<WarpMask, kWaits> waits{};  // by Wait; disjoint; together they are the alive warps
  alignas(64) UnitArray ready_unit{};    // by unit: mask of the ready warps whose next instruction needs it
  WarpMask allowed = ~WarpMask{0};       // mask of the warps whose kernel may issue
  Cycle next_issue = 0;                  // end of the issue interval
  Cycle since = 0;                       // cycles from here on have `reason`; earlier cycles are counted
  Reason reason = Reason::uncounted;
  std::uint32_t window_issues = 0;  // issues in the current window, or in the last one
  WarpSchedulerStates order;
  WarpsByAge by_age;  // numbers within the scheduler
  OperandCollector collector;
  std::array<std::uint64_t, static_cast<std::size_t>(Reason::count) + 1> cycles{};
  [[nodiscard]] WarpMask ready() const { return waits[0]; }
  [[nodiscard]] WarpMask waiting(Wait wait) const { return waits[static_cast<std::size_t>(wait)]; }
  [[nodiscard]] WarpMask alive() const { return waits[0] | waits[1] | waits[2] | waits[3] | waits[4]; }
  /// Counts the cycles before `now`.
  void settle(Cycle now) {
    const Cycle until = std::max(now, since);
    cycles[static_cast<std::size_t>(reason)] += until - since;
    since = until;
  }
};

}  // namespace gpumux::sm
