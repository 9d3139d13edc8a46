// Detection of the host's writes to memory that it shares with the device (pinned, managed), by comparison
// with the earlier content. Used only for recordings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "workload/device_memory.hpp"

namespace gpumux::program {

/// Shared memory with its last known content. Time and memory use are proportional to the pages that either
/// side has touched. Pages that the backing file does not contain are zero.
class SharedMemory {
 public:
  /// `memory` and its backing file `file` must outlive this object.
  SharedMemory(const workload::DeviceMemory& memory, int file) : memory_(memory), file_(file) {}

  /// Starts to watch a range. Its present content becomes known.
  void add(Address first, std::uint64_t bytes);
  /// Stops watching the range that starts at `first`, if there is one.
  void remove(Address first);

  /// Calls `tell` for each run of bytes that differs from the known content, in the order of addresses. The
  /// new content becomes known. Runs with fewer than kGap equal bytes between them are joined.
  void tell_writes(const std::function<void(Address, std::span<const std::byte>)>& tell);
  /// Makes the present content the known content.
  void learn() { learn(ranges_.begin(), ranges_.end()); }

  static constexpr std::uint64_t kGap = 64;

 private:
  static constexpr std::uint64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;
  using Ranges = std::map<Address, std::uint64_t>;  // bytes by first address

  /// Calls `visit(range, begin, end, known)` page by page, for the bytes of these ranges in pages that the
  /// file contains or that are known. `known`: their known content.
  template <class Visit>
  void for_each_page(Ranges::const_iterator range, Ranges::const_iterator behind, const Visit& visit);
  void learn(Ranges::const_iterator range, Ranges::const_iterator behind);
  template <class Visit>
  void visit_pages(Ranges::const_iterator range, Address begin, Address end, const Visit& visit) const;
  void know(Address begin, Address end);

  const workload::DeviceMemory& memory_;
  int file_;
  Ranges ranges_;
  std::map<Address, Page> known_;  // by first address; pages without an entry are zero
};

}  // namespace gpumux::program
