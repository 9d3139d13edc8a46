// Cache-conscious warp scheduling (CCWS): warps whose lines L1 has evicted before they came back to them get
// a higher score, and those that the sum of scores leaves no room for may issue no loads until it has fallen.
// Source: Rogers et al., MICRO 2012, as awatramani17 (sections 3.6.3, 4.3) and kayiran14 (section 3.1) use
// it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "base/types.hpp"

namespace gpumux::sm {

/// Of one SM. Warps are known by their slots, lines of L1 by their index there.
class LostLocality {
 public:
  static constexpr std::uint32_t kMostSchedulers = 4;
  static constexpr std::uint16_t kNobody = 0xffff;      // no warp's slot
  using Masks = std::array<WarpMask, kMostSchedulers>;  // by scheduler: warps by their numbers in it

  LostLocality(const arch::CcwsConfig& config, std::uint32_t warp_slots, std::uint32_t schedulers,
               std::uint32_t l1_lines);

  // --- L1 ---------------------------------------------------------------------------------------------
  /// The warp that a load is for: its slot, and which of the warps that use the slot one after the other.
  struct Loader {
    std::uint16_t slot = kNobody;
    std::uint32_t generation = 0;
  };
  /// A line has been brought in for the warp, or its data is on the way.
  void loaded(std::uint32_t index, Loader loader) {
    loader_[index] = is_here(loader) ? loader.slot : kNobody;
  }
  /// It makes place for another: it is a victim of the warp that it was brought in for.
  void evicted(std::uint32_t index, std::uint64_t line);
  /// The warp, if it is still here, has had the line and lost it. Asked before the load, whose line may make
  /// a victim of another.
  [[nodiscard]] bool has_lost(Loader loader, std::uint64_t line) const;
  /// And it has missed it. Its score becomes found x throttle x cutoff / instructions, of what its kernel has
  /// found lost (this included) and the `instructions` that it has issued on this SM, and is the base at
  /// least; choose() has to follow.
  void missed(Loader loader, std::uint64_t line, arch::KernelSlot kernel, std::uint64_t instructions,
              Cycle now);
  /// Another kernel has the slot of kernels.
  void begin(arch::KernelSlot kernel) { found_[kernel] = 0; }

  // --- warps ------------------------------------------------------------------------------------------
  /// Another warp has the slot: it has lost nothing yet.
  void came(std::uint32_t slot, std::uint32_t generation);
  /// Who may issue loads, of the warps that run, the oldest first. Scores are those at `now`.
  void choose(const std::vector<std::uint16_t>& running, Cycle now);
  /// Something has happened that choose() has to follow.
  [[nodiscard]] bool stale() const { return stale_; }
  /// Those that may not.
  [[nodiscard]] const Masks& held() const { return held_; }
  /// From which cycle on one more may, as scores fall: then choose() has to follow. kNever: all may.
  [[nodiscard]] Cycle next() const { return next_; }
  [[nodiscard]] std::uint64_t score(std::uint32_t slot, Cycle now) const;

 private:
  [[nodiscard]] bool is_here(Loader loader) const {
    return loader.slot != kNobody && generation_[loader.slot] == loader.generation;
  }
  /// Of the warp's victims, where those of the line's set begin.
  [[nodiscard]] std::size_t set_of(std::uint32_t slot, std::uint64_t line) const {
    return (std::size_t{slot} * sets_ + line % sets_) * config_.victim_ways;
  }

  arch::CcwsConfig config_;
  std::uint32_t schedulers_;
  std::uint32_t sets_;
  std::vector<std::uint16_t> loader_;      // by line of L1
  std::vector<std::uint64_t> victims_;     // by slot, set and way, the last one first; kNoLine: none
  std::vector<std::uint64_t> lost_score_;  // by slot: above the base, at the cycle
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
    std::uint16_t age;  // 0: the oldest
  };
  std::vector<Ranked> ranked_;  // of the last choose()
};

}  // namespace gpumux::sm
