// The issue stage of an SM: its warp schedulers, what each warp waits for, the cycles in which
// registers are ready, execution units and result buses. The stage decides which warp issues. Other
// parts of the SM handle the effects.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "base/huge_pages.hpp"
#include "base/prefetch.hpp"
#include "isa/phases.hpp"
#include "sm/block_table.hpp"
#include "sm/exec_units.hpp"
#include "sm/issue_gate.hpp"
#include "sm/lost_locality.hpp"
#include "sm/memory_control.hpp"
#include "sm/scheduler.hpp"
#include "sm/scoreboard.hpp"
#include "sm/sm_ledger.hpp"
#include "sm/timing_table.hpp"
#include "sm/wake_wheel.hpp"

namespace gpumux::sm {

/// The data of a kernel that issue reads.
struct HotKernel {
  const TimedInst* table = nullptr;
  arch::KernelCounters* counters = nullptr;
  std::uint16_t predicates = 0;  // scoreboard slot of the first predicate
  AppId app = 0;
};

/// The inputs of issue in addition to warps. Nothing: none. Ledger: only the ledger of interference. Control:
/// memory schemes, warps that may issue no loads, views, and the ledger if there is one.
enum class Beside : std::uint8_t { Nothing, Ledger, Control };

/// Chooses and books the instructions that issue. Schedulers are numbered from 0. A warp has a number (0 to
/// 63) within its scheduler, and a slot in the table of blocks: number * schedulers + scheduler. The choice
/// among warps is in issue.hpp, for code that instantiates it.
class IssueStage {
 public:
  static constexpr std::uint32_t kMaxSchedulers = ExecUnits::kMaxSchedulers;
  using Masks = std::array<WarpMask, kMaxSchedulers>;  // by scheduler

  /// Issues for the warps of `table`, whose slots it distributes over its schedulers. `memory` is asked while
  /// a memory scheme concerns issue. Both must outlive the stage.
  IssueStage(const arch::MachineConfig& config, BlockTable& table, MemoryControl& memory);
  /// Number of warp slots of an SM: equally many per scheduler, at least config.sm.max_warps in total.
  [[nodiscard]] static std::uint32_t warp_slots(const arch::SmConfig& config);

  // --- kernels and blocks ---------------------------------------------------------------------------
  void bind(arch::KernelSlot kernel, const TimingTable& timing, arch::KernelCounters* counters, AppId app) {
    scoreboard_.fit(timing.slots());
    kernels_[kernel] = {timing.data(), counters, timing.predicates(), app};
    phase_distances_[kernel] = timing.phase_distances();
  }
  [[nodiscard]] const HotKernel& kernel(arch::KernelSlot kernel) const { return kernels_[kernel]; }
  /// Sets a memory scheme, which decides whose instructions go to the load/store unit first,
  /// or limits those in flight.
  void set_scheme(const arch::MemoryScheme& scheme) {
    memory_concerned_ = scheme.concerns_issue();
    scheme_on_ = scheme.on();
  }
  [[nodiscard]] bool memory_concerned() const { return memory_concerned_; }
  /// Records waits in the ledger, except in schedule() with Beside::Nothing.
  void keep_ledger(SmLedger* ledger) { ledger_ = ledger; }
  /// Sets the warps that may issue no loads (`all`: no instructions), by scheduler. Only schedule() with
  /// Beside::Control considers them.
  void hold_loads(const LostLocality::Masks* held, bool all) {
    held_loads_ = held;
    holds_all_ = all;
  }
  /// A block has arrived. Its warps wait for their first fetch. `open`: the gate does not hold them.
  void launched(const Block& block, bool open, Cycle start);
  /// The warp has issued its last instruction.
  void exits(const Warp& warp, Cycle now);
  /// The block's warps issue nothing more.
  void hold(const Block& block);
  /// The block's warps leave.
  void leaves(const Block& block, Cycle now);
  /// Cycle at which all results of the block's warps are there, except those from memory.
  [[nodiscard]] Cycle results_at(const Block& block) const;
  /// Scheduler cycles count from `start` on: the first block arrives on an empty SM.
  void begin(Cycle start) { settle(start); }
  /// Scheduler cycles count up to the end of `now`: the last block has left.
  void end(Cycle now);
  /// The gate may have opened or closed for these kernels (mask). Updates the masks of allowed warps.
  void admit(std::uint32_t changed, const IssueGate& gate, Cycle now);

