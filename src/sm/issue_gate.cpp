#include "sm/issue_gate.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sm/state.hpp"

namespace gpumux::sm {

using arch::IssueBudget;

void IssueGate::set(arch::KernelSlot kernel, const IssueBudget& budget, Cycle now) {
  Budget& of = budgets_[kernel];
  of = {.budget = budget, .left = budget.amount};
  const bool limits = budget.amount > 0;
  limited_ = limits ? limited_ | bit(kernel) : limited_ & ~bit(kernel);
  spent_ &= ~bit(kernel);
  const bool completions = limits && budget.unit == IssueBudget::Unit::ThreadInstructionsDone;
  completions_ = completions ? completions_ | bit(kernel) : completions_ & ~bit(kernel);
  yielding_ = limits && budget.yields ? yielding_ | bit(kernel) : yielding_ & ~bit(kernel);
  held_ &= yielding_;
  if (limits && budget.at_epoch != IssueBudget::Refill::Never)
    of.next_epoch = now + (budget.first_epoch != 0 ? budget.first_epoch : budget.epoch);
  find_next();
}

void IssueGate::begin(arch::KernelSlot kernel, Cycle now) {
  std::erase_if(completing_, [kernel](const Completion& done) { return done.kernel == kernel; });
  std::make_heap(completing_.begin(), completing_.end(),
                 [](const Completion& a, const Completion& b) { return a.cycle > b.cycle; });
  allow(kernel, true);
  limit_warps(kernel, 0);
  set(kernel, {}, now);
}

void IssueGate::add(arch::KernelSlot kernel, std::int64_t instructions) {
  if ((limited_ & bit(kernel)) == 0) return;
  Budget& of = budgets_[kernel];
  of.left += instructions;
  spent_ = of.left > 0 ? spent_ & ~bit(kernel) : spent_ | bit(kernel);
}

void IssueGate::completes_at(Cycle cycle, arch::KernelSlot kernel, unsigned lanes) {
  const auto later = [](const Completion& a, const Completion& b) { return a.cycle > b.cycle; };
  completing_.push_back({cycle, kernel, static_cast<std::uint8_t>(lanes)});
  std::push_heap(completing_.begin(), completing_.end(), later);
  next_ = std::min(next_, cycle);
}

std::uint32_t IssueGate::run(Cycle now) {
  const auto later = [](const Completion& a, const Completion& b) { return a.cycle > b.cycle; };
  std::uint32_t changed = 0;
  while (!completing_.empty() && completing_.front().cycle <= now) {
    const Completion done = completing_.front();
    std::pop_heap(completing_.begin(), completing_.end(), later);
    completing_.pop_back();
    if (counts_completions(done.kernel) && spend(done.kernel, done.lanes)) changed |= bit(done.kernel);
  }
  for (std::uint32_t k = limited_; k != 0; k &= k - 1) {
    const auto kernel = static_cast<arch::KernelSlot>(std::countr_zero(k));
    Budget& of = budgets_[kernel];
    for (; of.next_epoch <= now + 1; of.next_epoch += of.budget.epoch) {
      refill(kernel, of.budget.at_epoch);
      changed |= bit(kernel);
    }
  }
  find_next();
  return changed;
}

std::uint32_t IssueGate::refill_if_all_spent(std::uint32_t present, Cycle now) {
  if (spent_ == 0 || (limited_ & ~spent_ & present & ~forbidden_) != 0) return 0;
  std::uint32_t refilled = 0;
  for (std::uint32_t k = limited_; k != 0; k &= k - 1) {
    const auto kernel = static_cast<arch::KernelSlot>(std::countr_zero(k));
    Budget& of = budgets_[kernel];
    if (of.budget.all_spent == IssueBudget::Refill::Never) continue;
    refill(kernel, of.budget.all_spent);
    if (of.budget.restarts_epoch && of.next_epoch != kNever) of.next_epoch = now + of.budget.epoch;
    refilled |= bit(kernel);
  }
  if (refilled != 0) find_next();
  return refilled;
}

std::uint32_t IssueGate::hold_yielding(std::uint32_t present) {
  const bool others = (limited_ & ~yielding_ & ~spent_ & ~forbidden_ & present) != 0;
  const std::uint32_t held = others ? yielding_ : 0;
  return std::exchange(held_, held) ^ held;
}

void IssueGate::refill(arch::KernelSlot kernel, IssueBudget::Refill how) {
  Budget& of = budgets_[kernel];
  std::int64_t kept = 0;
  switch (how) {
    case IssueBudget::Refill::Never:
    case IssueBudget::Refill::Anew: break;
    case IssueBudget::Refill::KeepUnspent: kept = std::max<std::int64_t>(of.left, 0); break;
    case IssueBudget::Refill::KeepDebt: kept = std::min<std::int64_t>(of.left, 0); break;
    case IssueBudget::Refill::KeepBoth: kept = of.left; break;
  }
  of.left = kept + of.budget.amount;
  ++of.refills;
  spent_ = of.left > 0 ? spent_ & ~bit(kernel) : spent_ | bit(kernel);
}

void IssueGate::find_next() {
  next_ = completing_.empty() ? kNever : completing_.front().cycle;
  for (std::uint32_t k = limited_; k != 0; k &= k - 1) {
    const Cycle epoch = budgets_[static_cast<std::size_t>(std::countr_zero(k))].next_epoch;
    if (epoch != kNever) next_ = std::min(next_, epoch - 1);
  }
}

// --- in the SM ------------------------------------------------------------------------------------------

bool Sm::may_issue(KernelSlot kernel) const { return state_->gate.may_issue(kernel); }

void Sm::allow_issue(KernelSlot kernel, bool allowed) {
  if (state_->gate.may_issue(kernel) == allowed) return;
  state_->gate.allow(kernel, allowed);
  state_->gate_changed(1U << kernel, state_->now_);
}

void Sm::limit_warps(KernelSlot kernel, std::uint32_t limit) {
  state_->gate.limit_warps(kernel, limit);
  state_->gate_changed(1U << kernel, state_->now_);
}

void Sm::limit_all_warps(std::uint32_t limit) {
  if (state_->gate.all_warp_limit() == limit) return;
  state_->gate.limit_all_warps(limit);
  state_->gate_changed(~0U, state_->now_);
}

void Sm::pause(bool paused) {
  if (state_->gate.paused() == paused) return;
  state_->gate.pause(paused);
  state_->gate_changed(~0U, state_->now_);
}

void Sm::set_issue_budget(KernelSlot kernel, const arch::IssueBudget& budget) {
  GPUMUX_CHECK(budget.at_epoch == IssueBudget::Refill::Never || budget.epoch > 0);
  state_->gate.set(kernel, budget, state_->known_now());
  state_->gate_changed(1U << kernel, state_->now_);
}

void Sm::add_issue_budget(KernelSlot kernel, std::int64_t instructions) {
  state_->gate.add(kernel, instructions);
  state_->gate_changed(1U << kernel, state_->now_);
}

arch::IssueBudgetState Sm::issue_budget(KernelSlot kernel) const { return state_->gate.state(kernel); }

/// Updates the schedulers after a change of the gate. Schedulers that have not chosen yet in this cycle see
/// the new masks, so budgets are exact.
void Sm::State::gate_changed(std::uint32_t changed, Cycle now) {
  stage.admit(changed, gate, now);
  refill_spent(now);
  hold_yielding(now);
  find_rare();
}

/// An instruction was issued while a kernel has a budget.
void Sm::State::spend(KernelSlot kernel, const TimedInst& inst, const workload::ExecRecord& record, Cycle now,
                      std::uint32_t delay) {
  const bool is_memory = inst.unit == isa::Unit::Memory;
  const auto lanes = static_cast<unsigned>(std::popcount(record.active));
  if (gate.issued(kernel, lanes, is_memory)) gate_changed(1U << kernel, now);
  if (!is_memory) completes(now + delay + inst.latency, kernel, lanes);
}

void Sm::State::refill_spent(Cycle now) {
  // If a refill leaves a kernel in debt, another refill follows, as long as each one reduces the debts.
  while (const std::uint32_t again = gate.refill_if_all_spent(table.present(), now)) {
    stage.admit(again, gate, now);
    if ((again & gate.spent() & table.present()) == 0) return;
  }
}

/// Must be called when budgets, or the kernels with resident blocks, have changed.
void Sm::State::hold_yielding(Cycle now) {
  if (!gate.some_yield()) return;
  if (const std::uint32_t changed = gate.hold_yielding(table.present()); changed != 0)
    stage.admit(changed, gate, now);
}

}  // namespace gpumux::sm
