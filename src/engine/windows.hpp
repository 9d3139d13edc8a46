// Windows of time: a message reaches another part one window after it was sent, at the earliest.
#pragma once

#include "base/types.hpp"

namespace gpumux::engine {

/// Windows are as long as the network's latency and start at multiples of their length. Core cycles.
struct Windows {
  Cycle length = 1;

  /// Start of the window that contains `cycle`.
  [[nodiscard]] Cycle of(Cycle cycle) const { return cycle - cycle % length; }
  [[nodiscard]] Cycle end(Cycle cycle) const { return of(cycle) + length; }
  /// Start of the first window that does not start before `cycle`.
  [[nodiscard]] Cycle from(Cycle cycle) const {
    return cycle > kNever - length ? kNever : of(cycle + length - 1);
  }
};

}  // namespace gpumux::engine
