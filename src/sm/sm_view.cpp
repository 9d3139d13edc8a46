#include "sm/sm_view.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/phases.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::sm {

void SmView::account(IssueStage& stage, Cycle until, bool room) {
  while (now_ < until) {
    Cycle end = until;
    IssueStage::Masks hidden{};
    std::erase_if(unborn_, [this](const Unborn& warps) { return warps.start <= now_; });
    for (const Unborn& warps : unborn_) {
      end = std::min(end, warps.start);
      for (std::size_t s = 0; s < hidden.size(); ++s) hidden[s] |= warps.warps[s];
    }
    for (Ends* const ends : {&alu_ends_, &memory_ends_}) {
      while (!ends->empty() && ends->top() < now_) ends->pop();
      if (!ends->empty()) end = std::min(end, ends->top() + 1);
    }
    const Cycle cycles = end - now_;
    const std::uint64_t alu = alu_ends_.size();
    const std::uint64_t memory = memory_out_ + memory_ends_.size();
    counters_.alu_in_flight += alu * cycles;
    counters_.memory_in_flight += memory * cycles;
    if (alu != 0) counters_.alu_cycles += cycles;
    if (memory != 0) counters_.memory_cycles += cycles;
    if (alu != 0 && memory != 0) {
      counters_.overlap_cycles += cycles;
      counters_.memory_overlapped += memory * cycles;
    }
    const IssueStage::Seen seen = stage.count_states(counters_, now_, end, room, hidden);
    counters_.warps_completed += completed_ * cycles;
    if (tails_ != 0) counters_.tail_cycles += cycles;
    const Cycle owned = std::clamp(seen.owned_until, now_, end) - now_;
    counters_.core_active_cycles += owned;
    last_ = owned == cycles ? &counters_.core_active_cycles : &without_issue(seen);
    *last_ += cycles - owned;
    for (std::uint32_t phase = 0; phase < phases_used_; ++phase)
      counters_.phase(phase) += warps_in_phase_[phase] * cycles;
    for (const Unborn& warps : unborn_)
      for (const WarpMask mask : warps.warps)
        counters_.phase(0) -= static_cast<std::uint64_t>(std::popcount(mask)) * cycles;
    now_ = end;
  }
}

std::uint64_t& SmView::without_issue(const IssueStage::Seen& seen) {
  if (!seen.ready) return seen.waits ? counters_.core_scoreboard_cycles : counters_.core_idle_cycles;
  if (seen.waits && mixed_ == arch::ViewMixed::Scoreboard) return counters_.core_scoreboard_cycles;
  if (seen.waits && mixed_ == arch::ViewMixed::Apart) return counters_.core_mixed_cycles;
  return counters_.core_pipeline_cycles;
}

void SmView::move(std::uint32_t slot, std::uint16_t phase) {
  const auto last = static_cast<std::uint16_t>(arch::kViewedPhases - 1);
  --warps_in_phase_[std::min(phase_of_[slot], last)];
  phase_of_[slot] = phase;
  ++warps_in_phase_[std::min(phase, last)];
  phases_used_ = std::max(phases_used_, std::min<std::uint32_t>(phase, last) + 1);
}

void SmView::launched(const Block& block, const BlockTable& table, std::uint32_t schedulers, Cycle start) {
  Unborn warps{start, {}};
  for (const std::uint16_t slot : block.warps) {
    if (!table.warp(slot).alive) {
      ++completed_;
      continue;
    }
    warps.warps[slot % schedulers] |= WarpMask{1} << (slot / schedulers);
    phase_of_[slot] = 0;
    ++warps_in_phase_[0];
    phases_used_ = std::max(phases_used_, 1U);
  }
  if (block.alive != 0 && block.alive < block.warps.size()) ++tails_;
  if (start > now_) unborn_.push_back(warps);
}

