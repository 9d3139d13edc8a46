// The queues of two-level warp schedulers. A few warps are in the ready queue and may issue. Warps that could
// replace them are in the active queue. A warp that waits for a long time (memory, a barrier, a fence), or
// that is held back, becomes pending: it leaves the ready queue, and the head of the active queue takes its
// place. When the wait is over, the warp returns to the active queue. Source: awatramani17 section 3.4.2.2
// and table 3.1, after Narasiman et al., MICRO 2011.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sm/warp_order.hpp"

namespace gpumux::sm {

/// Order of the active queue. PhaseLength: by the length of the phase that starts where the warp waited.
enum class ActiveOrder : std::uint8_t { Arrival, Age, PhaseLength };

template <ActiveOrder kOrder>
struct TwoLevel {
  static constexpr bool kByPhase = kOrder == ActiveOrder::PhaseLength;
  struct State {
    WarpMask ready_queue = 0;
    WarpMask in_active = 0;
    std::vector<std::uint8_t> active;  // the active queue, head first
    std::uint8_t last = kNoWarp - 1;   // warp that issued last
  };
  static void configure(State& /*state*/, const arch::SmConfig& /*config*/) {}
  static WarpMask eligible(const State& state) { return state.ready_queue; }
  static WarpMask counted(const State& state) {
    return state.ready_queue != 0 ? state.ready_queue : ~WarpMask{0};
  }
  template <typename... Distance>
  static void refresh(State& state, const WarpView& view, std::uint32_t ready_queue,
                      const Distance&... distance) {
    const WarpMask can = view.alive & ~view.blocked;
    state.ready_queue &= can;
    if ((state.in_active & ~can) != 0) {
      state.in_active &= can;
      std::erase_if(state.active, [&](std::uint8_t warp) { return ((can >> warp) & 1U) == 0; });
    }
    WarpMask arriving = can & ~state.ready_queue & ~state.in_active;
    auto room = static_cast<int>(ready_queue) - std::popcount(state.ready_queue);
    if (arriving != 0) {
      state.in_active |= arriving;
      for (const std::uint8_t warp : view.by_age)  // warps that arrive together: oldest first
        if (((arriving >> warp) & 1U) != 0) state.active.push_back(warp);
      if constexpr (kOrder != ActiveOrder::Arrival) {
        state.active.clear();
        for (const std::uint8_t warp : view.by_age)
          if (((state.in_active >> warp) & 1U) != 0) state.active.push_back(warp);
      }
      if constexpr (kByPhase) sort_by_distance(state, distance...);
    }
    std::size_t taken = 0;
    for (; room > 0 && taken < state.active.size(); --room)
      state.ready_queue |= WarpMask{1} << state.active[taken++];
    state.active.erase(state.active.begin(), state.active.begin() + static_cast<std::ptrdiff_t>(taken));
    state.in_active &= ~state.ready_queue;
  }
  /// Sorts the active queue, which is in order of age, by distance. Of equal warps, the oldest stays first.
  template <typename Distance>
  static void sort_by_distance(State& state, const Distance& distance) {
    std::vector<std::uint8_t>& active = state.active;
    for (std::size_t i = 1; i < active.size(); ++i) {
      const std::uint8_t warp = active[i];
      std::size_t at = i;
      for (; at > 0 && distance(active[at - 1]) > distance(warp); --at) active[at] = active[at - 1];
      active[at] = warp;
    }
  }
  static void issued(State& state, std::uint32_t warp) { state.last = static_cast<std::uint8_t>(warp); }
  static void left(State& state, std::uint32_t warp) {
    const WarpMask bit = WarpMask{1} << warp;
    state.ready_queue &= ~bit;
    if ((state.in_active & bit) == 0) return;
    state.in_active &= ~bit;
    std::erase(state.active, static_cast<std::uint8_t>(warp));
  }
};

}  // namespace gpumux::sm
