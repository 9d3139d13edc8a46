// One SM: its rooms, each a class of its own with private members, and the flow of control between them. Its
// work is split over files: blocks.cpp (launch, exit, end of blocks), issue.cpp (time, and what an
// instruction that issues sets going), lsu.cpp (memory instructions), memory_issue.cpp (memory schemes),
// report.cpp (probes and checks).
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
  /// Warps that a barrier has let go.
  void place_released(const Block& block, BlockTable::Released released, Cycle now);
  void finish_blocks(Cycle now);
  void rare_events(Cycle now);
  /// The cycle up to which the machine has come, also where this SM slept and was not run.
  [[nodiscard]] Cycle known_now() const { return std::max(now_, settled); }
  [[nodiscard]] Cycle end_of_window(Cycle now) const { return now - now % window + window; }
  void find_rare() {
    rare_next = std::min({table.next_end(), gate.next(), triggers.next()});
    // What it lets issue in its cycle has to be known at the end of the one before.
    if (locality && locality->next() != kNever) [[unlikely]]
      rare_next = std::min(rare_next, locality->next() - 1);
  }
  [[nodiscard]] Cycle busy_until(KernelSlot slot) const;

  // --- block_life.cpp ---------------------------------------------------------------------------
  void ask_to_leave(std::uint32_t residency, Left how, arch::ContextMove move);
  /// A block that has been asked to leave may be ready to.
  void look_at_leaving(Block& block, Cycle now);
  void hand_over(Block& block, Cycle now);
  void begin_move(Block& block, bool save, std::uint32_t lines, Cycle now);
  /// What the load/store unit tells: a line of a context is where it was to be.
  void context_moved(std::uint32_t move, Cycle now);

  // --- issue.cpp --------------------------------------------------------------------------------
  Cycle run(Cycle begin, Cycle end, Cycle credits_known);
  void prefetch_state() const;
  void prefetch_schedulers(Cycle begin) const;
  void prefetch_warps(Cycle begin);
  void prefetch_waiters() const;
  /// All that a memory instruction and its end touch of a warp,
  [[gnu::always_inline]] void prefetch_warp(std::uint32_t slot) const {
    __builtin_prefetch(&table.warp(slot), 1);
    __builtin_prefetch(&table.warp(slot).mem_next, 1);
    stage.prefetch_scoreboard(slot);
  }
  /// and, when that is here, its next records.
  [[gnu::always_inline]] void prefetch_records(std::uint32_t slot) const {
    const Warp& warp = table.warp(slot);
    __builtin_prefetch(warp.next);
    __builtin_prefetch(warp.mem_next);
  }
  // Order: the warp scheduler's class.
  template <typename Order, Beside kBeside>
  Cycle simulate(Cycle begin);
  [[nodiscard]] Cycle next_event(Cycle from) const;
  template <Beside kBeside>
  [[nodiscard]] Cycle next_after(Cycle from) const;
  // What the issue stage asks and tells: see issue_stage.hpp.
  [[nodiscard]] bool has_room() const { return lsu.has_room(); }
  [[nodiscard]] bool accepts(Cycle now) const { return lsu.accepts(now); }
  [[nodiscard]] AppId head_app() const { return lsu.head_app(); }
  void issue(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle now);
  [[nodiscard]] bool viewed() const { return view != nullptr; }
  [[gnu::cold]] void issue_viewed(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle now);
  /// For a view: nothing has changed since what it has counted last.
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
  /// The first block of an application has come; its last one has ended.
  void memory_arrived(AppId app, Cycle now);
  void memory_left(AppId app, Cycle now) {
    memory.left(app);
    lsu.share(memory.here(), now);
  }
  void end_memory(Cycle now);
  void memory_ends(AppId app, Cycle at, Cycle now);

  // --- issue_gate.cpp ---------------------------------------------------------------------------
  /// The gate may have opened or closed for these kernels (bits).
  void gate_changed(std::uint32_t changed, Cycle now);
  /// The kernel's warps that run or wait at a barrier are others than before.
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
  /// Which warps may issue loads from `now` on.
  void choose_loads(Cycle now);

  // --- async_copies.cpp -------------------------------------------------------------------------
  /// A group of copies ends, or is waited for.
  void control_copies(Warp& warp, std::uint32_t slot, const TimedInst& inst, Cycle now);
  void access_mbarrier(Warp& warp, std::uint32_t slot, workload::MbarrierWord word, Cycle now);
  void copy_arrived(const MemoryOp& op, Cycle ready, Cycle now);
  /// What the block's warps wait for may have happened.
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
  // What the load/store unit tells: see load_store_unit.hpp.
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

  arch::MachineConfig config;  // a copy: the machine's may go
  SmId id;
  std::vector<FinishedBlock>& finished;
  Cycle window;                    // of time
  bool memory_controlled = false;  // a memory scheme is on
  bool stops_at_ends = false;      // run() returns at the end of the window in which a block ended
  bool stops_for_records = false;  // or is marked to be refilled in its turn
  Cycle now_ = 0;                  // simulated up to here
  Cycle stop = 0;                  // simulate() returns here,
  Cycle run_to = 0;                // and run()
  Cycle settled = 0;               // a sleeping SM's counters are up to date up to here
  std::uint32_t moves = 0;         // of contexts so far
  Cycle rare_next = kNever;        // a block ends, or the gate or a trigger is due
  std::uint64_t progress = 0;      // instructions issued
  std::unique_ptr<SmLedger> ledger;
  std::unique_ptr<LostLocality> locality;  // with CCWS
  std::unique_ptr<SmView> view;
  std::vector<std::uint16_t> running;  // of the last choose_loads()
  /// Memory instructions do not issue as the warp scheduler alone wants, or somebody looks at who issues.
  [[nodiscard]] Beside beside() const {
    return memory_controlled || locality || view ? Beside::Control
           : ledger                              ? Beside::Ledger
                                                 : Beside::Nothing;
  }
  std::array<arch::KernelCounters, arch::kMaxKernelSlots> counters{};

  // The rooms: who is here, where instructions come from, which of them issue, and those of memory.
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