  // --- time -----------------------------------------------------------------------------------------
  /// Must be called before a run that starts at `now`.
  void advance(Cycle now) { scoreboard_.advance(now); }
  /// Before this cycle no scheduler can do anything, unless an event makes it look again.
  [[nodiscard]] Cycle next_try() const { return next_try_of_all_; }
  /// First cycle from `from` on in which a warp wakes.
  [[nodiscard]] Cycle next_wake(Cycle from) const { return wheel_.next(from); }
  /// Places the warps whose wait ends in this cycle.
  void wake(Cycle now) {
    if (wheel_.due(now)) wake_due(now);
  }
  /// Each scheduler whose turn it is chooses a warp and lets it issue, or finds out why none can.
  /// Order: class of the warp scheduler. Pipes: the SM, with these functions:
  ///
  ///   has_room()                   true if the load/store unit's queue has a place
  ///   accepts(now)                 true if it also takes one more instruction in this cycle
  ///   head_app()                   application of its head, if there is no place
  ///   issue(scheduler, index, local, now)   the warp issues its next record; calls book(), then
  ///                                write_back() or memory_issued(), then follow() or place()
  ///   viewed(), issue_viewed(...)  only with Beside::Control: issue_viewed() is called instead of issue()
  template <typename Order, Beside kBeside, typename Pipes>
  void schedule(Cycle now, Pipes& pipes);

  // --- a warp that issues -----------------------------------------------------------------------------
  /// Books operands and unit. Returns the cycles by which operands delay the result.
  [[gnu::always_inline]] std::uint32_t book(Scheduler& scheduler, std::uint32_t index, std::uint32_t local,
                                            const TimedInst& inst, Cycle now) {
    scheduler.ready_unit[static_cast<std::size_t>(inst.unit)] &= ~(WarpMask{1} << local);
    ++scheduler.window_issues;
    if (collectors_wait_) return book_waiting(scheduler, index, local, inst, now);
    const std::uint32_t delay = scheduler.collector.book(local, inst, now);
    // The unit is booked from now on, not from the end of collection: collectors buffer instructions in front
    // of the unit, so its rate does not change, and only the result comes later.
    units_.book(inst.unit, index, now, inst.occupied);
    return delay;
  }
  /// Books a result that is available at `at`, or when a result bus is free. Only for
  /// instructions that write a register.
  [[gnu::always_inline]] void write_back(std::uint32_t slot, const TimedInst& inst, Cycle at) {
    scoreboard_.set(slot, inst, result_bus_.book(at), false);
  }
  /// The next cycle starts with the scheduler after this one.
  [[gnu::always_inline]] void memory_issued(std::uint32_t index) {
    first_scheduler_ = index + 1 == count_ ? 0 : index + 1;
  }
  /// place() for a warp that has just issued and waits only for operands and fetch.
  [[gnu::always_inline]] void follow(Scheduler& scheduler, Warp& warp, std::uint32_t slot,
                                     const HotKernel& kernel, Cycle now) {
    const TimedInst& inst = kernel.table[warp.next->pc];
    const Scoreboard::Entry hazard = scoreboard_.hazard(slot, inst);
    const WarpMask bit = WarpMask{1} << warp.local;
    if (scoreboard_.passed(hazard, now + 1) && warp.fetch_ready <= now + 1) {
      scheduler.ready_unit[static_cast<std::size_t>(inst.unit)] |= bit;
      return;
    }
    const Cycle data = scoreboard_.cycle(hazard);
    const Cycle wake = std::max(data, warp.fetch_ready);
    const Wait wait = warp.fetch_ready > data ? Wait::Fetch : (hazard & 1U) != 0 ? Wait::Memory : Wait::Alu;
    warp.wake = wake;
    scheduler.waits[static_cast<std::size_t>(Wait::Nothing)] &= ~bit;
    scheduler.waits[static_cast<std::size_t>(wait)] |= bit;
    warp.wait = wait;
    if (wake != kNever) wheel_.add(warp.scheduler, warp.local, now, wake);
  }
  /// Places the warp where its next instruction belongs. The warp may issue from `earliest` (>= now) on.
  void place(std::uint32_t slot, Cycle now, Cycle earliest);

