// The front end of an SM: where its warps' instructions come from. It keeps blocks' streams supplied with
// records, or says that they have to be, and fetches: instruction buffers, fetch slots, the instruction cache
// and its misses.
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

  /// Of the blocks of this table, which has to outlive it. Warp slots go round the schedulers: a scheduler's
  /// number is the slot modulo config.sm.schedulers.
  FrontEnd(const arch::MachineConfig& config, BlockTable& table)
      : table_(table), schedulers_(config.sm.schedulers), fetch_(config) {}

  /// A kernel without blocks gets the slot. `code`: address of its first instruction. `refills_itself`: its
  /// streams are refilled by refill_independent(), else in turn.
  void bind(arch::KernelSlot kernel, AppId app, Address code, bool refills_itself) {
    kernels_[kernel].code = code;
    kernels_[kernel].app = app;
    kernels_[kernel].refills_itself = refills_itself;
    some_refill_themselves_ = some_refill_themselves_ || refills_itself;
  }

  // --- records: instructions that a warp will execute, from the block's stream ------------------------
  /// A block has been admitted. Its warps' first instructions are fetched by reload().
  void launched(Block& block);
  /// It leaves with what it has not issued.
  void leaves(Block& block);
  /// The warp has few records left, fewer than the watermark: marks its block. True: it is refilled by
  /// refill_independent(), the sooner the better; else when its turn comes.
  bool ask_for_records(const Warp& warp) {
    wants_records_ = table_.block(warp.block).wants_records = true;
    if (kernels_[warp.kernel].refills_itself) return true;
    waits_for_turn_ = true;
    return false;
  }
  /// The warp has issued its last record for now, in `now`.
  static void starve(Warp& warp, Cycle now) {
    warp.starved = true;
    warp.starved_at = now;
  }
  /// Blocks that refill themselves get records, if they are marked: a few times the watermark.
  void refill_independent();
  /// The same, if there may be such blocks.
  void refill_independent_if_any() {
    if (wants_records_ && some_refill_themselves_) refill_independent();
  }
  /// Gives the marked blocks of other kernels at least `records` records (a new watermark, if it is more than
  /// the last) for each warp, the oldest block first. True: a warp that had none left got some, or has none
  /// to come.
  bool refill_in_turn(std::uint32_t records);
  /// A block waits for refill_in_turn().
  [[nodiscard]] bool waits_for_turn() const { return waits_for_turn_; }
  /// A warp without records got some, or a block is new: reload() has to be called.
  [[nodiscard]] bool refilled() const { return refilled_; }
  /// Calls resume(slot) for each warp that had no record, the oldest block first.
  template <typename Resume>
  void reload(Resume&& resume) {
    refilled_ = false;
    // By index: a warp that has none to come exits.
    for (std::size_t i = 0; i < table_.order().size(); ++i) {
      for (const std::uint16_t slot : table_.block(table_.order()[i]).warps) {
        const Warp& warp = table_.warp(slot);
        if (warp.alive && warp.starved) resume(slot);
      }
    }
  }
  /// Records that the kernel's streams have supplied and that have not issued, when `issued` have.
  [[nodiscard]] std::uint64_t records_left(arch::KernelSlot kernel, std::uint64_t issued) const {
    return kernels_[kernel].supplied - issued;
  }
  /// From now on so many fewer have issued: they are not counted any more.
  void forget(arch::KernelSlot kernel, std::uint64_t issued) { kernels_[kernel].supplied -= issued; }

  // --- fetch ----------------------------------------------------------------------------------------
  /// The warp has issued, and its next record is known.
  [[gnu::always_inline]] void issued(Warp& warp, Cycle now) {
    fetch_.issued(warp, warp.next->pc, now, now, [&] { return kernels_[warp.kernel].code; });
  }
  /// A starved warp has a record again.
  void resume(Warp& warp, Cycle now);
  /// Instruction misses have to be sent.
  [[nodiscard]] bool has_unsent() const { return fetch_.has_unsent(); }
  /// Calls send(line, sectors, kernel, app, at) for each: a 128-byte line and its sectors, to leave after the
  /// cycle `at`.
  template <typename Send>
  void send_misses(Cycle now, Send&& send) {
    const ReadOnlyCache& cache = fetch_.cache();
    fetch_.take_unsent([&](const Fetch::Miss& miss) {
      send(cache.memory_line(miss.line), cache.memory_sectors(miss.line), miss.kernel,
           kernels_[miss.kernel].app, std::max(now, miss.wanted));
    });
  }
  /// The answer to such a request has come. Calls ready(slot) for each warp whose next instruction it brings,
  /// to be issued a cycle after `now` at the earliest.
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
  /// Lines that are on their way.
  [[nodiscard]] std::size_t misses() const { return fetch_.misses(); }

  /// Into the host's cache: what each run touches of this object.
  [[gnu::always_inline]] void prefetch() const { prefetch_lines(this, &kernels_[1]); }

 private:
  struct Kernel {
    Address code = 0;
    std::uint64_t supplied = 0;  // records of its streams so far
    AppId app = 0;
    bool refills_itself = false;
  };
  bool refill(Block& block, std::uint32_t records);

  BlockTable& table_;
  std::uint32_t schedulers_;
  std::uint32_t watermark_ = 0;  // records that refills keep every warp supplied with
  bool wants_records_ = false;   // a block is marked
  bool waits_for_turn_ = false;  // one that refill_in_turn() refills
  bool some_refill_themselves_ = false;
  bool refilled_ = false;
  Fetch fetch_;
  std::array<Kernel, arch::kMaxKernelSlots> kernels_{};
};

}  // namespace gpumux::sm
