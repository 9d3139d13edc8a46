// The tags that each application would have if it ran alone. Distinguishes misses caused by sharing from
// misses that the application would also have alone.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/huge_pages.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"

namespace gpumux::ledger {

/// Number of ways of a set that each application holds.
class Holders {
 public:
  void add(AppId app) { ++ways_[app]; }
  /// The application other than `app` that holds most ways; of equals, the one with the
  /// lowest id. kMaxApps: none.
  [[nodiscard]] AppId most_beside(AppId app) const {
    std::uint32_t most = 0;
    AppId holder = kMaxApps;
    for (AppId other = 0; other < kMaxApps; ++other) {
      if (other == app || ways_[other] <= most) continue;
      most = ways_[other];
      holder = other;
    }
    return holder;
  }

 private:
  std::array<std::uint32_t, kMaxApps> ways_{};
};

/// Shadow tags of a cache with LRU replacement, with all sets and ways for each application. A line takes its
/// place when it is accessed, not when its data arrives. Lines are distinguished by their low 48 bits.
class ShadowTags {
 public:
  static constexpr AppId kNobody = kMaxApps;

  ShadowTags(std::uint32_t sets, std::uint32_t ways) : sets_(sets), most_ways_(ways), ways_(ways) {}
  /// Sets the number of ways in use, at most the number given to the constructor.
  void set_ways(std::uint32_t ways) { ways_ = ways; }
  /// Invalidates all lines.
  void clear();
  /// Invalidates sectors of a line.
  void drop(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors);

  /// True if all of these sectors would be present if the application ran alone.
  [[nodiscard]] bool has(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const;
  /// The application at fault for the line's last eviction from the shared cache. kNobody: the sectors would
  /// not be present if the application ran alone, or no application is at fault.
  [[nodiscard]] AppId evictor(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const;
  /// Accesses the sectors. Returns what evictor() would have returned before the access.
  AppId use(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors);
  /// Prefetches the ways of a set into the host's cache.
  [[gnu::always_inline]] void prefetch(std::uint32_t set) const {
    for (std::uint32_t left = apps_; left != 0; left &= left - 1) {
      const std::uint64_t* const first = &tags_[std::countr_zero(left)][std::size_t{set} * most_ways_];
      prefetch_lines(first, first + ways_);
    }
  }
  /// A line of `victim` was evicted from the shared cache for a line of `culprit`. If both are one
  /// application, the eviction is charged to `holder()`: the application that holds most ways of the set
  /// beside `victim`. Without those ways, the line would still be present.
  template <class Holder>
  void evicted(AppId victim, std::uint32_t set, std::uint64_t line, AppId culprit, const Holder& holder) {
    const std::uint64_t* const found = find(victim, set, line);
    if (found == nullptr) return;  // the line would have been evicted anyway
    if (culprit == victim) culprit = holder();
    constexpr std::uint64_t kRest = kLine | kPresent | std::uint64_t{0xf} << kSectorShift;
    std::uint64_t& way = tags_[victim][static_cast<std::size_t>(found - tags_[victim].data())];
    way = (way & kRest) | std::uint64_t{culprit} << kEvictorShift;
  }

 private:
  /// A way: line, sectors and evictor in one word; 0: empty. The ways of a set are in LRU order,
  /// most recently used first.
  static constexpr unsigned kSectorShift = 48, kEvictorShift = 52;
  static constexpr std::uint64_t kLine = (std::uint64_t{1} << kSectorShift) - 1;
  static constexpr std::uint64_t kPresent = std::uint64_t{1} << 63U;
  static_assert(kMaxApps < 1U << (63 - kEvictorShift));
  [[nodiscard]] static AppId evictor_of(std::uint64_t way) {
    return static_cast<AppId>((way & ~kPresent) >> kEvictorShift);
  }
  /// The way that holds a line; nullptr: none.
  [[nodiscard]] const std::uint64_t* find(AppId app, std::uint32_t set, std::uint64_t line) const {
    if (tags_[app].empty()) return nullptr;
    const std::uint64_t wanted = (line & kLine) | kPresent;
    const std::uint64_t* const first = &tags_[app][std::size_t{set} * most_ways_];
    for (const std::uint64_t* way = first; way != first + ways_; ++way)
      if ((*way & (kLine | kPresent)) == wanted) return way;
    return nullptr;
  }
  std::uint32_t sets_;
  std::uint32_t most_ways_;
  std::uint32_t ways_;
  std::array<HugePageVector<std::uint64_t>, kMaxApps> tags_;
  std::uint32_t apps_ = 0;  // mask of the applications that have accessed the cache
};

}  // namespace gpumux::ledger
