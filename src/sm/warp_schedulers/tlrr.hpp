// Two-level round robin: loose round robin within the ready queue. The active queue is served in order of
// arrival. Source: awatramani17 section 3.4.2.2.
#pragma once

#include "sm/two_level.hpp"

namespace gpumux::sm {

struct TwoLevelRoundRobin : TwoLevel<ActiveOrder::Arrival> {
  static std::uint32_t pick(const State& state, const WarpsByAge& /*by_age*/, WarpMask candidates) {
    return next_behind(state.last, candidates);
  }
  static WarpMask likely(const State& state, const WarpsByAge& /*by_age*/, WarpMask ready,
                         std::uint32_t count) {
    return first_behind(state.last, ready & state.ready_queue, count);
  }
};

}  // namespace gpumux::sm
