#include "workload/overwrites.hpp"

#include <algorithm>

namespace gpumux::workload {

void Overwrites::executed(std::uint32_t warp, std::uint64_t index, const isa::StaticInst& inst,
                          const MemHeader& header, const std::uint64_t* transactions) {
  // Shared and local memory are the block's own, and begin anew with it.
  if (header.where != MemHeader::Where::Global || header.transactions == 0) return;
  bool overwrites = (inst.flags & isa::kAtomic) != 0;
  for (std::uint32_t i = 0; i < header.transactions && !overwrites; ++i) {
    const Transaction transaction{transactions[i]};
    const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
    if ((inst.flags & isa::kStore) == 0) {
      was_read_[transaction.line()] |= sectors;
    } else if (const auto found = was_read_.find(transaction.line()); found != was_read_.end()) {
      overwrites = (found->second & sectors) != 0;
    }
  }
  if (overwrites) first_[warp] = std::min(first_[warp], index);
}

}  // namespace gpumux::workload
