// One streaming multiprocessor: takes thread blocks, consumes their streams, talks to the memory
// partitions through message queues. See src/sm/README.md for its files.
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

/// A kernel as the SMs know it: set up once per launch, the same on all SMs.
struct KernelContext {
  const isa::StaticInst* table = nullptr;
  std::uint32_t table_size = 0;
  workload::BlockResources resources;
  AppId app = 0;
  Address code_address = 0;  // for the instruction cache
  /// Made of `table` for this machine; an SM that is given none makes its own.
  std::shared_ptr<const TimingTable> timing;
  /// The SM refills its blocks itself while it runs: KernelSource::refills_independently().
  bool refills_independently = false;
  /// Limits of warps leave the kernel out: its warps may wait for each other without a barrier that the SM
  /// knows.
  bool cooperative = false;
};

/// A block that ended or left in the last window. Its stream is handed over with it: streams of an
/// application share their source's buffers, so they are given back between windows alone, never by the
/// threads that run SMs.
struct FinishedBlock {
  KernelSlot kernel;
  std::uint32_t residency;  // as given at launch
  Cycle time;
  std::unique_ptr<workload::BlockStream> stream;
  Left left = Left::Ended;
  std::unique_ptr<BlockContext> context = nullptr;  // of one that was stopped
  std::uint64_t instructions = 0;  // of one that has ended: warp instructions that it has issued,
  Cycle cycles = 0;                // and cycles that it was on SMs
};

/// How describe_waits() names what only the machine knows; without them it prints numbers.
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
  /// True when registers, shared memory, threads, warps and block slots suffice for one more block.
  [[nodiscard]] bool fits(const workload::BlockResources& resources) const;
  /// The block's warps can issue from `start` + block_launch_latency on. fits() must hold.
  /// `context`: of one that was stopped, here or elsewhere, and goes on. `delay`: the block takes its place
  /// at `start`, and its warps begin so many cycles later.
  void launch_block(KernelSlot slot, std::uint32_t residency, std::unique_ptr<workload::BlockStream> block,
                    Cycle start, const BlockContext* context = nullptr, Cycle delay = 0);
  /// Those of the kernel leave at once, as dropped ones do, for good. One that has been asked to leave does
  /// so as it was asked to.
  void kill_blocks(KernelSlot slot);
  /// Of all kernels.
  [[nodiscard]] std::uint32_t all_resident_blocks() const;
  /// No resident block, no request outstanding of this kernel (stores included).
  [[nodiscard]] bool drained(KernelSlot slot) const;
  /// Gives every resident warp at least `records` stream records, oldest block first; true when a warp that
  /// had none left got some, so that the SM must be run from now on. Blocks of kernels that refill
  /// independently are left to run().
  bool refill_streams(std::uint32_t records);
  /// A warp may have fewer records left than the last refill_streams() asked for, which refills it: noted at
  /// launch and issue.
  [[nodiscard]] bool waits_for_turn() const;
  [[nodiscard]] std::vector<FinishedBlock>& finished_blocks() { return finished_; }
  [[nodiscard]] const std::vector<FinishedBlock>& finished_blocks() const { return finished_; }
  void flush_l1();

  // --- knobs (between windows) ------------------------------------------------------------------
#define GPUMUX_KNOB(name, parameters, arguments) void name parameters override;
  GPUMUX_SM_KNOBS(GPUMUX_KNOB)
