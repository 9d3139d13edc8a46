// What the host writes to memory that it shares with the device (pinned, managed), found by comparing it with
// what was there: for recording alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "workload/device_memory.hpp"

namespace gpumux::program {

/// Takes time and memory by the pages that either side has touched. Pages that the file behind device memory
/// does not have, since nobody has, are zero.
class SharedMemory {
 public:
  /// `memory`, and `file`, which backs it, outlive it.
  SharedMemory(const workload::DeviceMemory& memory, int file) : memory_(memory), file_(file) {}

  /// These bytes are shared from now on; what they hold is known.
  void add(Address first, std::uint64_t bytes);
  /// No longer; nothing where none begin there.
  void remove(Address first);

  /// Calls `tell` for each run of bytes that has changed since it was known, in the order of addresses; then
  /// it is known. Runs with fewer than kGap equal bytes between them are one.
  void tell_writes(const std::function<void(Address, std::span<const std::byte>)>& tell);
  /// What is there now is known.
  void learn() { learn(ranges_.begin(), ranges_.end()); }

  static constexpr std::uint64_t kGap = 64;

 private:
  static constexpr std::uint64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;
  using Ranges = std::map<Address, std::uint64_t>;  // bytes, by first address

  /// Calls `visit(range, begin, end, known)` for the bytes of these ranges that lie on pages which the file
  /// has, page by page; `known`: what is known of them.
  template <class Visit>
  void for_each_page(Ranges::const_iterator range, Ranges::const_iterator behind, const Visit& visit);
  void learn(Ranges::const_iterator range, Ranges::const_iterator behind);
  template <class Visit>
  void visit_pages(Ranges::const_iterator range, Address begin, Address end, const Visit& visit) const;
  void know(Address begin, Address end);

  const workload::DeviceMemory& memory_;
  int file_;
  Ranges ranges_;
  std::map<Address, Page> known_;  // by first address; of those that are not there zeros are known
};

}  // namespace gpumux::program
