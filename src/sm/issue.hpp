// The issue stage's choice among warps, instantiated by class of warp scheduler (src/sm/warp_schedulers) and
// by what the stage considers in addition to warps (Beside).
#pragma once

#include <algorithm>
#include <bit>

#include "sm/issue_stage.hpp"

namespace gpumux::sm {

template <typename Order, Beside kBeside, typename Pipes>
[[gnu::always_inline]] inline void IssueStage::schedule(Cycle now, Pipes& pipes) {
  // The first scheduler changes with each memory instruction, so that places that become free in the
  // load/store unit go to all schedulers in turn, whatever the period at which places are freed.
  if (next_try_of_all_ > now) return;
  schedule_due<Order, kBeside>(now, pipes);
  Cycle least = next_try_[0];
  for (std::uint32_t s = 1; s < count_; ++s) least = std::min(least, next_try_[s]);
  next_try_of_all_ = least;
}

/// Runs the due schedulers, starting with first_scheduler_. What issues may make a later scheduler due.
template <typename Order, Beside kBeside, typename Pipes>
[[gnu::always_inline]] inline void IssueStage::schedule_due(Cycle now, Pipes& pipes) {
  const std::uint32_t first = first_scheduler_;
  due_ = 0;
  for (std::uint32_t s = 0; s < count_; ++s) due_ |= std::uint32_t{next_try_[s] <= now} << s;
  std::uint32_t left = (1U << count_) - 1;  // bit i: the scheduler i positions after the first
  while (true) {
    const std::uint32_t turned = (due_ >> first | due_ << (count_ - first)) & left;
    if (turned == 0) return;
    left &= ~(turned ^ (turned - 1));
    const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(turned));
    std::uint32_t later = 0;  // mask of the schedulers that are due in this cycle and come after this one
    if constexpr (kBeside == Beside::Control) {
      later = (turned & left) << first;
      later = (later | later >> count_) & ((1U << count_) - 1);
    }
    schedule_one<Order, kBeside>(index < count_ ? index : index - count_, now, later, pipes);
  }
}

template <typename Order>
[[gnu::always_inline]] inline std::uint32_t IssueStage::pick(const Scheduler& scheduler, std::uint32_t index,
                                                             WarpMask candidates) const {
  const auto& order = scheduler.order.of(Order{});
  if constexpr (Order::kByPhase) {
    const auto distance = [&](std::uint32_t local) { return phase_distance(index, local); };
    return Order::pick(order, scheduler.by_age, candidates, distance);
  } else {
    return Order::pick(order, scheduler.by_age, candidates);
  }
}

/// The ready warps that are not held back by anything but the warp scheduler's own choice.
template <typename Order, Beside kBeside>
[[gnu::always_inline]] inline WarpMask IssueStage::may_issue_now(Scheduler& scheduler, std::uint32_t index) {
  WarpMask held = ~scheduler.allowed;
  if constexpr (kBeside == Beside::Control) held |= limited(scheduler, index);
  auto& order = scheduler.order.of(Order{});
  const WarpMask blocked = scheduler.waiting(Wait::Memory) | scheduler.waiting(Wait::Sync) | held;
  const WarpView view{scheduler.by_age, scheduler.alive(), blocked};
  if constexpr (Order::kByPhase) {
    const auto distance = [&](std::uint32_t local) { return phase_distance(index, local); };
    Order::refresh(order, view, ready_queue_, distance);
  } else {
    Order::refresh(order, view, ready_queue_);
  }
  return scheduler.ready() & ~held & Order::eligible(order);
}

/// The warps that can issue now.
template <typename Order, Beside kBeside, typename Pipes>
[[gnu::always_inline]] inline WarpMask IssueStage::candidates(Scheduler& scheduler, std::uint32_t index,
                                                              Cycle now, const Pipes& pipes) {
  using isa::Unit;
  const WarpMask ready = may_issue_now<Order, kBeside>(scheduler, index);
  if constexpr (kBeside != Beside::Nothing) ready_now_ = ready;
  if (ready == 0) return 0;
  // Branch-free: the units that are wanted and free change too often for the host to predict.
  const UnitArray& units_free = units_.free_at(index);
  const Cycle collected = scheduler.collector.free_at();
  WarpMask found = 0;
  const auto look = [&](Unit unit) {
    const Cycle free = free_at(scheduler, units_free, collected, unit);
    found |= scheduler.ready_unit[static_cast<std::size_t>(unit)] & (WarpMask{free > now} - 1);
  };
  for (unsigned u = 0; u < kUsualUnits; ++u) look(static_cast<Unit>(u));
  if (uniform_) [[unlikely]]
    look(Unit::Uniform);
  if (!pipes.accepts(now)) found &= ~scheduler.ready_unit[static_cast<std::size_t>(Unit::Memory)];
  return found & ready;
}

