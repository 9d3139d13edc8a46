// For how long something in a memory partition is held up, as a whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::l2 {

/// Core cycles in which at least one slice of a partition waits: one a cycle at most, however many do.
/// Counted when a wait ends, not cycle by cycle. What it is told of is in order of time, but for begins,
/// which may lie ahead.
class StallTime {
 public:
  explicit StallTime(std::uint32_t slices) : slices_(slices) { from_.fill(kNever); }

  /// A slice that does not wait does so from this cycle on, unless end() comes before.
  void begin(std::uint32_t slice, Cycle from) {
    from_[slice] = from;
    first_ = std::min(first_, from);
  }
  /// It does not wait in cycle `now` and later ones.
  void end(std::uint32_t slice, Cycle now) {
    count(now);
    from_[slice] = kNever;
    first_ = *std::min_element(from_.begin(), from_.begin() + slices_);
  }
  /// It waits from this cycle on (kNever: not), as seen at `now`.
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
  /// Up to the last count().
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

 private:
  std::uint32_t slices_;
  Cycle first_ = kNever;  // the least of from_
  Cycle counted_ = 0;     // up to here
  std::uint64_t cycles_ = 0;
  std::array<Cycle, 64> from_;  // by slice: it waits since; kNever: it does not
};

}  // namespace gpumux::l2
