// Operand collection of one scheduler, booked at issue: the cycle in which each operand is read from its
// bank.
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

/// Books the operand reads of one scheduler's instructions. A bank reads `ports` registers of a warp per
/// cycle. Reads of an instruction that find a free port happen in its issue cycle. Other reads happen
/// later and delay execution. The machine's latencies include the first read. With `writes`, results also
/// use the ports (TimedInst::num_writes). Results are booked behind the reads of their own instruction,
/// although they come later.
///
/// Without config.sm.collectors_wait, collectors are held only during reads, and an instruction issues only
/// when its unit is free: book(). With it, an instruction keeps its collector until its unit takes the
/// instruction: collect() and hold(). In addition, one instruction per kind of unit may wait in front of the
/// collectors: it has issued, and the next instruction of its kind cannot issue before it has a collector.
class OperandCollector {
 public:
  static constexpr std::uint32_t kMaxCollectors = 64;
  OperandCollector(std::uint32_t banks, std::uint32_t ports, bool writes, std::uint32_t collectors)
      : writes_(writes),
        few_banks_(banks <= 8 && std::has_single_bit(banks)),
        ports_(ports),
        collectors_(collectors),
        bank_free_(banks, 0) {}
  /// First cycle in which a collector is free, which may have passed.
  [[nodiscard]] Cycle free_at() const { return held_until_[first_]; }
  /// Books the reads of an instruction issued at `now`. `warp`: its number within the scheduler (0..63).
  /// Returns the cycles by which execution is delayed. An instruction that issues without a free collector
  /// is a branch and holds none.
  std::uint32_t book(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    const Cycle last = read(warp, inst, now);
    if (last == now) return 0;
    // Without conflict, a collector is free again in the next cycle, so only conflicts are recorded.
    if (held_until_[first_] <= now) hold(last + 1);
    return static_cast<std::uint32_t>(last - now);
  }

  // --- instructions that wait for their units here ----------------------------------------------------
  /// Cycle from which the next instruction of this kind may issue; kNever: not before a release().
  [[nodiscard]] Cycle may_issue(isa::Unit unit) const {
    return held_until_[first_] == kNever ? kNever : waiting_until_[static_cast<std::size_t>(unit)];
  }
  /// Books the reads of an instruction that issues at `now`, which is may_issue() or later. Returns the cycle
  /// in which its operands are there. hold() must be called next.
  Cycle collect(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    const Cycle enters = std::max(now, held_until_[first_]);
    waiting_until_[static_cast<std::size_t>(inst.unit)] = std::max(now + 1, enters);
    // Banks are used in order of issue, although a release may let a later instruction enter first.
    return enters + (read(warp, inst, now) - now);
  }
  /// Holds the instruction's collector until this cycle; kNever: until release().
  void hold(Cycle until) {
    held_until_[first_] = until;
    std::uint32_t first = 0;
    for (std::uint32_t i = 1; i < collectors_; ++i) first = held_until_[i] < held_until_[first] ? i : first;
    first_ = first;
  }
  /// Frees one of the collectors that are held until release(), from `at` on.
  void release(Cycle at) {
    const auto end = held_until_.begin() + collectors_;
    const auto held = std::find(held_until_.begin(), end, kNever);
    GPUMUX_DCHECK(held != end);
    *held = at;
    first_ = static_cast<std::uint32_t>(std::min_element(held_until_.begin(), end) - held_until_.begin());
  }

  /// True if no collector is held until release().
  [[nodiscard]] bool drained() const {
    return std::find(held_until_.begin(), held_until_.begin() + collectors_, kNever) ==
           held_until_.begin() + collectors_;
  }

 private:
  /// Most turns that a bank may owe. Results may come faster than the bank takes them, without back-pressure.
  static constexpr std::int16_t kMostOwed = 4096;  // more than reads can owe: 64 collectors of 20
  /// Books the reads of an instruction from `now` on. Returns the cycle of its last read.
  Cycle read(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    // A bank with no more reads than ports is free for the next cycle's instruction, so nothing is recorded.
    if (inst.most_reads <= ports_ && all_free_ <= now && !writes_) return now;
    const Cycle last = now + (few_banks_ ? read_few_banks(warp, inst, now) : read_banks(warp, inst, now));
    all_free_ = std::max(all_free_, last + 1);
    return last;
  }
  /// Books the reads from `now` on. Returns the cycles until the last operand is read.
  std::uint32_t read_banks(std::uint32_t warp, const TimedInst& inst, Cycle now) {
    std::uint64_t last = now * ports_;  // in turns of a port
    for (unsigned i = 0; i < inst.num_reads; ++i) {
      // The registers of successive warps are rotated over the banks.
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
  /// read_banks() for 1, 2, 4 or 8 banks at once, without branches, which the host would mispredict.
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
    // The minimum instruction finds the maximum of inverted values.
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

  Cycle all_free_ = 0;  // no bank is booked from this cycle on
  bool writes_;
  bool few_banks_;
  std::uint32_t ports_;
  std::uint32_t collectors_;
  std::uint32_t first_ = 0;  // collector that is free first
  Cycle backlog_since_ = 0;
  alignas(16) std::array<std::uint16_t, 8> backlog_{};  // turns that each bank owes at backlog_since_; fewer
                                                        // than 8 banks are repeated
  std::vector<std::uint64_t> bank_free_;            // for other numbers of banks: first free turn of a port
  std::array<Cycle, kMaxCollectors> held_until_{};  // by collector: when it is free;
                                                    // kNever: held until release()
  std::array<Cycle, isa::kUnits> waiting_until_{};  // by kind of unit: when the place in front
                                                    // of the collectors is free
};

}  // namespace gpumux::sm