#undef GPUMUX_KNOB
  /// Before the first block.
  void set_memory_scheme(const arch::MemoryScheme& scheme);
  /// From now on, before the first block, it keeps a ledger of who waits for whom,
  void keep_ledger();
  /// of which these are the sums so far.
  [[nodiscard]] arch::LedgerAppCounters ledger_counters(AppId app) const;
  [[nodiscard]] arch::PairCounters counters(AppId victim, AppId culprit) const;

  /// From now on, before the first block, what its warps do is counted in each cycle,
  void begin_view();
  /// up to now: nullptr: it is not.
  [[nodiscard]] const arch::SmViewCounters* view() const;

  // --- one window (may run on any thread; touches nothing outside this object) -----------------
  /// Simulates core cycles [begin, end). Returns the next cycle >= end at which this SM can change
  /// without input (kNever: only a message or a block can wake it).
  Cycle run(Cycle begin, Cycle end);
  /// The same, but ends earlier, at done(), where the grant says so: with the network's window in which a
  /// block has ended or a stream is to be refilled in its turn, and where a request waits for credits that
  /// are not known.
  Cycle run(const engine::Grant& grant);
  /// Simulated up to here.
  [[nodiscard]] Cycle done() const;
  /// run() ended for want of credits.
  [[nodiscard]] bool lacks_credits() const;
  /// A cycle before which the kernel's blocks here do not all end, from what is known of their streams; 0
  /// when it has none.
  [[nodiscard]] Cycle busy_until(KernelSlot slot) const;
  /// When an access that the end of one of the kernel's blocks waits for last went beyond L1; 0: never.
  [[nodiscard]] Cycle last_miss(KernelSlot slot) const;

  /// Bring what run() will touch into the host's cache; only the thread that is about to run this SM may
  /// call them, in this order, each when what the one before has asked for is there.
  [[gnu::always_inline]] void prefetch() const { __builtin_prefetch(this); }
  void prefetch_state() const;
  void prefetch_schedulers(Cycle begin) const;
  void prefetch_warps(Cycle begin);

  /// Messages, see arch::Mailbox. Times of incoming messages are >= the begin of the window in which
  /// they are read (run() takes what is due and keeps the rest); times of outgoing requests are at least
  /// noc_latency after the cycle that sent them, so never before the end of the window.
  arch::SmMailbox& mailbox() { return mailbox_; }

  // --- probes: scheduler cycles and stalls are credited up to the last run() or settle() -----------
#define GPUMUX_PROBE(type, name, parameters, arguments) [[nodiscard]] type name parameters const override;
  GPUMUX_SM_PROBES(GPUMUX_PROBE)
#undef GPUMUX_PROBE
  void reset_counters(KernelSlot slot);  // at the reuse of a slot
  /// Triggers that have fired since the last call, in order.
  [[nodiscard]] bool has_fired() const;
  [[nodiscard]] std::vector<arch::Fired> take_fired();
  /// For the watchdog: one line per warp and per waiting request, "sm 3 hotspot: kernel k block 12 warp 5
  /// (slot 9) waits for memory data of register 7 at pc 12 (k+12 ld.global.f32 ...)".
  [[nodiscard]] std::string describe_waits(const WaitNames& names = {}) const;
  /// Where the kernel's warps here are, a line for each of `most` at most. Ends the use of their streams.
  [[nodiscard]] std::string whereabouts(KernelSlot slot, std::uint32_t most);
  /// Each of the kernel's blocks here waits for what others do, and none of them will end or leave
  /// (workload::Outlook). True where it has none.
  [[nodiscard]] bool waits_for_others(KernelSlot slot);
  /// A number that changes whenever anything makes progress (an issue, a reply).
  [[nodiscard]] std::uint64_t progress() const;
  /// Credits scheduler and stall cycles of an SM that was left asleep up to `until`, as if it had run.
  void settle(Cycle until);
  /// What run() returned, brought up to date with what happened since: launches, refills, knobs,
  /// messages. The SM need not run before this cycle; its counters catch up when it does.
  [[nodiscard]] Cycle next_wake() const;
  /// Packets sent whose replies have not left the ejection port.
  [[nodiscard]] std::size_t requests_out() const;
  /// Of these, replies that are here or on their way from the network.
  [[nodiscard]] std::size_t replies_waiting() const;
  /// Throws InternalError when the empty SM has kept a block's resources, an MSHR, a queue entry or a
  /// request. `credits_home`: also when network credits are missing.
  void check_drained(bool credits_home = false) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  arch::SmMailbox mailbox_;
  std::vector<FinishedBlock> finished_;
};

}  // namespace gpumux::sm
