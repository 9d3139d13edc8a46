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
  front.refill_independent_if_any();  // of blocks launched since
  prefetch_waiters();
  lsu.take(begin, credits_known);
  if (front.refilled()) front.reload([&](std::uint32_t slot) { resume_stream(slot, begin); });
  run_to = stop = end;
  Cycle next = begin;
  while (true) {
    next = with_warp_scheduler(config.sm.warp_scheduler, [&]<typename Order>(Order) {
      return memory_controlled ? simulate<Order, true>(next) : simulate<Order, false>(next);
    });
    if (stop >= run_to) break;
    next = stop;
    stop = run_to;
    front.refill_independent();
  }
  lsu.settle(run_to);
  now_ = run_to;
  return front.refilled() ? now_ : std::min(next, lsu.blind_from());
}

template <bool kControl>
inline Cycle Sm::State::next_after(Cycle from) const {
  Cycle next = std::min(std::min(std::min(lsu.next_reply(), lsu.next_send()), lsu.next_access()),
                        std::min(rare_next, next_try_of_all));
  if constexpr (kControl) next = std::min(next, memory.next_end());
  return next <= from ? from : std::min(next, wheel.next(from));
}

/// Jumps from one cycle in which something can change to the next. Order inside a cycle: what arrives,
/// what leaves, the LSU, warps that wake, the schedulers, blocks that end.
template <typename Order, bool kControl>
Cycle Sm::State::simulate(Cycle begin) {
  Cycle now = begin;
  for (;; ++now) {
    now = next_after<kControl>(now);
    if (now >= lsu.blind_from()) [[unlikely]] {
      run_to = std::min(run_to, lsu.blind_from());
      stop = std::min(stop, run_to);
    }
    if (now >= stop) return now;
    while (lsu.next_reply() <= now) lsu.reply(now);
    if (lsu.next_send() <= now) lsu.send(now);
    if (lsu.next_access() <= now) lsu.access(now);
    if constexpr (kControl) {
      if (memory.next_end() <= now) end_memory(now);
    }
    if (wheel.due(now)) wake_due(now);
    // The turn moves on with each memory instruction, so that a freed place in the
    // load/store unit goes to another scheduler each time, whatever the period at which places are freed.
    if (next_try_of_all <= now) {
      schedule_due<Order, kControl>(now);
      Cycle least = next_try[0];
      for (std::uint32_t s = 1; s < schedulers_count; ++s) least = std::min(least, next_try[s]);
      next_try_of_all = least;
    }
    if (rare_next <= now) rare_events(now);
    if (front.has_unsent()) send_fetch_misses(now);
  }
}

/// From first_scheduler on, around. One whose turn has not come may become due by what issues.
template <typename Order, bool kControl>
[[gnu::always_inline]] inline void Sm::State::schedule_due(Cycle now) {
  const std::uint32_t first = first_scheduler;
  due = 0;
  for (std::uint32_t s = 0; s < schedulers_count; ++s) due |= std::uint32_t{next_try[s] <= now} << s;
  std::uint32_t left = (1U << schedulers_count) - 1;  // bit i: the scheduler i places after the first
  while (true) {
    const std::uint32_t turned = (due >> first | due << (schedulers_count - first)) & left;
    if (turned == 0) return;
    left &= ~(turned ^ (turned - 1));
    const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(turned));
    std::uint32_t later = 0;
    if constexpr (kControl) {
      later = (turned & left) << first;
      later = (later | later >> schedulers_count) & ((1U << schedulers_count) - 1);
    }
    schedule<Order, kControl>(index < schedulers_count ? index : index - schedulers_count, now, later);
  }
}

Cycle Sm::State::next_event(Cycle from) const {
  return memory_controlled ? next_after<true>(from) : next_after<false>(from);
}

