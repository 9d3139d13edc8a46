// One SM: its rooms, each a class with private members, and the flow of control between them. The functions
// are in several files: blocks.cpp (launch, exit, end of blocks), issue.cpp (time, and the effects of an
// instruction that issues), lsu.cpp (memory instructions), memory_issue.cpp (memory schemes), report.cpp
// (probes and checks), and others named below.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/huge_pages.hpp"
#include "sm/async_copies.hpp"
#include "sm/block_table.hpp"
#include "sm/front_end.hpp"
#include "sm/issue_gate.hpp"
#include "sm/issue_stage.hpp"
#include "sm/load_store_unit.hpp"
#include "sm/memory_control.hpp"
#include "sm/sm.hpp"
#include "sm/sm_ledger.hpp"
#include "sm/sm_view.hpp"
#include "sm/triggers.hpp"
#include "sm/warp.hpp"

namespace gpumux::sm {

struct Sm::State {
  State(const arch::MachineConfig& config, SmId id, const noc::PartitionMap& map, arch::SmMailbox& mailbox,
        std::vector<FinishedBlock>& finished);
  static void* operator new(std::size_t bytes) { return huge_page_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { huge_page_free(state, bytes); }

  // --- blocks.cpp -------------------------------------------------------------------------------
  void bind(KernelSlot slot, const KernelContext& context);
  void launch(KernelSlot slot, std::uint32_t residency, std::unique_ptr<workload::BlockStream> stream,
              Cycle start, const BlockContext* context, Cycle delay);
  void choose_carveout(Cycle now);
  void warp_exits(std::uint32_t slot, Cycle now);
  void arrive(std::uint32_t slot, const TimedInst& inst, Cycle now);
  /// Places warps that a barrier has released.
  void place_released(const Block& block, BlockTable::Released released, Cycle now);
  void finish_blocks(Cycle now);
  void rare_events(Cycle now);
  /// The cycle that the machine has reached, even if this SM slept and was not run.
  [[nodiscard]] Cycle known_now() const { return std::max(now_, settled); }
  [[nodiscard]] Cycle end_of_window(Cycle now) const { return now - now % window + window; }
  void find_rare() {
    rare_next = std::min({table.next_end(), gate.next(), triggers.next()});
    // The warps that CCWS lets issue in a cycle must be known at the end of the previous cycle.
    if (locality && locality->next() != kNever) [[unlikely]]
      rare_next = std::min(rare_next, locality->next() - 1);
  }
  [[nodiscard]] Cycle busy_until(KernelSlot slot) const;

  // --- block_life.cpp ---------------------------------------------------------------------------
  void ask_to_leave(std::uint32_t residency, Left how, arch::ContextMove move);
  /// Lets a block that was asked to leave do so, if it is ready.
  void look_at_leaving(Block& block, Cycle now);
  void hand_over(Block& block, Cycle now);
  void begin_move(Block& block, bool save, std::uint32_t lines, Cycle now);
  /// Called by the load/store unit: a line of a context has reached its destination.
  void context_moved(std::uint32_t move, Cycle now);

  // --- issue.cpp --------------------------------------------------------------------------------
  Cycle run(Cycle begin, Cycle end, Cycle credits_known);
  void prefetch_state() const;
  void prefetch_schedulers(Cycle begin) const;
  void prefetch_warps(Cycle begin);
  void prefetch_waiters() const;
  /// Prefetches what a memory instruction and its end touch of a warp.
  [[gnu::always_inline]] void prefetch_warp(std::uint32_t slot) const {
    __builtin_prefetch(&table.warp(slot), 1);
    __builtin_prefetch(&table.warp(slot).mem_next, 1);
    stage.prefetch_scoreboard(slot);
  }
  /// Prefetches the warp's next records. Call when the data of prefetch_warp() has arrived.
  [[gnu::always_inline]] void prefetch_records(std::uint32_t slot) const {
    const Warp& warp = table.warp(slot);
    __builtin_prefetch(warp.next);
    __builtin_prefetch(warp.mem_next);
  }
  // Order: class of the warp scheduler.
  template <typename Order, Beside kBeside>
  Cycle simulate(Cycle begin);
  [[nodiscard]] Cycle next_event(Cycle from) const;
  template <Beside kBeside>
  [[nodiscard]] Cycle next_after(Cycle from) const;
  // Functions of Pipes for the issue stage, see issue_stage.hpp.
  [[nodiscard]] bool has_room() const { return lsu.has_room(); }
  [[nodiscard]] bool accepts(Cycle now) const { return lsu.accepts(now); }
  [[nodiscard]] AppId head_app() const { return lsu.head_app(); }
  void issue(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle now);
  [[nodiscard]] bool viewed() const { return view != nullptr; }
  [[gnu::cold]] void issue_viewed(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle now);
  /// For a view: counts the cycles before `until`, in which nothing has changed.
  void account(Cycle until) {
    if (view) [[unlikely]]
      view->account(stage, until, lsu.has_room());
  }
  void ask_for_records(const Warp& warp, Cycle now);
  void after_issue(std::uint32_t slot, std::uint32_t flags, const TimedInst& inst, Cycle now);
  void resume_stream(std::uint32_t slot, Cycle now);

  // --- memory_issue.cpp -------------------------------------------------------------------------
  void set_memory_scheme(const arch::MemoryScheme& scheme);
  void set_memory_sharers(std::uint32_t sharers);
  /// The first block of an application has arrived; the last block of an application has ended.
  void memory_arrived(AppId app, Cycle now);
  void memory_left(AppId app, Cycle now) {
    memory.left(app);
    lsu.share(memory.here(), now);
  }
  void end_memory(Cycle now);
  void memory_ends(AppId app, Cycle at, Cycle now);

  // --- issue_gate.cpp ---------------------------------------------------------------------------
  /// The gate may have opened or closed for these kernels (mask).
  void gate_changed(std::uint32_t changed, Cycle now);
  /// The set of the kernel's warps that run or wait at a barrier has changed.
  void warps_changed(KernelSlot kernel, Cycle now) {
    if (locality) [[unlikely]]
      choose_loads(now);
    if (gate.concerns_warps(kernel)) [[unlikely]]
      stage.admit(std::uint32_t{1} << kernel, gate, now);
  }
  void spend(KernelSlot kernel, const TimedInst& inst, const workload::ExecRecord& record, Cycle now,
             std::uint32_t delay);
  void completes(Cycle cycle, KernelSlot kernel, unsigned lanes) {
    if (!gate.counts_completions(kernel)) return;
    gate.completes_at(cycle, kernel, lanes);
    find_rare();
  }
  void refill_spent(Cycle now);
  void hold_yielding(Cycle now);

  // --- ccws.cpp ---------------------------------------------------------------------------------
  void begin_locality();
  /// Chooses the warps that may issue loads from `now` on.
  void choose_loads(Cycle now);

  // --- async_copies.cpp -------------------------------------------------------------------------
  /// A group of copies is committed, or a warp waits for groups.
  void control_copies(Warp& warp, std::uint32_t slot, const TimedInst& inst, Cycle now);
  void access_mbarrier(Warp& warp, std::uint32_t slot, workload::MbarrierWord word, Cycle now);
  void copy_arrived(const MemoryOp& op, Cycle ready, Cycle now);
  /// The conditions that the block's warps wait for may hold now.
  void end_waits(const Block& block, Cycle now);
  void copies_came(const Block& block, const BlockContext* context);
  void copies_leave(const Block& block, BlockContext& context) const;

  // --- triggers.cpp -----------------------------------------------------------------------------
  void run_triggers(Cycle now);
  void fire(const arch::Trigger& trigger, Cycle cycle);
  void sample_warps();

  // --- lsu.cpp ----------------------------------------------------------------------------------
  void issue_memory(Warp& warp, std::uint32_t slot, const TimedInst& inst, const workload::ExecRecord& record,
                    Cycle now, std::uint32_t delay);
  void send_fetch_misses(Cycle now);
  // Functions of the Listener of the load/store unit, see load_store_unit.hpp.
  void performed(const MemoryOp& op, Cycle ready, Cycle now);
  void room(std::uint32_t slot, Cycle now) {
    stage.memory_begun(slot, now);
    stage.room(now);
  }
  void fetched(const Request& request, Cycle now);
  void accessed(const MemoryOp& op, bool last, Cycle now);
  void failed(AppId app, Cycle cycles) { memory.failed(app, cycles); }

  // --- report.cpp -------------------------------------------------------------------------------
  [[nodiscard]] std::string describe_waits(const WaitNames& names) const;
  [[nodiscard]] std::string whereabouts(KernelSlot slot, std::uint32_t most);
  [[nodiscard]] bool waits_for_others(KernelSlot slot);
  void check_drained(bool credits_home) const;

  arch::KernelCounters& count(KernelSlot kernel) { return counters[kernel]; }

  arch::MachineConfig config;  // a copy: the machine's configuration may be destroyed
  SmId id;
  std::vector<FinishedBlock>& finished;
  Cycle window;                    // length of a window of time
  bool memory_controlled = false;  // true: a memory scheme is on
  bool stops_at_ends = false;      // run() returns at the end of a window in which a block ended
  bool stops_for_records = false;  // run() returns at the end of a window in which a block was marked
                                   // to be refilled in its turn
  Cycle now_ = 0;                  // simulated up to this cycle
  Cycle stop = 0;                  // simulate() returns at this cycle
  Cycle run_to = 0;                // run() returns at this cycle
  Cycle settled = 0;               // counters of a sleeping SM are up to date up to this cycle
  std::uint32_t moves = 0;         // number of moves of contexts so far
  Cycle rare_next = kNever;        // next cycle in which a block ends, or the gate or a trigger is due
  std::uint64_t progress = 0;      // number of instructions issued
  std::unique_ptr<SmLedger> ledger;
  std::unique_ptr<LostLocality> locality;  // only with CCWS
  std::unique_ptr<SmView> view;
  std::vector<std::uint16_t> running;  // warps of the last choose_loads()
  /// Control: memory instructions do not issue only by the warp scheduler's order, or a view observes issue.
  [[nodiscard]] Beside beside() const {
    return memory_controlled || locality || view ? Beside::Control
           : ledger                              ? Beside::Ledger
                                                 : Beside::Nothing;
  }
  std::array<arch::KernelCounters, arch::kMaxKernelSlots> counters{};

  // The rooms: resident blocks, supply of instructions, issue, and memory.
  BlockTable table;
  FrontEnd front;
  MemoryControl memory;
  IssueStage stage;
  LoadStoreUnit<State> lsu;
  IssueGate gate;
  Triggers triggers;
  AsyncCopies copies;

  std::array<KernelContext, arch::kMaxKernelSlots> kernels{};
  std::array<arch::WarpSamples, arch::kMaxKernelSlots> warp_samples{};
};

extern template class LoadStoreUnit<Sm::State>;  // lsu.cpp

}  // namespace gpumux::sm
