// Everything inside one SM. Its work is split over files: blocks.cpp (launch, exit, barriers, end of
// blocks), issue.cpp (time, warp schedulers, issue), lsu.cpp (memory instructions), replies.cpp
// (what comes back), report.cpp (probes and checks).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/huge_pages.hpp"
#include "sm/block_table.hpp"
#include "sm/exec_units.hpp"
#include "sm/fetch.hpp"
#include "sm/issue_gate.hpp"
#include "sm/l1.hpp"
#include "sm/memory_control.hpp"
#include "sm/memory_ops.hpp"
#include "sm/network_port.hpp"
#include "sm/read_only_cache.hpp"
#include "sm/scoreboard.hpp"
#include "sm/sm.hpp"
#include "sm/triggers.hpp"
#include "sm/wake_wheel.hpp"
#include "sm/warp.hpp"
#include "sm/way_partition.hpp"

namespace gpumux::sm {

/// What issue reads of a kernel.
struct HotKernel {
  const TimedInst* table = nullptr;
  arch::KernelCounters* counters = nullptr;
  Address code_address = 0;
  std::uint16_t predicates = 0;  // scoreboard slot of the first predicate
  AppId app = 0;
  bool refills_independently = false;
};

struct Sm::State {
  State(const arch::MachineConfig& config, SmId id, const noc::PartitionMap& map, arch::SmMailbox& mailbox,
        std::vector<FinishedBlock>& finished);
  static void* operator new(std::size_t bytes) { return huge_page_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { huge_page_free(state, bytes); }

  // --- blocks.cpp -------------------------------------------------------------------------------
  void bind(KernelSlot slot, const KernelContext& context);
  void launch(KernelSlot slot, std::uint32_t residency, std::unique_ptr<workload::BlockStream> stream,
              Cycle start);
  void choose_carveout(Cycle now);
  bool refill(Block& block, std::uint32_t records);
  void refill_independent_blocks();
  void reload_refilled(Cycle now);
  void warp_exits(std::uint32_t slot, Cycle now);
  void arrive(std::uint32_t slot, const TimedInst& inst, Cycle now);
  void place_released(const Block& block, BlockTable::Released released, Cycle now);
  void finish_blocks(Cycle now);
  void rare_events(Cycle now);
  /// The cycle up to which the machine has come, also where this SM slept and was not run.
  [[nodiscard]] Cycle known_now() const { return std::max(now_, settled); }
  void find_rare() { rare_next = std::min({table.next_end(), gate.next(), triggers.next()}); }
  [[nodiscard]] Cycle busy_until(KernelSlot slot) const;

  // --- issue.cpp --------------------------------------------------------------------------------
  Cycle run(Cycle begin, Cycle end, Cycle credits_known);
  void prefetch_state() const;
  void prefetch_schedulers(Cycle begin) const;
  void prefetch_warps(Cycle begin);
  void prefetch_fills() const;
  void prefetch_waiters() const;
  void prefetch_replies() const;
  [[gnu::always_inline]] void prefetch_target(const Request& request) const {
    if (request.purpose == Purpose::L1Fill) {
      l1.prefetch(request.line);
      l1.prefetch_mshr(request.target);
    } else if (request.purpose <= Purpose::Atomic) {
      __builtin_prefetch(&ops[request.target], 1);
    }
  }
  /// All that a memory instruction and its end touch of a warp,
  [[gnu::always_inline]] void prefetch_warp(std::uint32_t slot) const {
    __builtin_prefetch(&table.warp(slot), 1);
    __builtin_prefetch(&table.warp(slot).mem_next, 1);
    scoreboard.prefetch(slot);
  }
  /// and, when that is here, its next records.
  [[gnu::always_inline]] static void prefetch_records(const Warp& warp) {
    __builtin_prefetch(warp.next);
    __builtin_prefetch(warp.mem_next);
  }
  // Order: the warp scheduler's class. kControl: with a memory scheme (memory_issue.cpp).
  template <typename Order, bool kControl>
  Cycle simulate(Cycle begin);
  [[nodiscard]] Cycle next_event(Cycle from) const;
  template <bool kControl>
  [[nodiscard]] Cycle next_after(Cycle from) const;
  template <typename Order, bool kControl>
  [[nodiscard]] WarpMask may_issue_now(Scheduler& scheduler, std::uint32_t index);
  template <typename Order, bool kControl>
  [[nodiscard]] WarpMask candidates(Scheduler& scheduler, std::uint32_t index, Cycle now);
  template <typename Order, bool kControl>
  void rest(Scheduler& scheduler, std::uint32_t index, Cycle from);
  [[nodiscard]] Reason why_none_is_ready(const Scheduler& scheduler, WarpMask among) const;
  template <typename Order, bool kControl>
  void schedule_due(Cycle now);
  /// `later`: schedulers that are due in this cycle and come after this one, as bits.
  template <typename Order, bool kControl>
  void schedule(std::uint32_t index, Cycle now, std::uint32_t later);
  /// The one of the candidates that issues once the memory scheme has chosen among applications; 64: none.
  template <typename Order>
  [[nodiscard]] std::uint32_t arbitrate(const Scheduler& scheduler, std::uint32_t index, WarpMask choice,
                                        Cycle now, std::uint32_t later);
  void issue(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle now);
  void ask_for_records(const Warp& warp, Cycle now);
  void after_issue(std::uint32_t slot, std::uint32_t flags, const TimedInst& inst, Cycle now);
  void follow(Scheduler& scheduler, Warp& warp, std::uint32_t slot, const HotKernel& kernel, Cycle now);
  void resume_stream(std::uint32_t slot, Cycle now);
  /// Puts the warp where its next instruction belongs. It may issue from `earliest` on (>= now).
  void place(std::uint32_t slot, Cycle now, Cycle earliest);
  void set_wait(Warp& warp, Wait wait);
  void wake_due(Cycle now);
  void look_again(std::uint32_t scheduler, Cycle now) {
    const Cycle cycle = std::max(now, schedulers[scheduler].next_issue);
    next_try[scheduler] = std::min(next_try[scheduler], cycle);
    next_try_of_all = std::min(next_try_of_all, cycle);
    due |= std::uint32_t{cycle <= now} << scheduler;
  }
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t scheduler, std::uint32_t local) const {
    return local * schedulers_count + scheduler;
  }

