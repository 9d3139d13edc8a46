// The number of rounds that the atomic operations of a warp take at the unit that performs them.
#pragma once

#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::workload {

/// Counts rounds. Operations on different addresses of a sector are performed together. Operations on the
/// same address, and different sectors of a line, take turns.
class AtomicRounds {
 public:
  /// `addresses` has 32 entries. Only the entries of `lanes` count.
  AtomicRounds(const Address* addresses, LaneMask lanes);
  /// Rounds of the operations on a line (address / 128).
  [[nodiscard]] std::uint32_t of_line(std::uint64_t line) const;

 private:
  struct Sector {
    std::uint64_t number;  // address / 32
    std::uint32_t rounds;
  };
  std::array<Sector, kWarpSize> sectors_;
  std::uint32_t count_ = 0;
};

}  // namespace gpumux::workload
