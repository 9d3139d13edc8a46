// The flow of time inside an SM, and the effects of an instruction that issues.
#include "sm/issue.hpp"

#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

using isa::InstFlag;
using isa::Unit;

Cycle Sm::State::run(Cycle begin, Cycle end, Cycle credits_known) {
  GPUMUX_DCHECK(begin >= now_ && end >= begin);
  account(begin);
  stage.advance(begin);
  front.refill_independent_if_any();  // for blocks launched meanwhile
  prefetch_waiters();
  lsu.take(begin, credits_known);
  if (front.refilled()) front.reload([&](std::uint32_t slot) { resume_stream(slot, begin); });
  run_to = stop = end;
  Cycle next = begin;
  while (true) {
    next = with_warp_scheduler(config.sm.warp_scheduler, [&]<typename Order>(Order) {
      switch (beside()) {
        case Beside::Nothing: return simulate<Order, Beside::Nothing>(next);
        case Beside::Ledger: return simulate<Order, Beside::Ledger>(next);
        case Beside::Control: break;
      }
      return simulate<Order, Beside::Control>(next);
    });
    if (stop >= run_to) break;
    next = stop;
    stop = run_to;
    front.refill_independent();
  }
  lsu.settle(run_to);
  account(run_to);
  now_ = run_to;
  return front.refilled() ? now_ : std::min(next, lsu.blind_from());
}

template <Beside kBeside>
inline Cycle Sm::State::next_after(Cycle from) const {
  Cycle next = std::min(std::min(std::min(lsu.next_reply(), lsu.next_send()), lsu.next_access()),
                        std::min(rare_next, stage.next_try()));
  if constexpr (kBeside == Beside::Control) next = std::min(next, memory.next_end());
  return next <= from ? from : std::min(next, stage.next_wake(from));
}

/// Simulates from one cycle in which something can change to the next. Order within a cycle: arrivals,
/// departures, the LSU, warps that wake, the schedulers, blocks that end.
template <typename Order, Beside kBeside>
Cycle Sm::State::simulate(Cycle begin) {
  Cycle now = begin;
  for (;; ++now) {
    now = next_after<kBeside>(now);
    if (now >= lsu.blind_from()) [[unlikely]] {
      run_to = std::min(run_to, lsu.blind_from());
      stop = std::min(stop, run_to);
    }
    if (now >= stop) return now;
    if constexpr (kBeside == Beside::Control) account(now);
    while (lsu.next_reply() <= now) lsu.reply(now);
    if (lsu.next_send() <= now) lsu.send(now);
    if (lsu.next_access() <= now) lsu.access(now);
    if constexpr (kBeside == Beside::Control) {
      if (memory.next_end() <= now) end_memory(now);
      if (locality && locality->stale()) choose_loads(now);
    }
    stage.wake(now);
    if constexpr (kBeside == Beside::Control) account(now + 1);
    stage.schedule<Order, kBeside>(now, *this);
    if (rare_next <= now) rare_events(now);
    if (front.has_unsent()) send_fetch_misses(now);
  }
}

Cycle Sm::State::next_event(Cycle from) const {
  return beside() == Beside::Control ? next_after<Beside::Control>(from) : next_after<Beside::Nothing>(from);
}

[[gnu::always_inline]] inline void Sm::State::issue(Scheduler& scheduler, std::uint32_t index,
                                                    std::uint32_t local, Cycle now) {
  const std::uint32_t slot = stage.slot_of(index, local);
  Warp& warp = table.warp(slot);
  const workload::ExecRecord record = *warp.next++;
  const HotKernel& kernel = stage.kernel(warp.kernel);
  const TimedInst& inst = kernel.table[record.pc];
  arch::KernelCounters& counter = *kernel.counters;
  ++counter.warp_instructions;
  const auto lanes = static_cast<std::uint64_t>(std::popcount(record.active));
  counter.thread_instructions += lanes;
  counter.by_unit(inst.unit) += lanes;
  counter.register_reads += inst.num_reads;
  counter.register_writes += inst.num_writes;
  ++progress;

  const std::uint32_t delay = stage.book(scheduler, index, local, inst, now);
  if (gate.counts()) [[unlikely]]
    spend(warp.kernel, inst, record, now, delay);
  warp.last_pc = record.pc;
  if (inst.unit == Unit::Memory) {
    stage.memory_issued(index);
    issue_memory(warp, slot, inst, record, now, delay);
  } else {
    if (inst.unit <= Unit::Sfu) {
      counter.alu_issue_cycles += inst.occupied;
    } else if (inst.unit == Unit::Tensor) {
      counter.tensor_passes += lanes * inst.passes();
    }
    if (inst.num_dst > 0) stage.write_back(slot, inst, now + delay + inst.latency);
  }
  constexpr unsigned kRare = unsigned{InstFlag::kBarrier} | InstFlag::kFence | InstFlag::kAsync;
  if (warp.next >= warp.few_left || (inst.flags & kRare) != 0) [[unlikely]] {
    // A barrier or fence that is predicated off takes an issue slot and has no effect.
    after_issue(slot, record.active != 0 ? inst.flags : 0U, inst, now);
    return;
  }
  front.issued(warp, now);
  stage.follow(scheduler, warp, slot, kernel, now);
}

void Sm::State::issue_viewed(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle now) {
  const std::uint32_t slot = stage.slot_of(index, local);
  const Warp& warp = table.warp(slot);
  const workload::ExecRecord record = *warp.next;
  const arch::KernelSlot kernel = warp.kernel;
  const TimedInst& inst = stage.kernel(kernel).table[record.pc];
  if (inst.unit == Unit::Memory) {
    const auto header = std::bit_cast<workload::MemHeader>(warp.mem_next[0]);
    // As in issue_memory(): a texture fetch that only reads the border is performed too.
    const bool nothing = header.transactions == 0 && header.where != workload::MemHeader::Where::Texture;
    if (record.active != 0 && workload::MemHeader::beyond_sm(header.where) && !nothing) view->accesses();
  }
  issue(scheduler, index, local, now);
  if (inst.unit != Unit::Memory && inst.unit != Unit::Control)
    view->computes(inst.num_dst > 0 ? stage.result_at(slot, inst) : now + inst.latency);
  view->issued();
  if (warp.alive && !warp.starved) view->comes_to(slot, kernel, warp.next->pc);
}

/// Handles a warp with few records left.
void Sm::State::ask_for_records(const Warp& warp, Cycle now) {
  if (front.ask_for_records(warp)) {
    stop = std::min(stop, now + 1);  // refill while the SM's state is in this thread's cache
    return;
  }
  if (stops_for_records) run_to = std::min(run_to, end_of_window(now));
  stop = std::min(stop, run_to);
}

/// Rare cases of issue: end of the records, or few records left; barriers, fences, groups of copies.
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
  if ((flags & InstFlag::kAsync) != 0) {
    if (inst.unit != Unit::Memory) control_copies(warp, slot, inst, now);
  } else if ((flags & (InstFlag::kBarrier | InstFlag::kFence)) != 0) {
    if ((flags & InstFlag::kBarrier) != 0) {
      arrive(slot, inst, now);
    } else {
      warp.sync = Sync::Fence;
    }
  }
  stage.place(slot, now, now + 1);
}

void Sm::State::resume_stream(std::uint32_t slot, Cycle now) {
  Warp& warp = table.warp(slot);
  if (warp.next == warp.end) {
    if (warp.finished) warp_exits(slot, now);
    return;
  }
  front.resume(warp, now);
  stage.place(slot, now, now);
}

}  // namespace gpumux::sm