void SmView::exits(std::uint32_t slot, const Block& block) {
  ++completed_;
  --warps_in_phase_[std::min<std::size_t>(phase_of_[slot], arch::kViewedPhases - 1)];
  if (block.alive == 0) {
    if (block.warps.size() > 1) --tails_;
  } else if (block.alive + 1 == block.warps.size()) {
    ++tails_;
  }
}

void SmView::gone(const Block& block, const BlockTable& table, std::uint32_t schedulers) {
  if (block.alive != 0 && block.alive < block.warps.size()) --tails_;
  completed_ -= static_cast<std::uint32_t>(block.warps.size()) - block.alive;
  for (const std::uint16_t slot : block.warps) {
    for (Unborn& warps : unborn_) warps.warps[slot % schedulers] &= ~(WarpMask{1} << (slot / schedulers));
    if ((block.alive_warps >> table.warp(slot).index & 1U) != 0)
      --warps_in_phase_[std::min<std::size_t>(phase_of_[slot], arch::kViewedPhases - 1)];
  }
}

void SmView::issued() {
  if (last_ != &counters_.core_active_cycles) {
    --*last_;
    last_ = &counters_.core_active_cycles;
    ++*last_;
  }
}

void SmView::comes_to(std::uint32_t slot, arch::KernelSlot kernel, std::uint32_t pc) {
  const std::vector<std::uint16_t>& phases = phases_[kernel];
  if (phases[pc] != phase_of_[slot]) move(slot, phases[pc]);
}

std::vector<std::uint16_t> phase_numbers(const arch::MachineConfig& config,
                                         const std::vector<isa::StaticInst>& table) {
  std::vector<std::uint16_t> numbers(table.size(), 0);
  std::uint16_t number = 0;
  for (const isa::Phase& phase : isa::find_phases(table, phase_cycles(config, table))) {
    for (std::uint32_t pc = phase.first; pc < phase.end; ++pc) numbers[pc] = number;
    ++number;
  }
  return numbers;
}

IssueStage::Seen IssueStage::count_states(arch::SmViewCounters& to, Cycle from, Cycle until, bool room,
                                          const Masks& hidden) {
  using isa::Unit;
  Seen seen;
  const Cycle cycles = until - from;
  for (std::uint32_t s = 0; s < count_; ++s) {
    Scheduler& scheduler = schedulers_[s];
    seen.owned_until = std::max(seen.owned_until, scheduler.next_issue);
    const auto number = [&](WarpMask warps) {
      return static_cast<std::uint64_t>(std::popcount(warps & ~hidden[s]));
    };
    const auto count = [&](WarpMask warps, std::uint64_t& counter) {
      const std::uint64_t warps_there = number(warps);
      seen.waits = seen.waits || warps_there != 0;
      counter += warps_there * cycles;
    };
    count(scheduler.waiting(Wait::Fetch), to.warps_fetch);
    count(scheduler.waiting(Wait::Alu), to.warps_alu_scoreboard);
    count(scheduler.waiting(Wait::Memory), to.warps_memory_scoreboard);
    count(scheduler.waiting(Wait::Sync), to.warps_barrier);
    const WarpMask free_to_issue = scheduler.allowed & ~limited(scheduler, s);
    count(scheduler.ready() & ~free_to_issue, to.warps_held);
    const Cycle collected = scheduler.collector.free_at();
    for (unsigned u = 0; u < isa::kUnits; ++u) {
      const std::uint64_t warps = number(scheduler.ready_unit[u] & free_to_issue);
      if (warps == 0) continue;
      seen.ready = true;
      const auto unit = static_cast<Unit>(u);
      const bool memory = unit == Unit::Memory;
      Cycle free = std::clamp(free_at(scheduler, units_.free_at(s), collected, unit), from, until);
      if (memory && !room) free = until;
      (memory ? to.warps_memory_stall : to.warps_alu_stall) += warps * (free - from);
      (memory ? to.warps_can_issue_memory : to.warps_can_issue_alu) += warps * (until - free);
    }
  }
  return seen;
}

}  // namespace gpumux::sm
