// Windows of time: what one part sends reaches another a window later at the earliest.
#pragma once

#include "base/types.hpp"

namespace gpumux::engine {

/// Windows are as long as the network's latency and begin at multiples of their length (core cycles).
struct Windows {
  Cycle length = 1;

  /// The begin of the window of a cycle, and its end.
  [[nodiscard]] Cycle of(Cycle cycle) const { return cycle - cycle % length; }
  [[nodiscard]] Cycle end(Cycle cycle) const { return of(cycle) + length; }
  /// The begin of the first window that is not before `cycle`.
  [[nodiscard]] Cycle from(Cycle cycle) const {
    return cycle > kNever - length ? kNever : of(cycle + length - 1);
  }
};

}  // namespace gpumux::engine
