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

#include "base/error.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::sm {

/// A bank reads `ports` registers of a warp per cycle. Reads of one instruction that find a port happen in
/// its issue cycle; those behind come later and delay execution by as many cycles. Latencies of the machine
/// include the first read. With `writes`, results take turns of ports too (TimedInst::num_writes): behind
/// the reads of their own instruction, though they come later.
///
/// Without config.sm.collectors_wait, collectors are held for the reads alone, and an instruction issues only
/// when its unit is free: book(). With it, an instruction keeps its collector until its unit takes it:
/// collect() and hold(). One more per kind of unit waits in front of the collectors: it has issued and holds
/// up the next of its kind.
class OperandCollector {
 public:
  static constexpr std::uint32_t kMaxCollectors = 64;
  OperandCollector(std::uint32_t banks, std::uint32_t ports, bool writes, std::uint32_t collectors)
      : writes_(writes),
        few_banks_(banks <= 8 && std::has_single_bit(banks)),
        ports_(ports),
        collectors_(collectors),
        bank_free_(banks, 0) {}
  /// First cycle at which a collector is free; it may have passed.
  [[nodiscard]] Cycle free_at() const { return held_until_[first_]; }
  /// Books the reads of an instruction issued at `now`; `warp` is its number within the scheduler (0..63).
  /// Returns the cycles by which execution is delayed. One that comes although no collector is free, a
  /// branch, holds none.
  std::uint32_t book(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    const Cycle last = read(warp, inst, now);
    if (last == now) return 0;
    // Collectors of instructions without conflict are free again in the next cycle, so only the others are
    // noted.
    if (held_until_[first_] <= now) hold(last + 1);
    return static_cast<std::uint32_t>(last - now);
  }

  // --- instructions that wait for their units here ----------------------------------------------------
  /// The next instruction of this kind may issue from then on; kNever: a release() will tell.
  [[nodiscard]] Cycle may_issue(isa::Unit unit) const {
    return held_until_[first_] == kNever ? kNever : waiting_until_[static_cast<std::size_t>(unit)];
  }
  /// An instruction issues at `now`, may_issue() or later: the cycle in which its operands are there. Call
  /// hold() next.
  Cycle collect(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    const Cycle enters = std::max(now, held_until_[first_]);
    waiting_until_[static_cast<std::size_t>(inst.unit)] = std::max(now + 1, enters);
    // Turns of banks are taken in order of issue: a release may let a later one in earlier.
    return enters + (read(warp, inst, now) - now);
  }
  /// It keeps its collector until this cycle; kNever: until release().
  void hold(Cycle until) {
    held_until_[first_] = until;
    std::uint32_t first = 0;
    for (std::uint32_t i = 1; i < collectors_; ++i) first = held_until_[i] < held_until_[first] ? i : first;
    first_ = first;
  }
  /// One of those that are held until further notice is free from `at` on.
  void release(Cycle at) {
    const auto end = held_until_.begin() + collectors_;
    const auto held = std::find(held_until_.begin(), end, kNever);
    GPUMUX_DCHECK(held != end);
    *held = at;
    first_ = static_cast<std::uint32_t>(std::min_element(held_until_.begin(), end) - held_until_.begin());
  }

  /// None is held until further notice.
  [[nodiscard]] bool drained() const {
    return std::find(held_until_.begin(), held_until_.begin() + collectors_, kNever) ==
           held_until_.begin() + collectors_;
  }

