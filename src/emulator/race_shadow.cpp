#include "emulator/race_shadow.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gpumux::emulator {

void Shadow::Page::refine() {
  std::vector<Cell> bytes;
  bytes.reserve(kPageBytes);
  for (const Cell& cell : cells) bytes.insert(bytes.end(), 4, cell);
  cells = std::move(bytes);
  shift = 0;
}

void Shadow::forget(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const std::uint64_t number = address / kPageBytes;
    const std::uint64_t stop = std::min(end, (number + 1) * kPageBytes);
    if (const auto found = pages_.find(number); found != pages_.end()) {
      Page& page = *found->second;
      const std::uint64_t first = (address % kPageBytes) >> page.shift;
      const std::uint64_t last = (stop - number * kPageBytes + (1U << page.shift) - 1) >> page.shift;
      std::fill(page.cells.begin() + static_cast<std::ptrdiff_t>(first),
                page.cells.begin() + static_cast<std::ptrdiff_t>(last), Cell{});
    }
    address = stop;
  }
}

}  // namespace gpumux::emulator
