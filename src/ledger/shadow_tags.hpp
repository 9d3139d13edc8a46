// The tags that each application would have alone: what tells a miss that sharing causes from one that is its
// own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/huge_pages.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"

namespace gpumux::ledger {

/// Who holds the ways of a set.
class Holders {
 public:
  void add(AppId app) { ++ways_[app]; }
  /// Who holds most of them beside this one, of equals the first; kMaxApps: nobody.
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

/// Of a cache with LRU replacement and the same sets and ways for each application that comes. A line takes
/// its place when it is accessed, not when its data has come. Lines are
/// told apart by their low 48 bits.
class ShadowTags {
 public:
  static constexpr AppId kNobody = kMaxApps;

  ShadowTags(std::uint32_t sets, std::uint32_t ways) : sets_(sets), most_ways_(ways), ways_(ways) {}
  /// So many of them are used from now on, at most as many as at first.
  void set_ways(std::uint32_t ways) { ways_ = ways; }
  /// All lines are gone.
  void clear();
  /// These sectors are gone.
  void drop(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors);

  /// All of these sectors would be here.
  [[nodiscard]] bool has(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const;
  /// They would be, and this is whose fault it was that the line went last; kNobody: they would not, or
  /// nobody's.
  [[nodiscard]] AppId evictor(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const;
  /// They are accessed; returns what evictor() would have said before.
  AppId use(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors);
  /// The set's ways, into the host's cache.
  [[gnu::always_inline]] void prefetch(std::uint32_t set) const {
    for (std::uint32_t left = apps_; left != 0; left &= left - 1) {
      const std::uint64_t* const first = &tags_[std::countr_zero(left)][std::size_t{set} * most_ways_];
      prefetch_lines(first, first + ways_);
    }
  }
  /// A line of `victim` has made place for one of `culprit`. Where that is the victim itself, the line would
  /// be here but for those that hold ways of the set: `holder()` is the one of them that holds most.
  template <class Holder>
  void evicted(AppId victim, std::uint32_t set, std::uint64_t line, AppId culprit, const Holder& holder) {
    const std::uint64_t* const found = find(victim, set, line);
    if (found == nullptr) return;  // it would be gone anyway
    if (culprit == victim) culprit = holder();
    constexpr std::uint64_t kRest = kLine | kPresent | std::uint64_t{0xf} << kSectorShift;
    std::uint64_t& way = tags_[victim][static_cast<std::size_t>(found - tags_[victim].data())];
    way = (way & kRest) | std::uint64_t{culprit} << kEvictorShift;
  }

 private:
  /// Line, sectors and evictor as one word; 0: empty. Of a set, the last used comes first.
  static constexpr unsigned kSectorShift = 48, kEvictorShift = 52;
  static constexpr std::uint64_t kLine = (std::uint64_t{1} << kSectorShift) - 1;
  static constexpr std::uint64_t kPresent = std::uint64_t{1} << 63U;
  static_assert(kMaxApps < 1U << (63 - kEvictorShift));
  [[nodiscard]] static AppId evictor_of(std::uint64_t way) {
    return static_cast<AppId>((way & ~kPresent) >> kEvictorShift);
  }
  /// Its way; nullptr: it has none.
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
  std::uint32_t apps_ = 0;  // that have come, as bits
};

}  // namespace gpumux::ledger
