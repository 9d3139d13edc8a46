// The machine as sharing mechanisms see it. Calls are made between windows of time, never inside an SM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/counter_table.hpp"
#include "arch/memory_scheme.hpp"
#include "arch/messages.hpp"
#include "arch/sm_control.hpp"
#include "arch/statistics.hpp"
#include "workload/stream.hpp"

namespace gpumux::policy {

using arch::KernelSlot;
using arch::kUnlimited;

/// A kernel that has arrived and has not ended.
struct RunningKernel {
  KernelSlot slot = 0;
  AppId app = 0;
  std::uint8_t priority = 0;  // among kernels of the same application (runtime::LaunchSpec)
  std::string name;
  std::uint64_t arrival = 0;  // order of arrival over the whole run, from 0
  Cycle arrival_cycle = 0;
  Cycle first_block_cycle = kNever;  // dispatch of the kernel's first block
  workload::BlockResources resources;
  std::uint64_t blocks_total = 0;
  std::uint64_t blocks_dispatched = 0;  // handed to SMs
  std::uint64_t blocks_done = 0;
  std::uint64_t blocks_waiting = 0;     // dispatched blocks that were stopped or dropped and wait for an SM
  std::uint64_t whole_blocks = 0;       // blocks that ran to completion
  std::uint64_t done_instructions = 0;  // warp instructions of whole_blocks
  Cycle done_cycles = 0;                // cycles that whole_blocks were on SMs
  std::uint32_t max_blocks_per_sm = 0;  // of this kernel alone on an empty SM (occupancy)
  /// The blocks may wait for each other, so all are placed at once, as soon as there is room for all.
  bool cooperative = false;
  bool has_notices = false;        // its code has notices: arch::ResidentBlock::notified is set
  std::optional<bool> idempotent;  // any block may restart at any time (Needs::idempotence)
};

/// Number of the kernel's blocks that SMs hold.
[[nodiscard]] inline std::uint64_t resident_blocks(const RunningKernel& kernel) {
  return kernel.blocks_dispatched - kernel.blocks_done - kernel.blocks_waiting;
}

/// State that mechanisms and observers may read at any moment, even while parts of the machine are ahead of
/// each other.
class View {
 public:
  virtual ~View() = default;
  [[nodiscard]] virtual const arch::MachineConfig& config() const = 0;
  /// Kernels in order of arrival.
  [[nodiscard]] virtual const std::vector<RunningKernel>& kernels() const = 0;
};

/// State that mechanisms and observers may read when all parts of the machine are at the same cycle, now().
class Probes : public View {
 public:
  [[nodiscard]] virtual Cycle now() const = 0;
  [[nodiscard]] virtual const arch::SmProbes& sm(std::uint32_t index) const = 0;
  [[nodiscard]] virtual arch::PartitionCounters partition_counters(PartitionId partition) const = 0;
  // --- since the start of the run ---------------------------------------------------------------------
  [[nodiscard]] virtual arch::KernelCounters app_counters(AppId) const { return {}; }
  [[nodiscard]] virtual arch::MemoryCounters memory_counters(AppId) const { return {}; }
  [[nodiscard]] virtual arch::PairCounters pair_counters(AppId /*victim*/, AppId /*culprit*/) const {
    return {};
  }
  [[nodiscard]] virtual bool keeps_ledger() const { return false; }
  [[nodiscard]] virtual arch::LedgerAppCounters ledger_counters(AppId) const { return {}; }
  /// The SMs that are viewed, in ascending order.
  [[nodiscard]] virtual std::vector<SmId> viewed_sms() const { return {}; }
  [[nodiscard]] virtual arch::CounterTable::OfSm view_counters(SmId sm) const { return {sm, {}, {}}; }
  [[nodiscard]] virtual arch::SchedulerCounters scheduler_counters() const { return {}; }
  [[nodiscard]] virtual arch::PartitionCounters partition_counters() const { return {}; }
  /// Cycles that the load/store unit of the SM has stalled since the start of the run.
  [[nodiscard]] virtual std::uint64_t lsu_stalls(std::uint32_t /*sm*/) const { return 0; }
  /// All counters of a run with this many applications.
  [[nodiscard]] arch::CounterTable counter_table(std::size_t applications) const;
};

inline arch::CounterTable Probes::counter_table(std::size_t applications) const {
  arch::CounterTable table(applications, keeps_ledger(), viewed_sms());
  for (arch::CounterTable::OfSm& of : table.sms) of = view_counters(of.sm);
  for (std::size_t i = 0; i < applications; ++i) {
    const auto app = static_cast<AppId>(i);
    table.apps[i] = app_counters(app);
    table.memory[i] = memory_counters(app);
    if (keeps_ledger()) table.ledger[i] = ledger_counters(app);
    for (std::size_t j = 0; j < applications; ++j)
      table.pairs[i * applications + j] = pair_counters(app, static_cast<AppId>(j));
  }
  table.schedulers = scheduler_counters();
  table.partitions = partition_counters();
  return table;
}

/// The duty of an SM: whether it takes thread blocks. Serves: the SM takes blocks. Closed: the SM takes no
/// new block. Gated: the SM takes no new block, and its power is gated once its last block has ended. When an
/// SM serves again, its L1 is empty.
enum class SmDuty : std::uint8_t { Serves, Closed, Gated };

class Control : public Probes {
 public:
  using Probes::sm;
  /// The knobs of an SM (arch/sm_control.hpp).
  [[nodiscard]] virtual arch::SmControl& sm(std::uint32_t index) = 0;
  /// Sets the kernels from which an SM with room takes its next block, in this order. A kernel that is not in
  /// the order gets no block. The order is empty at the start of the run.
  virtual void set_dispatch_order(const std::vector<KernelSlot>& order) = 0;
  /// On: an SM takes its next block from the first kernel in the dispatch order behind the kernel of its last
  /// block. Off (at the start): an SM always takes the first kernel of the dispatch order that has a block
  /// for it.
  virtual void set_dispatch_turns(bool /*on*/) {}
  /// Sets whether the SM takes blocks. At the start of the run, all SMs serve.
  virtual void set_duty(SmId /*sm*/, SmDuty) {}
  /// Sets when the caller's alarm() is called: at the first moment between windows that is not before
  /// `cycle`. A later call replaces an earlier one. kNever: no alarm.
  virtual void set_alarm(Cycle cycle) = 0;
};

/// Forwards every call to another Control: a base for classes that stand between a mechanism and the machine.
class ForwardingControl : public Control {
 public:
  explicit ForwardingControl(Control& inside) : inside_(inside) {}
  [[nodiscard]] const arch::MachineConfig& config() const override { return inside_.config(); }
  [[nodiscard]] const std::vector<RunningKernel>& kernels() const override { return inside_.kernels(); }
  [[nodiscard]] Cycle now() const override { return inside_.now(); }
  [[nodiscard]] const arch::SmProbes& sm(std::uint32_t index) const override {
    return static_cast<const Control&>(inside_).sm(index);
  }
  [[nodiscard]] arch::SmControl& sm(std::uint32_t index) override { return inside_.sm(index); }
  [[nodiscard]] arch::PartitionCounters partition_counters(PartitionId partition) const override {
    return inside_.partition_counters(partition);
  }
  [[nodiscard]] arch::KernelCounters app_counters(AppId app) const override {
    return inside_.app_counters(app);
  }
  [[nodiscard]] arch::MemoryCounters memory_counters(AppId app) const override {
    return inside_.memory_counters(app);
  }
  [[nodiscard]] arch::PairCounters pair_counters(AppId victim, AppId culprit) const override {
    return inside_.pair_counters(victim, culprit);
  }
  [[nodiscard]] bool keeps_ledger() const override { return inside_.keeps_ledger(); }
  [[nodiscard]] arch::LedgerAppCounters ledger_counters(AppId app) const override {
    return inside_.ledger_counters(app);
  }
  [[nodiscard]] std::vector<SmId> viewed_sms() const override { return inside_.viewed_sms(); }
  [[nodiscard]] arch::CounterTable::OfSm view_counters(SmId sm) const override {
    return inside_.view_counters(sm);
  }
  [[nodiscard]] arch::SchedulerCounters scheduler_counters() const override {
    return inside_.scheduler_counters();
  }
  [[nodiscard]] arch::PartitionCounters partition_counters() const override {
    return inside_.partition_counters();
  }
  [[nodiscard]] std::uint64_t lsu_stalls(std::uint32_t sm) const override { return inside_.lsu_stalls(sm); }
  void set_dispatch_order(const std::vector<KernelSlot>& order) override {
    inside_.set_dispatch_order(order);
  }
  void set_dispatch_turns(bool on) override { inside_.set_dispatch_turns(on); }
  void set_duty(SmId sm, SmDuty duty) override { inside_.set_duty(sm, duty); }
  void set_alarm(Cycle cycle) override { inside_.set_alarm(cycle); }

 private:
  Control& inside_;
};

}  // namespace gpumux::policy
