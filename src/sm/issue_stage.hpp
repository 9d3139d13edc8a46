// The issue stage of an SM: its warp schedulers, what each warp waits for, the registers' ready cycles,
// execution units and result buses. Who issues is decided here; what comes of it in other parts of the SM is
// theirs.
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

/// What issue reads of a kernel.
struct HotKernel {
  const TimedInst* table = nullptr;
  arch::KernelCounters* counters = nullptr;
  std::uint16_t predicates = 0;  // scoreboard slot of the first predicate
  AppId app = 0;
};

/// What the stage looks at beside the warps: nothing else; the ledger of who waits for whom alone; memory
/// schemes, warps that may issue no loads, and the ledger where one is kept.
enum class Beside : std::uint8_t { Nothing, Ledger, Control };

/// Schedulers are numbered from 0, a warp has a number (0 to 63) within its scheduler and a slot in the table
/// of blocks: number * schedulers + scheduler. The choice among warps is in issue.hpp, for those who
/// instantiate it.
class IssueStage {
 public:
  static constexpr std::uint32_t kMaxSchedulers = ExecUnits::kMaxSchedulers;
  using Masks = std::array<WarpMask, kMaxSchedulers>;  // by scheduler

  /// Of the warps of `table`, whose slots it gives to its schedulers. Both have to outlive it; so has
  /// `memory`, which is asked while a memory scheme concerns issue.
  IssueStage(const arch::MachineConfig& config, BlockTable& table, MemoryControl& memory);
  /// Warp slots that an SM has: as many for each scheduler, so that config.sm.max_warps fit.
  [[nodiscard]] static std::uint32_t warp_slots(const arch::SmConfig& config);

  // --- kernels and blocks ---------------------------------------------------------------------------
  void bind(arch::KernelSlot kernel, const TimingTable& timing, arch::KernelCounters* counters, AppId app) {
    scoreboard_.fit(timing.slots());
    kernels_[kernel] = {timing.data(), counters, timing.predicates(), app};
    phase_distances_[kernel] = timing.phase_distances();
  }
  [[nodiscard]] const HotKernel& kernel(arch::KernelSlot kernel) const { return kernels_[kernel]; }
  /// A memory scheme decides who goes first to the load/store unit, or limits what is in flight.
  void set_scheme(const arch::MemoryScheme& scheme) {
    memory_concerned_ = scheme.concerns_issue();
    scheme_on_ = scheme.on();
  }
  [[nodiscard]] bool memory_concerned() const { return memory_concerned_; }
  /// Takes down who waits for whom. Not by schedule() with Beside::Nothing.
  void keep_ledger(SmLedger* ledger) { ledger_ = ledger; }
  /// Warps that may issue no loads, by scheduler. Only schedule() with Beside::Control looks at
  /// them.
  /// `all`: not from loads alone.
  void hold_loads(const LostLocality::Masks* held, bool all) {
    held_loads_ = held;
    holds_all_ = all;
  }
  /// A block has come: its warps wait for their first fetch. `open`: they may issue as far as the gate is
  /// concerned.
  void launched(const Block& block, bool open, Cycle start);
  /// The warp has issued its last instruction.
  void exits(const Warp& warp, Cycle now);
  /// The block's warps issue nothing more,
  void hold(const Block& block);
  /// and are gone.
  void leaves(const Block& block, Cycle now);
  /// All results of its warps that do not come from memory are there.
  [[nodiscard]] Cycle results_at(const Block& block) const;
  /// Cycles of schedulers count from `start` on: the first block comes to an empty SM,
  void begin(Cycle start) { settle(start); }
  /// up to the end of `now`: the last one has gone.
  void end(Cycle now);
  /// The gate may have opened or closed for these kernels (bits): brings the masks of who is allowed up to
  /// date.
  void admit(std::uint32_t changed, const IssueGate& gate, Cycle now);

  // --- time -----------------------------------------------------------------------------------------
  /// Before a run that begins at `now`.
  void advance(Cycle now) { scoreboard_.advance(now); }
  /// Before this cycle no scheduler can do anything, unless an event makes it look again,
  [[nodiscard]] Cycle next_try() const { return next_try_of_all_; }
  /// and from `from` on no warp wakes.
  [[nodiscard]] Cycle next_wake(Cycle from) const { return wheel_.next(from); }
  /// Warps whose wait ends in this cycle are placed.
  void wake(Cycle now) {
    if (wheel_.due(now)) wake_due(now);
  }
  /// Each scheduler whose turn it is chooses a warp and has it issue, or finds out why none can.
  /// Order: the warp scheduler's class. Pipes is asked and told:
  ///
  ///   has_room()                   the load/store unit's queue has a place
  ///   accepts(now)                 and it takes one more instruction in this cycle
  ///   head_app()                   whose its head is, while it has no place
  ///   issue(scheduler, index, local, now)   the warp issues its next record; calls book(), write_back() or
  ///                                memory_issued(), and follow() or place() in turn
  ///   viewed(), issue_viewed(...)  with Beside::Control alone: issue_viewed() is called in issue()'s stead
  template <typename Order, Beside kBeside, typename Pipes>
  void schedule(Cycle now, Pipes& pipes);

