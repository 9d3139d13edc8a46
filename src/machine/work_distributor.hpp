// Kernels and thread blocks on their way: admission of launches, dispatch of blocks to SMs, and their
// collection when they have ended. Which SM gets which block is decided by the sharing policy's limits and
// dispatch order, and by the block scheduler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/statistics.hpp"
#include "machine/mechanisms.hpp"
#include "machine/parts.hpp"
#include "policy/control.hpp"
#include "policy/sm_share.hpp"
#include "runtime/context.hpp"

namespace gpumux::machine {

class WorkDistributor {
 public:
  /// `instances`: by application; empty: all share the machine.
  WorkDistributor(const arch::MachineConfig& config, Parts& parts, std::vector<arch::Instance> instances);

  // --- what is asked for --------------------------------------------------------------------------------
  /// A launch and a copy are as long on their way to the machine.
  void submit(runtime::Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t priority);
  /// One that a kernel launches is there at the begin of a window: `refilling`: of the next one, since
  /// streams are refilled in this one, before or after others have been admitted.
  void submit_child(runtime::Context& context, std::uint32_t stream,
                    std::unique_ptr<workload::KernelSource> kernel, bool refilling);
  void copied_to_device(AppId app, Address to, std::uint64_t bytes);
  void set_dispatch_order(const std::vector<arch::KernelSlot>& order);
  void set_dispatch_turns(bool on) { takes_turns_ = on; }
  /// All parts have come to now().
  void set_duty(SmId sm, policy::SmDuty duty);
  /// Blocks keep what they need to begin anew.
  void keep_records() { keeps_records_ = true; }
  /// Something has changed that may let an SM take a block.
  void look_again() { may_place_ = true; }
  /// The context's launches end here: those that have not arrived are forgotten, kernels that run lose the
  /// blocks that no SM has, and those on SMs leave at once. All parts have come to now().
  void kill(runtime::Context& context, Mechanisms& mechanisms);
  /// Forgets all work, so that nothing refers to the contexts any more.
  void drop();

  // --- once per window, in this order -------------------------------------------------------------------
  void admit_copies();
  /// Kernels that have arrived, as far as there is room.
  void admit_kernels(Mechanisms& mechanisms);
  void dispatch(Mechanisms& mechanisms);
  /// Blocks that have ended by now(); of SMs that are ahead only if `ends_now`: a kernel's end is due. True:
  /// a kernel has ended. Throws SimulationFault for one that was too long.
  bool collect(bool ends_now, Mechanisms& mechanisms);
  /// Slots of ended kernels whose last requests have been answered are free again.
  void recycle();

