// Cache-conscious warp scheduling (CCWS). A warp whose lines L1 evicts before the warp uses them again
// gets a higher score. If the sum of scores leaves no room for a warp, it may issue no loads until the
// scores have fallen. Source: Rogers et al., MICRO 2012, as awatramani17 (sections 3.6.3, 4.3) and
// kayiran14 (section 3.1) use it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "base/types.hpp"

namespace gpumux::sm {

/// CCWS on one SM. Warps are named by slot, lines of L1 by index.
class LostLocality {
 public:
  static constexpr std::uint32_t kMostSchedulers = 4;
  static constexpr std::uint16_t kNobody = 0xffff;      // not a warp's slot
  using Masks = std::array<WarpMask, kMostSchedulers>;  // by scheduler: mask of warps by
                                                        // number within the scheduler

  LostLocality(const arch::CcwsConfig& config, std::uint32_t warp_slots, std::uint32_t schedulers,
               std::uint32_t l1_lines);

  // --- L1 ---------------------------------------------------------------------------------------------
  /// The warp that a load is for: its slot, and the generation that distinguishes
  /// successive warps of the slot.
  struct Loader {
    std::uint16_t slot = kNobody;
    std::uint32_t generation = 0;
  };
  /// A line was loaded for the warp, or its data is on the way.
  void loaded(std::uint32_t index, Loader loader) {
    loader_[index] = is_here(loader) ? loader.slot : kNobody;
  }
  /// The line was evicted, and becomes a victim of the warp for which it was loaded.
  void evicted(std::uint32_t index, std::uint64_t line);
  /// True if the warp, if it is still in its slot, had the line and lost it. Must be called before the load,
  /// because the load may evict a line and make it a victim.
  [[nodiscard]] bool has_lost(Loader loader, std::uint64_t line) const;
  /// The warp has missed a line that it had lost. Its score becomes found x throttle x cutoff / instructions,
  /// at least the base. `found`: lost lines that its kernel has found, including this one. `instructions`:
  /// instructions that the kernel has issued on this SM. choose() must be called afterwards.
  void missed(Loader loader, std::uint64_t line, arch::KernelSlot kernel, std::uint64_t instructions,
              Cycle now);
  /// Assigns the kernel slot to another kernel.
  void begin(arch::KernelSlot kernel) { found_[kernel] = 0; }

  // --- warps ------------------------------------------------------------------------------------------
  /// A new warp has the slot; it has not lost any line.
  void came(std::uint32_t slot, std::uint32_t generation);
  /// Chooses the warps that may issue loads. `running`: warps that run, oldest first.
  /// Scores are those at `now`.
  void choose(const std::vector<std::uint16_t>& running, Cycle now);
  /// True if choose() must be called.
  [[nodiscard]] bool stale() const { return stale_; }
  /// Warps that may not issue loads.
  [[nodiscard]] const Masks& held() const { return held_; }
  /// Cycle from which another warp may issue loads because scores have fallen. choose() must then be
  /// called. kNever: all warps may.
  [[nodiscard]] Cycle next() const { return next_; }
  [[nodiscard]] std::uint64_t score(std::uint32_t slot, Cycle now) const;

 private:
  [[nodiscard]] bool is_here(Loader loader) const {
    return loader.slot != kNobody && generation_[loader.slot] == loader.generation;
  }
  /// Index of the warp's first victim in the line's set.
  [[nodiscard]] std::size_t set_of(std::uint32_t slot, std::uint64_t line) const {
    return (std::size_t{slot} * sets_ + line % sets_) * config_.victim_ways;
  }

  arch::CcwsConfig config_;
  std::uint32_t schedulers_;
  std::uint32_t sets_;
  std::vector<std::uint16_t> loader_;      // by line of L1: slot of the warp that loaded it
  std::vector<std::uint64_t> victims_;     // by slot, set and way, most recent first; kNoLine: none
  std::vector<std::uint64_t> lost_score_;  // by slot: score above the base, at scored_at_
  std::vector<Cycle> scored_at_;
  std::vector<std::uint32_t> generation_;  // by slot
  std::array<std::uint64_t, arch::kMaxKernelSlots> found_{};
  std::uint32_t running_ = 0;
  bool stale_ = false;
  Masks held_{};
  Cycle next_ = kNever;
  struct Ranked {
    std::uint64_t score;
    std::uint16_t slot;
    std::uint16_t age;  // 0: oldest
  };
  std::vector<Ranked> ranked_;  // warps of the last choose()
};

}  // namespace gpumux::sm