  // --- events elsewhere --------------------------------------------------------------------------------
  /// The instruction's registers come from memory. load_issued(): the cycle is not
  /// known. load_done(): `ready`.
  void load_issued(std::uint32_t slot, const TimedInst& inst) { scoreboard_.set_out(slot, inst); }
  void load_done(std::uint32_t slot, const TimedInst& inst, Cycle ready) {
    scoreboard_.set(slot, inst, ready, true);
  }
  /// The load/store unit has started a memory instruction of the warp, or there was nothing to do. The
  /// instruction leaves its collector.
  void memory_begun(std::uint32_t slot, Cycle now) {
    if (!collectors_wait_) return;
    const std::uint32_t index = slot % count_;
    schedulers_[index].collector.release(now);
    look_again(index, now);
  }
  /// The load/store unit's queue has a place again.
  void room(Cycle now) {
    for (std::uint32_t s = 0; s < count_; ++s)
      if (schedulers_[s].ready_unit[static_cast<std::size_t>(isa::Unit::Memory)] != 0) look_again(s, now);
  }
  /// An application is below the memory scheme's limit again, or other warps may now issue loads.
  void below_limit(Cycle now) {
    for (std::uint32_t s = 0; s < count_; ++s)
      if (holds_all_ || memory_.ready(s).any != 0) look_again(s, now);
  }

  // --- probes -----------------------------------------------------------------------------------------
  [[nodiscard]] std::uint32_t schedulers() const { return count_; }
  /// Warp slot of a scheduler's warp.
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t scheduler, std::uint32_t local) const {
    return local * count_ + scheduler;
  }
  /// Counts the cycles before `until`.
  void settle(Cycle until) {
    for (Scheduler& scheduler : schedulers_) scheduler.settle(until);
    if (ledger_ != nullptr) ledger_->settle(until);
  }
  /// Counters up to `now`.
  [[nodiscard]] arch::SchedulerCounters counters(Cycle now) const;
  /// First scoreboard slot that the instruction reads or writes and for which a load is in flight; -1: none.
  [[nodiscard]] int slot_out(std::uint32_t slot, const TimedInst& inst) const {
    return scoreboard_.slot_out(slot, inst);
  }
  /// True if a load of the warp is in flight.
  [[nodiscard]] bool any_out(std::uint32_t slot) const { return scoreboard_.any_out(slot); }
  /// Calls each(warp) for the warps that wait only for their turn and their unit.
  template <typename Each>
  void ready_warps(Each&& each) const {
    for (std::uint32_t s = 0; s < count_; ++s)
      for (WarpMask idle = schedulers_[s].ready() & schedulers_[s].allowed; idle != 0; idle &= idle - 1)
        each(table_.warp(slot_of(s, static_cast<std::uint32_t>(std::countr_zero(idle)))));
  }
  /// True if no scheduler has a warp.
  [[nodiscard]] bool drained() const;
  /// For a view (sm_view.cpp): counts the states of warps in the cycles [from, until). An instruction issues
  /// in these cycles only if there is a single cycle. `room`: the load/store unit takes instructions. Warps
  /// in `hidden` do not count.
  struct Seen {
    bool ready = false;     // some warp waits only for its unit or its turn
    bool waits = false;     // some warp runs that is not ready
    Cycle owned_until = 0;  // a scheduler that has issued owns its slot until then
  };
  Seen count_states(arch::SmViewCounters& to, Cycle from, Cycle until, bool room, const Masks& hidden);
  /// When the result of the last instruction of this slot is available. Not for memory instructions.
  [[nodiscard]] Cycle result_at(std::uint32_t slot, const TimedInst& inst) const {
    return scoreboard_.result(slot, inst);
  }

  // --- prefetches, called in this order ----------------------------------------------------------------
  [[gnu::always_inline]] void prefetch() const;
  [[gnu::always_inline]] void prefetch_schedulers(Cycle begin) const;
  /// Prefetches what the warps touch that will issue soon: warps that wake before `until`, and about as many
  /// ready warps as issued in the last window. Returns these warps.
  Masks prefetch_warps(Cycle begin, Cycle until, bool memory_has_room, arch::WarpScheduler which);
  [[gnu::always_inline]] void prefetch_records(const Masks& masks) const;
  [[gnu::always_inline]] void prefetch_scoreboard(std::uint32_t slot) const { scoreboard_.prefetch(slot); }

