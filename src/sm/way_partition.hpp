// Division of L1's ways among applications by utility. Shadow tags tell, for each number of ways, how many of
// an application's accesses would have hit. At intervals, the ways are given to where they gain most hits.
// Source: dai18 section 3.1, which uses the scheme of Qureshi and Patt (MICRO 2006).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::sm {

/// Hits of each application by position in order of use; [0]: hits of the line used last.
using WayHits = std::array<std::vector<std::uint32_t>, kMaxApps>;

/// Lookahead algorithm: each sharer (mask) gets one way. The remaining ways go, some at a time, to the
/// application that gains most hits per way; of equal ones, to the one with the fewest ways so far, then to
/// the first. Other applications get 0.
[[nodiscard]] std::array<std::uint32_t, kMaxApps> divide_ways(const WayHits& hits, std::uint32_t ways,
                                                              std::uint32_t sharers);

/// The tags that L1 would hold if an application had L1 alone.
class ShadowTags {
 public:
  ShadowTags(std::uint32_t sets, std::uint32_t ways) : ways_(ways), tags_(std::size_t{sets} * ways, 0) {}
  /// Makes the line the most recently used of its set. Returns its previous position, or `ways` if it was
  /// absent.
  std::uint32_t access(std::uint32_t set, std::uint64_t line);
  /// Makes the line the most recently used of its set, if present.
  void touch(std::uint32_t set, std::uint64_t line);
  void remove(std::uint32_t set, std::uint64_t line);
  void clear();

 private:
  std::uint32_t ways_;
  std::vector<std::uint64_t> tags_;  // by set, in order of use: line + 1; 0: none
};

class WayPartition {
 public:
  /// Starts to count for a cache of this many sets and ways; interval 0: off.
  void begin(std::uint32_t sets, std::uint32_t ways, Cycle interval);
  /// L1 has taken a load of a line of the set.
  void loaded(AppId app, std::uint32_t set, std::uint64_t line);
  /// A store updated the line, if present. No hit, because the store goes to L2 in any case.
  void stored(AppId app, std::uint32_t set, std::uint64_t line);
  /// A store or atomic dropped the line.
  void dropped(AppId app, std::uint32_t set, std::uint64_t line);
  /// L1 was flushed: tags are dropped, counts are kept.
  void flushed();
  /// Cycle from which the ways must be divided again.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Divides the ways at `now`, which is next() or later. Returns the ways of each application, from the
  /// counts at the end of the last interval. Counts are halved at the end of each interval.
  std::array<std::uint32_t, kMaxApps> update(Cycle now, std::uint32_t ways);
  /// Divides the ways after a change of the sharers or of the number of ways. If a sharer
  /// is new, all counts restart.
  std::array<std::uint32_t, kMaxApps> share(std::uint32_t sharers, std::uint32_t ways);

 private:
  static constexpr unsigned kHitBits = 16;  // bits of a counter
  static constexpr std::uint32_t kMostHits = (1U << kHitBits) - 1;
  void halve(unsigned times);

  std::uint32_t sets_ = 0;
  std::uint32_t ways_ = 0;
  Cycle interval_ = 0;
  Cycle next_ = kNever;
  std::uint32_t sharers_ = 0;
  std::uint32_t seen_ = 0;  // mask of the applications that have been sharers
  std::vector<ShadowTags> tags_;
  WayHits hits_;
};

}  // namespace gpumux::sm
