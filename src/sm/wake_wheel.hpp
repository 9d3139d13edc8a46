// A timing wheel of warp masks: the warps to look at again in each of the next 64 cycles.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"

namespace gpumux::sm {

class WakeWheel {
 public:
  static constexpr Cycle kSlots = 64;
  explicit WakeWheel(std::uint32_t schedulers) : schedulers_(schedulers), masks_(kSlots * schedulers, 0) {}

  /// Requires `wake` > now. A warp that wakes beyond the end of the wheel appears early and is added again.
  void add(std::uint32_t scheduler, std::uint32_t warp, Cycle now, Cycle wake) {
    GPUMUX_DCHECK(wake > now);
    const Cycle slot = std::min(wake, now + kSlots - 1) % kSlots;
    masks_[slot * schedulers_ + scheduler] |= WarpMask{1} << warp;
    occupied_ |= std::uint64_t{1} << slot;
  }
  /// First cycle >= now with a warp.
  [[nodiscard]] Cycle next(Cycle now) const {
    if (occupied_ == 0) return kNever;
    return now + static_cast<Cycle>(std::countr_zero(std::rotr(occupied_, static_cast<int>(now % kSlots))));
  }
  [[nodiscard]] bool due(Cycle now) const { return ((occupied_ >> (now % kSlots)) & 1U) != 0; }
  /// Prefetches the masks of the next cycles.
  [[gnu::always_inline]] void prefetch(Cycle now) const {
    for (Cycle cycle = now; cycle < now + 8; cycle += 2)
      __builtin_prefetch(&masks_[(cycle % kSlots) * schedulers_], 1);
  }
  /// Adds the warps that wake in [begin, end) to the mask of each scheduler.
  void due(Cycle begin, Cycle end, WarpMask* warps) const {
    std::uint64_t slots = std::rotr(occupied_, static_cast<int>(begin % kSlots));
    if (end - begin < kSlots) slots &= (std::uint64_t{1} << (end - begin)) - 1;
    for (; slots != 0; slots &= slots - 1) {
      const Cycle slot = (begin + static_cast<Cycle>(std::countr_zero(slots))) % kSlots;
      for (std::uint32_t s = 0; s < schedulers_; ++s) warps[s] |= masks_[slot * schedulers_ + s];
    }
  }
  /// Removes and returns the warps of one scheduler. Must be called for all schedulers, then done().
  [[nodiscard]] WarpMask take(std::uint32_t scheduler, Cycle now) {
    WarpMask& mask = masks_[(now % kSlots) * schedulers_ + scheduler];
    const WarpMask warps = mask;
    mask = 0;
    return warps;
  }
  void done(Cycle now) { occupied_ &= ~(std::uint64_t{1} << (now % kSlots)); }

 private:
  std::uint32_t schedulers_;
  std::uint64_t occupied_ = 0;
  HugePageVector<WarpMask> masks_;
};

}  // namespace gpumux::sm