/// place() for a warp that has just issued and waits for nothing but operands and fetch.
inline void Sm::State::follow(Scheduler& scheduler, Warp& warp, std::uint32_t slot, const HotKernel& kernel,
                              Cycle now) {
  const TimedInst& inst = kernel.table[warp.next->pc];
  const Scoreboard::Entry hazard = scoreboard.hazard(slot, inst);
  const WarpMask bit = WarpMask{1} << warp.local;
  if (scoreboard.passed(hazard, now + 1) && warp.fetch_ready <= now + 1) {
    scheduler.ready_unit[static_cast<std::size_t>(inst.unit)] |= bit;
    return;
  }
  const Cycle data = scoreboard.cycle(hazard);
  const Cycle wake = std::max(data, warp.fetch_ready);
  const Wait wait = warp.fetch_ready > data ? Wait::Fetch : (hazard & 1U) != 0 ? Wait::Memory : Wait::Alu;
  warp.wake = wake;
  scheduler.waits[static_cast<std::size_t>(Wait::Nothing)] &= ~bit;
  scheduler.waits[static_cast<std::size_t>(wait)] |= bit;
  warp.wait = wait;
  if (wake != kNever) wheel.add(warp.scheduler, warp.local, now, wake);
}

[[gnu::always_inline]] inline void Sm::State::issue(Scheduler& scheduler, std::uint32_t index,
                                                    std::uint32_t local, Cycle now) {
  const std::uint32_t slot = slot_of(index, local);
  Warp& warp = table.warp(slot);
  const workload::ExecRecord record = *warp.next++;
  const HotKernel& kernel = hot[warp.kernel];
  const TimedInst& inst = kernel.table[record.pc];
  const Unit unit = inst.unit;
  scheduler.ready_unit[static_cast<std::size_t>(unit)] &= ~(WarpMask{1} << local);
  arch::KernelCounters& counter = *kernel.counters;
  ++counter.warp_instructions;
  counter.thread_instructions += static_cast<std::uint64_t>(std::popcount(record.active));
  ++progress;
  ++scheduler.window_issues;

  const std::uint32_t delay = scheduler.collector.book(local, inst, now);
  // The unit is booked from now on, not from the end of collection: collectors buffer what comes before
  // the unit, so its rate stays what it is while the result comes later.
  units.book(unit, index, now, inst.occupied);
  if (gate.counts()) [[unlikely]]
    spend(warp.kernel, inst, record, now, delay);
  warp.last_pc = record.pc;
  if (unit == Unit::Memory) {
    first_scheduler = index + 1 == schedulers_count ? 0 : index + 1;
    issue_memory(warp, slot, inst, record, now, delay);
  } else {
    if (unit <= Unit::Sfu) counter.alu_issue_cycles += inst.occupied;
    if (inst.num_dst > 0) scoreboard.set(slot, inst, result_bus.book(now + delay + inst.latency), false);
  }
  if (warp.next >= warp.few_left || (inst.flags & (InstFlag::kBarrier | InstFlag::kFence)) != 0)
      [[unlikely]] {
    // Predicated off, a barrier or fence is a slot and no more.
    after_issue(slot, record.active != 0 ? inst.flags : 0U, inst, now);
    return;
  }
  front.issued(warp, now);
  follow(scheduler, warp, slot, kernel, now);
}

namespace {

template <typename Order>
[[gnu::always_inline]] inline std::uint32_t pick(const Scheduler& scheduler, WarpMask candidates) {
  return Order::pick(scheduler.order.of(Order{}), scheduler.by_age, candidates);
}

}  // namespace

/// The ready warps that the warp scheduler and nobody else keeps from issuing.
template <typename Order, bool kControl>
[[gnu::always_inline]] inline WarpMask Sm::State::may_issue_now(Scheduler& scheduler, std::uint32_t index) {
  WarpMask held = ~scheduler.allowed;
  if constexpr (kControl) held |= limited(scheduler, index);
  auto& order = scheduler.order.of(Order{});
  const WarpMask blocked = scheduler.waiting(Wait::Memory) | scheduler.waiting(Wait::Sync) | held;
  Order::refresh(order, {scheduler.by_age, scheduler.alive(), blocked}, config.sm.ready_queue);
  return scheduler.ready() & ~held & Order::eligible(order);
}

