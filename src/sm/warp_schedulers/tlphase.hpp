// Two-level phase-aware: the active queue is in order of the length of the warps' next phases, shortest
// first. Source: awatramani17 section 3.4.2.2, which does not say which warp of the ready queue issues.
// sm.tlphase_order says so; the default is loose round robin.
#pragma once

#include "arch/config.hpp"
#include "sm/two_level.hpp"

namespace gpumux::sm {

struct TwoLevelPhaseAware : TwoLevel<ActiveOrder::PhaseLength> {
  struct State : TwoLevel::State {
    arch::ReadyOrder order = arch::ReadyOrder::RoundRobin;
  };
  static void configure(State& state, const arch::SmConfig& config) { state.order = config.tlphase_order; }
  template <typename Distance>
  static std::uint32_t pick(const State& state, const WarpsByAge& by_age, WarpMask candidates,
                            const Distance& distance) {
    switch (state.order) {
      case arch::ReadyOrder::RoundRobin: return next_behind(state.last, candidates);
      case arch::ReadyOrder::Oldest: return oldest(by_age, candidates);
      case arch::ReadyOrder::Nearest: return nearest(by_age, candidates, distance);
    }
    __builtin_unreachable();
  }
  static WarpMask likely(const State& state, const WarpsByAge& /*by_age*/, WarpMask ready,
                         std::uint32_t count) {
    if (state.order != arch::ReadyOrder::RoundRobin) return ready & state.ready_queue;
    return first_behind(state.last, ready & state.ready_queue, count);
  }
};

}  // namespace gpumux::sm
