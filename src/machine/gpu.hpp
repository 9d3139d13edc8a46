// The whole machine: its parts, the work distributor, the mechanisms that share the
// machine, and the main loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "arch/statistics.hpp"
#include "machine/horizon.hpp"
#include "machine/mechanisms.hpp"
#include "machine/parts.hpp"
#include "machine/recorder.hpp"
#include "machine/watchdog.hpp"
#include "machine/work_distributor.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/policy.hpp"
#include "runtime/device.hpp"

namespace gpumux::machine {

/// The simulated GPU. Time advances in windows as long as the network's latency, which start at multiples of
/// their length. Everything that joins the parts of the machine happens between windows, in a fixed order:
///   copies and kernels arrive -> mechanisms -> block dispatch -> streams are refilled -> window -> messages
///   -> kernels end.
/// SMs and partitions run separately, on several threads. Each part runs as far ahead as its knowledge of
/// the other parts allows (horizon.hpp); now() is a window that all parts have reached. Windows in which
/// nothing can happen are skipped.
/// Invariant: no state that affects a result depends on the number of threads, on skipping, or
/// on how far a part is ahead.
class Gpu final : public runtime::Device, public policy::Control {
 public:
  struct Options {
    unsigned threads = 1;
    bool no_skip = false;
    Recorder::Options record;
    arch::MemoryScheme memory;
    bool ledger = false;       // keep the ledger of interference
    std::vector<SmId> viewed;  // SMs to view, in ascending order
    /// Null: the default block scheduler.
    std::unique_ptr<policy::BlockScheduler> blocks;
    std::unique_ptr<policy::CoreControl> cores;  // null: all SMs serve
    std::unique_ptr<policy::ConcurrencyControl> concurrency;
    std::vector<std::shared_ptr<policy::Observer>> observers;
    /// By application. Empty: all applications share the machine.
    std::vector<arch::Instance> instances;
    /// By CPU core; no more than the machine has.
    Parts::CpuTraces cpu_traces;
    /// The user's name for policy, block scheduler and controls together, for error messages.
    std::string choice = {};
    emulator::RaceLog* races = nullptr;  // races of kernels; must outlive the machine
  };
  Gpu(const arch::MachineConfig& config, std::unique_ptr<policy::Policy> policy, Options options);
  ~Gpu() override;

  /// Advances now() by at least one window, and continues while nothing needs the host. Stops at `limit`,
  /// when a kernel has ended (Context::kernel_ended() was called), at `host_event` (the next thing that host
  /// programs do by themselves; kNever: none), or at `pause` (when the caller wants to show progress). Throws
  /// SimulationFault with a report if outstanding work cannot move, or if a kernel is endless.
  void advance(Cycle limit, Cycle host_event, Cycle pause = kNever);
  /// Sets a function that is called between windows. When it returns true, advance() returns early. As long
  /// as it returns false, it changes no result.
  void set_interrupt(std::function<bool()> asked) { interrupt_ = std::move(asked); }
  /// The earliest cycle at which kill() is possible, if advance() is told of that cycle as `host_event`.
  [[nodiscard]] Cycle next_meeting() const { return parts_.farthest(); }
  /// Promises that the caller reads no counters before `limit`, or before all of these applications have
  /// ended (a mask; 0: not before `limit`). Each of the applications must have a kernel that runs or is on
  /// its way. Must be called again when one of them has ended. Until then, some parts may be ahead when
  /// advance() returns. Without a call, the caller may read counters whenever advance() returns.
  void set_awaited(std::uint32_t apps) { horizon_.set_awaited(apps); }
  /// Sets the applications (a mask) that must end by themselves. If their blocks wait for something that can
  /// never happen, advance() throws SimulationFault. Without a call: no application.
  void expect_ends_of(std::uint32_t apps) { watchdog_.expect_ends_of(apps); }
  /// True if the application's blocks provably wait for each other (WorkDistributor::activity()).
  [[nodiscard]] bool stands_still(AppId app) const {
    return work_.activity(app) == WorkDistributor::Activity::StandsStill;
  }
  /// True if a kernel of the application runs or waits to be admitted.
  [[nodiscard]] bool has_kernel(AppId app) const { return work_.has_kernel(app); }
  /// A number that changes when a block of the application's running kernels starts, leaves its SM or ends.
  [[nodiscard]] std::uint64_t block_moves(AppId app) const { return work_.block_moves(app); }
  /// Cycles after which every mechanism has had time to serve a kernel.
  [[nodiscard]] Cycle patience() const { return mechanisms_.patience(); }
  /// Describes what all kernels, warps and requests wait for.
  [[nodiscard]] std::string wait_report() const { return work_.wait_report(); }

  // --- audit.cpp ----------------------------------------------------------------------------------
  /// Checks what must hold between any two windows: each request that was sent is exactly once in the
  /// network, in a partition or on its way back. Throws InternalError.
  void check_conservation() const;
  /// Requires that no kernel is left. Lets requests of dropped blocks finish, then throws InternalError
  /// unless every resource is free again (MSHRs, lines, queue places, credits, registers) and the counters of
  /// all levels agree. Results must be taken before this call.
  void check_drained();