  // --- a warp that issues -----------------------------------------------------------------------------
  /// Books operands and unit. Cycles by which operands delay the result.
  [[gnu::always_inline]] std::uint32_t book(Scheduler& scheduler, std::uint32_t index, std::uint32_t local,
                                            const TimedInst& inst, Cycle now) {
    scheduler.ready_unit[static_cast<std::size_t>(inst.unit)] &= ~(WarpMask{1} << local);
    ++scheduler.window_issues;
    if (collectors_wait_) return book_waiting(scheduler, index, local, inst, now);
    const std::uint32_t delay = scheduler.collector.book(local, inst, now);
    // The unit is booked from now on, not from the end of collection: collectors buffer what comes before
    // the unit, so its rate stays what it is while the result comes later.
    units_.book(inst.unit, index, now, inst.occupied);
    return delay;
  }
  /// A result that is there at `at`, or when a result bus is free. Only of instructions that write something.
  [[gnu::always_inline]] void write_back(std::uint32_t slot, const TimedInst& inst, Cycle at) {
    scoreboard_.set(slot, inst, result_bus_.book(at), false);
  }
  /// The next turn begins with the scheduler behind this one.
  [[gnu::always_inline]] void memory_issued(std::uint32_t index) {
    first_scheduler_ = index + 1 == count_ ? 0 : index + 1;
  }
  /// place() for a warp that has just issued and waits for nothing but operands and fetch.
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
  /// Puts the warp where its next instruction belongs. It may issue from `earliest` on (>= now).
  void place(std::uint32_t slot, Cycle now, Cycle earliest);

  // --- what happens elsewhere -------------------------------------------------------------------------
  /// An instruction's registers come from memory, at a cycle that is not known; they are there at `ready`.
  void load_issued(std::uint32_t slot, const TimedInst& inst) { scoreboard_.set_out(slot, inst); }
  void load_done(std::uint32_t slot, const TimedInst& inst, Cycle ready) {
    scoreboard_.set(slot, inst, ready, true);
  }
  /// The load/store unit has begun a memory instruction of the warp, or there was nothing to do: it leaves
  /// its collector.
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
  /// An application is below the memory scheme's limit again, or other warps may issue loads.
  void below_limit(Cycle now) {
    for (std::uint32_t s = 0; s < count_; ++s)
      if (holds_all_ || memory_.ready(s).any != 0) look_again(s, now);
  }

