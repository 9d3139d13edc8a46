// Time inside an SM, warp schedulers and issue.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "sm/state.hpp"

namespace gpumux::sm {

using isa::InstFlag;
using isa::Unit;

Cycle Sm::State::run(Cycle begin, Cycle end, Cycle credits_known) {
  GPUMUX_DCHECK(begin >= now_ && end >= begin);
  scoreboard.advance(begin);
  if (wants_records && some_refill_independently) refill_independent_blocks();  // of blocks launched since
  prefetch_waiters();
  ejection.take(mailbox.in, requests);
  injection.take_credits(mailbox.credits_in, begin, credits_known, requests);
  if (refilled) reload_refilled(begin);
  run_to = stop = end;
  Cycle next = begin;
  while (true) {
    next = greedy ? simulate<true>(next) : simulate<false>(next);
    if (stop >= run_to) break;
    next = stop;
    stop = run_to;
    refill_independent_blocks();
  }
  if (lsu.stall != Stall::None) credit_stall(run_to);
  now_ = run_to;
  return refilled ? now_ : std::min(next, injection.blind_from());
}

inline Cycle Sm::State::next_after(Cycle from) const {
  const Cycle next = std::min(std::min(std::min(ejection.next(), injection.next()), lsu.next),
                              std::min(finish_next, next_try_of_all));
  return next <= from ? from : std::min(next, wheel.next(from));
}

/// Jumps from one cycle in which something can change to the next. Order inside a cycle: what arrives,
/// what leaves, the LSU, warps that wake, the schedulers, blocks that end.
template <bool kGreedy>
Cycle Sm::State::simulate(Cycle begin) {
  Cycle now = begin;
  for (;; ++now) {
    now = next_after(now);
    if (now >= injection.blind_from()) [[unlikely]] {
      run_to = std::min(run_to, injection.blind_from());
      stop = std::min(stop, run_to);
    }
    if (now >= stop) return now;
    while (ejection.next() <= now) reply(now);
    if (injection.next() <= now) send_requests(now);
    if (lsu.next <= now) lsu_step(now);
    if (wheel.due(now)) wake_due(now);
    // The turn moves on with each memory instruction, so that a freed place in the
    // load/store unit goes to another scheduler each time, whatever the period at which places are freed.
    if (next_try_of_all <= now) {
      const std::uint32_t first = first_scheduler;
      for (std::uint32_t index = first; index < schedulers_count; ++index)
        if (next_try[index] <= now) schedule<kGreedy>(index, now);
      for (std::uint32_t index = 0; index < first; ++index)
        if (next_try[index] <= now) schedule<kGreedy>(index, now);
      Cycle least = next_try[0];
      for (std::uint32_t s = 1; s < schedulers_count; ++s) least = std::min(least, next_try[s]);
      next_try_of_all = least;
    }
    if (finish_next <= now) finish_blocks(now);
    if (fetch.unsent) send_fetch_misses(now);
  }
}

Cycle Sm::State::next_event(Cycle from) const { return next_after(from); }

template <bool kGreedy>
std::uint32_t Sm::State::pick(const Scheduler& scheduler, WarpMask candidates) const {
  if constexpr (kGreedy) {
    // Greedy then oldest, as dai18 and kayiran14 define it: the same warp until it cannot issue.
    if (scheduler.greedy < 64 && ((candidates >> scheduler.greedy) & 1U) != 0) return scheduler.greedy;
    if ((candidates & (candidates - 1)) == 0) return static_cast<std::uint32_t>(std::countr_zero(candidates));
    for (const std::uint8_t local : scheduler.by_age)
      if (((candidates >> local) & 1U) != 0) return local;
    GPUMUX_DCHECK(false);
    return 0;
  } else {
    // Loose round robin: the next ready warp after the one that issued last.
    const unsigned first = (scheduler.last + 1U) % 64;
    return (first + static_cast<unsigned>(std::countr_zero(std::rotr(candidates, static_cast<int>(first))))) %
           64;
  }
}

/// place() for a warp that has just issued and waits for nothing but operands and fetch.
inline void Sm::State::follow(Scheduler& scheduler, Warp& warp, std::uint32_t slot, const HotKernel& kernel,
                              Cycle now) {
  const TimedInst& inst = kernel.table[warp.next->pc];
  const Scoreboard::Entry hazard = scoreboard.hazard(slot, inst);
  const Cycle data = scoreboard.cycle(hazard);
  const Cycle wake = std::max(data, warp.fetch_ready);
  const WarpMask bit = WarpMask{1} << warp.local;
  warp.wake = wake;
  if (wake <= now + 1) {
    scheduler.ready_unit[static_cast<std::size_t>(inst.unit)] |= bit;
    scheduler.ready_units |= 1U << static_cast<unsigned>(inst.unit);
    return;
  }
  const Wait wait = warp.fetch_ready > data ? Wait::Fetch : (hazard & 1U) != 0 ? Wait::Memory : Wait::Alu;
  scheduler.waits[static_cast<std::size_t>(Wait::Nothing)] &= ~bit;
  scheduler.waits[static_cast<std::size_t>(wait)] |= bit;
  warp.wait = wait;
  if (wake != kNever) wheel.add(warp.scheduler, warp.local, now, wake);
}

[[gnu::noinline]] void Sm::State::issue(Scheduler& scheduler, std::uint32_t index, std::uint32_t local,
                                        Cycle now) {
  const std::uint32_t slot = slot_of(index, local);
  Warp& warp = warps[slot];
  const workload::ExecRecord record = *warp.next++;
  const HotKernel& kernel = hot[warp.kernel];
  const TimedInst& inst = kernel.table[record.pc];
  const Unit unit = inst.unit;
  if ((scheduler.ready_unit[static_cast<std::size_t>(unit)] &= ~(WarpMask{1} << local)) == 0)
    scheduler.ready_units &= ~(1U << static_cast<unsigned>(unit));
  machine::KernelCounters& counter = count(warp.kernel);
  ++counter.warp_instructions;
  counter.thread_instructions += static_cast<std::uint64_t>(std::popcount(record.active));
  ++progress;
  ++scheduler.window_issues;

  const std::uint32_t delay = scheduler.collector.book(local, inst, now);
  // The unit is booked from now on, not from the end of collection: collectors buffer what comes before
  // the unit, so its rate stays what it is while the result comes later.
  units.book(unit, index, now, inst.occupied);
  warp.last_pc = record.pc;
  if (unit == Unit::Memory) {
    first_scheduler = index + 1 == schedulers_count ? 0 : index + 1;
    issue_memory(warp, slot, inst, record, now, delay);
  } else {
    if (unit <= Unit::Sfu) counter.alu_issue_cycles += inst.occupied;
    if (inst.num_dst > 0) scoreboard.set(slot, inst, result_bus.book(now + delay + inst.latency), false);
  }
  // Predicated off, a barrier or fence is a slot and no more.
  const std::uint32_t flags = record.active != 0 ? inst.flags : 0U;
  if (warp.end - warp.next < static_cast<std::ptrdiff_t>(watermark) ||
      (flags & (InstFlag::kBarrier | InstFlag::kFence)) != 0) [[unlikely]] {
    after_issue(slot, flags, inst, now);
    return;
  }
  fetch.issued(warp, warp.next->pc, now, now, kernel.code_address);
  follow(scheduler, warp, slot, kernel, now);
}

/// Core cycle from which the unit takes an instruction of the scheduler, as far as is known at `now`.
[[gnu::always_inline]] inline Cycle Sm::State::unit_free(const Scheduler& scheduler, std::uint32_t index,
                                                         isa::Unit unit, bool lsu_takes, Cycle now) const {
  Cycle free = units.free_at(unit, index);
  if (unit == Unit::Memory && !lsu_takes) free = std::max(free, lsu_accepts_at(now));
  const Cycle collector = scheduler.collector.free_at();
  return unit == Unit::Control ? free : std::max(free, collector);  // a branch needs no collector
}

/// The warps that can issue now.
[[gnu::always_inline]] inline WarpMask Sm::State::candidates(const Scheduler& scheduler, std::uint32_t index,
                                                             Cycle now) const {
  WarpMask found = 0;
  for (std::uint32_t wanted = scheduler.ready_units; wanted != 0; wanted &= wanted - 1) {
    const auto unit = static_cast<Unit>(std::countr_zero(wanted));
    const bool free = unit_free(scheduler, index, unit, lsu_accepts(now), now) <= now;
    found |= free ? scheduler.ready_unit[static_cast<std::size_t>(unit)] : 0;
  }
  return found & scheduler.allowed;
}

/// Nothing more issues before `from`: when the scheduler is to look again, unless an event tells it earlier,
/// and why it does not issue until then.
[[gnu::always_inline]] inline void Sm::State::rest(Scheduler& scheduler, std::uint32_t index, Cycle from) {
  Cycle retry = kNever;
  std::uint32_t units_wanted = 0;
  for (std::uint32_t wanted = scheduler.ready_units; wanted != 0; wanted &= wanted - 1) {
    const auto unit = static_cast<Unit>(std::countr_zero(wanted));
    const bool some = (scheduler.ready_unit[static_cast<std::size_t>(unit)] & scheduler.allowed) != 0;
    const Cycle free = unit_free(scheduler, index, unit, lsu_has_room(), from);
    retry = some ? std::min(retry, free) : retry;
    units_wanted |= some ? wanted & -wanted : 0;
  }
  const auto waits = [&](Wait wait) { return scheduler.waits[static_cast<std::size_t>(wait)] != 0; };
  scheduler.reason = (units_wanted >> static_cast<unsigned>(Unit::Memory) & 1U) != 0 ? Reason::pipeline_memory
                     : units_wanted != 0                                             ? Reason::pipeline_alu
                     : scheduler.ready() != 0                                        ? Reason::throttled
                     : waits(Wait::Memory) ? Reason::scoreboard_memory
                     : waits(Wait::Alu)    ? Reason::scoreboard_alu
                     : waits(Wait::Fetch)  ? Reason::fetch
                     : waits(Wait::Sync)   ? Reason::synchronisation
                     : block_order.empty() ? Reason::uncounted
                                           : Reason::idle;
  next_try[index] = std::max(retry, from);
}

template <bool kGreedy>
void Sm::State::schedule(std::uint32_t index, Cycle now) {
  Scheduler& scheduler = schedulers[index];
  scheduler.settle(now);
  const WarpMask choice = candidates(scheduler, index, now);
  if (choice == 0) {
    rest(scheduler, index, now + 1);
    return;
  }
  const std::uint32_t local = pick<kGreedy>(scheduler, choice);
  scheduler.cycles[static_cast<std::size_t>(Reason::issued)] += issue_interval;
  scheduler.next_issue = scheduler.since = now + issue_interval;
  scheduler.last = scheduler.greedy = static_cast<std::uint8_t>(local);
  issue(scheduler, index, local, now);
  // Often nothing can follow at once: then the scheduler is not asked before something can.
  rest(scheduler, index, scheduler.next_issue);
}

/// The warp has few records left.
void Sm::State::ask_for_records(const Warp& warp, Cycle now) {
  wants_records = blocks[warp.block].wants_records = true;
  // While the SM's state is in this thread's cache.
  if (hot[warp.kernel].refills_independently) stop = std::min(stop, now + 1);
}

/// What issue leaves out: the end of the records, or few left, barriers and fences.
void Sm::State::after_issue(std::uint32_t slot, std::uint32_t flags, const TimedInst& inst, Cycle now) {
  Warp& warp = warps[slot];
  if (!warp.finished && warp.end - warp.next < static_cast<std::ptrdiff_t>(watermark))
    ask_for_records(warp, now);
  if (warp.next == warp.end) {
    if (warp.finished) {
      if ((flags & InstFlag::kBarrier) != 0) ++count(warp.kernel).barriers;
      warp_exits(slot, now);
      return;
    }
    warp.starved = true;
    warp.starved_at = now;
  } else {
    fetch.issued(warp, warp.next->pc, now, now, hot[warp.kernel].code_address);
  }
  if ((flags & (InstFlag::kBarrier | InstFlag::kFence)) != 0) {
    if ((flags & InstFlag::kBarrier) != 0) {
      arrive(slot, inst, now);
    } else {
      warp.sync = Sync::Fence;
    }
  }
  place(slot, now, now + 1);
}

void Sm::State::resume_stream(std::uint32_t slot, Cycle now) {
  Warp& warp = warps[slot];
  if (warp.next == warp.end) {
    if (warp.finished) warp_exits(slot, now);
    return;
  }
  warp.starved = false;
  const Address code = hot[warp.kernel].code_address;
  if (warp.buffered == 0 && warp.incoming == 0) {
    fetch.restart(warp, warp.next->pc, now, std::max(now, warp.sync_until), code);  // its first instruction
  } else {
    fetch.issued(warp, warp.next->pc, warp.starved_at, now, code);
  }
  place(slot, now, now);
}

void Sm::State::place(std::uint32_t slot, Cycle now, Cycle earliest) {
  Warp& warp = warps[slot];
  Cycle wake = kNever;
  Wait wait = Wait::Sync;
  if (warp.sync != Sync::None) [[unlikely]] {
    if (warp.sync == Sync::Released) wake = warp.sync_until;
    if (warp.sync == Sync::Fence && warp.memory_out == 0) wake = warp.memory_until;
    if (wake <= earliest) warp.sync = Sync::None;
  }
  if (warp.sync == Sync::None) {
    if (warp.starved) [[unlikely]] {
      wake = kNever;
      wait = Wait::Fetch;
    } else {
      const TimedInst& inst = hot[warp.kernel].table[warp.next->pc];
      const Scoreboard::Entry hazard = scoreboard.hazard(slot, inst);
      const Cycle data = scoreboard.cycle(hazard);
      wake = std::max(data, warp.fetch_ready);
      if (wake <= earliest) {
        warp.wake = wake;
        Scheduler& scheduler = schedulers[warp.scheduler];
        scheduler.ready_unit[static_cast<std::size_t>(inst.unit)] |= WarpMask{1} << warp.local;
        scheduler.ready_units |= 1U << static_cast<unsigned>(inst.unit);
        set_wait(warp, Wait::Nothing);
        look_again(warp.scheduler, now);
        return;
      }
      wait = warp.fetch_ready > data ? Wait::Fetch : (hazard & 1U) != 0 ? Wait::Memory : Wait::Alu;
    }
  }
  warp.wake = wake;
  if (warp.wait != wait) {
    set_wait(warp, wait);
    look_again(warp.scheduler, now);
  }
  if (wake != kNever) wheel.add(warp.scheduler, warp.local, now, wake);
}

void Sm::State::set_wait(Warp& warp, Wait wait) {
  Scheduler& scheduler = schedulers[warp.scheduler];
  const WarpMask bit = WarpMask{1} << warp.local;
  scheduler.waits[static_cast<std::size_t>(warp.wait)] &= ~bit;
  scheduler.waits[static_cast<std::size_t>(wait)] |= bit;
  warp.wait = wait;
}

void Sm::State::wake_due(Cycle now) {
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    for (WarpMask mask = wheel.take(s, now); mask != 0; mask &= mask - 1) {
      const std::uint32_t slot = slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)));
      const Warp& warp = warps[slot];
      // An old entry of a warp that is ready, gone, or waits for an event.
      if (!warp.alive || warp.wait == Wait::Nothing || warp.wake == kNever) continue;
      place(slot, now, now);
    }
  }
  wheel.done(now);
}

}  // namespace gpumux::sm
