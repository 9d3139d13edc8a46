// Measures for how long something in a memory partition is stalled.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::l2 {

/// Core cycles in which at least one slice of a partition waits. A cycle counts once, however many
/// slices wait. Cycles are counted when a wait ends. Calls are in order of time, but the start of a
/// wait may be in the future.
class StallTime {
 public:
  explicit StallTime(std::uint32_t slices) : slices_(slices) { from_.fill(kNever); }

  /// A slice that does not wait starts to wait at cycle `from`, unless end() is called before.
  void begin(std::uint32_t slice, Cycle from) {
    from_[slice] = from;
    first_ = std::min(first_, from);
  }
  /// The slice does not wait in cycle `now` or later.
  void end(std::uint32_t slice, Cycle now) {
    count(now);
    from_[slice] = kNever;
    first_ = *std::min_element(from_.begin(), from_.begin() + slices_);
  }
  /// Sets the cycle from which the slice waits (kNever: it does not wait), as known at `now`.
  void set(std::uint32_t slice, Cycle from, Cycle now) {
    if (from_[slice] == from) return;
    if (from_[slice] != kNever) end(slice, now);
    if (from != kNever) begin(slice, from);
  }
  /// Counts the cycles before `now`.
  void count(Cycle now) {
    if (now <= counted_) return;
    if (first_ < now) cycles_ += now - std::max(first_, counted_);
    counted_ = now;
  }
  /// Cycles counted up to the last count().
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

 private:
  std::uint32_t slices_;
  Cycle first_ = kNever;  // minimum of from_
  Cycle counted_ = 0;     // cycles before this one are counted
  std::uint64_t cycles_ = 0;
  std::array<Cycle, 64> from_;  // by slice: start of its wait; kNever: the slice does not wait
};

}  // namespace gpumux::l2