/// Nothing more issues before `from`. Sets when the scheduler looks again, unless an event makes it look
/// earlier, and the reason for not issuing until then.
template <typename Order, Beside kBeside, typename Pipes>
[[gnu::always_inline]] inline void IssueStage::rest(Scheduler& scheduler, std::uint32_t index, Cycle from,
                                                    const Pipes& pipes) {
  using isa::Unit;
  const WarpMask ready = may_issue_now<Order, kBeside>(scheduler, index);
  if (ready == 0) {
    if constexpr (kBeside != Beside::Nothing) {
      if (keeps_ledger<kBeside>()) note_rest(scheduler, index, ready, pipes);
    }
    next_try_[index] = kNever;
    scheduler.reason = why_none_is_ready(scheduler, Order::counted(scheduler.order.of(Order{})));
    return;
  }
  const UnitArray& units_free = units_.free_at(index);
  const Cycle collected = scheduler.collector.free_at();
  Cycle retry = kNever;
  const auto look = [&](Unit unit) {
    Cycle free = free_at(scheduler, units_free, collected, unit);
    // An event tells when the load/store unit has room again.
    if (unit == Unit::Memory) free = pipes.has_room() ? free : kNever;
    const WarpMask wants = scheduler.ready_unit[static_cast<std::size_t>(unit)] & ready;
    const std::uint64_t none = wants == 0 ? ~std::uint64_t{0} : 0;
    retry = std::min(retry, free | none);
  };
  for (unsigned u = 0; u < kUsualUnits; ++u) look(static_cast<Unit>(u));
  if (uniform_) [[unlikely]]
    look(Unit::Uniform);
  next_try_[index] = std::max(retry, from);
  if constexpr (kBeside != Beside::Nothing) {
    // Otherwise the scheduler chooses again before a cycle counts.
    if (keeps_ledger<kBeside>() && next_try_[index] > scheduler.since)
      note_rest(scheduler, index, ready, pipes);
  }
  const bool wants_memory = (scheduler.ready_unit[static_cast<std::size_t>(Unit::Memory)] & ready) != 0;
  scheduler.reason = wants_memory ? Reason::pipeline_memory : Reason::pipeline_alu;
}

inline Reason IssueStage::why_none_is_ready(const Scheduler& scheduler, WarpMask among) const {
  const auto waits = [&](Wait wait) { return (scheduler.waiting(wait) & among) != 0; };
  return waits(Wait::Nothing)  ? Reason::throttled
         : waits(Wait::Memory) ? Reason::scoreboard_memory
         : waits(Wait::Alu)    ? Reason::scoreboard_alu
         : waits(Wait::Fetch)  ? Reason::fetch
         : waits(Wait::Sync)   ? Reason::synchronisation
         : table_.empty()      ? Reason::uncounted
                               : Reason::idle;
}

/// The candidate that issues under a memory scheme; 64: none. Schedulers offer their ready memory
/// instructions, and the scheme chooses one application among them. The instructions of this application go
/// before arithmetic, and schedulers without such an instruction issue something else. If only one
/// application offers instructions, the schedulers' own order applies.
template <typename Order, typename Pipes>
std::uint32_t IssueStage::arbitrate(const Scheduler& scheduler, std::uint32_t index, WarpMask choice,
                                    Cycle now, std::uint32_t later, const Pipes& pipes) {
  const bool offers_ready = memory_.scheme().offers_ready;
  const std::uint32_t local = pick<Order>(scheduler, index, choice);
  const MemoryControl::Ready& mine = memory_.ready(index);
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
    const WarpMask others = candidates<Order, Beside::Control>(schedulers_[other], other, now, pipes);
    if (others == 0) continue;
    const MemoryControl::Ready& ready = memory_.ready(other);
    if (offers_ready || (ready.any_turn >> pick<Order>(schedulers_[other], other, others) & 1U) != 0)
      offered |= offer(ready, others);
  }
  if (offers_ready) {
    // An earlier scheduler may have passed over the application that now is the only one.
    if ((offered & (offered - 1)) != 0) memory_contended_ = now;
    if (memory_contended_ != now) return local;
  }
  WarpMask chosen = choice & mine.turn_of[memory_.first_of(offered)];
  if (chosen == 0) chosen = choice & ~scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
  return chosen == 0 ? 64 : pick<Order>(scheduler, index, chosen);
}

