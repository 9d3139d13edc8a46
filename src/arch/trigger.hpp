// What a mechanism arms in an SM beforehand, to act there at an exact cycle between two meetings.
#pragma once

#include <array>
#include <cstdint>

#include "arch/messages.hpp"
#include "arch/statistics.hpp"

namespace gpumux::arch {

/// Fires once, but for one that samples. Acts from the begin of a cycle on.
struct Trigger {
  enum class When : std::uint8_t {
    AtCycle,     // from the begin of `cycle` on; at once when that has passed
    AtCount,     // from the cycle after the one in which `counter` of `kernel` on this SM has reached `count`
    EachPeriod,  // every `cycle` cycles (at least 1) it takes a sample of warps, and stays armed
  };
  std::uint32_t id = 0;  // the caller's; a trigger replaces one of the same id
  When when = When::AtCycle;
  Cycle cycle = 0;
  KernelSlot kernel = 0;
  std::uint64_t KernelCounters::*counter = &KernelCounters::warp_instructions;
  std::uint64_t count = 0;
  /// Kernels (bits) that may not issue from then on, and that may again: as allow_issue() does.
  std::uint32_t forbid = 0;
  std::uint32_t allow = 0;
};

/// Of triggers that sample, since the kernel came: at the end of a cycle, warps that could have issued and
/// were not chosen ("idle warps", wang17 section 3.5).
struct WarpSamples {
  std::uint64_t samples = 0;
  std::uint64_t idle_warps = 0;  // sum over the samples
};

/// A trigger that has fired on an SM.
struct Fired {
  std::uint32_t id = 0;
  Cycle cycle = 0;  // from whose begin it acts
};

}  // namespace gpumux::arch
