#include "sm/l1.hpp"

#include <algorithm>
#include <bit>

namespace gpumux::sm {

L1::L1(const arch::L1Config& config)
    : sectored_(config.sectored),
      on_miss_(config.allocate == arch::Allocate::OnMiss),
      index_(config.index),
      write_evict_(config.write == arch::L1Write::Evict),
      write_allocate_(config.write == arch::L1Write::Allocate),
      mshr_limit_(config.mshr_entries),
      merge_limit_(config.mshr_merges),
      keeps_written_(write_allocate_ && config.written_kept != 0),
      kept_percent_(config.written_kept) {
  ways_ = config.ways;
  sets_ = std::max(1U, config.bytes / (ways_ * kLineBytes));
  power_of_two_ = std::has_single_bit(sets_);
  max_ways_ = std::max(ways_, config.unified_bytes / (sets_ * kLineBytes));
  if (std::size_t{sets_} * max_ways_ >= kNone)
    throw UserError("l1: more than 65534 lines; choose a smaller l1.size");
  lines_.resize(std::size_t{sets_} * max_ways_);
  sets_of_lines_.resize(sets_);
  if (keeps_written_) uses_.resize(lines_.size());
  for (std::size_t i = lines_.size(); i-- > 0;) {
    lines_[i].older = free_;
    free_ = static_cast<std::uint16_t>(i);
  }
  const std::size_t buckets =
      std::bit_ceil(std::max<std::size_t>((lines_.size() + mshr_limit_) / kPerBucket + 1, 2));
  bucket_shift_ = static_cast<unsigned>(64 - std::countr_zero(buckets));
  buckets_.resize(buckets);
  passed_.resize(buckets, 0);
}

inline std::uint32_t L1::set_of(std::uint64_t line) const {
  if (index_ == arch::L1Index::Linear)
    return static_cast<std::uint32_t>(power_of_two_ ? line & (sets_ - 1) : line % sets_);
  if (sets_ == 1) return 0;
  if (index_ == arch::L1Index::Fermi) {
    // Xors address bits 7 to 11 with bits 13, 14, 15, 17 and 19, for 32 sets. More sets also use bits
    // from 12 on. Nugteren et al., A Detailed GPU Cache Model Based on Reuse Distance Theory, HPCA
    // 2014; as in GPGPU-Sim 3.2.2.
    const std::uint64_t upper = (line >> 6 & 7) | (line >> 7 & 8) | (line >> 8 & 16);
    return static_cast<std::uint32_t>((line ^ upper) & (sets_ - 1));
  }
  // Folds the bits above the index onto it, so that power-of-two strides are spread over the sets.
  const auto bits = static_cast<unsigned>(std::bit_width(sets_ - 1));
  std::uint64_t folded = line;
  for (std::uint64_t rest = line >> bits; rest != 0; rest >>= bits) folded ^= rest & ((1ULL << bits) - 1);
  folded &= (1ULL << bits) - 1;
  return static_cast<std::uint32_t>(power_of_two_ ? folded : folded % sets_);
}

inline std::uint32_t L1::find(std::uint64_t line) const {
  const std::uint16_t tag = tag_of(line);
  std::uint32_t at = home(line);
  for (std::size_t seen = 0; seen < buckets_.size(); ++seen) {
    const Bucket& bucket = buckets_[at];
    for (std::uint32_t i = 0; i < kPerBucket; ++i) {
      if (bucket.mask[i].tag != tag) continue;
      if (bucket.way[i] != kNone ? lines_[bucket.way[i]].line == line
                                 : bucket.mshr[i] != kNone && mshrs_[bucket.mshr[i]].line == line)
        return at * kPerBucket + i;
    }
    if (passed_[at] == 0) return kNil;
    at = (at + 1) & static_cast<std::uint32_t>(buckets_.size() - 1);
  }
  return kNil;
}

/// Takes a place for a line. The caller must set way or MSHR at once: they mark the place as taken.
inline std::uint32_t L1::take_place(std::uint64_t line) {
  std::uint32_t at = home(line);
  while (true) {
    Bucket& bucket = buckets_[at];
    for (std::uint32_t i = 0; i < kPerBucket; ++i) {
      if (bucket.way[i] != kNone || bucket.mshr[i] != kNone) continue;
      bucket.mask[i] = {};
      bucket.mask[i].tag = tag_of(line);
      return at * kPerBucket + i;
    }
    GPUMUX_CHECK(++passed_[at] != 0);
    at = (at + 1) & static_cast<std::uint32_t>(buckets_.size() - 1);
  }
}

inline void L1::give_place(std::uint32_t place, std::uint64_t line) {
  for (std::uint32_t at = home(line); at != place / kPerBucket;
       at = (at + 1) & static_cast<std::uint32_t>(buckets_.size() - 1))
    --passed_[at];
}

inline void L1::unlink(Set& set, std::uint16_t index) {
  const Line& line = lines_[index];
  Order& order = order_of(set, index);
  (line.newer == kNone ? order.newest : lines_[line.newer].older) = line.older;
  (line.older == kNone ? order.oldest : lines_[line.older].newer) = line.newer;
}

inline void L1::make_newest(Set& set, std::uint16_t index) {
  Line& line = lines_[index];
  Order& order = order_of(set, index);
  line.newer = kNone;
  line.older = order.newest;
  (order.newest == kNone ? order.oldest : lines_[order.newest].newer) = index;
  order.newest = index;
  if (keeps_written_) [[unlikely]]
    uses_[index].last = ++clock_;
}

inline void L1::touch(std::uint16_t index) {
  if (lines_[index].newer == kNone) {
    if (keeps_written_) [[unlikely]]
      uses_[index].last = ++clock_;
    return;
  }
  Set& set = sets_of_lines_[set_of(lines_[index].line)];
  unlink(set, index);
  make_newest(set, index);
}

void L1::drop(std::uint16_t index) { drop(index, sets_of_lines_[set_of(lines_[index].line)]); }

void L1::drop(std::uint16_t index, Set& set) {
  Line& line = lines_[index];
  GPUMUX_DCHECK(!reserved(line));
  unlink(set, index);
  if (set.read.oldest != kNone) prefetch_next_victim(set.read.oldest);
  if (keeps_written_ && uses_[index].written) [[unlikely]] {
    uses_[index].written = false;
    --kept_;
  }
  --set.lines;
  way_at(line.place) = kNone;
  mask_at(line.place).valid = 0;
  if (mshr_at(line.place) == kNone) give_place(line.place, line.line);
  line.older = free_;
  free_ = index;
}

void L1::keep(std::uint16_t index, Set& set) {
  if (uses_[index].written) return;
  unlink(set, index);
  uses_[index].written = true;
  ++kept_;
  make_newest(set, index);
}

std::uint16_t L1::victim_beside_kept(const Set& set) {
  const auto oldest = [&](std::uint16_t index) {
    while (index != kNone && reserved(lines_[index])) index = lines_[index].newer;
    return index;
  };
  const std::uint16_t read = oldest(set.read.oldest);
  // In total, few lines are kept, yet this set may have no other line.
  if (read != kNone && kept_ * 100 < std::uint64_t{sets_} * ways_ * kept_percent_) return read;
  const std::uint16_t written = oldest(set.written.oldest);
  if (read == kNone || written == kNone) return read == kNone ? written : read;
  return uses_[written].last < uses_[read].last ? written : read;
}

void L1::shrink(Set& set, std::uint32_t most) {
  for (const Order& order : {set.read, set.written}) {
    for (std::uint16_t index = order.oldest; set.lines > most && index != kNone;) {
      const std::uint16_t next = lines_[index].newer;
      if (!reserved(lines_[index])) drop(index, set);
      index = next;
    }
  }
}

AppId L1::other_holder(const Set& set, AppId app) const {
  ledger::Holders holders;
  for (const Order& order : {set.read, set.written})
    for (std::uint16_t index = order.oldest; index != kNone; index = lines_[index].newer)
      holders.add(owner_[index]);
  return holders.most_beside(app);
}

inline bool L1::make_room(Set& set, AppId app) {
  if (divides_ways_) [[unlikely]]
    return make_room_in_share(set, app);
  // After resize(), the set may have too many lines. Then more than one line is evicted.
  if (set.reserved >= ways_) return false;
  if (keeps_written_) [[unlikely]] {
    while (set.lines >= ways_) displace(victim_beside_kept(set), set, app);
    return true;
  }
  std::uint16_t index = set.read.oldest;
  while (set.lines >= ways_) {
    while (index != kNone && reserved(lines_[index])) index = lines_[index].newer;
    GPUMUX_DCHECK(index != kNone);
    const std::uint16_t victim = index;
    index = lines_[index].newer;
    displace(victim, set, app);
  }
  return true;
}

inline std::uint16_t L1::insert(std::uint64_t line, std::uint32_t place, Set& set, AppId app) {
  const std::uint16_t index = free_;
  GPUMUX_DCHECK(index != kNone);
  free_ = lines_[index].older;
  lines_[index].line = line;
  lines_[index].place = place;
  way_at(place) = index;
  ++set.lines;
  if (!owner_.empty()) [[unlikely]]
    owner_[index] = app;
  if (locality_ != nullptr) [[unlikely]]
    locality_->loaded(index, loader_);
  make_newest(set, index);
  return index;
}

std::uint32_t L1::set_index(std::uint64_t line) const { return set_of(line); }

void L1::divide_ways(const std::array<std::uint32_t, kMaxApps>& granted) {
  if (!divides_ways_) {
    GPUMUX_CHECK(mshrs_.in_use() == 0);
    owner_.resize(lines_.size(), 0);
  }
  divides_ways_ = true;
  keeps_written_ = false;  // shares decide which lines are evicted
  // An application that is no longer a sharer may still get data that it has requested.
  for (std::size_t app = 0; app < kMaxApps; ++app) granted_[app] = std::max(granted[app], 1U);
}

void L1::begin_way_limits() {
  GPUMUX_CHECK(!divides_ways_ && mshrs_.in_use() == 0);
  owner_.resize(lines_.size(), 0);
  divides_ways_ = limits_ways_ = true;
  keeps_written_ = false;
  granted_.fill(max_ways_);
}

void L1::limit_ways(AppId app, std::uint32_t ways) {
  GPUMUX_DCHECK(limits_ways_);
  granted_[app] = ways == 0 ? max_ways_ : ways;
}

void L1::divide_mshrs(std::uint32_t each) {
  GPUMUX_CHECK(counts_mshrs_ || mshrs_.in_use() == 0);
  divides_mshrs_ = counts_mshrs_ = true;
  mshrs_each_ = each;
}

std::uint16_t L1::victim(const Set& set, AppId app) {
  std::uint32_t own = 0;
  std::uint16_t oldest_own = kNone, oldest_other = kNone;
  for (std::uint16_t index = set.read.oldest; index != kNone; index = lines_[index].newer) {
    const bool mine = owner_[index] == app;
    own += mine ? 1U : 0U;
    std::uint16_t& oldest = mine ? oldest_own : oldest_other;
    if (oldest == kNone && !reserved(lines_[index])) oldest = index;
  }
  if (own < granted_[app] && limits_ways_) {
    std::uint16_t oldest = set.read.oldest;
    while (oldest != kNone && reserved(lines_[oldest])) oldest = lines_[oldest].newer;
    return oldest;
  }
  return own < granted_[app] && oldest_other != kNone ? oldest_other : oldest_own;
}

/// The set has too many lines only after resize().
bool L1::lacks_way(Set& set, AppId app) {
  shrink(set, ways_);
  return set.lines >= ways_ && (set.lines > ways_ || victim(set, app) == kNone);
}

bool L1::make_room_in_share(Set& set, AppId app) {
  if (lacks_way(set, app)) return false;
  if (set.lines >= ways_) displace(victim(set, app), set, app);
  return true;
}

L1Access L1::load(std::uint64_t line, std::uint8_t sectors, bool queue_room, AppId app) {
  if (!sectored_) sectors = 0xf;
  L1Access access;
  std::uint32_t place = find(line);
  std::uint16_t way = kNone;
  std::uint8_t requested = 0;
  access.missing = sectors;
  if (place != kNil) {
    const Mask& mask = mask_at(place);
    way = way_at(place);
    access.missing &= static_cast<std::uint8_t>(~mask.valid);
    if (access.missing == 0) {
      touch(way);
      return access;
    }
    requested = mask.pending;
    if (mshr_at(place) != kNone) access.mshr = mshr_at(place);
  }
  if (access.mshr != kNil && mshrs_[access.mshr].stale) {
    // Flushed data is on its way. A later load must not use it, and waits as if the entry were full.
    access.result = L1Result::FailMerge;
    return access;
  }
  access.pending = access.missing & requested;
  access.request = static_cast<std::uint8_t>(access.missing & ~requested);
  Set* set = nullptr;  // set in which the line needs a place
  if (on_miss_ && way == kNone) {
    set = &sets_of_lines_[set_of(line)];
    if (set->reserved >= ways_ || (divides_ways_ && lacks_way(*set, app))) {
      access.result = L1Result::FailLine;
      return access;
    }
  }
  if (access.mshr == kNil &&
      (mshrs_.in_use() >= mshr_limit_ || (divides_mshrs_ && mshrs_of_[app] >= mshrs_each_))) {
    access.result = L1Result::FailMshr;
    return access;
  }
  if (access.mshr != kNil && mshrs_[access.mshr].merges >= merge_limit_) {
    access.result = L1Result::FailMerge;
    return access;
  }
  if (access.request != 0 && !queue_room) {
    access.result = L1Result::FailMissQueue;
    return access;
  }

  access.result = access.request != 0 ? L1Result::Miss : L1Result::Merged;
  if (access.mshr != kNil) {
    ++mshrs_[access.mshr].merges;
  } else {
    if (set != nullptr) {
      const bool room = make_room(*set, app);
      GPUMUX_DCHECK(room);
      static_cast<void>(room);
    }
    if (place == kNil) place = take_place(line);
    access.mshr = mshrs_.take();
    Mshr& entry = mshrs_[access.mshr];
    entry.line = line;
    entry.place = place;
    entry.merges = 1;
    entry.app = app;
    if (counts_mshrs_) [[unlikely]]
      ++mshrs_of_[app];
    if (locality_ != nullptr) [[unlikely]] {
      mshr_loader_.resize(std::max<std::size_t>(mshr_loader_.size(), access.mshr + 1));
      mshr_loader_[access.mshr] = loader_;
    }
    mshr_at(place) = static_cast<std::uint16_t>(access.mshr);
    if (set != nullptr) way = insert(line, place, *set, app);
    if (on_miss_) ++(set != nullptr ? *set : sets_of_lines_[set_of(line)]).reserved;
  }
  mask_at(place).pending |= access.request;
  if (way != kNone) touch(way);
  return access;
}

std::uint8_t L1::drop_sectors(std::uint64_t line, std::uint8_t sectors) {
  const std::uint32_t place = find(line);
  if (place == kNil || way_at(place) == kNone) return 0;
  const std::uint16_t way = way_at(place);
  Mask& mask = mask_at(place);
  const std::uint8_t present = mask.valid & sectors;
  mask.valid = sectored_ ? static_cast<std::uint8_t>(mask.valid & ~sectors) : std::uint8_t{0};
  if (mask.valid == 0 && !reserved(lines_[way])) drop(way);
  return present;
}

std::uint8_t L1::write(std::uint64_t line, std::uint8_t sectors, bool whole, AppId app) {
  if (write_evict_) return drop_sectors(line, sectors);
  std::uint32_t place = find(line);
  std::uint8_t present = 0;
  if (place != kNil && way_at(place) != kNone) {
    present = mask_at(place).valid & sectors;
    if (present != 0 || write_allocate_) touch(way_at(place));
  }
  if (!write_allocate_) return present;
  loader_ = {};
  Set& set = sets_of_lines_[set_of(line)];
  if (place == kNil) {
    // If all lines are reserved, the store goes to L2 without allocating a line.
    if (!make_room(set, app)) return 0;
    place = take_place(line);
    insert(line, place, set, app);
  } else if (way_at(place) == kNone) {
    return 0;  // the data is on its way, and the line is allocated only when it arrives
  }
  Mask& mask = mask_at(place);
  if (whole && (sectored_ || sectors == 0xf))
    mask.valid |= sectors & static_cast<std::uint8_t>(~mask.pending);
  if (keeps_written_) keep(way_at(place), set);
  return present;
}

void L1::wait(std::uint32_t mshr, std::uint32_t op, std::uint8_t sectors) {
  Mshr& entry = mshrs_[mshr];
  ++waiting_;
  if (entry.first.op == kNil && entry.first.next == kNil) {
    entry.first.op = op;
    entry.first.sectors = sectors;
    return;
  }
  const std::uint32_t index = waiters_.take();
  waiters_[index].op = op;
  waiters_[index].sectors = sectors;
  (entry.last == kNil ? entry.first.next : waiters_[entry.last].next) = index;
  entry.last = index;
}

void L1::arrive(const Mshr& entry, std::uint8_t sectors) {
  std::uint16_t way = way_at(entry.place);
  if (on_miss_) {
    mask_at(entry.place).valid |= sectors;
    return;
  }
  if (way == kNone) {
    Set& set = sets_of_lines_[set_of(entry.line)];
    if (!make_room(set, entry.app)) return;  // never fails: with on-fill allocation, no line is reserved
    way = insert(entry.line, entry.place, set, entry.app);
  } else {
    touch(way);
  }
  mask_at(entry.place).valid |= sectors;
}

void L1::release(std::uint32_t mshr) {
  const Mshr& entry = mshrs_[mshr];
  GPUMUX_DCHECK(entry.first.op == kNil && entry.first.next == kNil);
  const std::uint32_t place = entry.place;
  mshr_at(place) = kNone;
  if (const std::uint16_t way = way_at(place); way == kNone) {
    give_place(place, entry.line);
  } else if (on_miss_) {
    --sets_of_lines_[set_of(entry.line)].reserved;
    if (mask_at(place).valid == 0) drop(way);
  }
  if (counts_mshrs_) [[unlikely]]
    --mshrs_of_[entry.app];
  mshrs_.give(mshr);
}

void L1::flush() {
  if (shadow_ != nullptr) shadow_->clear();
  for (Set& set : sets_of_lines_) {
    shrink(set, 0);
    for (const Order& order : {set.read, set.written})
      for (std::uint16_t index = order.oldest; index != kNone; index = lines_[index].newer)
        mask_at(lines_[index].place).valid = 0;
  }
  for (const Bucket& bucket : buckets_)
    for (const std::uint16_t mshr : bucket.mshr)
      if (mshr != kNone) mshrs_[mshr].stale = true;
}

void L1::resize(std::uint32_t bytes) {
  ways_ = std::clamp(bytes / (sets_ * kLineBytes), 1U, max_ways_);
  if (shadow_ != nullptr) shadow_->set_ways(ways_);
  for (Set& set : sets_of_lines_) shrink(set, ways_);
}

std::uint32_t L1::reserved_lines() const {
  std::uint32_t reserved = 0;
  for (const Set& set : sets_of_lines_) reserved += set.reserved;
  return reserved;
}

}  // namespace gpumux::sm
