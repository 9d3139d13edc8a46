// Two-level GTO: the oldest warp of the ready queue issues, and the active queue is in order of age. Source:
// awatramani17 section 3.4.2.2.
#pragma once

#include "sm/two_level.hpp"

namespace gpumux::sm {

struct TwoLevelOldest : TwoLevel<ActiveOrder::Age> {
  static std::uint32_t pick(const State& /*state*/, const WarpsByAge& by_age, WarpMask candidates) {
    return oldest(by_age, candidates);
  }
  static WarpMask likely(const State& state, const WarpsByAge& /*by_age*/, WarpMask ready,
                         std::uint32_t /*count*/) {
    return ready & state.ready_queue;
  }
};

}  // namespace gpumux::sm
