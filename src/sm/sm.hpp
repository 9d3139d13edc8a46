// One streaming multiprocessor: takes thread blocks, consumes their streams, and exchanges messages with the
// memory partitions. src/sm/README.md lists the files.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/memory_scheme.hpp"
#include "arch/messages.hpp"
#include "arch/sm_control.hpp"
#include "arch/statistics.hpp"
#include "engine/part.hpp"
#include "noc/partition_map.hpp"
#include "sm/block_context.hpp"
#include "sm/timing_table.hpp"
#include "workload/stream.hpp"

namespace gpumux::sm {

using arch::Credit;
using arch::KernelSlot;
using arch::MemReply;
using arch::MemRequest;

/// A kernel as the SMs know it. Set up once per launch, identical on all SMs.
struct KernelContext {
  const isa::StaticInst* table = nullptr;
  std::uint32_t table_size = 0;
  workload::BlockResources resources;
  AppId app = 0;
  Address code_address = 0;  // for the instruction cache
  /// Made from `table` for this machine. Null: the SM makes its own.
  std::shared_ptr<const TimingTable> timing;
  /// True: the SM refills its blocks itself while it runs (KernelSource::refills_independently()).
  bool refills_independently = false;
  /// True: warp limits do not apply to the kernel, because its warps may wait for each other without a
  /// barrier that the SM knows.
  bool cooperative = false;
};

/// A block that ended or left in the last window, with its stream. Streams of an application share buffers of
/// their source, so they are returned only between windows, never by the threads that run SMs.
struct FinishedBlock {
  KernelSlot kernel;
  std::uint32_t residency;  // as given at launch
  Cycle time;
  std::unique_ptr<workload::BlockStream> stream;
  Left left = Left::Ended;
  std::unique_ptr<BlockContext> context = nullptr;  // context of a stopped block
  std::uint64_t instructions = 0;                   // of an ended block: warp instructions that it has issued
  Cycle cycles = 0;                                 // of an ended block: cycles that it was on SMs
};

/// Names for describe_waits() that only the machine knows. Without them, describe_waits() prints numbers.
struct WaitNames {
  std::function<std::string(KernelSlot, std::uint32_t residency)> block;  // "hotspot: kernel k block 3"
  std::function<std::string(KernelSlot, std::uint32_t pc)> pc;            // "k+12 ld.global.f32 ..."
};

class Sm final : public arch::SmControl {
 public:
  Sm(const arch::MachineConfig& config, SmId id, const noc::PartitionMap& map);
  ~Sm() override;
  Sm(const Sm&) = delete;
  Sm& operator=(const Sm&) = delete;

  // --- between windows (serial) ---------------------------------------------------------------
  void bind_kernel(KernelSlot slot, const KernelContext& context);
  /// True if registers, shared memory, threads, warps and block slots suffice for one more block.
  [[nodiscard]] bool fits(const workload::BlockResources& resources) const;
  /// Requires fits(). The block's warps can issue from `start` + block_launch_latency on. `context`:
  /// context of a stopped block that continues. `delay`: the block takes its place at `start`, and its
  /// warps start `delay` cycles later.
  void launch_block(KernelSlot slot, std::uint32_t residency, std::unique_ptr<workload::BlockStream> block,
                    Cycle start, const BlockContext* context = nullptr, Cycle delay = 0);
  /// The kernel's blocks leave at once, like dropped blocks, and are not restarted. A block that was already
  /// asked to leave does so as requested.
  void kill_blocks(KernelSlot slot);
  /// Number of resident blocks of all kernels.
  [[nodiscard]] std::uint32_t all_resident_blocks() const;
  /// True if the kernel has no resident block and no outstanding request (including stores).
  [[nodiscard]] bool drained(KernelSlot slot) const;
  /// Gives every resident warp at least `records` stream records, oldest block first. Returns true if a warp
  /// without records got some, so that the SM must be run from now on. Blocks of kernels that refill
  /// independently are left to run().
  bool refill_streams(std::uint32_t records);
  /// True if a warp may have fewer records left than the last refill_streams() requested, and waits for the
  /// next one. Updated at launch and issue.
  [[nodiscard]] bool waits_for_turn() const;
  [[nodiscard]] std::vector<FinishedBlock>& finished_blocks() { return finished_; }
  [[nodiscard]] const std::vector<FinishedBlock>& finished_blocks() const { return finished_; }
  void flush_l1();