  // --- what there is ------------------------------------------------------------------------------------
  /// Running, in order of arrival.
  [[nodiscard]] const std::vector<policy::RunningKernel>& kernels() const { return running_; }
  /// Applications with a kernel that runs, as bits.
  [[nodiscard]] std::uint32_t running_apps() const;
  /// No kernel submitted, running or draining.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] bool some_slot_is_used() const;
  /// A launch has arrived and waits for room; and for a slot alone, which is free when the last request of
  /// its last kernel has been answered.
  [[nodiscard]] bool kernel_has_arrived() const {
    return !submitted_.empty() && submitted_.front().arrival <= parts_.now();
  }
  [[nodiscard]] bool kernel_waits_for_slot() const {
    return kernel_has_arrived() && entries() < config_.runtime.max_concurrent_kernels;
  }
  [[nodiscard]] bool room_for_kernel() const;
  /// One has, and is admitted in the next window: there is room, and no cooperative grid goes first.
  [[nodiscard]] bool takes_kernel_next(const Mechanisms& mechanisms) const {
    return next_admitted(mechanisms).has_value();
  }
  /// A cooperative grid waits for places: an SM that has one may not go ahead of the others.
  [[nodiscard]] bool grid_waits() const;
  /// Kernels run that launch others, or were launched so: their launches and ends concern the parts at once.
  [[nodiscard]] bool kernels_launch() const { return families_ != 0; }
  /// One that has arrived may be admitted at the end of any window, not with a kernel's end alone.
  [[nodiscard]] bool admission_may_come() const {
    return kernel_waits_for_slot() ||
           (kernel_has_arrived() && config_.runtime.kernel_leaves == arch::KernelLeaves::Dispatched);
  }
  [[nodiscard]] bool something_submitted() const { return !submitted_.empty(); }
  [[nodiscard]] bool copies_on_their_way() const { return !copied_.empty(); }
  /// The next launch or copy that reaches the machine after now(); kNever: none.
  [[nodiscard]] Cycle next_arrival() const;
  /// When the next SM has its power back, after now(); kNever: none waits for it.
  [[nodiscard]] Cycle next_power_up() const;
  /// Something changed since no block could be placed.
  [[nodiscard]] bool may_place() const { return may_place_; }
  /// A kernel has blocks that no SM has.
  [[nodiscard]] bool blocks_wait() const;
  /// One has such blocks while one of less priority of its application has: an SM with room for the latter
  /// may get none before any other SM takes the former's last.
  [[nodiscard]] bool priorities_matter() const;
  // --- standstill.cpp -----------------------------------------------------------------------------------
  /// Of an application with running kernels. StandsStill: its blocks on SMs wait for what others do, and its
  /// host waits for its kernels. HasNoPlace: no SM has a block of it, and its host waits.
  enum class Activity : std::uint8_t { Moves, HasNoPlace, StandsStill };
  [[nodiscard]] Activity activity(AppId app) const;
  /// One of its kernels runs or has arrived.
  [[nodiscard]] bool has_kernel(AppId app) const;
  /// No block is about to be placed, and none has ended whose place is not known to be free.
  [[nodiscard]] bool places_are_settled() const;
  /// Blocks of its running kernels that have begun, left or ended, and its kernels so far.
  [[nodiscard]] std::uint64_t block_moves(AppId app) const;
  /// It has blocks that no SM has, or a kernel on its way,
  [[nodiscard]] bool something_to_come(AppId app) const;
  /// some other application than these has a kernel on its way.
  [[nodiscard]] bool something_to_come_from_others(std::uint32_t apps) const;
  /// No kernel arrives, and no SM gets its power back.
  [[nodiscard]] bool is_settled(const Mechanisms& mechanisms) const {
    return next_arrival() == kNever && next_power_up() == kNever && !takes_kernel_next(mechanisms);
  }
  /// Throws SimulationFault.
  [[noreturn]] void report_standstill(AppId app, Cycle since, const Mechanisms& mechanisms) const;

  /// Its blocks end at once, whatever their streams still hold.
  [[nodiscard]] bool is_killed(arch::KernelSlot slot) const { return slots_[slot].killed; }
  /// The kernel's last block takes as long, from its dispatch to its end.
  [[nodiscard]] Cycle least_time_of_last_block(arch::KernelSlot slot) const {
    return slots_[slot].last_block_takes;
  }
  /// Of all kernels of the application so far.
  [[nodiscard]] arch::KernelCounters app_counters(AppId app) const;
  [[nodiscard]] std::uint64_t lsu_stalls(std::uint32_t sm) const;
  /// Cycles before now() in which SMs had power: the sum over them.
  [[nodiscard]] std::uint64_t powered_sm_cycles() const;

  // --- for reports --------------------------------------------------------------------------------------
  /// Throws SimulationFault for a kernel that runs longer than runtime.max_kernel_cycles at cycle `now`.
  void check_length(const policy::RunningKernel& kernel, Cycle now) const;
  /// Where some of the kernel's warps are, a line each. Ends the use of their streams.
  [[nodiscard]] std::string whereabouts(arch::KernelSlot slot) const;
  /// All kernels, and what their warps and requests wait for: one line each, of a long list the first.
  [[nodiscard]] std::string wait_report() const;

