#include "sm/way_partition.hpp"

#include <algorithm>
#include <bit>

namespace gpumux::sm {

std::array<std::uint32_t, kMaxApps> divide_ways(const WayHits& hits, std::uint32_t ways,
                                                std::uint32_t sharers) {
  std::array<std::uint32_t, kMaxApps> granted{};
  std::uint32_t left = ways;
  for (std::uint32_t app = 0; app < kMaxApps; ++app) {
    if ((sharers >> app & 1U) == 0) continue;
    granted[app] = 1;
    left -= std::min(left, 1U);
  }
  while (left > 0 && sharers != 0) {
    // Compares hits per way as fractions: a/b > c/d if a*d > c*b.
    std::uint32_t winner = kMaxApps, winner_ways = 1;
    std::uint64_t winner_hits = 0;
    for (std::uint32_t app = 0; app < kMaxApps; ++app) {
      if ((sharers >> app & 1U) == 0) continue;
      std::uint64_t sum = 0, best_hits = 0;
      std::uint32_t best_ways = 1;
      for (std::uint32_t more = 1; more <= left; ++more) {
        const std::uint32_t place = granted[app] + more - 1;
        if (place < hits[app].size()) sum += hits[app][place];
        if (sum * best_ways <= best_hits * more) continue;
        best_hits = sum;
        best_ways = more;
      }
      const std::uint64_t mine = best_hits * winner_ways, others = winner_hits * best_ways;
      if (winner == kMaxApps || mine > others || (mine == others && granted[app] < granted[winner])) {
        winner = app;
        winner_ways = best_ways;
        winner_hits = best_hits;
      }
    }
    granted[winner] += winner_ways;
    left -= winner_ways;
  }
  return granted;
}

std::uint32_t ShadowTags::access(std::uint32_t set, std::uint64_t line) {
  const auto first = tags_.begin() + static_cast<std::ptrdiff_t>(std::size_t{set} * ways_);
  const auto last = first + static_cast<std::ptrdiff_t>(ways_);
  auto found = std::find(first, last, line + 1);
  const auto place = static_cast<std::uint32_t>(found - first);
  if (found == last) --found;  // the oldest line is evicted
  std::copy_backward(first, found, found + 1);
  *first = line + 1;
  return place;
}

void ShadowTags::touch(std::uint32_t set, std::uint64_t line) {
  const auto first = tags_.begin() + static_cast<std::ptrdiff_t>(std::size_t{set} * ways_);
  const auto last = first + static_cast<std::ptrdiff_t>(ways_);
  const auto found = std::find(first, last, line + 1);
  if (found != last) std::rotate(first, found, found + 1);
}

void ShadowTags::clear() { std::fill(tags_.begin(), tags_.end(), 0); }

void ShadowTags::remove(std::uint32_t set, std::uint64_t line) {
  const auto first = tags_.begin() + static_cast<std::ptrdiff_t>(std::size_t{set} * ways_);
  const auto last = first + static_cast<std::ptrdiff_t>(ways_);
  const auto found = std::find(first, last, line + 1);
  if (found == last) return;
  std::copy(found + 1, last, found);
  *(last - 1) = 0;
}

void WayPartition::begin(std::uint32_t sets, std::uint32_t ways, Cycle interval) {
  sets_ = sets;
  ways_ = ways;
  interval_ = interval;
  next_ = interval == 0 ? kNever : interval;
}

void WayPartition::loaded(AppId app, std::uint32_t set, std::uint64_t line) {
  if (tags_.empty()) tags_.assign(kMaxApps, ShadowTags(sets_, ways_));
  const std::uint32_t place = tags_[app].access(set, line);
  if (place >= ways_) return;
  std::vector<std::uint32_t>& hits = hits_[app];
  if (hits.empty()) hits.resize(ways_, 0);
  hits[place] = std::min(hits[place] + 1, kMostHits);
}

void WayPartition::stored(AppId app, std::uint32_t set, std::uint64_t line) {
  if (!tags_.empty()) tags_[app].touch(set, line);
}

void WayPartition::flushed() {
  for (ShadowTags& tags : tags_) tags.clear();
}

void WayPartition::dropped(AppId app, std::uint32_t set, std::uint64_t line) {
  if (!tags_.empty()) tags_[app].remove(set, line);
}

void WayPartition::halve(unsigned times) {
  for (std::vector<std::uint32_t>& hits : hits_)
    for (std::uint32_t& count : hits) count >>= times;
}

std::array<std::uint32_t, kMaxApps> WayPartition::update(Cycle now, std::uint32_t ways) {
  const Cycle missed = (now - next_) / interval_;  // intervals without any access before the last one
  next_ += (missed + 1) * interval_;
  halve(static_cast<unsigned>(std::min<Cycle>(missed, kHitBits)));
  const std::array<std::uint32_t, kMaxApps> granted = divide_ways(hits_, ways, sharers_);
  halve(1);
  return granted;
}

std::array<std::uint32_t, kMaxApps> WayPartition::share(std::uint32_t sharers, std::uint32_t ways) {
  sharers_ = sharers;
  if ((sharers & ~seen_) != 0) {
    for (std::vector<std::uint32_t>& hits : hits_) std::fill(hits.begin(), hits.end(), 0);
  }
  seen_ |= sharers;
  return divide_ways(hits_, ways, sharers);
}

}  // namespace gpumux::sm
