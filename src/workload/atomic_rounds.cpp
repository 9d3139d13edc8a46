#include "workload/atomic_rounds.hpp"

#include <algorithm>
#include <bit>

namespace gpumux::workload {

AtomicRounds::AtomicRounds(const Address* addresses, LaneMask lanes) {
  for (LaneMask left = lanes; left != 0; left &= left - 1) {
    const Address at = addresses[std::countr_zero(left)];
    // The lane's turn among the lanes with the same address, in order of lane number.
    std::uint32_t turn = 1;
    for (LaneMask before = lanes & ~left; before != 0; before &= before - 1)
      turn += addresses[std::countr_zero(before)] == at ? 1U : 0U;
    const std::uint64_t number = at / kSectorBytes;
    const auto end = sectors_.begin() + count_;
    const auto found = std::find_if(sectors_.begin(), end,
                                    [number](const Sector& sector) { return sector.number == number; });
    if (found == end) {
      sectors_[count_++] = {number, turn};
    } else {
      found->rounds = std::max(found->rounds, turn);
    }
  }
}

std::uint32_t AtomicRounds::of_line(std::uint64_t line) const {
  std::uint32_t rounds = 0;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (sectors_[i].number / kSectorsPerLine == line) rounds += sectors_[i].rounds;
  return rounds;
}

}  // namespace gpumux::workload
