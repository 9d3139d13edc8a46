// Time inside an SM, warp schedulers and issue.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "sm/state.hpp"

namespace gpumux::sm {

using isa::InstFlag;
using isa::Unit;

Cycle Sm::State::run(Cycle begin, Cycle end) {
  GPUMUX_DCHECK(begin >= now_ && end >= begin);
  scoreboard.advance(begin);
  if (wants_records && some_refill_independently) refill_independent_blocks();  // of blocks launched since
  prefetch_fills();
  ejection.take(mailbox.in, requests);
  injection.take_credits(mailbox.credits_in, begin, requests);
  if (refilled) reload_refilled(begin);
  const Cycle next = greedy ? simulate<true>(begin, end) : simulate<false>(begin, end);
  if (lsu.stall != Stall::None) credit_stall(end);
  now_ = end;
  // For the next window: this thread has the SM's state in its cache.
  if (wants_records && some_refill_independently) refill_independent_blocks();
  return refilled ? end : next;
}

inline Cycle Sm::State::next_after(Cycle from) const {
  const Cycle next = std::min(std::min(std::min(ejection.next(), injection.next()), lsu.next),
                              std::min(finish_next, next_try_of_all));
  return next <= from ? from : std::min(next, wheel.next(from));
}

/// Jumps from one cycle in which something can change to the next. Order inside a cycle: what arrives,
/// what leaves, the LSU, warps that wake, the schedulers, blocks that end.
template <bool kGreedy>
Cycle Sm::State::simulate(Cycle begin, Cycle end) {
  Cycle now = begin;
  for (;; ++now) {
    now = next_after(now);
    if (now >= end) return now;
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

void Sm::State::settle(Scheduler& scheduler, Cycle now) const {
  if (now <= scheduler.since) return;
  scheduler.cycles[static_cast<std::size_t>(scheduler.reason)] += now - scheduler.since;
  scheduler.since = now;
}

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

[[gnu::always_inline]] inline void Sm::State::issue(Scheduler& scheduler, std::uint32_t index,
                                                    std::uint32_t local, Cycle now) {
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

  const std::uint32_t delay = scheduler.collector.book(local, inst, kernel.predicates, now);
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

template <bool kGreedy>
void Sm::State::schedule(std::uint32_t index, Cycle now) {
  Scheduler& scheduler = schedulers[index];
  settle(scheduler, now);
  const WarpMask can = scheduler.ready() & scheduler.allowed;
  Cycle retry = kNever;
  bool memory_busy = false;
  bool alu_busy = false;
  if (can != 0) {
    WarpMask candidates = 0;
    const bool collector = scheduler.collector.available(now);
    for (std::uint32_t wanted = scheduler.ready_units; wanted != 0; wanted &= wanted - 1) {
      const auto u = static_cast<unsigned>(std::countr_zero(wanted));
      const WarpMask want = can & scheduler.ready_unit[u];
      if (want == 0) continue;
      const auto unit = static_cast<Unit>(u);
      Cycle free = units.free_at(unit, index);
      if (unit == Unit::Memory && !lsu_accepts(now)) free = std::max(free, lsu_accepts_at(now));
      if (!collector && unit != Unit::Control) free = std::max(free, scheduler.collector.next_free());
      if (free <= now) {
        candidates |= want;
      } else {
        (unit == Unit::Memory ? memory_busy : alu_busy) = true;
        retry = std::min(retry, free);
      }
    }
    if (candidates != 0) {
      const std::uint32_t local = pick<kGreedy>(scheduler, candidates);
      scheduler.reason = Reason::issued;
      scheduler.next_issue = next_try[index] = now + issue_interval;
      scheduler.last = scheduler.greedy = static_cast<std::uint8_t>(local);
      issue(scheduler, index, local, now);
      return;
    }
  }
  next_try[index] = retry;
  const auto waits = [&](Wait wait) { return scheduler.waits[static_cast<std::size_t>(wait)] != 0; };
  scheduler.reason = memory_busy              ? Reason::pipeline_memory
                     : alu_busy               ? Reason::pipeline_alu
                     : scheduler.ready() != 0 ? Reason::throttled
                     : waits(Wait::Memory)    ? Reason::scoreboard_memory
                     : waits(Wait::Alu)       ? Reason::scoreboard_alu
                     : waits(Wait::Fetch)     ? Reason::fetch
                     : waits(Wait::Sync)      ? Reason::synchronisation
                     : block_order.empty()    ? Reason::uncounted
                                              : Reason::idle;
}

/// What issue leaves out: the end of the records, or few left, barriers and fences.
void Sm::State::after_issue(std::uint32_t slot, std::uint32_t flags, const TimedInst& inst, Cycle now) {
  Warp& warp = warps[slot];
  if (!warp.finished && warp.end - warp.next < static_cast<std::ptrdiff_t>(watermark))
    wants_records = blocks[warp.block].wants_records = true;
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
