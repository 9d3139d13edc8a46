#include "sm/issue_stage.hpp"

#include <utility>
#include <vector>

namespace gpumux::sm {

namespace {

/// Most core cycles from an issue to its result. Machine files are limited to this
/// (arch/config_file_check.cpp).
std::uint32_t longest(const arch::MachineConfig& config) {
  std::uint32_t longest = 1;
  std::uint32_t occupied = 1;
  for (const arch::LatencyConfig& entry : config.latency) {
    longest = std::max(longest, entry.latency);
    occupied = std::max(occupied, entry.initiation);
  }
  longest += config.sm.operand_latency + config.sm.writeback_latency;
  if (!config.sm.collectors_wait) return longest;
  return longest + config.sm.schedulers * (config.sm.collectors_per_scheduler + isa::kUnits) *
                       std::max(occupied, kWarpSize);
}

}  // namespace

std::uint32_t IssueStage::warp_slots(const arch::SmConfig& config) {
  return (config.max_warps + config.schedulers - 1) / config.schedulers * config.schedulers;
}

IssueStage::IssueStage(const arch::MachineConfig& config, BlockTable& table, MemoryControl& memory)
    : count_(config.sm.schedulers),
      interval_(config.sm.issue_interval),
      ready_queue_(config.sm.ready_queue),
      width_(config.sm.issue_width),
      to_other_units_(config.sm.issue_to_other_units),
      uniform_(config.units[static_cast<std::size_t>(isa::Unit::Uniform)].count > 0),
      collectors_wait_(config.sm.collectors_wait),
      table_(table),
      scoreboard_(static_cast<std::uint32_t>(table.warps().size())),
      wheel_(config.sm.schedulers),
      units_(config),
      result_bus_(config.sm.result_buses, longest(config)),
      memory_(memory),
      limits_schedulers_(config.sm.warp_limit_per == arch::WarpLimitPer::Scheduler),
      phase_distance_most_(config.sm.phase_distance_most) {
  // The keys' ranges ensure this (arch/config_file_fields.cpp).
  GPUMUX_CHECK(count_ <= kMaxSchedulers && table.warps().size() <= std::size_t{64} * count_);
  const std::uint32_t banks = config.sm.register_banks / count_;
  for (std::uint32_t s = 0; s < count_; ++s) schedulers_.emplace_back(banks, config.sm);
  next_try_.fill(kNever);
  for (std::uint32_t slot = 0; slot < table.warps().size(); ++slot) {
    table.warp(slot).scheduler = static_cast<std::uint8_t>(slot % count_);
    table.warp(slot).local = static_cast<std::uint8_t>(slot / count_);
  }
}

void IssueStage::launched(const Block& block, bool open, Cycle start) {
  for (const std::uint16_t slot : block.warps) {
    const Warp& warp = table_.warp(slot);
    scoreboard_.clear(slot);
    if (!warp.alive) continue;  // exited before its block came to this SM
    if (ledger_ != nullptr) ledger_->came(warp.scheduler, warp.local, block.app);
    Scheduler& scheduler = schedulers_[warp.scheduler];
    scheduler.by_age.push_back(warp.local);
    const WarpMask bit = WarpMask{1} << warp.local;
    scheduler.waits[static_cast<std::size_t>(Wait::Fetch)] |= bit;
    scheduler.allowed = open ? scheduler.allowed | bit : scheduler.allowed & ~bit;
  }
  for (std::uint32_t s = 0; s < count_; ++s) look_again(s, start);
}

void IssueStage::exits(const Warp& warp, Cycle now) {
  Scheduler& scheduler = schedulers_[warp.scheduler];
  scheduler.waits[static_cast<std::size_t>(warp.wait)] &= ~(WarpMask{1} << warp.local);
  if (ledger_ != nullptr) ledger_->exits(warp.scheduler, warp.local, kernels_[warp.kernel].app);
  std::erase(scheduler.by_age, warp.local);
  scheduler.order.left(warp.local);
  look_again(warp.scheduler, now);
}

void IssueStage::hold(const Block& block) {
  for (const std::uint16_t slot : block.warps) {
    const Warp& warp = table_.warp(slot);
    schedulers_[warp.scheduler].allowed &= ~(WarpMask{1} << warp.local);
  }
}

void IssueStage::leaves(const Block& block, Cycle now) {
  for (const std::uint16_t slot : block.warps) {
    const Warp& warp = table_.warp(slot);
    if ((block.alive_warps >> warp.index & 1U) == 0) continue;
    for (WarpMask& ready : schedulers_[warp.scheduler].ready_unit) ready &= ~(WarpMask{1} << warp.local);
    memory_.forget(warp.scheduler, warp.local, block.app);
    exits(warp, now);
  }
}

Cycle IssueStage::results_at(const Block& block) const {
  Cycle latest = 0;
  for (const std::uint16_t slot : block.warps) latest = std::max(latest, scoreboard_.latest(slot));
  return latest;
}

void IssueStage::end(Cycle now) {
  next_try_.fill(kNever);
  next_try_of_all_ = kNever;
  settle(now + 1);
  for (Scheduler& scheduler : schedulers_) {
    if (scheduler.since > now + 1) {  // the interval of the last issue is not over
      scheduler.cycles[static_cast<std::size_t>(Reason::issued)] -= scheduler.since - (now + 1);
      scheduler.since = now + 1;
    }
    scheduler.reason = Reason::uncounted;
  }
  if (ledger_ != nullptr) ledger_->nobody(now + 1);
}

void IssueStage::admit(std::uint32_t changed, const IssueGate& gate, Cycle now) {
  if (gate.all_warp_limit() != 0) changed = ~0U;
  for (const Warp& warp : table_.warps()) {
    if (!warp.resident || (changed >> warp.kernel & 1U) == 0) continue;
    Scheduler& scheduler = schedulers_[warp.scheduler];
    const WarpMask bit = WarpMask{1} << warp.local;
    const bool open = gate.open(warp.kernel) && table_.block(warp.block).may_issue();
    scheduler.allowed = open ? scheduler.allowed | bit : scheduler.allowed & ~bit;
  }
  for (std::uint32_t limited_kernels = changed & gate.warp_limited() & ~gate.spared(); limited_kernels != 0;
       limited_kernels &= limited_kernels - 1) {
    const auto kernel = static_cast<arch::KernelSlot>(std::countr_zero(limited_kernels));
    admit_oldest(std::uint32_t{1} << kernel, gate.warp_limit(kernel));
  }
  if (gate.all_warp_limit() != 0) admit_oldest(~gate.spared(), gate.all_warp_limit());
  for (std::uint32_t s = 0; s < count_; ++s) look_again(s, now);
}

/// Applies a warp limit to kernels (mask) together, on the SM or on each scheduler: holds the warps beyond
/// the limit. Warps at a barrier do not count, because they may wait for a held warp. Warps that are held for
/// another reason do not count either.
void IssueStage::admit_oldest(std::uint32_t kernels, std::uint32_t limit) {
  std::array<std::uint32_t, kMaxSchedulers> left_of;
  left_of.fill(limit);
  for (const std::uint8_t index : table_.order()) {
    const Block& block = table_.block(index);
    if ((kernels >> block.kernel & 1U) == 0) continue;
    for (const std::uint16_t slot : block.warps) {
      const Warp& warp = table_.warp(slot);
      WarpMask& allowed = schedulers_[warp.scheduler].allowed;
      if (!warp.alive || warp.sync == Sync::Barrier || (allowed >> warp.local & 1U) == 0) continue;
      std::uint32_t& left = left_of[limits_schedulers_ ? warp.scheduler : 0];
      if (left > 0) {
        --left;
      } else {
        allowed &= ~(WarpMask{1} << warp.local);
      }
    }
  }
}

void IssueStage::place(std::uint32_t slot, Cycle now, Cycle earliest) {
  Warp& warp = table_.warp(slot);
  Cycle wake = kNever;
  Wait wait = Wait::Sync;
  if (warp.sync != Sync::None) [[unlikely]] {
    if (warp.sync == Sync::Released || warp.sync == Sync::Async) wake = warp.sync_until;
    if (warp.sync == Sync::Fence && warp.memory_out == 0) wake = warp.memory_until;
    if (wake <= earliest) warp.sync = Sync::None;
  }
  if (warp.sync == Sync::None) {
    if (warp.starved) [[unlikely]] {
      wake = kNever;
      wait = Wait::Fetch;
    } else {
      const TimedInst& inst = kernels_[warp.kernel].table[warp.next->pc];
      const Scoreboard::Entry hazard = scoreboard_.hazard(slot, inst);
      const Cycle data = scoreboard_.cycle(hazard);
      wake = std::max(data, warp.fetch_ready);
      if (wake <= earliest) {
        warp.wake = wake;
        Scheduler& scheduler = schedulers_[warp.scheduler];
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
  if (wake != kNever) wheel_.add(warp.scheduler, warp.local, now, wake);
}

void IssueStage::set_wait(Warp& warp, Wait wait) {
  Scheduler& scheduler = schedulers_[warp.scheduler];
  const WarpMask bit = WarpMask{1} << warp.local;
  scheduler.waits[static_cast<std::size_t>(warp.wait)] &= ~bit;
  scheduler.waits[static_cast<std::size_t>(wait)] |= bit;
  warp.wait = wait;
}

void IssueStage::wake_due(Cycle now) {
  for (std::uint32_t s = 0; s < count_; ++s) {
    for (WarpMask mask = wheel_.take(s, now); mask != 0; mask &= mask - 1) {
      const std::uint32_t slot = slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)));
      const Warp& warp = table_.warp(slot);
      // The entry is outdated if the warp is ready, gone, or waits for an event.
      if (!warp.alive || warp.wait == Wait::Nothing || warp.wake == kNever) continue;
      place(slot, now, now);
    }
  }
  wheel_.done(now);
}

/// Looks at the next instruction of each warp that has become ready, once, because it does
/// not change until it issues.
void IssueStage::look_at_memory(const Scheduler& scheduler, std::uint32_t index) {
  MemoryControl::Ready& ready = memory_.ready(index);
  for (WarpMask fresh = scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)] & ~ready.known;
       fresh != 0; fresh &= fresh - 1) {
    const auto local = static_cast<std::uint32_t>(std::countr_zero(fresh));
    const WarpMask bit = WarpMask{1} << local;
    ready.known |= bit;
    const Warp& warp = table_.warp(slot_of(index, local));
    using Where = workload::MemHeader::Where;
    const auto header = std::bit_cast<workload::MemHeader>(*warp.mem_next);
    if (warp.next->active == 0 || header.where == Where::None) continue;
    const AppId app = kernels_[warp.kernel].app;
    const bool lines = header.where == Where::Global || header.where == Where::Local;
    if (lines && header.transactions == 0) continue;
    if (lines && (kernels_[warp.kernel].table[warp.next->pc].flags & isa::kLoad) != 0) ready.loads |= bit;
    if (lines) {
      ready.any |= bit;
      ready.of[app] |= bit;
    }
    if (lines || memory_.scheme().orders_all) {
      ready.any_turn |= bit;
      ready.turn_of[app] |= bit;
    }
  }
}

