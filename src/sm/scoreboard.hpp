// When each register of each warp can be read or written again. The cycle of a fixed-latency result is known
// at issue, so a hazard is the maximum of a few numbers and needs no completion event.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::sm {

/// When the registers of each warp are available. Entries are 16 bits: (cycle - base) * 2 + memory. The
/// largest entry of an instruction's slots is the cycle in which it may issue, and the lowest bit says
/// whether memory or arithmetic is the cause. The base advances with time. 32 registers of a warp share
/// a cache line of the host.
class Scoreboard {
 public:
  using Entry = std::uint16_t;
  static constexpr Entry kOut = 0xffffU;  // a load is in flight
  /// Results are less than this many cycles after issue.
  static constexpr Cycle kFarthest = Cycle{1} << 14U;

  explicit Scoreboard(std::uint32_t warps) : warps_(warps), entries_(std::size_t{warps} * kLine) {}

  /// Makes room for kernels with `slots` slots. Rows are as short as possible, so that they are
  /// in few pages of the host.
  void fit(std::uint32_t slots) {
    const std::uint32_t stride = (slots + kLine - 1) / kLine * kLine;
    if (stride <= stride_) return;
    HugePageVector<Entry> wider(std::size_t{warps_} * stride);
    for (std::uint32_t warp = 0; warp < warps_; ++warp)
      std::copy_n(row(warp), stride_, wider.data() + std::size_t{warp} * stride);
    entries_.swap(wider);
    stride_ = stride;
  }
  void clear(std::uint32_t warp) { std::fill_n(row(warp), stride_, Entry{0}); }
  /// The latest entry of the slots that the instruction reads or writes.
  [[nodiscard]] Entry hazard(std::uint32_t warp, const TimedInst& inst) const {
    const Entry* entries = row(warp);
    // Most instructions have at most four slots; their unused slots have no effect.
    Entry latest = std::max(std::max(entries[inst.slot[0]], entries[inst.slot[1]]),
                            std::max(entries[inst.slot[2]], entries[inst.slot[3]]));
    for (unsigned i = 4; i < inst.num_slots; ++i) latest = std::max(latest, entries[inst.slot[i]]);
    return latest;
  }
  /// True if the hazard does not keep the instruction from issuing at `now`.
  [[nodiscard]] bool passed(Entry entry, Cycle now) const { return entry <= ((now - base_) << 1U | 1U); }
  [[nodiscard]] Cycle cycle(Entry entry) const { return entry == kOut ? kNever : base_ + (entry >> 1U); }
  void set(std::uint32_t warp, const TimedInst& inst, Cycle ready, bool memory) {
    GPUMUX_DCHECK(ready >= base_ && ready - base_ < kRebase + kFarthest);
    write(warp, inst, static_cast<Entry>(((ready - base_) << 1U) | (memory ? 1U : 0U)));
  }
  void set_out(std::uint32_t warp, const TimedInst& inst) { write(warp, inst, kOut); }
  /// First written or read slot of the instruction for which a load is in flight; -1: none.
  [[nodiscard]] int slot_out(std::uint32_t warp, const TimedInst& inst) const {
    const Entry* entries = row(warp);
    for (unsigned i = 0; i < inst.num_slots; ++i)
      if (entries[inst.slot[i]] == kOut) return inst.slot[i];
    return -1;
  }
  /// Cycle of the result of an instruction that writes a register.
  [[nodiscard]] Cycle result(std::uint32_t warp, const TimedInst& inst) const {
    return cycle(row(warp)[inst.slot[0]]);
  }
  /// Cycle at which all results are there, except those from memory; 0: they are there.
  [[nodiscard]] Cycle latest(std::uint32_t warp) const {
    Entry latest = 0;
    for (const Entry* entry = row(warp); entry != row(warp) + stride_; ++entry)
      if (*entry != kOut) latest = std::max(latest, *entry);
    return latest == 0 ? 0 : cycle(latest);
  }
  [[nodiscard]] bool any_out(std::uint32_t warp) const {
    return std::find(row(warp), row(warp) + stride_, kOut) != row(warp) + stride_;
  }

  [[gnu::always_inline]] void prefetch(std::uint32_t warp) const { __builtin_prefetch(row(warp), 1); }
  /// Must be called between windows. Keeps entries within 15 bits.
  void advance(Cycle now) {
    if (now - base_ >= kRebase) rebase(now);
  }

 private:
  static constexpr Cycle kRebase = Cycle{1} << 13U;
  static constexpr std::uint32_t kLine = 64 / sizeof(Entry);

  [[nodiscard]] Entry* row(std::uint32_t warp) { return entries_.data() + std::size_t{warp} * stride_; }
  [[nodiscard]] const Entry* row(std::uint32_t warp) const {
    return entries_.data() + std::size_t{warp} * stride_;
  }
  void write(std::uint32_t warp, const TimedInst& inst, Entry entry) {
    Entry* entries = row(warp);
    // The instruction writes at least one slot.
    entries[inst.slot[0]] = entry;
    for (unsigned i = 1; i < inst.num_dst; ++i) entries[inst.slot[i]] = entry;
  }
  void rebase(Cycle now) {
    // Branch-free and in 16 bits, so that the compiler processes 16 entries at a time.
    const auto shift = static_cast<Entry>(std::min<Cycle>(now - base_, 0x7fff) << 1U);
    const auto last_passed = static_cast<Entry>(shift | 1U);
    for (Entry& entry : entries_) {
      const auto moved = static_cast<Entry>(entry > last_passed ? entry - shift : 0);
      entry = entry == kOut ? kOut : moved;
    }
    base_ = now;
  }
  std::uint32_t warps_;
  std::uint32_t stride_ = kLine;
  HugePageVector<Entry> entries_;
  Cycle base_ = 0;
};

}  // namespace gpumux::sm
