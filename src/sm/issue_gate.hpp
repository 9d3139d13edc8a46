// Holds back all warps of a kernel on one SM: permission, pause, and budgets of instructions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/issue_budget.hpp"
#include "arch/messages.hpp"

namespace gpumux::sm {

/// The gate of one SM. Kernels are bits in masks, by slot. The gate tells which kernels are held; its user
/// updates the schedulers' masks. Budgets: arch/issue_budget.hpp.
class IssueGate {
 public:
  // --- permission -------------------------------------------------------------------------------------
  [[nodiscard]] bool may_issue(arch::KernelSlot kernel) const { return (forbidden_ >> kernel & 1U) == 0; }
  void allow(arch::KernelSlot kernel, bool allowed) {
    forbidden_ = allowed ? forbidden_ & ~bit(kernel) : forbidden_ | bit(kernel);
  }
  [[nodiscard]] bool paused() const { return paused_; }
  void pause(bool paused) { paused_ = paused; }

  /// Sets the number of the kernel's warps that may issue at a time; 0: all.
  void limit_warps(arch::KernelSlot kernel, std::uint32_t warps) {
    warp_limit_[kernel] = warps;
    warp_limited_ = warps > 0 ? warp_limited_ | bit(kernel) : warp_limited_ & ~bit(kernel);
  }
  [[nodiscard]] std::uint32_t warp_limit(arch::KernelSlot kernel) const { return warp_limit_[kernel]; }
  /// Mask of the kernels with a warp limit.
  [[nodiscard]] std::uint32_t warp_limited() const { return warp_limited_; }
  /// Sets the number of warps of all kernels together that may issue at a time; 0: all.
  void limit_all_warps(std::uint32_t warps) { all_warp_limit_ = warps; }
  [[nodiscard]] std::uint32_t all_warp_limit() const { return all_warp_limit_; }
  /// With `spared`, warp limits neither hold nor count the kernel's warps.
  void spare(arch::KernelSlot kernel, bool spared) {
    spared_ = spared ? spared_ | bit(kernel) : spared_ & ~bit(kernel);
  }
  /// Mask of the spared kernels.
  [[nodiscard]] std::uint32_t spared() const { return spared_; }
  /// True if it matters which of the kernel's warps run or wait at a barrier.
  [[nodiscard]] bool concerns_warps(arch::KernelSlot kernel) const {
    return all_warp_limit_ != 0 || (warp_limited_ >> kernel & 1U) != 0;
  }

  // --- budgets ----------------------------------------------------------------------------------------
  /// Sets the kernel's budget, starting with a full one.
  void set(arch::KernelSlot kernel, const arch::IssueBudget& budget, Cycle now);
  void add(arch::KernelSlot kernel, std::int64_t instructions);
  /// A new kernel has the slot. Removes all restrictions of the previous one.
  void begin(arch::KernelSlot kernel, Cycle now);
  [[nodiscard]] arch::IssueBudgetState state(arch::KernelSlot kernel) const {
    return {budgets_[kernel].left, budgets_[kernel].refills, budgets_[kernel].next_epoch};
  }
  /// True if a kernel has a budget. issued() must then be called.
  [[nodiscard]] bool counts() const { return limited_ != 0; }
  /// Mask of the kernels whose budget is spent.
  [[nodiscard]] std::uint32_t spent() const { return spent_; }
  /// An instruction was issued for `lanes` active lanes. Returns true if it was the last
  /// that the kernel may issue.
  [[nodiscard]] bool issued(arch::KernelSlot kernel, unsigned lanes, bool memory) {
    using Unit = arch::IssueBudget::Unit;
    if ((limited_ & bit(kernel)) == 0) return false;
    switch (budgets_[kernel].budget.unit) {
      case Unit::WarpInstructions: return spend(kernel, 1);
      case Unit::MemoryInstructions: return memory && spend(kernel, 1);
      case Unit::ThreadInstructions: return spend(kernel, lanes);
      case Unit::ThreadInstructionsDone: return false;
    }
    return false;
  }
  /// True if the kernel's budget counts completed instructions. completes_at() must then be called.
  [[nodiscard]] bool counts_completions(arch::KernelSlot kernel) const {
    return (completions_ >> kernel & 1U) != 0;
  }
  void completes_at(Cycle cycle, arch::KernelSlot kernel, unsigned lanes);

  // --- time -------------------------------------------------------------------------------------------
  /// The next cycle at whose end something is due: a completion, or a refill for the following cycle.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Processes what is due at the end of `now`. Returns a mask of kernels whose state may have changed.
  [[nodiscard]] std::uint32_t run(Cycle now);
  /// Refills in cycle `now` if all budgets are spent. `present`: mask of kernels with a block on the SM.
  /// Returns a mask of the kernels that were refilled.
  [[nodiscard]] std::uint32_t refill_if_all_spent(std::uint32_t present, Cycle now);
  /// True if a kernel waits while others have budget left.
  [[nodiscard]] bool some_yield() const { return yielding_ != 0; }
  /// Updates which of these kernels wait. Returns a mask of the kernels for which that has changed.
  [[nodiscard]] std::uint32_t hold_yielding(std::uint32_t present);

  /// True if the gate does not hold the kernel's warps back.
  [[nodiscard]] bool open(arch::KernelSlot kernel) const {
    return !paused_ && ((forbidden_ | spent_ | held_) >> kernel & 1U) == 0;
  }

 private:
  struct Budget {
    arch::IssueBudget budget;
    std::int64_t left = 0;
    std::uint64_t refills = 0;
    Cycle next_epoch = kNever;
  };
  struct Completion {
    Cycle cycle;
    arch::KernelSlot kernel;
    std::uint8_t lanes;
  };
  [[nodiscard]] static std::uint32_t bit(arch::KernelSlot kernel) { return std::uint32_t{1} << kernel; }
  /// Returns true if this spends the budget.
  bool spend(arch::KernelSlot kernel, unsigned amount) {
    Budget& budget = budgets_[kernel];
    const bool had = budget.left > 0;
    budget.left -= amount;
    if (budget.left > 0) return false;
    spent_ |= bit(kernel);
    return had;
  }
  void refill(arch::KernelSlot kernel, arch::IssueBudget::Refill how);
  void find_next();

  std::array<std::uint32_t, arch::kMaxKernelSlots> warp_limit_{};
  std::uint32_t warp_limited_ = 0;
  std::uint32_t spared_ = 0;
  std::uint32_t all_warp_limit_ = 0;
  std::uint32_t forbidden_ = 0, limited_ = 0, spent_ = 0, completions_ = 0;
  std::uint32_t yielding_ = 0, held_ = 0;  // kernels whose budget yields; those of them that wait for others
  bool paused_ = false;
  Cycle next_ = kNever;
  std::array<Budget, arch::kMaxKernelSlots> budgets_{};
  std::vector<Completion> completing_;  // heap, earliest first
};

}  // namespace gpumux::sm