arch::SchedulerCounters IssueStage::counters(Cycle now) const {
  arch::SchedulerCounters sum;
  for (const Scheduler& scheduler : schedulers_) {
#define GPUMUX_FIELD(field, unit, description) \
  sum.field += scheduler.cycles[static_cast<std::size_t>(Reason::field)];
    GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    if (now <= scheduler.since) {
      // An issue counts for its whole interval. Without an issue, a block of this SM starts at `since`.
      if (scheduler.reason != Reason::uncounted) sum.issued -= scheduler.since - now;
      continue;
    }
#define GPUMUX_FIELD(field, unit, description) \
  if (scheduler.reason == Reason::field) sum.field += now - scheduler.since;
    GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
  return sum;
}

bool IssueStage::drained() const {
  for (const Scheduler& scheduler : schedulers_) {
    for (const WarpMask mask : scheduler.waits)
      if (mask != 0) return false;
    for (const WarpMask mask : scheduler.ready_unit)
      if (mask != 0) return false;
    if (!scheduler.collector.drained()) return false;
  }
  return true;
}

IssueStage::Masks IssueStage::prefetch_warps(Cycle begin, Cycle until, bool memory_has_room,
                                             arch::WarpScheduler which) {
  Masks masks{};
  wheel_.due(begin, until, masks.data());
  for (std::uint32_t s = 0; s < count_; ++s) {
    Scheduler& scheduler = schedulers_[s];
    WarpMask mask = masks[s];
    WarpMask ready = scheduler.ready() & scheduler.allowed;
    const WarpMask accesses = scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
    if (!memory_has_room) ready &= ~accesses;
    const std::uint32_t issues = std::exchange(scheduler.window_issues, 0) + 2;
    mask |= with_warp_scheduler(which, [&]<typename Order>(Order order) {
      return Order::likely(scheduler.order.of(order), scheduler.by_age, ready, issues);
    });
    masks[s] = mask;
    for (; mask != 0; mask &= mask - 1) {
      const std::uint32_t slot = slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)));
      __builtin_prefetch(&table_.warp(slot), 1);
      scoreboard_.prefetch(slot);
      if ((accesses & mask & -mask) != 0) __builtin_prefetch(&table_.warp(slot).mem_next, 1);
    }
  }
  return masks;
}

/// Books an instruction for a unit that may be busy. The instruction waits for the unit in its collector.
std::uint32_t IssueStage::book_waiting(Scheduler& scheduler, std::uint32_t index, std::uint32_t local,
                                       const TimedInst& inst, Cycle now) {
  if (inst.unit == isa::Unit::Control) {
    units_.book(inst.unit, index, now, inst.occupied);
    return 0;
  }
  const Cycle collected = scheduler.collector.collect(local, inst, now);
  const Cycle start = std::max(collected, units_.free_at(inst.unit, index));
  units_.book(inst.unit, index, start, inst.occupied);
  scheduler.collector.hold(inst.unit == isa::Unit::Memory ? kNever : start + 1);
  return static_cast<std::uint32_t>(start - now);
}

}  // namespace gpumux::sm
