// Division of L1's ways among applications by utility: shadow tags tell how many of an application's accesses
// would have hit with how many ways of its own; from time to time the ways go where they gain most.
// Source: dai18 section 3.1, which takes the scheme of Qureshi and Patt (MICRO 2006) from there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::sm {

/// Hits of each application by place in the order of use: [0] of the line used last.
using WayHits = std::array<std::vector<std::uint32_t>, kMaxApps>;

/// Lookahead: each sharer (as bits) gets a way, then the ways go, some at a time, to whom they bring the most
/// hits per way; of equals to whom has the fewest, then the first. Others get 0.
[[nodiscard]] std::array<std::uint32_t, kMaxApps> divide_ways(const WayHits& hits, std::uint32_t ways,
                                                              std::uint32_t sharers);

/// The tags that L1 would hold if an application had it to itself.
class ShadowTags {
 public:
  ShadowTags(std::uint32_t sets, std::uint32_t ways) : ways_(ways), tags_(std::size_t{sets} * ways, 0) {}
  /// Makes the line the one used last of its set. Its place before, or `ways` when it was not there.
  std::uint32_t access(std::uint32_t set, std::uint64_t line);
  /// Makes the line, if it is there, the one used last of its set.
  void touch(std::uint32_t set, std::uint64_t line);
  void remove(std::uint32_t set, std::uint64_t line);
  void clear();

 private:
  std::uint32_t ways_;
  std::vector<std::uint64_t> tags_;  // by set, in order of use; the line + 1, 0: none
};

class WayPartition {
 public:
  /// For a cache of so many sets and ways; 0 cycles: off.
  void begin(std::uint32_t sets, std::uint32_t ways, Cycle interval);
  /// A load of a line of the set was taken by L1.
  void loaded(AppId app, std::uint32_t set, std::uint64_t line);
  /// A store updated the line, if it is there; no hit, for the store goes on to L2 all the same.
  void stored(AppId app, std::uint32_t set, std::uint64_t line);
  /// A store or atomic dropped the line.
  void dropped(AppId app, std::uint32_t set, std::uint64_t line);
  /// L1 was flushed: the tags are gone, what was counted stays.
  void flushed();
  /// From this cycle on the ways are to be divided anew.
  [[nodiscard]] Cycle next() const { return next_; }
  /// At `now`, next() or later: the ways of each application, from what was counted until the last interval's
  /// end. The counts are halved at the end of each interval.
  std::array<std::uint32_t, kMaxApps> update(Cycle now, std::uint32_t ways);
  /// Other sharers or another number of ways. With a sharer that was never there before, all counts begin
  /// anew.
  std::array<std::uint32_t, kMaxApps> share(std::uint32_t sharers, std::uint32_t ways);

 private:
  static constexpr unsigned kHitBits = 16;  // of a counter
  static constexpr std::uint32_t kMostHits = (1U << kHitBits) - 1;
  void halve(unsigned times);

  std::uint32_t sets_ = 0;
  std::uint32_t ways_ = 0;
  Cycle interval_ = 0;
  Cycle next_ = kNever;
  std::uint32_t sharers_ = 0;
  std::uint32_t seen_ = 0;  // applications that have shared, as bits
  std::vector<ShadowTags> tags_;
  WayHits hits_;
};

}  // namespace gpumux::sm