/// The warps that can issue now.
template <typename Order, bool kControl>
[[gnu::always_inline]] inline WarpMask Sm::State::candidates(Scheduler& scheduler, std::uint32_t index,
                                                             Cycle now) {
  const WarpMask ready = may_issue_now<Order, kControl>(scheduler, index);
  if (ready == 0) return 0;
  // Without branches: which units are wanted and free changes too often for the host to guess.
  const UnitArray& units_free = units.free_at(index);
  const Cycle collected = scheduler.collector.free_at();
  WarpMask found = 0;
  for (unsigned u = 0; u < isa::kUnits; ++u) {
    const auto unit = static_cast<Unit>(u);
    // A branch needs no collector.
    const Cycle free = unit == Unit::Control ? units_free[u] : std::max(units_free[u], collected);
    found |= scheduler.ready_unit[u] & (WarpMask{free > now} - 1);
  }
  if (!lsu.accepts(now)) found &= ~scheduler.ready_unit[static_cast<std::size_t>(Unit::Memory)];
  return found & ready;
}

/// Nothing more issues before `from`: when the scheduler is to look again, unless an event tells it earlier,
/// and why it does not issue until then.
template <typename Order, bool kControl>
[[gnu::always_inline]] inline void Sm::State::rest(Scheduler& scheduler, std::uint32_t index, Cycle from) {
  const WarpMask ready = may_issue_now<Order, kControl>(scheduler, index);
  if (ready == 0) {
    next_try[index] = kNever;
    scheduler.reason = why_none_is_ready(scheduler, Order::counted(scheduler.order.of(Order{})));
    return;
  }
  const UnitArray& units_free = units.free_at(index);
  const Cycle collected = scheduler.collector.free_at();
  Cycle retry = kNever;
  for (unsigned u = 0; u < isa::kUnits; ++u) {
    const auto unit = static_cast<Unit>(u);
    Cycle free = unit == Unit::Control ? units_free[u] : std::max(units_free[u], collected);
    // What waits for room in the load/store unit is told.
    if (unit == Unit::Memory) free = lsu.has_room() ? free : kNever;
    const std::uint64_t none = (scheduler.ready_unit[u] & ready) == 0 ? ~std::uint64_t{0} : 0;
    retry = std::min(retry, free | none);
  }
  next_try[index] = std::max(retry, from);
  const bool wants_memory = (scheduler.ready_unit[static_cast<std::size_t>(Unit::Memory)] & ready) != 0;
  scheduler.reason = wants_memory ? Reason::pipeline_memory : Reason::pipeline_alu;
}

Reason Sm::State::why_none_is_ready(const Scheduler& scheduler, WarpMask among) const {
  const auto waits = [&](Wait wait) { return (scheduler.waiting(wait) & among) != 0; };
  return waits(Wait::Nothing)  ? Reason::throttled
         : waits(Wait::Memory) ? Reason::scoreboard_memory
         : waits(Wait::Alu)    ? Reason::scoreboard_alu
         : waits(Wait::Fetch)  ? Reason::fetch
         : waits(Wait::Sync)   ? Reason::synchronisation
         : table.empty()       ? Reason::uncounted
                               : Reason::idle;
}

