// Loose round robin: the next warp that can issue, after the warp that issued last. Source: awatramani17
// chapter 3, its single-level baseline.
#pragma once

#include "sm/warp_order.hpp"

namespace gpumux::sm {

struct LooseRoundRobin : SingleLevel {
  struct State {
    std::uint8_t last = kNoWarp - 1;  // warp that issued last
  };
  static std::uint32_t pick(const State& state, const WarpsByAge& /*by_age*/, WarpMask candidates) {
    return next_behind(state.last, candidates);
  }
  static void issued(State& state, std::uint32_t warp) { state.last = static_cast<std::uint8_t>(warp); }
  static void left(State& /*state*/, std::uint32_t /*warp*/) {}
  static WarpMask likely(const State& state, const WarpsByAge& /*by_age*/, WarpMask ready,
                         std::uint32_t count) {
    return first_behind(state.last, ready, count);
  }
};

}  // namespace gpumux::sm
