// Greedy then oldest: the same warp until it cannot issue, then the oldest warp that can. Sources: Rogers et
// al., MICRO 2012, as dai18 (table 1) and kayiran14 (baseline architecture) use it.
#pragma once

#include <bit>

#include "sm/warp_order.hpp"

namespace gpumux::sm {

struct GreedyThenOldest : SingleLevel {
  struct State {
    std::uint8_t greedy = kNoWarp;  // the warp that issued last, while it lives
  };
  static std::uint32_t pick(const State& state, const WarpsByAge& by_age, WarpMask candidates) {
    if (state.greedy < kNoWarp && ((candidates >> state.greedy) & 1U) != 0) return state.greedy;
    return oldest(by_age, candidates);
  }
  static void issued(State& state, std::uint32_t warp) { state.greedy = static_cast<std::uint8_t>(warp); }
  static void left(State& state, std::uint32_t warp) {
    if (state.greedy == warp) state.greedy = kNoWarp;
  }
  /// The oldest ready warps, and the greedy warp even while it waits.
  static WarpMask likely(const State& state, const WarpsByAge& by_age, WarpMask ready, std::uint32_t count) {
    WarpMask found = first_by_age(by_age, ready, count);
    if (state.greedy < kNoWarp) found |= WarpMask{1} << state.greedy;
    return found;
  }
};

}  // namespace gpumux::sm