  // --- memory_issue.cpp -------------------------------------------------------------------------
  void set_memory_scheme(const arch::MemoryScheme& scheme);
  void set_memory_sharers(std::uint32_t sharers);
  /// The first block of an application has come; its last one has ended.
  void memory_arrived(AppId app, Cycle now);
  void memory_left(AppId app, Cycle now) {
    memory.left(app);
    divide_l1(now);
  }
  /// Among the applications that have blocks here, or as L1's size has changed.
  void divide_l1(Cycle now);
  void divide_ways_again(Cycle now);
  void flush_l1();
  /// Finds out which of the scheduler's ready warps are about to issue a memory instruction.
  void look_at_memory(const Scheduler& scheduler, std::uint32_t index);
  /// Of the scheduler's warps, those held back by a limit.
  [[nodiscard]] WarpMask limited(const Scheduler& scheduler, std::uint32_t index) {
    if (!memory_concerns_issue) return 0;
    look_at_memory(scheduler, index);
    return memory.limited(index);
  }
  void wake_limited(Cycle now);
  void end_memory(Cycle now);
  void memory_ends(AppId app, Cycle at, Cycle now);
  /// The access of an instruction was taken; `last`: of it.
  void memory_accessed(const MemoryOp& op, workload::Transaction transaction, bool last, Cycle now);
  [[nodiscard]] bool bypasses_l1(const MemoryOp& op) const {
    return !l1_enabled || (op.inst->flags & isa::InstFlag::kBypassL1) != 0 ||
           (!config.l1.caches_global && op.where == Where::Global);
  }
  [[nodiscard]] bool has_miss_queue_room(AppId app) const {
    return injection.room() && (miss_queue_each == 0 || misses_queued[app] < miss_queue_each);
  }
  void count_queued(AppId app) {
    if (miss_queue_each != 0) [[unlikely]]
      ++misses_queued[app];
  }

