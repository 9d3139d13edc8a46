// Operand collection of one scheduler, booked at issue: which cycle each operand's bank read falls in.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::sm {

/// A bank reads one register of a warp per cycle. Reads of one instruction in different banks happen in
/// its issue cycle; the second read in a bank, or one that finds the bank taken by an earlier
/// instruction, comes later and delays execution by that many cycles. Latencies of the machine
/// include the first read.
class OperandCollector {
 public:
  OperandCollector(std::uint32_t banks, std::uint32_t collectors)
      : collectors_(std::max(1U, collectors)), bank_free_(std::max(1U, banks), 0) {
    if (std::has_single_bit(bank_free_.size())) mask_ = static_cast<std::uint32_t>(bank_free_.size() - 1);
  }
  /// Collectors of instructions without conflict are free again in the next cycle, so only the others
  /// are listed.
  [[nodiscard]] bool available(Cycle now) {
    if (held_.size() < collectors_) return true;
    std::erase_if(held_, [now](Cycle until) { return until <= now; });
    return held_.size() < collectors_;
  }
  [[nodiscard]] Cycle next_free() const { return *std::min_element(held_.begin(), held_.end()); }

  /// Books the reads of an instruction issued at `now`; `warp` is its number within the scheduler (0..63).
  /// Returns the cycles by which execution is delayed.
  std::uint32_t book(std::uint32_t warp, const TimedInst& inst, std::uint16_t predicates, Cycle now) {
    if (inst.num_operands == 0) return 0;
    Cycle last = now;
    // Sources first; operands that are also destinations are listed as destinations alone.
    const std::uint16_t* const source = inst.slot.data() + inst.num_dst;
    for (unsigned i = 0; i < inst.num_reads; ++i) last = std::max(last, read(warp, source[i], now));
    unsigned left = static_cast<unsigned>(inst.num_operands - inst.num_reads);
    for (unsigned i = 0; i < inst.num_dst && left > 0; ++i) {
      if (inst.slot[i] >= predicates) continue;
      last = std::max(last, read(warp, inst.slot[i], now));
      --left;
    }
    if (last == now) return 0;
    held_.push_back(last + 1);
    return static_cast<std::uint32_t>(last - now);
  }

 private:
  Cycle read(std::uint32_t warp, std::uint16_t reg, Cycle now) {
    Cycle& free = bank_free_[mask_ != 0 ? (reg + warp) & mask_ : (reg + warp) % bank_free_.size()];
    const Cycle at = std::max(now, free);
    free = at + 1;
    return at;
  }
  std::size_t collectors_;
  std::vector<Cycle> bank_free_;
  std::uint32_t mask_ = 0;   // of the bank, if their number is a power of two
  std::vector<Cycle> held_;  // when collectors with conflicts are free again
};

}  // namespace gpumux::sm