 private:
  struct Submitted {  // on its way to the machine
    runtime::Context* context;
    std::uint32_t stream;
    std::unique_ptr<workload::KernelSource> source;
    Cycle arrival;
    std::uint8_t priority;
  };
  struct CopiedBytes {  // on their way to L2
    AppId app;
    Address to;
    std::uint64_t bytes;
    Cycle arrival;
  };
  /// Places that a cooperative grid waits for: blocks by SM, and what each takes. Kernels behind the grid in
  /// the dispatch order leave them free.
  struct Reservation {
    arch::KernelSlot grid = 0;
    bool before_all = false;  // some of its blocks are resident and wait for the others
    policy::SmAmounts of_block{};
    std::vector<std::uint32_t> blocks;
  };
  /// Of a cooperative grid, by SM.
  struct Places {
    std::vector<std::uint32_t> free;  // blocks that it could place at once
    std::vector<std::uint32_t> most;  // and if the SMs had no other blocks
  };
  struct Slot {
    enum class State : std::uint8_t { Free, Running, Draining } state = State::Free;
    runtime::Context* context = nullptr;
    std::uint32_t stream = 0;
    AppId app = 0;
    Cycle last_block_takes = 0;  // at least, from its dispatch to its end
    bool killed = false;
    bool in_family = false;  // kernels_launch()
    std::unique_ptr<workload::KernelSource> source;
    std::deque<std::uint32_t>
        waiting;  // blocks that have left their SM, by residency, the first that left first
  };
  /// A thread block from its first dispatch to its end. While it runs, an SM has its stream and its context.
  struct Block {
    std::uint64_t index = 0;  // in its grid
    std::uint32_t place = 0;  // where it is, or was last
    bool lives = false;
    std::unique_ptr<workload::BlockStream> stream;
    std::unique_ptr<sm::BlockContext> context;  // of one that was stopped
  };

  using RunningKernel = policy::RunningKernel;
  static constexpr arch::KernelSlot kNoKernel = arch::kMaxKernelSlots;
  /// Whether an SM takes blocks.
  struct Duty {
    policy::SmDuty duty = policy::SmDuty::Serves;
    Cycle gated_since = kNever;  // kNever: it has power
    Cycle powered_at = 0;        // its power is back from then on, the begin of a window
  };
  [[nodiscard]] bool holds_blocks(SmId sm) const { return free_places_[sm] != all_places_; }
  [[nodiscard]] std::size_t free_slot() const;
  /// Kernels that count against runtime.max_concurrent_kernels: entries of the kernel status block. One that
  /// was stopped after its last dispatch has no entry again.
  [[nodiscard]] std::size_t entries() const;
  void admit(Submitted submitted, Mechanisms& mechanisms);
  /// Behind those that arrive no later.
  void put(Submitted submitted);
  [[nodiscard]] Cycle least_time(const workload::KernelSource& source) const;
  /// In submitted_: the next that is admitted now; nothing: none.
  [[nodiscard]] std::optional<std::size_t> next_admitted(const Mechanisms& mechanisms) const;
  // --- cooperative grids: cooperative_grids.cpp -----------------------------------------------------------
  /// A grid that has no room yet is to be placed before the kernel is admitted.
  [[nodiscard]] bool is_kept_waiting(const Submitted& submitted, const Mechanisms& mechanisms) const;
  /// Places those that have room for all their blocks, and reserves places for the others.
  void place_grids(Mechanisms& mechanisms);
  /// True: it is placed.
  bool place_grid(RunningKernel& grid, Mechanisms& mechanisms);
  [[nodiscard]] Places places_of(const RunningKernel& grid, const policy::BlockScheduler& blocks);
  void place_all(RunningKernel& grid, std::vector<std::uint32_t> free, Mechanisms& mechanisms);
  /// A kernel before it in the dispatch order takes places that are free now.
  [[nodiscard]] bool others_go_first(std::size_t order, policy::BlockScheduler& blocks);
  /// Fills up what is free first, then evenly.
  void reserve(const RunningKernel& grid, const Places& places, std::uint64_t blocks);
  /// The SM's resources that resident blocks have, and those that are kept for grids before this place in the
  /// dispatch order.
  [[nodiscard]] policy::SmAmounts taken(SmId sm, std::size_t order) const;
  [[nodiscard]] bool leaves_reservations(SmId sm, const RunningKernel& kernel, std::size_t order) const;
  /// Alone on the machine, it is given less than it needs and will be for ever: throws UserError.
  void refuse_if_never(const RunningKernel& grid, const Places& places, const Mechanisms& mechanisms);
  bool dispatch_in(Cycle start, Mechanisms& mechanisms);
  /// The same in an instance, which has a dispatcher of its own.
  bool dispatch_within(std::size_t instance, Cycle start, Mechanisms& mechanisms);
  bool dispatch_to(SmId sm, Cycle start, Mechanisms& mechanisms);
  /// The SM may take a block of the kernel at this place of the dispatch order, but not of a cooperative
  /// grid.
  [[nodiscard]] bool has_room_for(SmId sm, std::size_t order);
  /// A kernel of its application that has a greater priority takes its blocks to this SM first.
  [[nodiscard]] bool is_held_back(const sm::Sm& sm, const policy::RunningKernel& kernel);
  /// `delay`: after which its warps begin.
  void place(policy::RunningKernel& kernel, SmId sm, Cycle start, Mechanisms& mechanisms, Cycle delay = 0);
  /// The next block of the kernel, new or one that has left its SM, for this place.
  [[nodiscard]] std::uint32_t next_block(policy::RunningKernel& kernel, std::uint32_t place, SmId sm,
                                         Cycle start);
  /// True: it was its kernel's last.
  bool take_back(sm::FinishedBlock& block, SmId sm, Mechanisms& mechanisms);
  void wait(sm::FinishedBlock& block, policy::RunningKernel& kernel);
  void end_kernel(arch::KernelSlot slot, Mechanisms& mechanisms);
  [[nodiscard]] policy::BlockPlace place_of(std::uint32_t number) const;
  [[nodiscard]] policy::RunningKernel& running(arch::KernelSlot slot);