  // --- knobs (between windows) ------------------------------------------------------------------
#define GPUMUX_KNOB(name, parameters, arguments) void name parameters override;
  GPUMUX_SM_KNOBS(GPUMUX_KNOB)
#undef GPUMUX_KNOB
  /// Must be called before the first block.
  void set_memory_scheme(const arch::MemoryScheme& scheme);
  /// Makes the SM keep a ledger of interference. Must be called before the first block.
  void keep_ledger();
  /// Sums of the ledger so far.
  [[nodiscard]] arch::LedgerAppCounters ledger_counters(AppId app) const;
  [[nodiscard]] arch::PairCounters counters(AppId victim, AppId culprit) const;

  /// Makes the SM count what its warps do in each cycle. Must be called before the first block.
  void begin_view();
  /// Counters of the view up to now; nullptr: no view.
  [[nodiscard]] const arch::SmViewCounters* view() const;

  // --- one window (may run on any thread; touches nothing outside this object) -----------------
  /// Simulates core cycles [begin, end). Returns the next cycle >= end at which this SM can change without
  /// input (kNever: only a message or a block can wake it).
  Cycle run(Cycle begin, Cycle end);
  /// Simulates as far as the grant allows. Ends earlier, at done(), if the grant says so. It then ends
  /// with the window in which a block has ended or a stream must be refilled in its turn, and where a request
  /// waits for credits that are not known.
  Cycle run(const engine::Grant& grant);
  /// The cycle up to which the SM has been simulated.
  [[nodiscard]] Cycle done() const;
  /// True if run() ended because credits were not known.
  [[nodiscard]] bool lacks_credits() const;
  /// Lower bound of the cycle in which all of the kernel's blocks on this SM have ended, from what is known
  /// of their streams; 0: it has no block here.
  [[nodiscard]] Cycle busy_until(KernelSlot slot) const;
  /// Last cycle in which an access that the end of one of the kernel's blocks waits for missed in L1; 0:
  /// never.
  [[nodiscard]] Cycle last_miss(KernelSlot slot) const;

  /// Prefetch what run() will touch. Only the thread that is about to run this SM may call these functions,
  /// in this order, each when the data requested by the previous one has arrived.
  [[gnu::always_inline]] void prefetch() const { __builtin_prefetch(this); }
  void prefetch_state() const;
  void prefetch_schedulers(Cycle begin) const;
  void prefetch_warps(Cycle begin);

  /// Messages, see arch::Mailbox. Times of incoming messages are at or after the start of the window in which
  /// they are read (run() takes those that are due). Times of outgoing requests are at least noc_latency
  /// after the cycle that sent them, so never before the end of the window.
  arch::SmMailbox& mailbox() { return mailbox_; }

  // --- probes: scheduler cycles and stalls are counted up to the last run() or settle() ------------
#define GPUMUX_PROBE(type, name, parameters, arguments) [[nodiscard]] type name parameters const override;
  GPUMUX_SM_PROBES(GPUMUX_PROBE)
#undef GPUMUX_PROBE
  void reset_counters(KernelSlot slot);  // when a slot is reused
  /// Triggers that have fired since the last call, in order.
  [[nodiscard]] bool has_fired() const;
  [[nodiscard]] std::vector<arch::Fired> take_fired();
  /// For the watchdog: one line per warp and per waiting request, such as "sm 3 hotspot: kernel k block 12
  /// warp 5 (slot 9) waits for memory data of register 7 at pc 12 (k+12 ld.global.f32 ...)".
  [[nodiscard]] std::string describe_waits(const WaitNames& names = {}) const;
  /// Describes where the kernel's warps on this SM are, one line each, at most `most` lines. The warps'
  /// streams cannot be used afterwards.
  [[nodiscard]] std::string whereabouts(KernelSlot slot, std::uint32_t most);
  /// True if each of the kernel's blocks on this SM waits for other blocks, and none of them will end or
  /// leave (workload::Outlook). True if it has no block.
  [[nodiscard]] bool waits_for_others(KernelSlot slot);
  /// A number that changes whenever something makes progress (an issue, a reply).
  [[nodiscard]] std::uint64_t progress() const;
  /// Counts scheduler and stall cycles of a sleeping SM up to `until`, as if it had been run.
  void settle(Cycle until);
  /// The result of run(), updated for later events: launches, refills, knobs, messages. The SM need not run
  /// before this cycle; its counters are updated when it runs.
  [[nodiscard]] Cycle next_wake() const;
  /// Number of packets sent whose replies have not left the ejection port.
  [[nodiscard]] std::size_t requests_out() const;
  /// Number of requests in requests_out() whose replies are here or on their way from the network.
  [[nodiscard]] std::size_t replies_waiting() const;
  /// Throws InternalError if the empty SM still holds a block's resources, an MSHR, a queue entry or a
  /// request. `credits_home`: also if network credits are missing.
  void check_drained(bool credits_home = false) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  arch::SmMailbox mailbox_;
  std::vector<FinishedBlock> finished_;
};

}  // namespace gpumux::sm
