// The whole machine: its parts, the work distributor, the mechanisms that share it, and the loop that joins
// them.
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

/// Time goes in windows as long as the network's latency, which begin at multiples of their length. What
/// joins the parts of the machine happens between windows in a fixed order:
///   copies and kernels arrive -> mechanisms -> block dispatch -> streams are refilled -> window -> messages
///   -> kernels end.
/// SMs and partitions run apart (on several threads), each as far ahead as what it knows of the others allows
/// (horizon.hpp); now() is a window that all have reached. Windows in which nothing can happen are
/// skipped.
/// Invariant: no state that reaches a result depends on the number of threads, on skipping or on how far a
/// part is ahead.
class Gpu final : public runtime::Device, public policy::Control {
 public:
  struct Options {
    unsigned threads = 1;
    bool no_skip = false;
    Recorder::Options record;
    arch::MemoryScheme memory;
    bool ledger = false;       // of who waits for whom
    std::vector<SmId> viewed;  // SMs, rising
    /// The usual one if there is none.
    std::unique_ptr<policy::BlockScheduler> blocks;
    std::unique_ptr<policy::CoreControl> cores;  // none: all SMs serve
    std::unique_ptr<policy::ConcurrencyControl> concurrency;
    std::vector<std::shared_ptr<policy::Observer>> observers;
    /// By application; empty: all share the machine.
    std::vector<arch::Instance> instances;
    /// By CPU core, no more than the machine has.
    Parts::CpuTraces cpu_traces;
    /// What the user calls policy, block scheduler and controls together, for errors.
    std::string choice = {};
    emulator::RaceLog* races = nullptr;  // of kernels; it outlives the machine
  };
  Gpu(const arch::MachineConfig& config, std::unique_ptr<policy::Policy> policy, Options options);
  ~Gpu() override;

  /// Moves now() on by at least one window, and goes on while nothing needs the host: stops at `limit`, when
  /// a kernel has ended (Context::kernel_ended was called), at `host_event` (the next thing that host
  /// programs do by themselves; kNever: nothing), or at `pause`, where the caller wants to show progress.
  /// Throws SimulationFault with a report when outstanding work cannot move, or a kernel is endless.
  void advance(Cycle limit, Cycle host_event, Cycle pause = kNever);
  /// `asked` is called between windows, and where it says true, advance() returns early. It changes no result
  /// as long as it does not.
  void set_interrupt(std::function<bool()> asked) { interrupt_ = std::move(asked); }
  /// When kill() is possible at the soonest, if it is said to be one of the host's next.
  [[nodiscard]] Cycle next_meeting() const { return parts_.farthest(); }
  /// The caller reads no counters before `limit`, or before all of these applications have ended (a mask; 0:
  /// only at `limit`), each of which has a kernel that runs or is on its way; to be said again when one has
  /// ended. Until then some parts may be ahead when advance() returns. Without a call it may read them each
  /// time.
  void set_awaited(std::uint32_t apps) { horizon_.set_awaited(apps); }
  /// Applications (a mask) that are to end by themselves, which they cannot when their blocks wait for what
  /// nobody will do: advance() then throws SimulationFault. Without a call: none.
  void expect_ends_of(std::uint32_t apps) { watchdog_.expect_ends_of(apps); }
  /// Its blocks wait for each other, as far as that can be proven (WorkDistributor::activity()).
  [[nodiscard]] bool stands_still(AppId app) const {
    return work_.activity(app) == WorkDistributor::Activity::StandsStill;
  }
  /// One of the application's kernels runs, or waits to be admitted.
  [[nodiscard]] bool has_kernel(AppId app) const { return work_.has_kernel(app); }
  /// Changes when a block of its running kernels begins, leaves or ends.
  [[nodiscard]] std::uint64_t block_moves(AppId app) const { return work_.block_moves(app); }
  /// Cycles after which the mechanisms have had time to serve a kernel.
  [[nodiscard]] Cycle patience() const { return mechanisms_.patience(); }
  /// What the application's kernels wait for, and all others.
  [[nodiscard]] std::string wait_report() const { return work_.wait_report(); }

  // --- audit.cpp ----------------------------------------------------------------------------------
  /// What must hold between any two windows: every request sent is in the network, in a partition or on its
  /// way back, once. Throws InternalError.
  void check_conservation() const;
  /// With no kernel left: lets end what dropped blocks have left in flight, then throws
  /// InternalError unless everything that was lent is home (MSHRs, lines, queue places, credits, registers)
  /// and the counters of all levels agree. Results are taken before it.
  void check_drained();

  /// A CPU core with its counters up to now(); nullptr: it has no program, or there is no such core. Its
  /// counters in partitions are those of application cpu_app(core).
  [[nodiscard]] CpuNode* cpu(std::uint32_t core);

  /// The last call: ends the resident blocks and all kernels, so that nothing refers to the contexts any
  /// more.
  void drop_work();
  /// No kernel submitted, running or draining.
  [[nodiscard]] bool idle() const { return work_.idle(); }
  /// After the last advance(), once: observers take what is left.
  void end_run();
  [[nodiscard]] const Recorder& recorder() const { return *recorder_; }
  /// Cycles so far in which SMs had power: the sum over them.
  [[nodiscard]] std::uint64_t powered_sm_cycles() const { return work_.powered_sm_cycles(); }
  /// After the last advance(): what the mechanisms say of the run.
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

  // policy::Control: for mechanisms at their moments, when all parts have met
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
  /// Only what has a seat among the mechanisms has an alarm.
  void set_alarm(Cycle) override;

 private:
  /// Brings now() on by at least one window, to `meeting` at most, which is the next moment at which
  /// something from outside concerns the parts: then all have come as far.
  void run_parts(Cycle meeting);
  /// The same by way of the cycles at which observers sample, wherever in a window they lie.
  void run_to_samples(Cycle meeting);
  /// The samples up to `until` while nothing happens but what time alone adds.
  void sample_skipped(Cycle until);
  /// All parts have come to now().
  void sample();
  [[nodiscard]] Cycle meeting_until(Cycle limit, Cycle host_event, Cycle pause) const;
  /// Moves on to the window in which something can happen.
  void skip_idle(Cycle meeting, Cycle host_event);
  void expect_meeting() const;
  /// Tells who armed triggers which of them have fired.
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
