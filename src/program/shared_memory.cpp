#include "program/shared_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace gpumux::program {

template <class Visit>
void SharedMemory::for_each_page(Ranges::const_iterator range, Ranges::const_iterator behind,
                                 const Visit& visit) {
  const Address base = memory_.base();
  static constexpr Page kZeros{};
  for (; range != behind; ++range) {
    const Address end = range->first + range->second;
    auto known = known_.lower_bound(range->first / kPage * kPage);
    for (Address page = range->first / kPage * kPage; page < end; page += kPage) {
      while (known != known_.end() && known->first < page) ++known;
      const bool is_known = known != known_.end() && known->first == page;
      if (!is_known) {
        // Skips to the next page that the file contains. The pages must not be read to find their end, since
        // device memory may contain any number.
        const off_t data = ::lseek(file_, static_cast<off_t>(page - base), SEEK_DATA);
        if (data < 0 && errno == ENXIO) break;
        // A file system without SEEK_DATA is treated as if it had all pages.
        const Address next = data < 0 ? page : base + static_cast<Address>(data) / kPage * kPage;
        if (next != page) {
          page = next - kPage;
          continue;
        }
      }
      const Address first = std::max(page, range->first);
      const std::byte* const before = (is_known ? known->second : kZeros).data() + (first - page);
      visit(range, first, std::min(page + kPage, end), before);
    }
  }
}

void SharedMemory::know(Address begin, Address end) {
  Page& page = known_.try_emplace(begin / kPage * kPage).first->second;
  std::memcpy(page.data() + begin % kPage, memory_.host(begin), end - begin);
}

void SharedMemory::add(Address first, std::uint64_t bytes) {
  ranges_[first] = bytes;
  if (bytes == 0) return;
  const auto range = ranges_.find(first);
  // Updates known bytes of pages that the file may not contain any more. They belong to former ranges at
  // these addresses, or to adjacent ranges.
  for (auto page = known_.lower_bound(first / kPage * kPage);
       page != known_.end() && page->first < first + bytes; ++page)
    know(std::max(page->first, first), std::min(page->first + kPage, first + bytes));
  learn(range, std::next(range));
}

void SharedMemory::remove(Address first) {
  const auto range = ranges_.find(first);
  if (range == ranges_.end()) return;
  const Address begin = (first + kPage - 1) / kPage * kPage;
  const Address end = (first + range->second) / kPage * kPage;
  if (begin < end) known_.erase(known_.lower_bound(begin), known_.lower_bound(end));
  ranges_.erase(range);
}

void SharedMemory::learn(Ranges::const_iterator range, Ranges::const_iterator behind) {
  for_each_page(range, behind, [&](auto, Address begin, Address end, const std::byte* before) {
    if (std::memcmp(memory_.host(begin), before, end - begin) != 0) know(begin, end);
  });
}

void SharedMemory::tell_writes(const std::function<void(Address, std::span<const std::byte>)>& tell) {
  Ranges::const_iterator of = ranges_.end();
  Address begin = 0;
  Address end = 0;  // end of the current run; no run if both are equal
  const auto finish = [&] {
    if (begin != end) tell(begin, {memory_.host(begin), end - begin});
    begin = end = 0;
  };
  for_each_page(ranges_.begin(), ranges_.end(),
                [&](Ranges::const_iterator range, Address first, Address last, const std::byte* before) {
                  if (range != of) finish();
                  of = range;
                  const std::byte* const now = memory_.host(first);
                  if (std::memcmp(now, before, last - first) == 0) return;
                  for (Address i = first; i < last; ++i) {
                    if (now[i - first] == before[i - first]) continue;
                    if (begin == end || i - end >= kGap) {
                      finish();
                      begin = i;
                    }
                    end = i + 1;
                  }
                  know(first, last);
                });
  finish();
}

}  // namespace gpumux::program
