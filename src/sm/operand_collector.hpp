// Operand collection of one scheduler, booked at issue: which cycle each operand's bank read falls in.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "base/types.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::sm {

/// A bank reads one register of a warp per cycle. Reads of one instruction in different banks happen in
/// its issue cycle; the second read in a bank, or one that finds the bank taken by an earlier
/// instruction, comes later and delays execution by that many cycles. Latencies of the machine
/// include the first read.
class OperandCollector {
 public:
  static constexpr std::uint32_t kMaxCollectors = 64;
  OperandCollector(std::uint32_t banks, std::uint32_t collectors)
      : few_banks_(banks <= 8 && std::has_single_bit(banks)), collectors_(collectors), bank_free_(banks, 0) {}
  /// First cycle at which a collector is free; it may have passed.
  [[nodiscard]] Cycle free_at() const { return held_until_[first_]; }
  /// Books the reads of an instruction issued at `now`; `warp` is its number within the scheduler (0..63).
  /// Returns the cycles by which execution is delayed. One that comes although no collector is free, a
  /// branch, holds none.
  std::uint32_t book(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    // A bank that is read once is free for the next cycle's instruction: nothing to note.
    if (inst.most_reads <= 1 && all_free_ <= now) return 0;
    const Cycle last = now + (few_banks_ ? read_few_banks(warp, inst, now) : read_banks(warp, inst, now));
    all_free_ = std::max(all_free_, last + 1);
    // Collectors of instructions without conflict are free again in the next cycle, so only the others are
    // noted.
    if (last > now && held_until_[first_] <= now) {
      held_until_[first_] = last + 1;
      std::uint32_t first = 0;
      for (std::uint32_t i = 1; i < collectors_; ++i) first = held_until_[i] < held_until_[first] ? i : first;
      first_ = first;
    }
    return static_cast<std::uint32_t>(last - now);
  }

 private:
  /// Takes the banks from `now` on. Returns the cycles until the last operand is read.
  std::uint32_t read_banks(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    Cycle last = now;
    for (unsigned i = 0; i < inst.num_reads; ++i) {
      // Warps' registers are rotated over the banks.
      Cycle& free = bank_free_[(inst.slot[inst.first_read + i] + warp) % bank_free_.size()];
      const Cycle at = std::max(now, free);
      free = at + 1;
      last = std::max(last, at);
    }
    return static_cast<std::uint32_t>(last - now);
  }
  /// The same for 1, 2, 4 or 8 banks at once, without branches that the host would guess wrong.
  std::uint32_t read_few_banks(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    const std::uint64_t reads = std::rotl(inst.bank_reads, static_cast<int>(8 * (warp % 8)));
    const auto passed = static_cast<std::uint16_t>(std::min<Cycle>(now - backlog_since_, 0xffff));
    backlog_since_ = now;
#ifdef __AVX2__
    auto* const stored = reinterpret_cast<__m128i*>(backlog_.data());
    const __m128i counts = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(static_cast<long long>(reads)));
    const __m128i left = _mm_subs_epu16(_mm_load_si128(stored), _mm_set1_epi16(static_cast<short>(passed)));
    const __m128i owed = _mm_add_epi16(left, counts);
    _mm_store_si128(stored, owed);
    const __m128i unread = _mm_cmpeq_epi16(counts, _mm_setzero_si128());
    // The instruction for a minimum finds the maximum of the inverted.
    const __m128i inverted = _mm_or_si128(_mm_xor_si128(owed, _mm_set1_epi16(-1)), unread);
    const auto least = static_cast<std::uint16_t>(_mm_extract_epi16(_mm_minpos_epu16(inverted), 0));
    const std::uint32_t last = std::max(std::uint16_t{1}, static_cast<std::uint16_t>(~least));
#else
    std::uint32_t last = 1;
    for (unsigned lane = 0; lane < 8; ++lane) {
      const auto count = static_cast<std::uint16_t>(reads >> 8 * lane & 0xffU);
      backlog_[lane] =
          static_cast<std::uint16_t>((backlog_[lane] > passed ? backlog_[lane] - passed : 0) + count);
      if (count != 0) last = std::max<std::uint32_t>(last, backlog_[lane]);
    }
#endif
    return last - 1U;
  }

  Cycle all_free_ = 0;  // no bank is taken from this cycle on
  bool few_banks_;
  std::uint32_t collectors_;
  std::uint32_t first_ = 0;  // collector that is free first
  Cycle backlog_since_ = 0;
  alignas(
      16) std::array<std::uint16_t, 8> backlog_{};  // reads that the banks owe from then on; banks repeated
  std::vector<Cycle> bank_free_;                    // of other numbers of banks
  std::array<Cycle, kMaxCollectors> held_until_{};  // by collector, by instructions with conflicts
};

}  // namespace gpumux::sm
