// Always the oldest warp that can issue. Source: awatramani17 section 3.4.2.2, which describes GTO in these
// words. The example of docs/adding-a-warp-scheduler.md.
#pragma once

#include "sm/warp_order.hpp"

namespace gpumux::sm {

struct OldestFirst : SingleLevel {
  struct State {};  // no state
  static std::uint32_t pick(const State& /*state*/, const WarpsByAge& by_age, WarpMask candidates) {
    return oldest(by_age, candidates);
  }
  static void issued(State& /*state*/, std::uint32_t /*warp*/) {}
  static void left(State& /*state*/, std::uint32_t /*warp*/) {}
  static WarpMask likely(const State& /*state*/, const WarpsByAge& /*by_age*/, WarpMask ready,
                         std::uint32_t /*count*/) {
    return ready;
  }
};

}  // namespace gpumux::sm
