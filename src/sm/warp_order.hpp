// Building blocks of warp schedulers (src/sm/warp_schedulers, one header each). A scheduler is
// a class without data. Each Scheduler of an SM contains its State, and issue is compiled for
// each class. The class has:
//
//   struct State                             what it remembers for one of an SM's schedulers
//   - configure(state, config): sets parameters of the machine's file
//   - eligible(state): the warps among which it chooses
//   - refresh(state, view, ready_queue): called before a choice, with what has changed
//   - pick(state, by_age, candidates): the warp that issues; candidates: eligible, ready, and unit free
//   - issued(state, warp), left(state, warp): the warp has issued; has exited
//   - likely(state, by_age, ready, count): about `count` warps that will issue soon, for prefetches
//   - counted(state): the warps whose waits are the reason if no warp can issue
//
// A class with kByPhase gets a last argument `distance` in refresh() and pick(): distance(warp) is the number
// of core cycles to the end of the warp's phase (isa/phases.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"

namespace gpumux::arch {
struct SmConfig;
}  // namespace gpumux::arch

namespace gpumux::sm {

/// No warp; a scheduler has at most 64 warps.
inline constexpr std::uint8_t kNoWarp = 64;
/// Resident warps of a scheduler that have not exited, oldest first: by launch of their block, then
/// by number within the block.
using WarpsByAge = std::vector<std::uint8_t>;

/// The warps of one scheduler at one moment.
struct WarpView {
  const WarpsByAge& by_age;
  WarpMask alive;
  /// Warps that wait for memory, a barrier or a fence, or are held back.
  WarpMask blocked;
};

[[gnu::always_inline]] inline std::uint32_t oldest(const WarpsByAge& by_age, WarpMask candidates) {
  if ((candidates & (candidates - 1)) == 0) return static_cast<std::uint32_t>(std::countr_zero(candidates));
  for (const std::uint8_t warp : by_age)
    if (((candidates >> warp) & 1U) != 0) return warp;
  GPUMUX_DCHECK(false);
  return 0;
}

/// The candidate with the least distance; of equal ones the oldest. Requires at least one candidate.
template <typename Distance>
[[gnu::always_inline]] inline std::uint32_t nearest(const WarpsByAge& by_age, WarpMask candidates,
                                                    const Distance& distance) {
  if ((candidates & (candidates - 1)) == 0) return static_cast<std::uint32_t>(std::countr_zero(candidates));
  std::uint32_t least = ~0U;
  std::uint32_t nearest = kNoWarp;
  for (const std::uint8_t warp : by_age) {
    if (((candidates >> warp) & 1U) == 0) continue;
    const std::uint32_t cycles = distance(warp);
    if (cycles >= least) continue;
    least = cycles;
    nearest = warp;
  }
  return nearest;
}

/// Round robin: the first of the candidates behind `last`.
[[gnu::always_inline]] inline std::uint32_t next_behind(std::uint32_t last, WarpMask candidates) {
  const unsigned first = (last + 1U) % 64;
  return (first + static_cast<unsigned>(std::countr_zero(std::rotr(candidates, static_cast<int>(first))))) %
         64;
}

/// Round robin: the first `count` of the warps behind `last`.
inline WarpMask first_behind(std::uint32_t last, WarpMask warps, std::uint32_t count) {
  const auto first = static_cast<int>((last + 1) % 64);
  WarpMask found = 0;
  for (WarpMask left = std::rotr(warps, first); left != 0 && count != 0; left &= left - 1, --count)
    found |= std::rotl(left & -left, first);
  return found;
}

/// The `count` oldest of the warps.
inline WarpMask first_by_age(const WarpsByAge& by_age, WarpMask warps, std::uint32_t count) {
  WarpMask found = 0;
  for (std::size_t i = 0; warps != 0 && count != 0 && i < by_age.size(); ++i) {
    const WarpMask bit = WarpMask{1} << by_age[i];
    if ((warps & bit) == 0) continue;
    found |= bit;
    --count;
  }
  return found;
}

/// Base of schedulers with a single level: any resident warp may issue.
struct SingleLevel {
  static constexpr bool kByPhase = false;
  template <typename State>
  static void configure(State& /*state*/, const arch::SmConfig& /*config*/) {}
  template <typename State>
  static constexpr WarpMask eligible(const State& /*state*/) {
    return ~WarpMask{0};
  }
  template <typename State>
  static constexpr WarpMask counted(const State& /*state*/) {
    return ~WarpMask{0};
  }
  template <typename State>
  static void refresh(State& /*state*/, const WarpView& /*view*/, std::uint32_t /*ready_queue*/) {}
};

}  // namespace gpumux::sm