  // --- probes -----------------------------------------------------------------------------------------
  [[nodiscard]] std::uint32_t schedulers() const { return count_; }
  /// Of a scheduler's warp.
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t scheduler, std::uint32_t local) const {
    return local * count_ + scheduler;
  }
  /// Counts the cycles before `until`.
  void settle(Cycle until) {
    for (Scheduler& scheduler : schedulers_) scheduler.settle(until);
    if (ledger_ != nullptr) ledger_->settle(until);
  }
  /// Up to `now`.
  [[nodiscard]] arch::SchedulerCounters counters(Cycle now) const;
  /// First slot that the instruction reads or writes with a load out, or -1.
  [[nodiscard]] int slot_out(std::uint32_t slot, const TimedInst& inst) const {
    return scoreboard_.slot_out(slot, inst);
  }
  /// A load of the warp is out.
  [[nodiscard]] bool any_out(std::uint32_t slot) const { return scoreboard_.any_out(slot); }
  /// Calls each(warp) for those that nothing but their turn and their unit keeps from issuing.
  template <typename Each>
  void ready_warps(Each&& each) const {
    for (std::uint32_t s = 0; s < count_; ++s)
      for (WarpMask idle = schedulers_[s].ready() & schedulers_[s].allowed; idle != 0; idle &= idle - 1)
        each(table_.warp(slot_of(s, static_cast<std::uint32_t>(std::countr_zero(idle)))));
  }
  /// No scheduler has a warp.
  [[nodiscard]] bool drained() const;
  /// For a view (sm_view.cpp): counts what warps do in the cycles [from, until), in which nothing issues but
  /// perhaps in a single one. `room`: the load/store unit takes instructions; without those of `hidden`.
  struct Seen {
    bool ready = false;     // some warp needs but its unit or its turn
    bool waits = false;     // some runs that is not ready
    Cycle owned_until = 0;  // a scheduler that has issued owns its slot
  };
  Seen count_states(arch::SmViewCounters& to, Cycle from, Cycle until, bool room, const Masks& hidden);
  /// The result of the instruction that has issued last from this slot, not a memory instruction.
  [[nodiscard]] Cycle result_at(std::uint32_t slot, const TimedInst& inst) const {
    return scoreboard_.result(slot, inst);
  }

  // --- the host's cache: in this order ------------------------------------------------------------------
  [[gnu::always_inline]] void prefetch() const;
  [[gnu::always_inline]] void prefetch_schedulers(Cycle begin) const;
  /// What the warps touch that issue soon: those that wake before `until`, and of the ready ones about as
  /// many as issued in the last window. Which these are.
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
  /// Cycle from which an instruction for this kind of unit may issue, as far as units and collectors are
  /// concerned.
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
  /// Of a scheduler's warp, from its next instruction; of one whose records have not come: the most there is.
  [[nodiscard]] std::uint32_t phase_distance(std::uint32_t scheduler, std::uint32_t local) const {
    const Warp& warp = table_.warp(slot_of(scheduler, local));
    return warp.starved ? phase_distance_most_ : phase_distances_[warp.kernel][warp.next->pc];
  }
  template <typename Order, typename Pipes>
  [[nodiscard]] std::uint32_t arbitrate(const Scheduler& scheduler, std::uint32_t index, WarpMask choice,
                                        Cycle now, std::uint32_t later, const Pipes& pipes);
  [[nodiscard]] Reason why_none_is_ready(const Scheduler& scheduler, WarpMask among) const;
  /// Of the scheduler's warps, those held back by a limit of the memory scheme.
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
  /// Finds out which of its ready warps are about to issue a memory instruction.
  void look_at_memory(const Scheduler& scheduler, std::uint32_t index);

  [[nodiscard]] AppId taken_by(const Scheduler& scheduler, std::uint32_t index, AppId app, WarpMask unserved,
                               AppId queue_user) const;
  template <typename QueueUser>
  [[nodiscard]] std::uint64_t* spent_by(const Scheduler& scheduler, std::uint32_t index, AppId app,
                                        WarpMask mine, WarpMask ready, const QueueUser& queue_user);
  /// For the ledger: what applications' warps do from now on, of which `ready` only wait for their unit.
  template <typename Pipes>
  void note_rest(const Scheduler& scheduler, std::uint32_t index, WarpMask ready, const Pipes& pipes);
  /// For the ledger: what they do while this warp takes this turn and a unit; `ready` only wait for both, and
  /// `choice` for their turn alone.
  template <typename Pipes>
  void note_issue(const Scheduler& scheduler, std::uint32_t index, std::uint32_t local, WarpMask ready,
                  WarpMask choice, const Pipes& pipes);

  static constexpr unsigned kUsualUnits = isa::kUnits - 1;
  static_assert(static_cast<unsigned>(isa::Unit::Uniform) == kUsualUnits);
  std::uint32_t count_;     // of schedulers
  std::uint32_t interval_;  // issue_interval: core cycles for which a scheduler that has issued owns its slot
  std::uint32_t ready_queue_;
  std::uint32_t width_;  // issue_width
  bool to_other_units_;
  bool uniform_;                       // there are units of this kind; else nobody waits for one
  bool collectors_wait_;               // config.sm.collectors_wait
  std::uint32_t due_ = 0;              // in this cycle: schedulers, as bits
  std::uint32_t first_scheduler_ = 0;  // chooses first, when a place in the load/store unit is scarce
  bool memory_concerned_ = false;
  std::array<Cycle, kMaxSchedulers> next_try_;  // by scheduler: nothing changes for it before
  Cycle next_try_of_all_ = kNever;              // the earliest of these
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
  bool holds_all_ = false;             // these wait with everything, not with loads alone
  bool limits_schedulers_;             // a limit of warps is each scheduler's
  std::uint32_t phase_distance_most_;  // of a warp whose records have not come
  WarpMask ready_now_ = 0;             // of the last candidates()
  Cycle memory_contended_ = kNever;    // several applications had memory instructions to offer in this cycle
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
      // Looked at when the first has issued.
      if (warp.next != nullptr) __builtin_prefetch(warp.next + 1);
    }
  }
}

}  // namespace gpumux::sm
