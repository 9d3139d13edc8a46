// What is remembered of each word of memory for finding races: its last writers and readers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"

namespace gpumux::emulator {

/// An access that has been made: by whom, when in the order of its warp, and where in the code.
struct Mark {
  std::uint32_t warp = 0;  // of the grid, from 1 on; 0: there was no access
  std::uint32_t time = 0;  // of that warp
  std::uint32_t bits = 0;

  static constexpr std::uint32_t kAtomic = 1;  // reads and writes in one
  static constexpr std::uint32_t kStrong = 2;  // atomic, volatile, relaxed, acquire or release
  static constexpr std::uint32_t kLaneShift = 2;
  static constexpr std::uint32_t kPcShift = 7;
  explicit operator bool() const { return warp != 0; }
  [[nodiscard]] bool atomic() const { return (bits & kAtomic) != 0; }
  [[nodiscard]] bool strong() const { return (bits & kStrong) != 0; }
  [[nodiscard]] std::uint32_t lane() const { return (bits >> kLaneShift) & 31U; }
  [[nodiscard]] std::uint32_t pc() const { return bits >> kPcShift; }
};

/// Two of either kind suffice to find nearly every race of a word: where more accesses than two are
/// unordered, those of different blocks are kept, else of different warps, else of different lanes, so that
/// whoever comes next meets one that is not its own.
struct Cell {
  std::array<Mark, 2> writes;
  std::array<Mark, 2> reads;
};

/// The cells of an address range, made page by page when they are first asked for.
class Shadow {
 public:
  static constexpr std::uint32_t kPageBytes = 4096;
  /// Cells of [address, address + bytes): aligned accesses of up to 16 bytes, which cross no page.
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
  /// Nothing has been accessed in [address, address + bytes).
  void forget(std::uint64_t address, std::uint64_t bytes);

 private:
  /// One cell per word until something narrower is accessed, then one per byte.
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

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // looked up only
  std::uint64_t last_number_ = 0;
  Page* last_ = nullptr;
};

}  // namespace gpumux::emulator
