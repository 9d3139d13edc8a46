// Phase-aware, one level: of the warps that can issue, the one whose next instruction is nearest to the end
// of its phase; of equal warps the oldest. Source: awatramani17 section 3.4.2.2.
#pragma once

#include "sm/warp_order.hpp"

namespace gpumux::sm {

struct PhaseAware : SingleLevel {
  static constexpr bool kByPhase = true;
  struct State {};
  template <typename Distance>
  static void refresh(State& /*state*/, const WarpView& /*view*/, std::uint32_t /*ready_queue*/,
                      const Distance& /*distance*/) {}
  template <typename Distance>
  static std::uint32_t pick(const State& /*state*/, const WarpsByAge& by_age, WarpMask candidates,
                            const Distance& distance) {
    return nearest(by_age, candidates, distance);
  }
  static void issued(State& /*state*/, std::uint32_t /*warp*/) {}
  static void left(State& /*state*/, std::uint32_t /*warp*/) {}
  static WarpMask likely(const State& /*state*/, const WarpsByAge& by_age, WarpMask ready,
                         std::uint32_t count) {
    return first_by_age(by_age, ready, count);
  }
};

}  // namespace gpumux::sm