  // --- issue_gate.cpp ---------------------------------------------------------------------------
  /// The gate may have opened or closed for these kernels (bits).
  void gate_changed(std::uint32_t changed, Cycle now);
  void admit(std::uint32_t changed, Cycle now);
  void admit_oldest(KernelSlot kernel);
  /// The kernel's warps that run or wait at a barrier are others than before.
  void warps_changed(KernelSlot kernel, Cycle now) {
    if ((gate.warp_limited() >> kernel & 1U) != 0) [[unlikely]]
      admit(std::uint32_t{1} << kernel, now);
  }
  void spend(KernelSlot kernel, const TimedInst& inst, const workload::ExecRecord& record, Cycle now,
             std::uint32_t delay);
  void completes(Cycle cycle, KernelSlot kernel, unsigned lanes) {
    if (!gate.counts_completions(kernel)) return;
    gate.completes_at(cycle, kernel, lanes);
    find_rare();
  }
  void refill_spent(Cycle now);

  // --- triggers.cpp -----------------------------------------------------------------------------
  void run_triggers(Cycle now);
  void fire(const arch::Trigger& trigger, Cycle cycle);
  void sample_warps();

  // --- lsu.cpp ----------------------------------------------------------------------------------
  [[nodiscard]] bool lsu_has_room() const { return lsu.queue.size() < config.sm.memory_queue; }
  [[nodiscard]] bool lsu_accepts(Cycle now) const {
    const bool spent = memory_issue_cycle == now && memory_issues >= memory_issue_width;
    return lsu_has_room() && !spent;
  }
  void issue_memory(Warp& warp, std::uint32_t slot, const TimedInst& inst, const workload::ExecRecord& record,
                    Cycle now, std::uint32_t delay);
  void lsu_step(Cycle now);
  void lsu_next_op(Cycle now);
  [[nodiscard]] bool access(std::uint32_t op, workload::Transaction transaction, Cycle now);
  [[nodiscard]] bool access_load(std::uint32_t op, workload::Transaction transaction, Cycle now);
  void access_constant(std::uint32_t op, Cycle now);
  void stall(Stall cause, Cycle now);
  void credit_stall(Cycle now);
  void note_read(const MemoryOp& op, Cycle now) {
    if (op.holds_block) last_read[op.kernel] = now;
  }
  void lsu_retry(Cycle now) {
    if (lsu.stall != Stall::None) lsu.next = std::min(lsu.next, now);
  }
  std::uint32_t new_request(std::uint64_t line, Purpose purpose, KernelSlot kernel, AppId app,
                            std::uint32_t target, std::uint8_t sectors, Cycle now);
  void transaction_done(std::uint32_t op, Cycle ready, Cycle now);
  void op_done(std::uint32_t op, Cycle now);

  // --- replies.cpp ------------------------------------------------------------------------------
  void send_fetch_misses(Cycle now);
  void send_requests(Cycle now);
  void reply(Cycle now);

  // --- report.cpp -------------------------------------------------------------------------------
  [[nodiscard]] arch::SchedulerCounters scheduler_counters() const;
  [[nodiscard]] std::string describe_waits(const WaitNames& names) const;
  [[nodiscard]] std::string whereabouts(KernelSlot slot, std::uint32_t most);
  void check_drained(bool credits_home) const;

  arch::KernelCounters& count(KernelSlot kernel) { return counters[kernel]; }

