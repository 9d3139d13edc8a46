// Outstanding fetches of a slice (miss status holding registers, MSHRs).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/huge_pages.hpp"
#include "l2/request.hpp"
#include "l2/tags.hpp"

namespace gpumux::l2 {

/// One line with sectors on their way from DRAM, and the requests that wait for these sectors.
struct alignas(64) Mshr {  // one cache line
  std::uint64_t slice_line = 0;
  std::uint32_t set = 0;
  std::uint32_t way = kNoWay;   // way pinned for the line (on-miss allocation)
  std::uint32_t stamp = 0;      // last use
  RequestList waiters;          // requests that wait for pending sectors
  std::uint32_t undrained = 0;  // waiters, and requests whose data has arrived but that have not replied
  std::uint32_t requests = 0;   // requests merged so far, including the first
  std::uint8_t pending = 0;     // sectors on their way from DRAM
  std::uint8_t dirty = 0;       // pending sectors that were written meanwhile
  AppId app = 0;
  KernelSlot kernel = 0;
  std::uint32_t victims = 0;  // on-fill allocation: lines evicted by its fills that wait for the miss queue
  std::uint16_t next_free = kNoMshr;
};
static_assert(sizeof(Mshr) == 64);

/// The MSHRs of a slice, with a free list. With on-miss allocation, the pinned way names its
/// MSHR. With on-fill allocation, find() looks the MSHR up in a hash table with open addressing,
/// which is at most half full.
class Mshrs {
 public:
  Mshrs(std::uint32_t count, bool searched)
      : entries_(count), table_(searched ? std::bit_ceil(2 * count) : 0, kNoMshr) {
    for (std::uint32_t i = count; i-- > 0;) {
      entries_[i].next_free = free_;
      free_ = static_cast<std::uint16_t>(i);
    }
  }
  [[nodiscard]] bool full() const { return free_ == kNoMshr; }
  [[nodiscard]] std::uint32_t used() const { return used_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(entries_.size()); }
  Mshr& operator[](std::uint16_t index) { return entries_[index]; }
  const Mshr& operator[](std::uint16_t index) const { return entries_[index]; }

  [[gnu::always_inline]] void prefetch(std::uint16_t index) const { __builtin_prefetch(&entries_[index]); }
  /// Prefetches the MSHR that the next fetch takes.
  [[gnu::always_inline]] void prefetch_free() const {
    if (!full()) __builtin_prefetch(&entries_[free_], 1);
  }
  [[nodiscard]] std::uint16_t index_of(const Mshr& entry) const {
    return static_cast<std::uint16_t>(&entry - entries_.data());
  }
  std::uint16_t take(std::uint64_t slice_line, AppId app) {
    const std::uint16_t index = free_;
    free_ = entries_[index].next_free;
    prefetch_free();
    ++used_;
    entries_[index] = {};
    entries_[index].slice_line = slice_line;
    entries_[index].app = app;
    if (!table_.empty()) {
      std::size_t place = home(slice_line, app);
      while (table_[place] != kNoMshr) place = (place + 1) & (table_.size() - 1);
      table_[place] = index;
    }
    return index;
  }
  void release(std::uint16_t index) {
    entries_[index].next_free = free_;
    free_ = index;
    --used_;
  }
  [[nodiscard]] std::uint16_t find(std::uint64_t slice_line, AppId app) const {
    for (std::size_t place = home(slice_line, app); table_[place] != kNoMshr;
         place = (place + 1) & (table_.size() - 1)) {
      const Mshr& entry = entries_[table_[place]];
      if (entry.slice_line == slice_line && entry.app == app) return table_[place];
    }
    return kNoMshr;
  }
  /// Removes an MSHR from the hash table, because all its data has arrived.
  void forget(std::uint16_t index) {
    if (table_.empty()) return;
    const std::size_t mask = table_.size() - 1;
    std::size_t hole = home(entries_[index].slice_line, entries_[index].app);
    while (table_[hole] != index) hole = (hole + 1) & mask;
    // Closes the gap, so that searches need no tombstones.
    for (std::size_t place = (hole + 1) & mask; table_[place] != kNoMshr; place = (place + 1) & mask) {
      const Mshr& entry = entries_[table_[place]];
      const std::size_t wanted = home(entry.slice_line, entry.app);
      if (((place - wanted) & mask) >= ((place - hole) & mask)) {
        table_[hole] = table_[place];
        hole = place;
      }
    }
    table_[hole] = kNoMshr;
  }

 private:
  [[nodiscard]] std::size_t home(std::uint64_t slice_line, AppId app) const {
    return mix64(slice_line ^ std::uint64_t{app} << 56U) & (table_.size() - 1);
  }
  HugePageVector<Mshr> entries_;
  HugePageVector<std::uint16_t> table_;
  std::uint16_t free_ = kNoMshr;
  std::uint32_t used_ = 0;
};

}  // namespace gpumux::l2