 private:
  /// Turns that a bank may owe: results may come faster than it takes them, and nothing holds them back.
  static constexpr std::int16_t kMostOwed = 4096;  // more than reads can: 64 collectors of 20
  /// Takes the banks of an instruction from `now` on: the cycle of its last read.
  Cycle read(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    // A bank with no more reads than ports is free for the next cycle's instruction: nothing to note.
    if (inst.most_reads <= ports_ && all_free_ <= now && !writes_) return now;
    const Cycle last = now + (few_banks_ ? read_few_banks(warp, inst, now) : read_banks(warp, inst, now));
    all_free_ = std::max(all_free_, last + 1);
    return last;
  }
  /// Takes the banks from `now` on. Returns the cycles until the last operand is read.
  std::uint32_t read_banks(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    std::uint64_t last = now * ports_;  // in turns of a port
    for (unsigned i = 0; i < inst.num_reads; ++i) {
      // Warps' registers are rotated over the banks.
      std::uint64_t& free = bank_free_[(inst.slot[inst.first_read + i] + warp) % bank_free_.size()];
      const std::uint64_t at = std::max(now * ports_, free);
      free = at + 1;
      last = std::max(last, at);
    }
    for (unsigned i = 0; writes_ && i < inst.num_writes; ++i) {
      std::uint64_t& free = bank_free_[(inst.slot[inst.num_dst - 1U - i] + warp) % bank_free_.size()];
      free = std::min(std::max(now * ports_, free) + 1, now * ports_ + kMostOwed);
    }
    return static_cast<std::uint32_t>(last / ports_ - now);
  }
  /// The same for 1, 2, 4 or 8 banks at once, without branches that the host would guess wrong.
  std::uint32_t read_few_banks(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    const std::uint64_t turns = std::rotl(inst.bank_turns, static_cast<int>(8 * (warp % 8)));
    const auto passed = static_cast<std::uint16_t>(std::min<Cycle>((now - backlog_since_) * ports_, 0xffff));
    backlog_since_ = now;
#ifdef __AVX2__
    auto* const stored = reinterpret_cast<__m128i*>(backlog_.data());
    const __m128i both = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(static_cast<long long>(turns)));
    const __m128i counts = _mm_and_si128(both, _mm_set1_epi16(0xf));
    const __m128i left = _mm_subs_epu16(_mm_load_si128(stored), _mm_set1_epi16(static_cast<short>(passed)));
    const __m128i owed = _mm_add_epi16(left, counts);
    _mm_store_si128(stored,
                    _mm_min_epu16(_mm_add_epi16(owed, _mm_srli_epi16(both, 4)), _mm_set1_epi16(kMostOwed)));
    const __m128i unread = _mm_cmpeq_epi16(counts, _mm_setzero_si128());
    // The instruction for a minimum finds the maximum of the inverted.
    const __m128i inverted = _mm_or_si128(_mm_xor_si128(owed, _mm_set1_epi16(-1)), unread);
    const auto least = static_cast<std::uint16_t>(_mm_extract_epi16(_mm_minpos_epu16(inverted), 0));
    const std::uint32_t last = std::max(std::uint16_t{1}, static_cast<std::uint16_t>(~least));
#else
    std::uint32_t last = 1;
    for (unsigned lane = 0; lane < 8; ++lane) {
      const auto count = static_cast<std::uint16_t>(turns >> 8 * lane & 0xfU);
      backlog_[lane] =
          static_cast<std::uint16_t>((backlog_[lane] > passed ? backlog_[lane] - passed : 0) + count);
      if (count != 0) last = std::max<std::uint32_t>(last, backlog_[lane]);
      backlog_[lane] = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(backlog_[lane] + (turns >> (8 * lane + 4) & 0xfU), kMostOwed));
    }
#endif
    return ports_ == 1 ? last - 1U : (last - 1U) / ports_;
  }

  Cycle all_free_ = 0;  // no bank is taken from this cycle on
  bool writes_;
  bool few_banks_;
  std::uint32_t ports_;
  std::uint32_t collectors_;
  std::uint32_t first_ = 0;  // collector that is free first
  Cycle backlog_since_ = 0;
  alignas(
      16) std::array<std::uint16_t, 8> backlog_{};  // turns that the banks owe from then on; banks repeated
  std::vector<std::uint64_t> bank_free_;  // of other numbers of banks: first turn of a port that is free
  std::array<Cycle, kMaxCollectors> held_until_{};  // by collector; see above for by whom
  std::array<Cycle, isa::kUnits> waiting_until_{};  // in front of the collectors
};

}  // namespace gpumux::sm