/// Issues the warp's instructions that follow the one just issued to unit `first`, in the same cycle: up to
/// sm.issue_width in total, until one is held back.
template <Beside kBeside, typename Pipes>
void IssueStage::issue_more(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, isa::Unit first,
                            Cycle now, Pipes& pipes) {
  using isa::Unit;
  const std::uint32_t slot = slot_of(index, local);
  Unit before = first;
  for (std::uint32_t issued = 1; issued < width_; ++issued) {
    // The next instruction must be ready, at the latest in the next cycle.
    if ((scheduler.ready() & scheduler.allowed & WarpMask{1} << local) == 0) return;
    const Warp& warp = table_.warp(slot);
    const TimedInst& inst = kernels_[warp.kernel].table[warp.next->pc];
    if (to_other_units_ && inst.unit == before) return;
    if (inst.unit == Unit::Memory && ((kBeside == Beside::Control && scheme_on_) || !pipes.accepts(now)))
      return;
    if constexpr (kBeside == Beside::Control) {
      const bool far = (inst.flags & isa::kLoad) != 0 && (inst.flags & (isa::kShared | isa::kConstant)) == 0;
      if (held_loads_ != nullptr && (far || holds_all_) && ((*held_loads_)[index] >> local & 1U) != 0) return;
    }
    if (warp.fetch_ready > now || !scoreboard_.passed(scoreboard_.hazard(slot, inst), now)) return;
    if (free_at(scheduler, units_.free_at(index), scheduler.collector.free_at(), inst.unit) > now) return;
    if constexpr (kBeside == Beside::Control) {
      if (looks_at_memory()) memory_.forget(index, local, kernels_[warp.kernel].app);
    }
    before = inst.unit;
    issue_by<kBeside>(pipes, scheduler, index, local, now);
  }
}

/// Among the kinds of units that these ready warps of an application wait for: the user of the first kind
/// that another application has taken; kNobody: none.
inline AppId IssueStage::taken_by(const Scheduler& scheduler, std::uint32_t index, AppId app,
                                  WarpMask unserved, AppId queue_user) const {
  for (unsigned u = 0; u < isa::kUnits; ++u) {
    if ((unserved & scheduler.ready_unit[u]) == 0) continue;
    const auto unit = static_cast<isa::Unit>(u);
    const AppId user = unit == isa::Unit::Memory ? queue_user : ledger_->unit_user[units_.pool(unit, index)];
    if (user != app && user != SmLedger::kNobody) return user;
  }
  return SmLedger::kNobody;
}

/// For the ledger: the counter for an application's cycles while none of its warps issues. `mine`: its
/// warps on this scheduler, all alive. `ready`: warps of all applications that wait only for their turn and
/// their unit. queue_user(): the application whose instruction the load/store unit's queue waits for;
/// kNobody: the queue has room.
template <typename QueueUser>
[[gnu::always_inline]] inline std::uint64_t* IssueStage::spent_by(const Scheduler& scheduler,
                                                                  std::uint32_t index, AppId app,
                                                                  WarpMask mine, WarpMask ready,
                                                                  const QueueUser& queue_user) {
  SmLedger& ledger = *ledger_;
  const WarpMask unserved = mine & ready;
  if (unserved != 0) {
    const WarpMask accesses = unserved & scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
    AppId user = queue_user();
    if (accesses != unserved) [[unlikely]]
      user = taken_by(scheduler, index, app, unserved, user);
    if (user != app && user != SmLedger::kNobody) return &ledger.pair(app, user).unit_cycles;
    return accesses != 0 ? ledger.memory(app) : ledger.present();
  }
  if ((mine & scheduler.waiting(Wait::Memory)) != 0) return ledger.memory(app);
  return (mine & ~scheduler.waiting(Wait::Sync)) == 0 ? ledger.barrier(app) : ledger.present();
}

