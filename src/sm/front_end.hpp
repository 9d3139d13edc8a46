// The front end of an SM: supplies warps with instructions. The front end refills the records of blocks'
// streams, or tells that they must be refilled, and fetches: instruction buffers, fetch slots, the
// instruction cache and its misses.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "base/prefetch.hpp"
#include "sm/block_table.hpp"
#include "sm/fetch.hpp"

namespace gpumux::sm {

class FrontEnd {
 public:
  static constexpr std::uint32_t kMaxSchedulers = Fetch::kMaxSchedulers;

  /// Serves the blocks of `table`, which must outlive the front end. A warp slot belongs to scheduler (slot
  /// modulo config.sm.schedulers).
  FrontEnd(const arch::MachineConfig& config, BlockTable& table)
      : table_(table), schedulers_(config.sm.schedulers), fetch_(config) {}

  /// Assigns the slot to a kernel without blocks. `code`: address of its first instruction. `refills_itself`:
  /// its streams are refilled by refill_independent(), otherwise by refill_in_turn().
  void bind(arch::KernelSlot kernel, AppId app, Address code, bool refills_itself) {
    kernels_[kernel].code = code;
    kernels_[kernel].app = app;
    kernels_[kernel].refills_itself = refills_itself;
    some_refill_themselves_ = some_refill_themselves_ || refills_itself;
  }

  // --- records: instructions that a warp will execute, from the block's stream ------------------------
  /// A block has been admitted. reload() fetches the first instructions of its warps.
  void launched(Block& block);
  /// A block leaves, with the records that it has not issued.
  void leaves(Block& block);
  /// The warp has fewer records left than the watermark. Marks its block. Returns true if
  /// refill_independent() refills the block, which should then be called soon. Otherwise the
  /// block waits for its turn.
  bool ask_for_records(const Warp& warp) {
    wants_records_ = table_.block(warp.block).wants_records = true;
    if (kernels_[warp.kernel].refills_itself) return true;
    waits_for_turn_ = true;
    return false;
  }
  /// The warp has issued its last available record, in cycle `now`.
  static void starve(Warp& warp, Cycle now) {
    warp.starved = true;
    warp.starved_at = now;
  }
  /// Gives marked blocks that refill themselves a few times the watermark of records.
  void refill_independent();
  /// Calls refill_independent() if there may be such blocks.
  void refill_independent_if_any() {
    if (wants_records_ && some_refill_themselves_) refill_independent();
  }
  /// Gives marked blocks of other kernels at least `records` records per warp, oldest block first.
  /// `records` becomes the watermark if it is larger. Returns true if a warp without records got
  /// some, or has no more to come.
  bool refill_in_turn(std::uint32_t records);
  /// True if a block waits for refill_in_turn().
  [[nodiscard]] bool waits_for_turn() const { return waits_for_turn_; }
  /// True if a warp without records got some, or a block is new. reload() must then be called.
  [[nodiscard]] bool refilled() const { return refilled_; }
  /// Calls resume(slot) for each warp that had no record, oldest block first.
  template <typename Resume>
  void reload(Resume&& resume) {
    refilled_ = false;
    // Iterate by index, because a warp without further records exits.
    for (std::size_t i = 0; i < table_.order().size(); ++i) {
      for (const std::uint16_t slot : table_.block(table_.order()[i]).warps) {
        const Warp& warp = table_.warp(slot);
        if (warp.alive && warp.starved) resume(slot);
      }
    }
  }
  /// Records that the kernel's streams have supplied and that have not issued. `issued`:
  /// instructions issued so far.
  [[nodiscard]] std::uint64_t records_left(arch::KernelSlot kernel, std::uint64_t issued) const {
    return kernels_[kernel].supplied - issued;
  }
  /// Subtracts `issued` from the kernel's supplied records, because its counter of
  /// issued instructions is reset.
  void forget(arch::KernelSlot kernel, std::uint64_t issued) { kernels_[kernel].supplied -= issued; }

  // --- fetch ----------------------------------------------------------------------------------------
  /// The warp has issued, and its next record is known.
  [[gnu::always_inline]] void issued(Warp& warp, Cycle now) {
    fetch_.issued(warp, warp.next->pc, now, now, [&] { return kernels_[warp.kernel].code; });
  }
  /// A starved warp has a record again.
  void resume(Warp& warp, Cycle now);
  /// True if instruction misses must be sent.
  [[nodiscard]] bool has_unsent() const { return fetch_.has_unsent(); }
  /// Calls send(line, sectors, kernel, app, at) for each new miss: a 128-byte line and its sectors,
  /// to leave after cycle `at`.
  template <typename Send>
  void send_misses(Cycle now, Send&& send) {
    const ReadOnlyCache& cache = fetch_.cache();
    fetch_.take_unsent([&](const Fetch::Miss& miss) {
      send(cache.memory_line(miss.line), cache.memory_sectors(miss.line), miss.kernel,
           kernels_[miss.kernel].app, std::max(now, miss.wanted));
    });
  }
  /// The reply to an instruction miss has arrived. Calls ready(slot) for each warp whose next instruction has
  /// arrived, which may issue one cycle after `now` at the earliest.
  template <typename Ready>
  void arrived(std::uint64_t memory_line, std::uint8_t sectors, Cycle now, Ready&& ready) {
    const std::uint64_t line = fetch_.cache().line_of_request(memory_line, sectors);
    const Fetch::Miss miss = fetch_.filled(line);
    for (std::uint32_t s = 0; s < schedulers_; ++s) {
      for (WarpMask mask = miss.warps[s]; mask != 0; mask &= mask - 1) {
        const std::uint32_t slot = static_cast<std::uint32_t>(std::countr_zero(mask)) * schedulers_ + s;
        Warp& warp = table_.warp(slot);
        if (warp.alive && fetch_.deliver(warp, line, now, kernels_[warp.kernel].code)) ready(slot);
      }
    }
  }
  /// Number of lines on their way.
  [[nodiscard]] std::size_t misses() const { return fetch_.misses(); }

  /// Prefetches what each run touches of this object into the host's cache.
  [[gnu::always_inline]] void prefetch() const { prefetch_lines(this, &kernels_[1]); }

 private:
  struct Kernel {
    Address code = 0;
    std::uint64_t supplied = 0;  // records that its streams have supplied so far
    AppId app = 0;
    bool refills_itself = false;
  };
  bool refill(Block& block, std::uint32_t records);

  BlockTable& table_;
  std::uint32_t schedulers_;
  std::uint32_t watermark_ = 0;  // records with which refills supply every warp
  bool wants_records_ = false;   // a block is marked
  bool waits_for_turn_ = false;  // a block marked for refill_in_turn()
  bool some_refill_themselves_ = false;
  bool refilled_ = false;
  Fetch fetch_;
  std::array<Kernel, arch::kMaxKernelSlots> kernels_{};
};

}  // namespace gpumux::sm