  // --- parameters -------------------------------------------------------------------------------
  arch::MachineConfig config;  // a copy: the machine's may go
  SmId id;
  const noc::PartitionMap& map;
  noc::Network network;
  arch::SmMailbox& mailbox;
  std::vector<FinishedBlock>& finished;
  std::uint32_t schedulers_count;
  std::uint32_t issue_interval;
  std::uint32_t memory_issue_width;
  bool l1_enabled;
  bool memory_controlled = false;      // a memory scheme is on,
  bool memory_concerns_issue = false;  // and issue looks at it
  std::uint32_t miss_queue_each = 0;   // places of the miss queue that an application may take; 0: all
  std::uint8_t read_flits;             // of a packet without data

  // --- hot state --------------------------------------------------------------------------------
  Cycle now_ = 0;                                     // simulated up to here
  Cycle stop = 0;                                     // simulate() returns here,
  Cycle run_to = 0;                                   // and run()
  bool stops_at_ends = false;                         // at the end of the window in which a block ended
  bool stops_for_records = false;                     // or is marked to be refilled in its turn
  Cycle settled = 0;                                  // a sleeping SM's counters are up to date up to here
  std::array<Cycle, Fetch::kMaxSchedulers> next_try;  // by scheduler: nothing changes for it before
  Cycle next_try_of_all = kNever;                     // the earliest of these
  Cycle rare_next = kNever;                           // a block ends, or the gate or a trigger is due
  std::uint32_t due = 0;                              // in this cycle: schedulers, as bits
  std::array<HotKernel, arch::kMaxKernelSlots> hot{};
  HugePageVector<Scheduler> schedulers;
  BlockTable table;  // warp slot = local * schedulers + scheduler
  Scoreboard scoreboard;
  WakeWheel wheel;
  ExecUnits units;
  ResultBus result_bus;
  Fetch fetch;
  Lsu lsu;
  L1 l1;
  ReadOnlyCache constants;
  InjectionPort injection;
  EjectionPort ejection;
  std::uint32_t first_scheduler = 0;  // chooses first, when a place in the load/store unit is scarce
  Cycle memory_issue_cycle = kNever;
  std::uint32_t memory_issues = 0;
  IssueGate gate;
  Triggers triggers;
  std::array<arch::WarpSamples, arch::kMaxKernelSlots> warp_samples{};
  Pool<MemoryOp> ops;
  Pool<Request> requests;
  struct ConstantMiss {
    std::uint64_t line;
    std::vector<std::uint32_t> ops;
  };
  std::vector<ConstantMiss> constant_misses;

  // --- memory scheme ----------------------------------------------------------------------------
  MemoryControl memory;
  Cycle memory_contended = kNever;  // several applications had memory instructions to offer in this cycle
  WayPartition way_partition;
  std::array<std::uint32_t, kMaxApps> ways_granted{};
  std::array<std::uint32_t, kMaxApps> misses_queued{};  // while they are divided

  // --- blocks and kernels -----------------------------------------------------------------------
  std::array<KernelContext, arch::kMaxKernelSlots> kernels{};
  std::array<arch::KernelCounters, arch::kMaxKernelSlots> counters{};
  std::array<std::uint32_t, arch::kMaxKernelSlots> outstanding{};  // memory instructions and fetches
  std::array<std::uint64_t, arch::kMaxKernelSlots> supplied{};     // records of the streams so far
  std::array<Cycle, arch::kMaxKernelSlots> last_read{};  // that a block waits for, missed L1 in this cycle
  std::uint32_t watermark = 0;                           // records that refills keep every warp supplied with
  bool wants_records = false;                            // a block is marked
  bool waits_for_turn = false;                           // one that refill_streams() refills
  bool some_refill_independently = false;
  bool refilled = false;  // a warp without records got some
  std::uint64_t progress = 0;
};

}  // namespace gpumux::sm