 private:
  void look_again(std::uint32_t scheduler, Cycle now) {
    const Cycle cycle = std::max(now, schedulers_[scheduler].next_issue);
    next_try_[scheduler] = std::min(next_try_[scheduler], cycle);
    next_try_of_all_ = std::min(next_try_of_all_, cycle);
    due_ |= std::uint32_t{cycle <= now} << scheduler;
  }
  void set_wait(Warp& warp, Wait wait);
  [[nodiscard]] std::uint32_t book_waiting(Scheduler& scheduler, std::uint32_t index, std::uint32_t local,
                                           const TimedInst& inst, Cycle now);
  /// Cycle from which an instruction for this kind of unit may issue, considering units and collectors.
  [[nodiscard]] Cycle free_at(const Scheduler& scheduler, const UnitArray& units_free, Cycle collected,
                              isa::Unit unit) const {
    const Cycle free = units_free[static_cast<std::size_t>(unit)];
    // A branch needs no collector.
    if (unit == isa::Unit::Control) return free;
    return collectors_wait_ ? scheduler.collector.may_issue(unit) : std::max(free, collected);
  }
  void wake_due(Cycle now);
  void admit_oldest(std::uint32_t kernels, std::uint32_t limit);

  // issue.hpp
  template <typename Order, Beside kBeside, typename Pipes>
  void schedule_due(Cycle now, Pipes& pipes);
  template <typename Order, Beside kBeside, typename Pipes>
  void schedule_one(std::uint32_t index, Cycle now, std::uint32_t later, Pipes& pipes);
  template <typename Order, Beside kBeside>
  [[nodiscard]] WarpMask may_issue_now(Scheduler& scheduler, std::uint32_t index);
  template <typename Order, Beside kBeside, typename Pipes>
  [[nodiscard]] WarpMask candidates(Scheduler& scheduler, std::uint32_t index, Cycle now, const Pipes& pipes);
  template <typename Order, Beside kBeside, typename Pipes>
  void rest(Scheduler& scheduler, std::uint32_t index, Cycle from, const Pipes& pipes);
  template <Beside kBeside, typename Pipes>
  void issue_more(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, isa::Unit first, Cycle now,
                  Pipes& pipes);
  template <Beside kBeside, typename Pipes>
  [[gnu::always_inline]] void issue_by(Pipes& pipes, Scheduler& scheduler, std::uint32_t index,
                                       std::uint32_t local, Cycle now) {
    if constexpr (kBeside == Beside::Control) {
      if (pipes.viewed()) return pipes.issue_viewed(scheduler, index, local, now);
    }
    pipes.issue(scheduler, index, local, now);
  }
  template <typename Order>
  [[nodiscard]] std::uint32_t pick(const Scheduler& scheduler, std::uint32_t index,
                                   WarpMask candidates) const;
  /// Phase distance of a scheduler's warp from its next instruction; the maximum for a warp without records.
  [[nodiscard]] std::uint32_t phase_distance(std::uint32_t scheduler, std::uint32_t local) const {
    const Warp& warp = table_.warp(slot_of(scheduler, local));
    return warp.starved ? phase_distance_most_ : phase_distances_[warp.kernel][warp.next->pc];
  }
  template <typename Order, typename Pipes>
  [[nodiscard]] std::uint32_t arbitrate(const Scheduler& scheduler, std::uint32_t index, WarpMask choice,
                                        Cycle now, std::uint32_t later, const Pipes& pipes);
  [[nodiscard]] Reason why_none_is_ready(const Scheduler& scheduler, WarpMask among) const;
  /// Warps of the scheduler that a limit of the memory scheme holds back.
  [[nodiscard]] WarpMask limited(const Scheduler& scheduler, std::uint32_t index) {
    if (!looks_at_memory()) return 0;
    look_at_memory(scheduler, index);
    const WarpMask limited = memory_concerned_ ? memory_.limited(index) : 0;
    if (held_loads_ == nullptr) return limited;
    return limited | ((holds_all_ ? ~WarpMask{0} : memory_.ready(index).loads) & (*held_loads_)[index]);
  }
  template <Beside kBeside>
  [[nodiscard]] bool keeps_ledger() const {
    return kBeside == Beside::Ledger || ledger_ != nullptr;
  }
  [[nodiscard]] bool looks_at_memory() const { return memory_concerned_ || held_loads_ != nullptr; }
  /// Finds the ready warps whose next instruction is a memory instruction.
  void look_at_memory(const Scheduler& scheduler, std::uint32_t index);

