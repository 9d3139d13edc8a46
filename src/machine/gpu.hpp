// The whole machine: SMs, interconnect, memory partitions, the kernel and block schedulers, and the clock.
// The only part that knows all others.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "arch/statistics.hpp"
#include "l2/partition.hpp"
#include "machine/exchange.hpp"
#include "machine/recorder.hpp"
#include "machine/workers.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "policy/policy.hpp"
#include "runtime/device.hpp"
#include "sm/sm.hpp"

namespace gpumux::machine {

/// Time goes in windows as long as the network's latency, which begin at multiples of their length. What
/// joins the parts of the machine happens between windows in a fixed order:
///   copies and kernels arrive -> policy -> block dispatch -> streams are refilled -> window -> messages ->
///   kernels end.
/// SMs and partitions run apart (on several threads), each as far ahead as what it knows of the others allows
/// (run_ahead.cpp); now() is a window that all have reached. Windows in which nothing can happen are
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
  };
  Gpu(const arch::MachineConfig& config, std::unique_ptr<policy::Policy> policy, Options options);
  ~Gpu() override;

  /// Moves now() on by at least one window, and goes on while nothing needs the host: stops at `limit`, when
  /// a kernel has ended (Context::kernel_ended was called), at `host_event` (the next thing that host
  /// programs do by themselves; kNever: nothing), or at `pause`, where the caller wants to show progress.
  /// Throws SimulationFault with a report when outstanding work cannot move, or a kernel is endless.
  void advance(Cycle limit, Cycle host_event, Cycle pause = kNever);
  /// The caller reads no counters before `limit`, or before all of these applications have ended (a mask; 0:
  /// only at `limit`), each of which has a kernel that runs or is on its way; to be said again when one has
  /// ended. Until then some parts may be ahead when advance() returns. Without a call it may read them each
  /// time.
  void set_awaited(std::uint32_t apps) { awaited_ = apps; }

  /// What must hold between any two windows: every request sent is in the network, in a partition or on its
  /// way back, once. Throws InternalError.
  void check_conservation() const;
  /// With no kernel left: lets end what outlives its kernel (stores, atomics without a result), then throws
  /// InternalError unless everything that was lent is home (MSHRs, lines, queue places, credits, registers)
  /// and the counters of all levels agree. Results are taken before it.
  void check_drained();
  /// The last call: ends the resident blocks and all kernels, so that nothing refers to the contexts any
  /// more.
  void drop_work();
  /// No kernel submitted, running or draining.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] arch::KernelCounters app_counters(AppId app) const;
  /// After the last advance(), once: samples the last interval, which may be a short one.
  void end_series();
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  /// After the last advance(): what the policy says of the run.
  [[nodiscard]] policy::Report policy_report() const { return policy_->report(*this); }
  [[nodiscard]] arch::SchedulerCounters scheduler_counters() const;
  [[nodiscard]] arch::PartitionCounters partition_counters() const;

  // runtime::Device
  [[nodiscard]] const arch::MachineConfig& config() const override { return config_; }
  [[nodiscard]] Cycle now() const override { return now_; }
  void submit(runtime::Context& context, std::uint32_t stream,
              std::unique_ptr<workload::KernelSource> kernel) override;
  void copied_to_device(Address to, std::uint64_t bytes) override;

  // policy::Control
  [[nodiscard]] const std::vector<policy::RunningKernel>& kernels() const override { return running_; }
  [[nodiscard]] std::uint32_t resident_blocks(SmId sm, arch::KernelSlot kernel) const override;
  [[nodiscard]] const arch::KernelCounters& counters(SmId sm, arch::KernelSlot kernel) const override;
  [[nodiscard]] const arch::PartitionCounters& partition_counters(PartitionId partition) const override;
  [[nodiscard]] arch::MemoryClient memory_client(SmId sm, AppId app) const override {
    return sms_[sm]->memory_client(app);
  }
  void set_block_limit(SmId sm, arch::KernelSlot kernel, std::uint32_t blocks) override;
  void set_dispatch_order(const std::vector<arch::KernelSlot>& order) override;
  [[nodiscard]] arch::SchedulerCounters scheduler_counters(SmId sm) const override;
  void set_may_issue(SmId sm, arch::KernelSlot kernel, bool allowed) override;
  void set_issue_quota(SmId sm, arch::KernelSlot kernel, std::uint32_t instructions) override;
  void set_alarm(Cycle cycle) override { alarm_ = cycle; }

 private:
  struct Submitted {  // on its way to the machine
    runtime::Context* context;
    std::uint32_t stream;
    std::unique_ptr<workload::KernelSource> source;
    Cycle arrival;
  };
  struct CopiedBytes {  // on their way to L2
    Address to;
    std::uint64_t bytes;
    Cycle arrival;
  };
  struct Slot {
    enum class State : std::uint8_t { Free, Running, Draining } state = State::Free;
    runtime::Context* context = nullptr;
    std::uint32_t stream = 0;
    AppId app = 0;
    bool refills_independently = false;
    Cycle last_block_takes = 0;  // at least, from its dispatch to its end
    std::unique_ptr<workload::KernelSource> source;
  };

  /// Another kernel may run at once with those that do.
  [[nodiscard]] bool room_for_kernel() const;
  void admit_copies();
  void admit_kernels();
  void run_policy_epoch();
  void run_policy_alarm();
  /// Parts that were left asleep have counters to catch up.
  void settle_counters();
  /// Tells the SMs which applications share them now.
  void share_memory();
  /// The limits that the monitored SM has worked out, for all others.
  void broadcast_memory_limits();
  void expect_meeting() const;
  void dispatch_blocks();
  bool dispatch_in(Cycle start);
  bool dispatch_to(SmId sm, Cycle start);
  [[nodiscard]] Cycle least_time_of_last_block(const workload::KernelSource& source) const;
  void refill_streams();
  bool collect_finished_blocks();
  void recycle_drained_slots();

  // --- sampling.cpp -------------------------------------------------------------------------------
  void run_to_samples(Cycle meeting);
  void sample_skipped(Cycle until);
  void sample(Cycle now);
  [[nodiscard]] std::vector<std::uint64_t> lsu_stalls() const;

  // --- run_ahead.cpp ------------------------------------------------------------------------------
  struct Span {        // of one call of run_parts()
    Cycle window;      // end of the window that begins at now_
    Cycle sms;         // how far SMs may go
    Cycle partitions;  // and partitions
    bool in_step;      // SMs go window by window
    bool blocks_wait;  // an SM whose block ends may get another
  };
  /// Moves now() on by at least one window, to `meeting` at most, which is the next moment at which something
  /// from outside concerns the parts: then all have come as far.
  void run_parts(Cycle meeting);
  [[nodiscard]] Cycle next_meeting(Cycle limit, Cycle host_event, Cycle pause) const;
  [[nodiscard]] bool in_step() const;
  [[nodiscard]] bool blocks_wait() const;
  [[nodiscard]] bool kernel_waits_for_slot() const;
  [[nodiscard]] Span span(Cycle meeting);
  void run_span(const Span& span);
  [[nodiscard]] Cycle earliest_end(const policy::RunningKernel& kernel) const;
  [[nodiscard]] bool ends_concern_host_alone() const;
  [[nodiscard]] std::uint32_t tails_to_meet_at() const;
  [[nodiscard]] Cycle next_end() const;
  void run_partitions(Cycle complete, Cycle end);
  void run_sms(const Span& span);
  void build_parts();
  template <typename Work>
  void run_awake(const Work& work);
  void share_out(std::uint32_t first, std::uint32_t count);
  template <typename Message>
  void deliver(Exchange<Message>& exchange, Cycle* next);
  void run_sm(SmId sm, Cycle credits_known, bool blocks_wait);
  void note_busy(SmId sm);
  void skip_idle(Cycle meeting, Cycle host_event);
  [[nodiscard]] Cycle window_of(Cycle cycle) const { return cycle - cycle % network_.window; }
  [[nodiscard]] Cycle window_end(Cycle cycle) const { return window_of(cycle) + network_.window; }
  /// The begin of the first window that is not before `cycle`.
  [[nodiscard]] Cycle window_from(Cycle cycle) const {
    return cycle > kNever - network_.window ? kNever : window_of(cycle + network_.window - 1);
  }
  [[nodiscard]] Cycle* partition_next() { return next_.data() + sms_.size(); }
  [[nodiscard]] Cycle undispatched_take(const policy::RunningKernel& kernel) const;
  [[nodiscard]] bool is_tail(const policy::RunningKernel& kernel) const {
    return undispatched_take(kernel) <= most_ahead_;
  }

  [[nodiscard]] bool someone_is_ahead() const {
    return std::any_of(sm_time_.begin(), sm_time_.end(), [this](Cycle time) { return time > now_; });
  }
  void watch(Cycle end);
  void check_length(const policy::RunningKernel& kernel, Cycle now) const;
  /// All kernels, and what their warps and requests wait for: one line each, of a long list the first.
  [[nodiscard]] std::string wait_report() const;
  [[nodiscard]] policy::RunningKernel& running(arch::KernelSlot slot);

  const arch::MachineConfig config_;
  noc::PartitionMap map_;
  noc::Network network_;
  std::vector<std::unique_ptr<sm::Sm>> sms_;
  std::vector<std::unique_ptr<l2::Partition>> partitions_;
  std::optional<Exchange<arch::MemRequest>> requests_;
  std::optional<Exchange<arch::MemReply>> replies_;
  std::unique_ptr<policy::Policy> policy_;
  Options options_;
  Workers workers_;

  Cycle now_ = 0;               // of the host: kernels are admitted and blocks dispatched up to here
  Cycle reached_ = 0;           // all SMs have come there (to that window), which is now_ or later
  Cycle next_end_ = kNever;     // the next kernel's end that is known, if it concerns the host alone
  std::vector<Cycle> next_;     // by part (SMs, then partitions): when it can change by itself
  std::vector<Cycle> sm_time_;  // simulated up to here, by SM
  std::vector<Cycle> sm_end_;   // to be simulated up to here
  std::vector<Cycle>
      collect_at_;  // by SM: from then on its ended blocks can be collected; kNever: it has none
  std::vector<std::uint8_t> blind_;    // by SM: waits for credits that are not known
  std::vector<Cycle> partition_time_;  // simulated up to here, by partition
  Cycle entered_ = 0;                  // requests before have entered the partitions
  Cycle replies_known_ = 0;            // all replies before this cycle are known
  bool network_is_fast_ = false;       // an SM may send twice in a cycle: it must know all credits of it
  Cycle most_ahead_ = 0;               // no part is this many cycles before the hindmost SM, nor before now_
  bool ends_reach_no_part_ = false;    // what kernels' ends bring about takes longer than most_ahead_
  std::uint32_t busy_slots_ = 0;       // mask of kernels whose busy_until_ is kept
  std::vector<Cycle> busy_until_;      // [slot][sm]: not all the kernel's blocks there end before
  std::vector<std::uint32_t> awake_;   // parts to run now
  std::vector<std::uint32_t> run_order_;  // the same by the thread that runs them first,
  std::vector<std::uint32_t> bounds_;     // and where each thread's begin
  std::vector<std::uint32_t> one_each_;   // bounds that give each thread one thing: 0, 1, ... threads
  std::mutex error_mutex_;
  std::exception_ptr error_;  // of the lowest part that failed in this window
  std::uint32_t error_part_ = 0;
  std::vector<Cycle> refill_at_;  // by SM: it stops there, for refill_streams() to look at it; or kNever

  std::deque<Submitted> submitted_;       // in order of arrival
  std::deque<CopiedBytes> copied_;        // in order of arrival
  std::optional<std::uint32_t> awaited_;  // see set_awaited()
  std::vector<Slot> slots_;
  std::vector<policy::RunningKernel> running_;
  std::uint64_t arrivals_ = 0;
  std::vector<arch::KernelSlot> dispatch_order_;
  std::vector<std::vector<std::uint32_t>> block_limit_;  // [sm][slot]
  std::vector<std::uint64_t> free_residencies_;          // [sm] mask of free block places
  std::vector<std::uint64_t> block_at_;                  // [residency] index in its grid
  SmId next_sm_ = 0;                                     // round robin of the block scheduler
  bool dispatch_possible_ = false;                       // something changed since no block could be placed
  Cycle next_epoch_ = kNever;
  std::array<std::uint32_t, kMaxApps> broadcast_limits_{};  // that all SMs have; 0: none yet
  Cycle alarm_ = kNever;                                    // of the policy
  std::vector<arch::KernelCounters> folded_;                // by app: counters of recycled slots
  Recorder recorder_;
  std::uint64_t last_progress_ = 0;
  Cycle last_progress_cycle_ = 0;
  Cycle next_watch_ = 0;
  std::vector<std::uint64_t> folded_stalls_;  // by SM: LSU stall cycles of recycled slots
};

}  // namespace gpumux::machine
