// Tags of a small read-only cache (instructions, constants): LRU; a line is allocated when it arrives.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::sm {

class ReadOnlyCache {
 public:
  /// bytes == 0: every access hits.
  ReadOnlyCache(std::uint32_t bytes, std::uint32_t ways, std::uint32_t line_bytes)
      : ways_(ways),
        line_bytes_(line_bytes),
        sets_(std::max(1U, bytes / (ways_ * line_bytes_))),
        perfect_(bytes == 0),
        lines_(perfect_ ? 0 : std::size_t{sets_} * ways_) {}

  [[nodiscard]] bool perfect() const { return perfect_; }
  [[nodiscard]] std::uint32_t line_bytes() const { return line_bytes_; }
  [[nodiscard]] std::uint64_t line_of(Address address) const { return address / line_bytes_; }
  /// The 128-byte line and the sectors of a request for `line`.
  [[nodiscard]] std::uint64_t memory_line(std::uint64_t line) const {
    return line * line_bytes_ / kLineBytes;
  }
  [[nodiscard]] std::uint8_t memory_sectors(std::uint64_t line) const {
    const auto first = static_cast<unsigned>(line * line_bytes_ % kLineBytes / kSectorBytes);
    return static_cast<std::uint8_t>(((1U << (line_bytes_ / kSectorBytes)) - 1) << first);
  }
  /// The cache line of a request for memory_line() and memory_sectors().
  [[nodiscard]] std::uint64_t line_of_request(std::uint64_t memory_line, std::uint8_t sectors) const {
    const auto first = static_cast<std::uint64_t>(std::countr_zero(sectors));
    return (memory_line * kLineBytes + first * kSectorBytes) / line_bytes_;
  }
  bool access(std::uint64_t line) {
    if (perfect_) return true;
    Line* set = &lines_[line % sets_ * ways_];
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (set[way].used != 0 && set[way].line == line) {
        set[way].used = ++uses_;
        return true;
      }
    }
    return false;
  }
  void fill(std::uint64_t line) {
    Line* set = &lines_[line % sets_ * ways_];
    Line* victim =
        std::min_element(set, set + ways_, [](const Line& a, const Line& b) { return a.used < b.used; });
    *victim = {line, ++uses_};
  }
  void clear() { std::fill(lines_.begin(), lines_.end(), Line{}); }

 private:
  struct Line {
    std::uint64_t line = 0;
    std::uint64_t used = 0;  // 0: empty
  };
  std::uint32_t ways_;
  std::uint32_t line_bytes_;
  std::uint32_t sets_;
  bool perfect_;
  std::uint64_t uses_ = 0;
  std::vector<Line> lines_;
};

}  // namespace gpumux::sm
