#include "sm/l1.hpp"

#include <algorithm>
#include <bit>

namespace gpumux::sm {

L1::L1(const machine::L1Config& config)
    : sectored_(config.sectored),
      on_miss_(config.allocate == "on-miss"),
      xor_index_(config.index == "xor"),
      write_evict_(config.write == "evict"),
      mshr_limit_(std::max(1U, config.mshr_entries)),
      merge_limit_(std::clamp(config.mshr_merges, 1U, 255U)) {
  ways_ = std::max(1U, config.ways);
  sets_ = std::max(1U, config.bytes / (ways_ * kLineBytes));
  power_of_two_ = std::has_single_bit(sets_);
  max_ways_ = std::max(ways_, config.unified_bytes / (sets_ * kLineBytes));
  if (std::size_t{sets_} * max_ways_ >= kNone)
    throw UserError("l1: more than 65534 lines; choose a smaller l1.bytes or unified_bytes");
  lines_.resize(std::size_t{sets_} * max_ways_);
  sets_of_lines_.resize(sets_);
  for (std::size_t i = lines_.size(); i-- > 0;) {
    lines_[i].next = free_;
    free_ = static_cast<std::uint16_t>(i);
  }
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(lines_.size(), mshr_limit_) * 2);
  bucket_shift_ = static_cast<unsigned>(64 - std::countr_zero(buckets));
  buckets_.assign(buckets, kNone);
  mshr_buckets_.assign(buckets, kNil);
}

std::uint32_t L1::set_of(std::uint64_t line) const {
  if (!xor_index_) return static_cast<std::uint32_t>(power_of_two_ ? line & (sets_ - 1) : line % sets_);
  if (sets_ == 1) return 0;
  // Folds the bits above the index onto it, so that power-of-two strides spread over the sets.
  const auto bits = static_cast<unsigned>(std::bit_width(sets_ - 1));
  std::uint64_t folded = line;
  for (std::uint64_t rest = line >> bits; rest != 0; rest >>= bits) folded ^= rest & ((1ULL << bits) - 1);
  folded &= (1ULL << bits) - 1;
  return static_cast<std::uint32_t>(power_of_two_ ? folded : folded % sets_);
}

std::uint16_t L1::find(std::uint64_t line) const {
  std::uint16_t index = buckets_[bucket(line)];
  while (index != kNone && lines_[index].line != line) index = lines_[index].next;
  return index;
}

std::uint32_t L1::find_mshr(std::uint64_t line) const {
  std::uint32_t index = mshr_buckets_[bucket(line)];
  while (index != kNil && mshrs_[index].line != line) index = mshrs_[index].next;
  return index;
}

void L1::unlink(Set& set, std::uint16_t index) {
  const Line& line = lines_[index];
  (line.newer == kNone ? set.newest : lines_[line.newer].older) = line.older;
  (line.older == kNone ? set.oldest : lines_[line.older].newer) = line.newer;
}

void L1::make_newest(Set& set, std::uint16_t index) {
  Line& line = lines_[index];
  line.newer = kNone;
  line.older = set.newest;
  (set.newest == kNone ? set.oldest : lines_[set.newest].newer) = index;
  set.newest = index;
}

void L1::touch(std::uint16_t index) {
  if (lines_[index].newer == kNone) return;
  Set& set = sets_of_lines_[lines_[index].set];
  unlink(set, index);
  make_newest(set, index);
}

void L1::drop(std::uint16_t index) {
  Line& line = lines_[index];
  GPUMUX_DCHECK(line.pending == 0);
  Set& set = sets_of_lines_[line.set];
  unlink(set, index);
  --set.lines;
  std::uint16_t* link = &buckets_[bucket(line.line)];
  while (*link != index) link = &lines_[*link].next;
  *link = line.next;
  line = Line{};
  line.next = free_;
  free_ = index;
}

bool L1::make_room(Set& set) {
  // The set may be over its size after resize(): then more than one line goes.
  if (set.reserved >= ways_) return false;
  std::uint16_t index = set.oldest;
  while (set.lines >= ways_) {
    while (index != kNone && lines_[index].pending != 0) index = lines_[index].newer;
    GPUMUX_DCHECK(index != kNone);
    const std::uint16_t victim = index;
    index = lines_[index].newer;
    drop(victim);
  }
  return true;
}

std::uint16_t L1::insert(std::uint64_t line, std::uint32_t set_index) {
  Set& set = sets_of_lines_[set_index];
  const std::uint16_t index = free_;
  GPUMUX_DCHECK(index != kNone);
  free_ = lines_[index].next;
  lines_[index] = Line{};
  lines_[index].line = line;
  lines_[index].set = static_cast<std::uint16_t>(set_index);
  lines_[index].next = buckets_[bucket(line)];
  buckets_[bucket(line)] = index;
  ++set.lines;
  make_newest(set, index);
  return index;
}

std::uint32_t L1::new_mshr(std::uint64_t line, std::uint8_t pending) {
  const std::uint32_t index = mshrs_.take();
  Mshr& entry = mshrs_[index];
  entry.line = line;
  entry.pending = pending;
  entry.merges = 1;
  entry.next = mshr_buckets_[bucket(line)];
  mshr_buckets_[bucket(line)] = index;
  return index;
}

