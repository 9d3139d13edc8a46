// The tag array of a slice.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "arch/config.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"

namespace gpumux::l2 {

inline constexpr std::uint16_t kNoMshr = 0xffff;
inline constexpr std::uint32_t kNoWay = ~std::uint32_t{0};

/// Lines by set and way, with LRU replacement. A way is named by its index in the array. A line that waits
/// for a fill (on-miss allocation) is pinned and cannot be a victim.
class Tags {
 public:
  explicit Tags(const arch::L2Config& config);

  struct Line {
    std::uint8_t valid = 0;        // sectors
    std::uint8_t dirty = 0;        // sectors
    std::uint8_t owner = 0;        // application, and bit 32 of the line number
    std::uint16_t mshr = kNoMshr;  // MSHR of the fetch for which the line is pinned
    [[nodiscard]] bool present() const { return valid != 0 || mshr != kNoMshr; }
  };

  [[nodiscard]] std::uint32_t find(std::uint32_t set, std::uint64_t slice_line, AppId app) const {
    const auto tag = static_cast<std::uint32_t>(slice_line);
    const std::uint8_t owner = owner_of(slice_line, app);
    for (std::uint32_t block = set * stride_, end = block + stride_; block < end; block += kLanes) {
      std::uint32_t equal = 0;
#ifdef __AVX2__
      const __m256i tags = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&tags_[block]));
      equal = static_cast<std::uint32_t>(_mm256_movemask_ps(
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(tags, _mm256_set1_epi32(static_cast<int>(tag))))));
#else
      for (std::uint32_t lane = 0; lane < kLanes; ++lane)
        equal |= (tags_[block + lane] == tag ? 1U : 0U) << lane;
#endif
      for (; equal != 0; equal &= equal - 1) {
        const std::uint32_t way = block + static_cast<std::uint32_t>(std::countr_zero(equal));
        if (lines_[way].owner == owner && lines_[way].present()) return way;
      }
    }
    return kNoWay;
  }
  /// Prefetches a set into the host's cache.
  [[gnu::always_inline]] void prefetch(std::uint32_t set) const {
    const std::size_t first = std::size_t{set} * stride_;
    for (std::uint32_t way = 0; way < stride_; way += kLanes * 2) {
      __builtin_prefetch(&tags_[first + way]);
      __builtin_prefetch(&stamps_[first + way]);
      __builtin_prefetch(&lines_[first + way]);
    }
  }
  [[gnu::always_inline]] void prefetch_way(std::uint32_t way) const {
    __builtin_prefetch(&lines_[way], 1);
    __builtin_prefetch(&stamps_[way], 1);
  }
  Line& line(std::uint32_t way) { return lines_[way]; }
  /// Least recently used way of a set that is not pinned; kNoWay if all ways are pinned.
  [[nodiscard]] std::uint32_t victim(std::uint32_t set) const {
    const std::uint32_t first = set * stride_;
#ifdef __AVX2__
    __m256i least = _mm256_set1_epi32(-1);
    for (std::uint32_t block = 0; block < stride_; block += kLanes) {
      least = _mm256_min_epu32(least, stamps_of(first + block));
    }
    least = _mm256_min_epu32(least, _mm256_permute2x128_si256(least, least, 1));
    least = _mm256_min_epu32(least, _mm256_shuffle_epi32(least, 0x4e));
    least = _mm256_min_epu32(least, _mm256_shuffle_epi32(least, 0xb1));  // the minimum, in all lanes
    for (std::uint32_t block = 0; block < stride_; block += kLanes) {
      const auto equal = static_cast<std::uint32_t>(
          _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(least, stamps_of(first + block)))));
      if (equal == 0) continue;
      const std::uint32_t way = first + block + static_cast<std::uint32_t>(std::countr_zero(equal));
      return stamps_[way] == kPinned ? kNoWay : way;
    }
    return kNoWay;
#else
    std::uint32_t best = first;
    for (std::uint32_t way = first + 1; way < first + ways_; ++way) {
      if (stamps_[way] < stamps_[best]) best = way;
    }
    return stamps_[best] == kPinned ? kNoWay : best;
#endif
  }
  /// The least recently used way without dirty data or a fetch; kNoWay if there is none.
  [[nodiscard]] std::uint32_t clean_victim(std::uint32_t set) const;
  void install(std::uint32_t way, std::uint64_t slice_line, AppId app) {
    tags_[way] = static_cast<std::uint32_t>(slice_line);
    lines_[way] = {.owner = owner_of(slice_line, app)};
  }
  /// Marks the way as most recently used, unless it is pinned.
  void touch(std::uint32_t way) {
    if (stamps_[way] != kPinned) stamps_[way] = ++clock_;
  }
  void pin(std::uint32_t way) { stamps_[way] = kPinned; }
  /// Unpins a way. `stamp`: time of its last use, see use().
  void unpin(std::uint32_t way, std::uint32_t stamp) { stamps_[way] = stamp; }
  std::uint32_t use() { return ++clock_; }
  /// Number of pinned lines. Slow.
  [[nodiscard]] std::uint32_t pinned() const;
  [[nodiscard]] std::uint64_t slice_line(std::uint32_t way) const {
    return tags_[way] | (std::uint64_t{lines_[way].owner} & kBit32) << 25U;
  }
  [[nodiscard]] std::uint32_t set(std::uint32_t way) const { return way / stride_; }
  [[nodiscard]] std::uint32_t first_way(std::uint32_t set) const { return set * stride_; }
  [[nodiscard]] std::uint32_t sets() const { return static_cast<std::uint32_t>(stamps_.size() / stride_); }
  [[nodiscard]] std::uint32_t ways() const { return ways_; }
  [[nodiscard]] AppId app(std::uint32_t way) const { return lines_[way].owner & (kBit32 - 1U); }

 private:
  static constexpr std::uint32_t kPinned = ~std::uint32_t{0};
  static constexpr std::uint8_t kBit32 = 0x80;
  static_assert(kMaxApps <= kBit32);
  [[nodiscard]] static std::uint8_t owner_of(std::uint64_t slice_line, AppId app) {
    return static_cast<std::uint8_t>(app | (slice_line >> 25U & kBit32));
  }

#ifdef __AVX2__
  [[nodiscard]] __m256i stamps_of(std::uint32_t way) const {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&stamps_[way]));
  }
#endif

  static constexpr std::uint32_t kLanes = 8;
  std::uint32_t ways_;
  std::uint32_t stride_;  // ways_ rounded up to whole vectors; the padding ways are always pinned
  HugePageVector<std::uint32_t> tags_;
  HugePageVector<std::uint32_t> stamps_;  // 0: never used
  HugePageVector<Line> lines_;
  std::uint32_t clock_ = 0;
};

}  // namespace gpumux::l2
