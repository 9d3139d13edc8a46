// A trigger that a mechanism arms in an SM, to act there at an exact cycle between two meetings.
#pragma once

#include <array>
#include <cstdint>

#include "arch/messages.hpp"
#include "arch/statistics.hpp"

namespace gpumux::arch {

/// Fires once, except EachPeriod. Takes effect at the start of a cycle.
struct Trigger {
  enum class When : std::uint8_t {
    AtCycle,     // at the start of `cycle`, or at once if that has passed
    AtCount,     // one cycle after `counter` of `kernel` on this SM has reached `count`
    EachPeriod,  // every `cycle` cycles (at least 1): takes a sample of warps and stays armed
  };
  std::uint32_t id = 0;  // chosen by the caller; a trigger replaces one with the same id
  When when = When::AtCycle;
  Cycle cycle = 0;
  KernelSlot kernel = 0;
  std::uint64_t KernelCounters::*counter = &KernelCounters::warp_instructions;
  std::uint64_t count = 0;
  /// Masks of kernels that the trigger forbids to issue, and allows to issue again, like allow_issue().
  std::uint32_t forbid = 0;
  std::uint32_t allow = 0;
};

/// Sums over the samples since the kernel's arrival. A sample counts, at the end of a cycle, the warps that
/// could have issued and were not chosen ("idle warps", wang17 section 3.5).
struct WarpSamples {
  std::uint64_t samples = 0;
  std::uint64_t idle_warps = 0;  // sum over the samples
};

/// A trigger that has fired on an SM.
struct Fired {
  std::uint32_t id = 0;
  Cycle cycle = 0;  // cycle from whose start the trigger is in effect
};

}  // namespace gpumux::arch