/// Schedulers offer their ready memory instructions; the scheme chooses one application among them, whose
/// instruction then goes before arithmetic, and schedulers that have none of it do something else. Where one
/// application alone has something to offer, the schedulers' own order stays.
template <typename Order>
std::uint32_t Sm::State::arbitrate(const Scheduler& scheduler, std::uint32_t index, WarpMask choice,
                                   Cycle now, std::uint32_t later) {
  const bool offers_ready = memory.scheme().offers_ready;
  const std::uint32_t local = pick<Order>(scheduler, choice);
  const MemoryControl::Ready& mine = memory.ready(index);
  if (offers_ready ? (mine.any_turn & choice) == 0 : (mine.any_turn >> local & 1U) == 0) return local;
  const auto offer = [](const MemoryControl::Ready& ready, WarpMask candidates) {
    std::uint32_t apps = 0;
    for (std::uint32_t app = 0; app < kMaxApps; ++app)
      apps |= std::uint32_t{(ready.turn_of[app] & candidates) != 0} << app;
    return apps;
  };
  std::uint32_t offered = offer(mine, choice);
  for (; later != 0; later &= later - 1) {
    const auto other = static_cast<std::uint32_t>(std::countr_zero(later));
    const WarpMask others = candidates<Order, true>(schedulers[other], other, now);
    if (others == 0) continue;
    const MemoryControl::Ready& ready = memory.ready(other);
    if (offers_ready || (ready.any_turn >> pick<Order>(schedulers[other], others) & 1U) != 0)
      offered |= offer(ready, others);
  }
  if (offers_ready) {
    // One before may have left the place to the application that now is alone.
    if ((offered & (offered - 1)) != 0) memory_contended = now;
    if (memory_contended != now) return local;
  }
  WarpMask chosen = choice & mine.turn_of[memory.first_of(offered)];
  if (chosen == 0) chosen = choice & ~scheduler.ready_unit[static_cast<std::size_t>(Unit::Memory)];
  return chosen == 0 ? 64 : pick<Order>(scheduler, chosen);
}

template <typename Order, bool kControl>
[[gnu::always_inline]] inline void Sm::State::schedule(std::uint32_t index, Cycle now, std::uint32_t later) {
  Scheduler& scheduler = schedulers[index];
  scheduler.settle(now);
  const WarpMask choice = candidates<Order, kControl>(scheduler, index, now);
  if (choice == 0) {
    rest<Order, kControl>(scheduler, index, now + 1);
    return;
  }
  std::uint32_t local = 0;
  if constexpr (kControl) {
    local = memory.scheme().order == arch::MemoryScheme::Order::Warps
                ? pick<Order>(scheduler, choice)
                : arbitrate<Order>(scheduler, index, choice, now, later);
    if (local == 64) {
      rest<Order, kControl>(scheduler, index, now + 1);
      return;
    }
    memory.forget(index, local, hot[table.warp(slot_of(index, local)).kernel].app);
  } else {
    local = pick<Order>(scheduler, choice);
  }
  scheduler.cycles[static_cast<std::size_t>(Reason::issued)] += issue_interval;
  scheduler.next_issue = scheduler.since = now + issue_interval;
  Order::issued(scheduler.order.of(Order{}), local);
  issue(scheduler, index, local, now);
  // Often nothing can follow at once: then the scheduler is not asked before something can.
  rest<Order, kControl>(scheduler, index, scheduler.next_issue);
}

/// The warp has few records left.
void Sm::State::ask_for_records(const Warp& warp, Cycle now) {
  if (front.ask_for_records(warp)) {
    stop = std::min(stop, now + 1);  // while the SM's state is in this thread's cache
    return;
  }
  if (stops_for_records) run_to = std::min(run_to, end_of_window(now));
  stop = std::min(stop, run_to);
}

/// What issue leaves out: the end of the records, or few left, barriers and fences.
void Sm::State::after_issue(std::uint32_t slot, std::uint32_t flags, const TimedInst& inst, Cycle now) {
  Warp& warp = table.warp(slot);
  if (!warp.finished && warp.next >= warp.few_left) ask_for_records(warp, now);
  if (warp.next == warp.end) {
    if (warp.finished) {
      if ((flags & InstFlag::kBarrier) != 0) ++count(warp.kernel).barriers;
      warp_exits(slot, now);
      return;
    }
    FrontEnd::starve(warp, now);
  } else {
    front.issued(warp, now);
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
  Warp& warp = table.warp(slot);
  if (warp.next == warp.end) {
    if (warp.finished) warp_exits(slot, now);
    return;
  }
  front.resume(warp, now);
  place(slot, now, now);
}

void Sm::State::place(std::uint32_t slot, Cycle now, Cycle earliest) {
  Warp& warp = table.warp(slot);
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
      const Warp& warp = table.warp(slot);
      // An old entry of a warp that is ready, gone, or waits for an event.
      if (!warp.alive || warp.wait == Wait::Nothing || warp.wake == kNever) continue;
      place(slot, now, now);
    }
  }
  wheel.done(now);
}

}  // namespace gpumux::sm
