// What the host writes to memory that it shares with the device (pinned, managed), found by comparing it with
// what was there: for recording alone.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "workload/device_memory.hpp"

namespace gpumux::program {

/// Holds as many bytes again as are shared, and looks at all of them each time.
class SharedMemory {
 public:
  /// `memory` outlives it.
  explicit SharedMemory(const workload::DeviceMemory& memory) : memory_(memory) {}

  /// These bytes are shared from now on; what they hold is known.
  void add(Address first, std::uint64_t bytes);
  /// No longer; nothing where none begin there.
  void remove(Address first) { known_.erase(first); }

  /// Calls `tell` for each run of bytes that has changed since it was known, in the order of addresses; then
  /// it is known. Runs with fewer than kGap equal bytes between them are one.
  void tell_writes(const std::function<void(Address, std::span<const std::byte>)>& tell);
  /// What is there now is known.
  void learn();

  static constexpr std::uint64_t kGap = 64;

 private:
  using Known = std::vector<std::byte>;
  /// Calls `visit(offset, bytes)` for each part of at most kPart bytes that differs.
  template <class Visit>
  void for_each_changed(Address first, Known& known, const Visit& visit) const;

  const workload::DeviceMemory& memory_;
  std::map<Address, Known> known_;  // by first address
};

}  // namespace gpumux::program
