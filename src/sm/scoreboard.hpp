// When each register of each warp can be read or written again. A fixed-latency result is known at
// issue, so a hazard is the maximum of a few numbers and needs no completion event.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::sm {

/// Entries are 32 bits, (cycle - base) * 2 + memory: the largest entry of an instruction's slots is the
/// cycle at which it may issue, and its lowest bit says whether memory or arithmetic is the cause. The
/// base moves up with time.
class Scoreboard {
 public:
  using Entry = std::uint32_t;
  static constexpr Entry kOut = 0xffff'ffffU;  // a load is out

  explicit Scoreboard(std::uint32_t warps) : entries_(std::size_t{warps} * isa::kScoreboardSlots) {}

  void clear(std::uint32_t warp) {
    std::fill_n(entries_.begin() + static_cast<std::ptrdiff_t>(std::size_t{warp} * isa::kScoreboardSlots),
                isa::kScoreboardSlots, Entry{0});
  }
  /// The latest entry of the slots that the instruction reads or writes.
  [[nodiscard]] Entry hazard(std::uint32_t warp, const isa::StaticInst& inst) const {
    const Entry* row = &entries_[std::size_t{warp} * isa::kScoreboardSlots];
    const unsigned slots = unsigned{inst.num_dst} + inst.num_src;
    Entry latest = 0;
    for (unsigned i = 0; i < slots; ++i) latest = std::max(latest, row[inst.slot[i]]);
    return latest;
  }
  [[nodiscard]] Cycle cycle(Entry entry) const { return entry == kOut ? kNever : base_ + (entry >> 1U); }
  void set(std::uint32_t warp, const isa::StaticInst& inst, Cycle ready, bool memory) {
    GPUMUX_DCHECK(ready >= base_ && ready - base_ < (Cycle{1} << 31U) - 1);
    write(warp, inst, (static_cast<Entry>(ready - base_) << 1U) | (memory ? 1U : 0U));
  }
  void set_out(std::uint32_t warp, const isa::StaticInst& inst) { write(warp, inst, kOut); }
  /// First written or read slot of the instruction with a load out, or -1.
  [[nodiscard]] int slot_out(std::uint32_t warp, const isa::StaticInst& inst) const {
    const Entry* row = &entries_[std::size_t{warp} * isa::kScoreboardSlots];
    for (unsigned i = 0; i < unsigned{inst.num_dst} + inst.num_src; ++i)
      if (row[inst.slot[i]] == kOut) return inst.slot[i];
    return -1;
  }
  [[nodiscard]] bool any_out(std::uint32_t warp) const {
    const auto row =
        entries_.begin() + static_cast<std::ptrdiff_t>(std::size_t{warp} * isa::kScoreboardSlots);
    return std::find(row, row + isa::kScoreboardSlots, kOut) != row + isa::kScoreboardSlots;
  }

  void prefetch(std::uint32_t warp) const {
    const Entry* row = &entries_[std::size_t{warp} * isa::kScoreboardSlots];
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + 16, 1);
  }
  /// Call between windows; keeps entries within 31 bits.
  void advance(Cycle now) {
    if (now - base_ >= kRebase) rebase(now);
  }

 private:
  static constexpr Cycle kRebase = Cycle{1} << 29U;
  void write(std::uint32_t warp, const isa::StaticInst& inst, Entry entry) {
    Entry* row = &entries_[std::size_t{warp} * isa::kScoreboardSlots];
    for (unsigned i = 0; i < inst.num_dst; ++i) row[inst.slot[i]] = entry;
  }
  void rebase(Cycle now) {
    const Cycle shift = now - base_;
    for (Entry& entry : entries_) {
      if (entry == kOut) continue;
      const Cycle ahead = entry >> 1U;
      entry = ahead <= shift ? 0 : (static_cast<Entry>(ahead - shift) << 1U) | (entry & 1U);
    }
    base_ = now;
  }
  HugePageVector<Entry> entries_;
  Cycle base_ = 0;
};

}  // namespace gpumux::sm