  [[nodiscard]] AppId taken_by(const Scheduler& scheduler, std::uint32_t index, AppId app, WarpMask unserved,
                               AppId queue_user) const;
  template <typename QueueUser>
  [[nodiscard]] std::uint64_t* spent_by(const Scheduler& scheduler, std::uint32_t index, AppId app,
                                        WarpMask mine, WarpMask ready, const QueueUser& queue_user);
  /// For the ledger: states of the applications' warps from now on. Warps in `ready`
  /// wait only for their unit.
  template <typename Pipes>
  void note_rest(const Scheduler& scheduler, std::uint32_t index, WarpMask ready, const Pipes& pipes);
  /// For the ledger: states of the applications' warps while this warp uses the turn and a unit. Warps in
  /// `ready` wait only for turn and unit, those in `choice` only for their turn.
  template <typename Pipes>
  void note_issue(const Scheduler& scheduler, std::uint32_t index, std::uint32_t local, WarpMask ready,
                  WarpMask choice, const Pipes& pipes);

  static constexpr unsigned kUsualUnits = isa::kUnits - 1;
  static_assert(static_cast<unsigned>(isa::Unit::Uniform) == kUsualUnits);
  std::uint32_t count_;     // number of schedulers
  std::uint32_t interval_;  // issue_interval: core cycles for which a scheduler that has issued owns its slot
  std::uint32_t ready_queue_;
  std::uint32_t width_;  // issue_width
  bool to_other_units_;
  bool uniform_;                       // there are uniform units; otherwise no warp waits for one
  bool collectors_wait_;               // config.sm.collectors_wait
  std::uint32_t due_ = 0;              // mask of the schedulers that are due in this cycle
  std::uint32_t first_scheduler_ = 0;  // scheduler that chooses first, when places in the
                                       // load/store unit are scarce
  bool memory_concerned_ = false;
  std::array<Cycle, kMaxSchedulers> next_try_;  // by scheduler: nothing changes for it before this cycle
  Cycle next_try_of_all_ = kNever;              // minimum of next_try_
  std::array<HotKernel, arch::kMaxKernelSlots> kernels_{};
  std::array<const std::uint16_t*, arch::kMaxKernelSlots> phase_distances_{};  // by kernel and pc
  HugePageVector<Scheduler> schedulers_;
  BlockTable& table_;
  Scoreboard scoreboard_;
  WakeWheel wheel_;
  ExecUnits units_;
  ResultBus result_bus_;
  MemoryControl& memory_;
  bool scheme_on_ = false;
  SmLedger* ledger_ = nullptr;
  const LostLocality::Masks* held_loads_ = nullptr;
  bool holds_all_ = false;             // warps in held_loads_ may issue nothing, not only no loads
  bool limits_schedulers_;             // warp limits apply to each scheduler
  std::uint32_t phase_distance_most_;  // phase distance of a warp without records
  WarpMask ready_now_ = 0;             // result of may_issue_now() in the last candidates()
  Cycle memory_contended_ = kNever;    // cycle in which several applications offered memory instructions
};

inline void IssueStage::prefetch() const {
  prefetch_lines(this, kernels_.data() + 4);
  prefetch_lines(&schedulers_, this + 1);
}

inline void IssueStage::prefetch_schedulers(Cycle begin) const {
  prefetch_lines(schedulers_.data(), schedulers_.data() + schedulers_.size());
  wheel_.prefetch(begin);
}

inline void IssueStage::prefetch_records(const Masks& masks) const {
  for (std::uint32_t s = 0; s < count_; ++s) {
    const WarpMask accesses = schedulers_[s].ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
    for (WarpMask mask = masks[s]; mask != 0; mask &= mask - 1) {
      const Warp& warp = table_.warp(slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask))));
      if ((accesses & mask & -mask) != 0) __builtin_prefetch(warp.mem_next);
      __builtin_prefetch(warp.next);
      // Used when the first record has issued.
      if (warp.next != nullptr) __builtin_prefetch(warp.next + 1);
    }
  }
}

}  // namespace gpumux::sm
