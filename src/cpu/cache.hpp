// Tags of a private cache: write-back, write-allocate, true LRU.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/config.hpp"

namespace gpumux::cpu {

class Cache {
 public:
  explicit Cache(const CacheConfig& config)
      : ways_(config.ways),
        set_mask_(config.bytes / kLineBytes / config.ways - 1),
        entries_(std::size_t{config.bytes} / kLineBytes, kEmpty) {}

  /// Looks a line up. If present, the line becomes the most recently used one, and dirty after a write.
  bool touch(std::uint64_t line, bool write) {
    std::uint64_t* set = set_of(line);
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (set[way] >> 1U != line) continue;
      const std::uint64_t entry = set[way] | static_cast<std::uint64_t>(write);
      for (; way > 0; --way) set[way] = set[way - 1];
      set[0] = entry;
      return true;
    }
    return false;
  }

  struct Victim {
    std::uint64_t line;
    bool dirty;  // false also if nothing was evicted
  };
  /// Inserts an absent line as the most recently used one. Returns the line evicted for it.
  Victim fill(std::uint64_t line, bool dirty) {
    std::uint64_t* set = set_of(line);
    const std::uint64_t old = set[ways_ - 1];
    for (std::uint32_t way = ways_ - 1; way > 0; --way) set[way] = set[way - 1];
    set[0] = line << 1U | static_cast<std::uint64_t>(dirty);
    return {old >> 1U, old != kEmpty && (old & 1U) != 0};
  }

 private:
  // Entries of a set in order of use, most recent first: line << 1 | dirty. No line has all bits set.
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  std::uint64_t* set_of(std::uint64_t line) { return &entries_[(line & set_mask_) * ways_]; }
  std::uint32_t ways_;
  std::uint64_t set_mask_;
  std::vector<std::uint64_t> entries_;
};

}  // namespace gpumux::cpu
