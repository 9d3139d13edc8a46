// Shadow memory for race detection: the last writers and readers of each word of memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"

namespace gpumux::emulator {

/// A past access: its warp and lane, its time in the order of the warp, and its pc.
struct Mark {
  std::uint32_t warp = 0;  // index in the grid, from 1; 0: no access
  std::uint32_t time = 0;  // time of this warp
  std::uint32_t bits = 0;

  static constexpr std::uint32_t kAtomic = 1;  // reads and writes
  static constexpr std::uint32_t kStrong = 2;  // atomic, volatile, relaxed, acquire or release
  static constexpr std::uint32_t kLaneShift = 2;
  static constexpr std::uint32_t kPcShift = 7;
  explicit operator bool() const { return warp != 0; }
  [[nodiscard]] bool atomic() const { return (bits & kAtomic) != 0; }
  [[nodiscard]] bool strong() const { return (bits & kStrong) != 0; }
  [[nodiscard]] std::uint32_t lane() const { return (bits >> kLaneShift) & 31U; }
  [[nodiscard]] std::uint32_t pc() const { return bits >> kPcShift; }
};

/// The last accesses of a word. Two of each kind are sufficient to find nearly every race. If there are more
/// than two unordered accesses, accesses of different blocks are preferred, then of different warps, then of
/// different lanes. So a later access meets one that is not its own.
struct Cell {
  std::array<Mark, 2> writes;
  std::array<Mark, 2> reads;
};

/// The cells of an address range, whose pages are created at the first access.
class Shadow {
 public:
  static constexpr std::uint32_t kPageBytes = 4096;
  /// Cells of [address, address + bytes), for aligned accesses of up to 16 bytes, which cross no page.
  struct Cells {
    Cell* first;
    std::uint32_t count;
    std::uint32_t bytes_each;
  };
  Cells at(std::uint64_t address, std::uint32_t bytes) {
    Page& page = page_of(address / kPageBytes);
    if (((address | bytes) & 3U) != 0 && page.shift != 0) page.refine();
    const auto offset = static_cast<std::uint32_t>(address % kPageBytes);
    return {&page.cells[offset >> page.shift], bytes >> page.shift, 1U << page.shift};
  }
  /// Forgets all accesses to [address, address + bytes).
  void forget(std::uint64_t address, std::uint64_t bytes);

 private:
  /// The cells of a page: one per word, or one per byte after a narrower access.
  struct Page {
    std::uint32_t shift = 2;
    std::vector<Cell> cells = std::vector<Cell>(kPageBytes / 4);
    void refine();
  };
  Page& page_of(std::uint64_t number) {
    if (number != last_number_ || last_ == nullptr) {
      std::unique_ptr<Page>& page = pages_[number];
      if (page == nullptr) page = std::make_unique<Page>();
      last_number_ = number;
      last_ = page.get();
    }
    return *last_;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // only for lookups
  std::uint64_t last_number_ = 0;
  Page* last_ = nullptr;
};

}  // namespace gpumux::emulator