  /// A CPU core with its counters up to now(); nullptr if the core has no program or does not exist. Its
  /// counters in partitions are those of application cpu_app(core).
  [[nodiscard]] CpuNode* cpu(std::uint32_t core);

  /// Drops all kernels and resident blocks, so that nothing refers to the contexts any
  /// more. No call may follow.
  void drop_work();
  /// True if no kernel is submitted, running or draining.
  [[nodiscard]] bool idle() const { return work_.idle(); }
  /// Gives observers the rest of the run. Must be called once, after the last advance().
  void end_run();
  [[nodiscard]] const Recorder& recorder() const { return *recorder_; }
  /// Cycles in which SMs had power, summed over SMs.
  [[nodiscard]] std::uint64_t powered_sm_cycles() const { return work_.powered_sm_cycles(); }
  /// The mechanisms' reports about the run. Valid after the last advance().
  [[nodiscard]] policy::Report report() const { return mechanisms_.report(); }

  // runtime::Device
  [[nodiscard]] const arch::MachineConfig& config() const override { return config_; }
  [[nodiscard]] Cycle now() const override { return parts_.now(); }
  [[nodiscard]] bool wants_notices() const override { return mechanisms_.needs().notices; }
  [[nodiscard]] emulator::RaceLog* races() const override { return races_; }
  [[nodiscard]] runtime::MostPlaces most_places(AppId app) const override {
    return {mechanisms_.choice(), mechanisms_.most_sms(app), mechanisms_.most_blocks()};
  }
  void submit(runtime::Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t priority) override {
    work_.submit(context, stream, std::move(kernel), priority);
  }
  void submit_child(runtime::Context& context, std::uint32_t stream,
                    std::unique_ptr<workload::KernelSource> kernel) override {
    work_.submit_child(context, stream, std::move(kernel), parts_.refilling());
  }
  void kill(runtime::Context& context) override;
  void copied_to_device(AppId app, Address to, std::uint64_t bytes) override {
    work_.copied_to_device(app, to, bytes);
  }

  // policy::Control: called by mechanisms at their moments, when all parts have met
  [[nodiscard]] const std::vector<policy::RunningKernel>& kernels() const override { return work_.kernels(); }
  [[nodiscard]] const arch::SmProbes& sm(std::uint32_t index) const override;
  [[nodiscard]] arch::SmControl& sm(std::uint32_t index) override;
  [[nodiscard]] arch::PartitionCounters partition_counters(PartitionId partition) const override;
  [[nodiscard]] arch::KernelCounters app_counters(AppId app) const override {
    return work_.app_counters(app);
  }
  [[nodiscard]] arch::MemoryCounters memory_counters(AppId app) const override;
  [[nodiscard]] arch::PairCounters pair_counters(AppId victim, AppId culprit) const override;
  [[nodiscard]] bool keeps_ledger() const override { return ledger_; }
  [[nodiscard]] arch::LedgerAppCounters ledger_counters(AppId app) const override;
  [[nodiscard]] std::vector<SmId> viewed_sms() const override { return viewed_; }
  [[nodiscard]] arch::CounterTable::OfSm view_counters(SmId sm) const override;
  [[nodiscard]] arch::SchedulerCounters scheduler_counters() const override;
  [[nodiscard]] arch::PartitionCounters partition_counters() const override;
  [[nodiscard]] std::uint64_t lsu_stalls(std::uint32_t sm) const override { return work_.lsu_stalls(sm); }
  void set_dispatch_order(const std::vector<arch::KernelSlot>& order) override {
    work_.set_dispatch_order(order);
  }
  void set_dispatch_turns(bool on) override { work_.set_dispatch_turns(on); }
  void set_duty(SmId sm, policy::SmDuty duty) override;
  /// Only seats of mechanisms have alarms, so this function must not be called.
  void set_alarm(Cycle) override;

 private:
  /// Advances now() by at least one window, at most to `meeting`: the next cycle at which something from
  /// outside concerns the parts. All parts have then reached now().
  void run_parts(Cycle meeting);
  /// Like run_parts(), but stops for each sample of an observer, at any cycle within a window.
  void run_to_samples(Cycle meeting);
  /// Takes the samples up to `until`, while only time passes and nothing else happens.
  void sample_skipped(Cycle until);
  /// Takes a sample. Requires that all parts have reached now().
  void sample();
  [[nodiscard]] Cycle meeting_until(Cycle limit, Cycle host_event, Cycle pause) const;
  /// Skips to the window in which something can happen.
  void skip_idle(Cycle meeting, Cycle host_event);
  void expect_meeting() const;
  /// Tells the mechanisms which triggers have fired.
  void tell_triggered();

  const arch::MachineConfig config_;
  bool no_skip_;
  bool ledger_;
  emulator::RaceLog* races_;
  std::vector<SmId> viewed_;
  std::shared_ptr<Recorder> recorder_;
  Parts parts_;
  WorkDistributor work_;
  Mechanisms mechanisms_;
  Horizon horizon_;
  Watchdog watchdog_;
  std::function<bool()> interrupt_;
};

}  // namespace gpumux::machine