template <typename Pipes>
[[gnu::noinline]] void IssueStage::note_rest(const Scheduler& scheduler, std::uint32_t index, WarpMask ready,
                                             const Pipes& pipes) {
  SmLedger::SchedulerView& view = ledger_->schedulers[index];
  const Cycle cycles = ledger_->begin(view, scheduler.since);
  const AppId queue_user = ready == 0 || pipes.has_room() ? SmLedger::kNobody : pipes.head_app();
  SmLedger::for_apps(view.counted, [&](AppId app) {
    SmLedger::SchedulerView::OfApp& of = view.apps[app];
    of.spends(cycles, spent_by(scheduler, index, app, of.warps, ready, [&] { return queue_user; }));
  });
}

template <typename Pipes>
[[gnu::always_inline]] inline void IssueStage::note_issue(const Scheduler& scheduler, std::uint32_t index,
                                                          std::uint32_t local, WarpMask ready,
                                                          WarpMask choice, const Pipes& pipes) {
  SmLedger& ledger = *ledger_;
  SmLedger::SchedulerView& view = ledger.schedulers[index];
  const Cycle cycles = ledger.begin(view, scheduler.since);
  const Warp& warp = table_.warp(slot_of(index, local));
  const HotKernel& kernel = kernels_[warp.kernel];
  const AppId issuer = kernel.app;
  ledger.unit_user[units_.pool(kernel.table[warp.next->pc].unit, index)] = issuer;
  view.apps[issuer].spends(cycles, ledger.present());
  SmLedger::for_apps(view.counted & ~(std::uint32_t{1} << issuer), [&](AppId app) {
    SmLedger::SchedulerView::OfApp& of = view.apps[app];
    std::uint64_t* spent = &ledger.pair(app, issuer).issue_cycles;
    if ((of.warps & choice) == 0)
      spent = spent_by(scheduler, index, app, of.warps, ready,
                       [&] { return pipes.has_room() ? SmLedger::kNobody : pipes.head_app(); });
    of.spends(cycles, spent);
  });
}

template <typename Order, Beside kBeside, typename Pipes>
[[gnu::always_inline]] inline void IssueStage::schedule_one(std::uint32_t index, Cycle now,
                                                            std::uint32_t later, Pipes& pipes) {
  Scheduler& scheduler = schedulers_[index];
  scheduler.settle(now);
  const WarpMask choice = candidates<Order, kBeside>(scheduler, index, now, pipes);
  if (choice == 0) {
    rest<Order, kBeside>(scheduler, index, now + 1, pipes);
    return;
  }
  std::uint32_t local = 0;
  if constexpr (kBeside == Beside::Control) {
    const WarpMask ready_now = ready_now_;
    local = memory_.scheme().order == arch::MemoryScheme::Order::Warps
                ? pick<Order>(scheduler, index, choice)
                : arbitrate<Order>(scheduler, index, choice, now, later, pipes);
    if (local == 64) {
      rest<Order, kBeside>(scheduler, index, now + 1, pipes);
      return;
    }
    ready_now_ = ready_now;
    if (looks_at_memory()) {
      const Warp& warp = table_.warp(slot_of(index, local));
      memory_.forget(index, local, kernels_[warp.kernel].app);
    }
  } else {
    local = pick<Order>(scheduler, index, choice);
  }
  if constexpr (kBeside != Beside::Nothing) {
    if (keeps_ledger<kBeside>()) note_issue(scheduler, index, local, ready_now_, choice, pipes);
  }
  scheduler.cycles[static_cast<std::size_t>(Reason::issued)] += interval_;
  scheduler.next_issue = scheduler.since = now + interval_;
  Order::issued(scheduler.order.of(Order{}), local);
  if (width_ == 1) [[likely]] {
    issue_by<kBeside>(pipes, scheduler, index, local, now);
  } else {
    const Warp& warp = table_.warp(slot_of(index, local));
    const isa::Unit first = kernels_[warp.kernel].table[warp.next->pc].unit;
    issue_by<kBeside>(pipes, scheduler, index, local, now);
    issue_more<kBeside>(scheduler, index, local, first, now, pipes);
  }
  // Often nothing can issue right after. Then this scheduler is not run before something can.
  rest<Order, kBeside>(scheduler, index, scheduler.next_issue, pipes);
}

}  // namespace gpumux::sm
