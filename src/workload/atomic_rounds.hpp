// How many rounds the atomic operations of a warp take where they are performed.
#pragma once

#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::workload {

/// Of a sector, operations on different addresses are performed together, those on the same one after the
/// other; sectors of a line take their turns.
class AtomicRounds {
 public:
  /// `addresses` has 32 entries, of which those in `lanes` count.
  AtomicRounds(const Address* addresses, LaneMask lanes);
  /// Of the operations on a line (address / 128).
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
