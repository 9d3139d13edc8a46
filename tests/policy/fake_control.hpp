// A machine that consists of numbers only, for tests of policies. Tests let kernels arrive and end; knobs are
// recorded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arch/config_file.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {

class FakeControl final : public Control {
 public:
  explicit FakeControl(std::uint32_t sms) {
    config_.sms = sms;
    for (std::uint32_t sm = 0; sm < sms; ++sm)
      sms_.push_back(std::make_unique<FakeSm>(*this, static_cast<SmId>(sm)));
  }

  /// Lets a kernel arrive. The kernel's slot is its number in the order of arrival, and so is its application
  /// if `app` does not name one.
  KernelSlot arrive(Mechanism& policy, workload::BlockResources resources, std::uint64_t blocks,
                    std::optional<AppId> app = {}, bool cooperative = false) {
    RunningKernel kernel;
    kernel.cooperative = cooperative;
    kernel.slot = static_cast<KernelSlot>(arrivals_);
    kernel.app = app.value_or(static_cast<AppId>(arrivals_));
    kernel.arrival = arrivals_++;
    kernel.resources = resources;
    kernel.blocks_total = blocks;
    kernel.max_blocks_per_sm =
        arch::occupancy(config_.sm, resources.threads, resources.registers_per_thread, resources.shared_bytes)
            .blocks;
    kernels_.push_back(kernel);
    policy.kernel_arrived(*this, kernels_.back());
    return kernels_.back().slot;
  }
  void end(Mechanism& policy, KernelSlot slot) {
    const RunningKernel ended = kernel(slot);
    std::erase_if(kernels_, [&](const RunningKernel& k) { return k.slot == slot; });
    std::erase(order, slot);
    if (policy.needs(*this).kernel_ends) policy.kernel_ended(*this, ended);
  }
  /// Ends a block of a kernel. As in the machine, the policy is called only if it needs this event.
  void block_ended(Policy& policy, KernelSlot slot) {
    if (policy.needs(*this).block_ends) policy.block_ended(*this, kernel(slot), 0);
  }
  void fully_dispatched(Policy& policy, KernelSlot slot) {
    if (policy.needs(*this).dispatch_ends) policy.kernel_fully_dispatched(*this, kernel(slot));
  }
  [[nodiscard]] RunningKernel& kernel(KernelSlot slot) {
    for (RunningKernel& k : kernels_) {
      if (k.slot == slot) return k;
    }
    throw InternalError("no such kernel");
  }
  [[nodiscard]] std::uint32_t limit(std::uint32_t sm, KernelSlot slot) const {
    const auto found = limits_.find({static_cast<SmId>(sm), slot});
    return found == limits_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint32_t sms_serving(KernelSlot slot) const {
    std::uint32_t count = 0;
    for (std::uint32_t sm = 0; sm < config_.sms; ++sm) count += limit(sm, slot) > 0 ? 1 : 0;
    return count;
  }

  arch::MachineConfig config_;
  std::vector<KernelSlot> order;
  bool turns = false;

  [[nodiscard]] const arch::MachineConfig& config() const override { return config_; }
  [[nodiscard]] Cycle now() const override { return time; }
  [[nodiscard]] const std::vector<RunningKernel>& kernels() const override { return kernels_; }
  [[nodiscard]] const arch::SmProbes& sm(std::uint32_t index) const override { return sm_of(index); }
  [[nodiscard]] arch::SmControl& sm(std::uint32_t index) override { return sm_of(index); }
  [[nodiscard]] arch::PartitionCounters partition_counters(PartitionId partition) const override {
    const auto found = partitions.find(partition);
    return found == partitions.end() ? arch::PartitionCounters{} : found->second;
  }
  [[nodiscard]] arch::KernelCounters app_counters(AppId app) const override {
    arch::KernelCounters counters;
    const auto found = app_instructions.find(app);
    counters.thread_instructions = found == app_instructions.end() ? 0 : found->second;
    return counters;
  }
  void set_dispatch_order(const std::vector<KernelSlot>& new_order) override { order = new_order; }
  void set_dispatch_turns(bool on) override { turns = on; }
  void set_alarm(Cycle cycle) override { alarm_at = cycle; }

  Cycle time = 0;
  arch::KernelCounters kernel_counters;  // of every kernel on every SM
  std::map<std::pair<SmId, KernelSlot>, std::uint32_t> quotas, resident;
  struct Budget {
    arch::IssueBudget budget;
    std::int64_t left = 0;
    Cycle next_epoch = kNever;
  };
  std::map<std::pair<SmId, KernelSlot>, Budget> budgets;
  std::map<AppId, std::uint64_t> app_instructions;
  std::map<SmId, std::vector<arch::ResidentBlock>> blocks_on;
  std::vector<std::pair<SmId, arch::ContextMove>> stopped;
  std::vector<std::pair<SmId, std::uint32_t>> dropped;
  Cycle alarm_at = kNever;
  std::map<PartitionId, arch::PartitionCounters> partitions;
  std::map<SmId, arch::SchedulerCounters> schedulers;
  std::map<SmId, std::uint32_t> warp_limits;  // for all kernels together; 0: no limit
  std::map<std::pair<SmId, KernelSlot>, std::uint32_t> kernel_warp_limits;  // 0: no limit

 private:
  /// Probes and knobs that this class does not override are those of arch/sm_control.hpp: probes return
  /// nothing, knobs do nothing.
  class FakeSm final : public arch::SmControl {
   public:
    FakeSm(FakeControl& of, SmId id) : of_(of), id_(id) {}
    [[nodiscard]] std::uint32_t resident_blocks(KernelSlot slot) const override {
      const auto found = of_.resident.find({id_, slot});
      return found == of_.resident.end() ? 0 : found->second;
    }
    [[nodiscard]] const arch::KernelCounters& counters(KernelSlot) const override {
      return of_.kernel_counters;
    }
    [[nodiscard]] arch::SchedulerCounters scheduler_counters() const override {
      const auto found = of_.schedulers.find(id_);
      return found == of_.schedulers.end() ? arch::SchedulerCounters{} : found->second;
    }
    void limit_warps(KernelSlot kernel, std::uint32_t warps) override {
      of_.kernel_warp_limits[{id_, kernel}] = warps;
    }
    void limit_all_warps(std::uint32_t warps) override { of_.warp_limits[id_] = warps; }
    void limit_blocks(KernelSlot kernel, std::uint32_t blocks) override {
      of_.limits_[{id_, kernel}] = blocks;
    }
    void set_issue_budget(KernelSlot kernel, const arch::IssueBudget& budget) override {
      of_.quotas[{id_, kernel}] = budget.amount;
      of_.budgets[{id_, kernel}] = {budget, budget.amount, kNever};
    }
    void add_issue_budget(KernelSlot kernel, std::int64_t instructions) override {
      of_.budgets[{id_, kernel}].left += instructions;
    }
    [[nodiscard]] arch::IssueBudgetState issue_budget(KernelSlot kernel) const override {
      const auto found = of_.budgets.find({id_, kernel});
      if (found == of_.budgets.end()) return {};
      return {found->second.left, 0, found->second.next_epoch};
    }
    [[nodiscard]] std::uint32_t block_limit(KernelSlot kernel) const override {
      return of_.limit(id_, kernel);
    }

    [[nodiscard]] std::vector<arch::ResidentBlock> blocks() const override {
      const auto found = of_.blocks_on.find(id_);
      return found == of_.blocks_on.end() ? std::vector<arch::ResidentBlock>{} : found->second;
    }
    void stop_block(std::uint32_t residency, arch::ContextMove move) override {
      of_.stopped.emplace_back(id_, move);
      stops(residency);
    }
    void drop_block(std::uint32_t residency) override {
      for (const arch::ResidentBlock& block : of_.blocks_on[id_])
        if (block.residency == residency && !block.may_restart) return;
      of_.dropped.emplace_back(id_, residency);
      stops(residency);
    }

   private:
    void stops(std::uint32_t residency) {
      for (arch::ResidentBlock& block : of_.blocks_on[id_])
        if (block.residency == residency) block.stops = true;
    }
    FakeControl& of_;
    SmId id_;
  };
  [[nodiscard]] FakeSm& sm_of(std::uint32_t index) const { return *sms_.at(index); }

  std::vector<std::unique_ptr<FakeSm>> sms_;
  std::vector<RunningKernel> kernels_;
  std::map<std::pair<SmId, KernelSlot>, std::uint32_t> limits_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace gpumux::policy
