// Two-level phase-aware: the active queue is kept in the order of the length of the warps' next phases, the
// shortest first; loose round robin in the ready queue. Source: awatramani17 section 3.4.2.2, which does not
// say who of the ready queue issues.
#pragma once

#include "sm/two_level.hpp"

namespace gpumux::sm {

struct TwoLevelPhaseAware : TwoLevel<ActiveOrder::PhaseLength> {
  template <typename Distance>
  static std::uint32_t pick(const State& state, const WarpsByAge& /*by_age*/, WarpMask candidates,
                            const Distance& /*distance*/) {
    return next_behind(state.last, candidates);
  }
  static WarpMask likely(const State& state, const WarpsByAge& /*by_age*/, WarpMask ready,
                         std::uint32_t count) {
    return first_behind(state.last, ready & state.ready_queue, count);
  }
};

}  // namespace gpumux::sm