L1Access L1::load(std::uint64_t line, std::uint8_t sectors, bool queue_room) {
  if (!sectored_) sectors = 0xf;
  L1Access access;
  const std::uint16_t index = find(line);
  const std::uint8_t valid = index == kNone ? std::uint8_t{0} : lines_[index].valid;
  access.missing = static_cast<std::uint8_t>(sectors & ~valid);
  if (access.missing == 0) {
    touch(index);
    return access;
  }
  access.mshr = on_miss_ ? (index == kNone ? kNil : lines_[index].mshr) : find_mshr(line);
  if (access.mshr != kNil && mshrs_[access.mshr].stale) {
    // Flushed data is on its way; a later load may not use it and waits behind it like a full entry.
    access.result = L1Result::FailMerge;
    return access;
  }
  const std::uint8_t requested = access.mshr == kNil ? std::uint8_t{0} : mshrs_[access.mshr].pending;
  access.pending = access.missing & requested;
  access.request = static_cast<std::uint8_t>(access.missing & ~requested);
  if (on_miss_ && index == kNone) {
    const Set& set = sets_of_lines_[set_of(line)];
    if (set.reserved >= ways_) {
      access.result = L1Result::FailLine;
      return access;
    }
  }
  if (access.mshr == kNil && mshrs_.in_use() >= mshr_limit_) {
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
    Mshr& entry = mshrs_[access.mshr];
    ++entry.merges;
    entry.pending |= access.request;
    if (entry.way != kNone) lines_[entry.way].pending |= access.request;
  } else {
    access.mshr = new_mshr(line, access.request);
    if (on_miss_) {
      std::uint16_t way = index;
      if (way == kNone) {
        const std::uint32_t set = set_of(line);
        const bool room = make_room(sets_of_lines_[set]);
        GPUMUX_DCHECK(room);
        static_cast<void>(room);
        way = insert(line, set);
      }
      lines_[way].pending = access.request;
      lines_[way].mshr = access.mshr;
      mshrs_[access.mshr].way = way;
      ++sets_of_lines_[lines_[way].set].reserved;
    }
  }
  if (const std::uint16_t way = on_miss_ ? mshrs_[access.mshr].way : index; way != kNone) touch(way);
  return access;
}

std::uint8_t L1::write(std::uint64_t line, std::uint8_t sectors, bool atomic) {
  const std::uint16_t index = find(line);
  if (index == kNone) return 0;
  Line& entry = lines_[index];
  const std::uint8_t present = entry.valid & sectors;
  if (write_evict_ || atomic) {
    entry.valid = sectored_ ? static_cast<std::uint8_t>(entry.valid & ~sectors) : std::uint8_t{0};
    if (entry.valid == 0 && entry.pending == 0) drop(index);
  } else if (present != 0) {
    touch(index);
  }
  return present;
}

void L1::wait(std::uint32_t mshr, std::uint32_t op, std::uint8_t sectors) {
  const std::uint32_t index = waiters_.take();
  waiters_[index].op = op;
  waiters_[index].sectors = sectors;
  Mshr& entry = mshrs_[mshr];
  if (entry.last == kNil) {
    entry.first = index;
  } else {
    waiters_[entry.last].next = index;
  }
  entry.last = index;
}

void L1::place(Mshr& entry, std::uint8_t sectors) {
  if (entry.stale) return;
  if (entry.way != kNone) {
    lines_[entry.way].valid |= sectors;
    lines_[entry.way].pending &= static_cast<std::uint8_t>(~sectors);
    return;
  }
  std::uint16_t index = find(entry.line);
  if (index == kNone) {
    const std::uint32_t set = set_of(entry.line);
    if (!make_room(sets_of_lines_[set])) return;  // never: nothing is reserved on-fill
    index = insert(entry.line, set);
  } else {
    touch(index);
  }
  lines_[index].valid |= sectors;
}

void L1::release(std::uint32_t mshr) {
  Mshr& entry = mshrs_[mshr];
  GPUMUX_DCHECK(entry.first == kNil);
  if (entry.way != kNone) {
    Line& line = lines_[entry.way];
    line.mshr = kNil;
    line.pending = 0;
    --sets_of_lines_[line.set].reserved;
    if (line.valid == 0) drop(entry.way);
  }
  std::uint32_t* link = &mshr_buckets_[bucket(entry.line)];
  while (*link != mshr) link = &mshrs_[*link].next;
  *link = entry.next;
  mshrs_.give(mshr);
}

void L1::flush() {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto index = static_cast<std::uint16_t>(i);
    Line& line = lines_[index];
    if (line.pending != 0) {
      line.valid = 0;
    } else if (line.valid != 0) {
      drop(index);
    }
  }
  for (std::uint32_t head : mshr_buckets_)
    for (std::uint32_t index = head; index != kNil; index = mshrs_[index].next) mshrs_[index].stale = true;
}

void L1::resize(std::uint32_t bytes) {
  ways_ = std::clamp(bytes / (sets_ * kLineBytes), 1U, max_ways_);
  for (Set& set : sets_of_lines_) {
    std::uint16_t index = set.oldest;
    while (set.lines > ways_ && index != kNone) {
      const std::uint16_t next = lines_[index].newer;
      if (lines_[index].pending == 0) drop(index);
      index = next;
    }
  }
}

std::uint32_t L1::reserved_lines() const {
  std::uint32_t reserved = 0;
  for (const Set& set : sets_of_lines_) reserved += set.reserved;
  return reserved;
}

}  // namespace gpumux::sm