  const arch::MachineConfig& config_;
  Parts& parts_;
  std::vector<arch::Instance> instances_;
  std::vector<std::uint32_t> next_sm_;  // by instance: behind the one that took the last block
  std::deque<Submitted> submitted_;     // in order of arrival
  std::deque<CopiedBytes> copied_;      // in order of arrival
  std::vector<Slot> slots_;
  std::vector<policy::RunningKernel> running_;
  std::uint64_t arrivals_ = 0;
  std::uint32_t prioritized_ = 0;  // running kernels whose priority is not 0
  std::uint32_t families_ = 0;     // slots whose kernels run with in_family
  std::vector<arch::KernelSlot> dispatch_order_;
  bool takes_turns_ = false;                   // each SM among the kernels of that order
  std::vector<arch::KernelSlot> last_kernel_;  // by SM: of the last block that it took
  std::uint64_t all_places_;                   // of an SM
  std::vector<std::uint64_t> free_places_;     // [sm] mask of free block places
  std::vector<Duty> duties_;                   // by SM
  std::uint64_t gated_cycles_ = 0;             // of SMs that have power again
  /// [residency] A block that begins has its place's number. With those that wait there may be more than
  /// places.
  std::vector<Block> blocks_;
  bool keeps_records_ = false;
  std::uint32_t grids_ = 0;                // running cooperative kernels
  std::vector<Reservation> reservations_;  // those before all first, each in order of arrival
  std::uint32_t small_shares_ = 0;       // slots of grids whose share was too small: others wait behind them
  Cycle grid_is_alone_since_ = kNever;   // and has no room
  std::vector<Cycle> busy_until_;        // by dispatcher: it places a grid's blocks until then
  std::vector<SmId> offered_;            // for dispatch_in()
  std::vector<arch::KernelSlot> ready_;  // for dispatch_to()
  bool may_place_ = false;
  std::vector<arch::KernelCounters> folded_;  // by app: counters of recycled slots
  std::vector<std::uint64_t> folded_stalls_;  // by SM: LSU stall cycles of recycled slots
};

}  // namespace gpumux::machine
