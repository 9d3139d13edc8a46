// Distributes kernels and thread blocks: admission of launches, dispatch of blocks to SMs, and
// collection of ended blocks. The sharing policy's limits and dispatch order, and the block scheduler,
// decide which SM gets which block.
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
  /// `instances`: by application. Empty: all applications share the machine.
  WorkDistributor(const arch::MachineConfig& config, Parts& parts, std::vector<arch::Instance> instances);

  // --- requests ------------------------------------------------------------------------------------------
  /// Submits a launch. Launches and copies take equally long to reach the machine.
  void submit(runtime::Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t priority);
  /// Submits a kernel launched by a kernel, which arrives at the start of a window. `refilling`:
  /// it arrives with the next window, since streams are refilled in this window, before or after
  /// other kernels are admitted.
  void submit_child(runtime::Context& context, std::uint32_t stream,
                    std::unique_ptr<workload::KernelSource> kernel, bool refilling);
  void copied_to_device(AppId app, Address to, std::uint64_t bytes);
  void set_dispatch_order(const std::vector<arch::KernelSlot>& order);
  void set_dispatch_turns(bool on) { takes_turns_ = on; }
  /// Requires that all parts have reached now().
  void set_duty(SmId sm, policy::SmDuty duty);
  /// Makes blocks keep their records, so that a dropped block can be restarted.
  void keep_records() { keeps_records_ = true; }
  /// Tells that something has changed that may let an SM take a block.
  void look_again() { may_place_ = true; }
  /// Ends the context's launches. Launches that have not arrived are forgotten, running kernels lose the
  /// blocks that are on no SM, and blocks on SMs leave at once. Requires that all parts have reached now().
  void kill(runtime::Context& context, Mechanisms& mechanisms);
  /// Forgets all work, so that nothing refers to the contexts any more.
  void drop();

  // --- once per window, in this order -------------------------------------------------------------------
  void admit_copies();
  /// Admits kernels that have arrived, as far as there is room.
  void admit_kernels(Mechanisms& mechanisms);
  void dispatch(Mechanisms& mechanisms);
  /// Collects blocks that have ended by now(). SMs that are ahead are included only if `ends_now`: a kernel's
  /// end is due. Returns true if a kernel has ended. Throws SimulationFault for a kernel that ran too long.
  bool collect(bool ends_now, Mechanisms& mechanisms);
  /// Frees the slots of ended kernels whose last requests have been answered.
  void recycle();

  // --- state ---------------------------------------------------------------------------------------------
  /// Running kernels, in order of arrival.
  [[nodiscard]] const std::vector<policy::RunningKernel>& kernels() const { return running_; }
  /// Mask of the applications with a running kernel.
  [[nodiscard]] std::uint32_t running_apps() const;
  /// True if no kernel is submitted, running or draining.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] bool some_slot_is_used() const;
  /// kernel_has_arrived(): a launch has arrived and waits for room. kernel_waits_for_slot(): the launch waits
  /// only for a slot, which becomes free when the last request of an ended kernel has been answered.
  [[nodiscard]] bool kernel_has_arrived() const {
    return !submitted_.empty() && submitted_.front().arrival <= parts_.now();
  }
  [[nodiscard]] bool kernel_waits_for_slot() const {
    return kernel_has_arrived() && entries() < config_.runtime.max_concurrent_kernels;
  }
  [[nodiscard]] bool room_for_kernel() const;
  /// True if an arrived kernel is admitted in the next window: there is room, and no
  /// cooperative grid goes first.
  [[nodiscard]] bool takes_kernel_next(const Mechanisms& mechanisms) const {
    return next_admitted(mechanisms).has_value();
  }
  /// True if a cooperative grid waits for places. An SM that has such places must not go ahead of the others.
  [[nodiscard]] bool grid_waits() const;
  /// True if kernels run that launch kernels or were launched by kernels. Their launches and ends
  /// concern the parts at once.
  [[nodiscard]] bool kernels_launch() const { return families_ != 0; }
  /// True if an arrived kernel may be admitted at the end of any window, not only when a kernel ends.
  [[nodiscard]] bool admission_may_come() const {
    return kernel_waits_for_slot() ||
           (kernel_has_arrived() && config_.runtime.kernel_leaves == arch::KernelLeaves::Dispatched);
  }
  [[nodiscard]] bool something_submitted() const { return !submitted_.empty(); }
  [[nodiscard]] bool copies_on_their_way() const { return !copied_.empty(); }
  /// Cycle of the next launch or copy that reaches the machine after now(); kNever: none.
  [[nodiscard]] Cycle next_arrival() const;
  /// Cycle after now() at which the next SM has its power back; kNever: no SM waits for power.
  [[nodiscard]] Cycle next_power_up() const;
  /// True if something has changed since no block could be placed.
  [[nodiscard]] bool may_place() const { return may_place_; }
  /// True if a kernel has blocks that are on no SM.
  [[nodiscard]] bool blocks_wait() const;
  /// True if a kernel with undispatched blocks has a kernel of less priority of its application behind
  /// it, with undispatched blocks too. An SM with room for the latter may have to wait until another SM
  /// takes the former's last block.
  [[nodiscard]] bool priorities_matter() const;
  // --- standstill.cpp -----------------------------------------------------------------------------------
  /// Activity of an application with running kernels. StandsStill: its blocks on SMs wait for other
  /// blocks, and its host waits for its kernels. HasNoPlace: no SM has a block of it, and its host
  /// waits. Moves: anything else.
  enum class Activity : std::uint8_t { Moves, HasNoPlace, StandsStill };
  [[nodiscard]] Activity activity(AppId app) const;
  /// True if a kernel of the application runs or has arrived.
  [[nodiscard]] bool has_kernel(AppId app) const;
  /// True if no block is about to be placed, and the places of all ended blocks are known to be free.
  [[nodiscard]] bool places_are_settled() const;
  /// Number of blocks of the application's running kernels that have started, left or ended, plus the
  /// kernels' arrival numbers. Changes whenever one of these changes.
  [[nodiscard]] std::uint64_t block_moves(AppId app) const;
  /// True if the application has blocks that are on no SM, or a kernel on its way.
  [[nodiscard]] bool something_to_come(AppId app) const;
  /// True if an application that is not in the mask has a kernel on its way.
  [[nodiscard]] bool something_to_come_from_others(std::uint32_t apps) const;
  /// True if no kernel is about to arrive or be admitted, and no SM is about to get its power back.
  [[nodiscard]] bool is_settled(const Mechanisms& mechanisms) const {
    return next_arrival() == kNever && next_power_up() == kNever && !takes_kernel_next(mechanisms);
  }
  /// Throws SimulationFault that says what the application's blocks wait for.
  [[noreturn]] void report_standstill(AppId app, Cycle since, const Mechanisms& mechanisms) const;

  /// True if the kernel was killed: its blocks end at once, whatever their streams still hold.
  [[nodiscard]] bool is_killed(arch::KernelSlot slot) const { return slots_[slot].killed; }
  /// Lower bound of the cycles from the dispatch of the kernel's last block to the block's end.
  [[nodiscard]] Cycle least_time_of_last_block(arch::KernelSlot slot) const {
    return slots_[slot].last_block_takes;
  }
  /// Counters of all kernels of the application so far.
  [[nodiscard]] arch::KernelCounters app_counters(AppId app) const;
  [[nodiscard]] std::uint64_t lsu_stalls(std::uint32_t sm) const;
  /// Cycles before now() in which SMs had power, summed over SMs.
  [[nodiscard]] std::uint64_t powered_sm_cycles() const;

  // --- for reports --------------------------------------------------------------------------------------
  /// Throws SimulationFault for a kernel that has run longer than runtime.max_kernel_cycles at cycle `now`.
  void check_length(const policy::RunningKernel& kernel, Cycle now) const;
  /// Describes where some of the kernel's warps are, one line each. The warps' streams
  /// cannot be used afterwards.
  [[nodiscard]] std::string whereabouts(arch::KernelSlot slot) const;
  /// Describes all kernels and what their warps and requests wait for, one line each. A long list is cut off.
  [[nodiscard]] std::string wait_report() const;

 private:
  struct Submitted {  // a launch on its way to the machine
    runtime::Context* context;
    std::uint32_t stream;
    std::unique_ptr<workload::KernelSource> source;
    Cycle arrival;
    std::uint8_t priority;
  };
  struct CopiedBytes {  // data of a copy on its way to L2
    AppId app;
    Address to;
    std::uint64_t bytes;
    Cycle arrival;
  };
  /// Places reserved for a cooperative grid that waits: blocks by SM, and the resources of a block. Later
  /// kernels in the dispatch order leave these places free.
  struct Reservation {
    arch::KernelSlot grid = 0;
    bool before_all = false;  // some blocks of the grid are resident and wait for the others
    policy::SmAmounts of_block{};
    std::vector<std::uint32_t> blocks;
  };
  /// Blocks of a cooperative grid that could be placed, by SM.
  struct Places {
    std::vector<std::uint32_t> free;  // number of blocks that could be placed at once
    std::vector<std::uint32_t> most;  // number of blocks that could be placed if the SMs had no other blocks
  };
  struct Slot {
    enum class State : std::uint8_t { Free, Running, Draining } state = State::Free;
    runtime::Context* context = nullptr;
    std::uint32_t stream = 0;
    AppId app = 0;
    Cycle last_block_takes = 0;  // lower bound of the cycles from the last block's dispatch to its end
    bool killed = false;
    bool in_family = false;  // counts in families_, see kernels_launch()
    std::unique_ptr<workload::KernelSource> source;
    std::deque<std::uint32_t>
        waiting;  // blocks that have left their SM, by residency, in the order in which they left
  };
  /// A thread block from its first dispatch to its end. While the block runs, an SM has its stream and
  /// context.
  struct Block {
    std::uint64_t index = 0;  // index within the grid
    std::uint32_t place = 0;  // current or last block place
    bool lives = false;
    std::unique_ptr<workload::BlockStream> stream;
    std::unique_ptr<sm::BlockContext> context;  // context of a stopped block
  };

  using RunningKernel = policy::RunningKernel;
  static constexpr arch::KernelSlot kNoKernel = arch::kMaxKernelSlots;
  /// The duty of an SM, and since when or until when it has no power.
  struct Duty {
    policy::SmDuty duty = policy::SmDuty::Serves;
    Cycle gated_since = kNever;  // since when the SM has no power; kNever: it has power
    Cycle powered_at = 0;        // start of the window from which the SM has its power back
  };
  [[nodiscard]] bool holds_blocks(SmId sm) const { return free_places_[sm] != all_places_; }
  [[nodiscard]] std::size_t free_slot() const;
  /// Kernels that count against runtime.max_concurrent_kernels: entries of the kernel status block. A kernel
  /// that was stopped after its last dispatch gets no entry again.
  [[nodiscard]] std::size_t entries() const;
  void admit(Submitted submitted, Mechanisms& mechanisms);
  /// Inserts a launch behind those that arrive no later.
  void put(Submitted submitted);
  [[nodiscard]] Cycle least_time(const workload::KernelSource& source) const;
  /// Index in submitted_ of the kernel that is admitted next; nothing: none.
  [[nodiscard]] std::optional<std::size_t> next_admitted(const Mechanisms& mechanisms) const;
  // --- cooperative grids: cooperative_grids.cpp -----------------------------------------------------------
  /// True if a grid that has no room yet must be placed before the kernel is admitted.
  [[nodiscard]] bool is_kept_waiting(const Submitted& submitted, const Mechanisms& mechanisms) const;
  /// Places the grids that have room for all their blocks, and reserves places for the other grids.
  void place_grids(Mechanisms& mechanisms);
  /// Returns true if the grid was placed.
  bool place_grid(RunningKernel& grid, Mechanisms& mechanisms);
  [[nodiscard]] Places places_of(const RunningKernel& grid, const policy::BlockScheduler& blocks);
  void place_all(RunningKernel& grid, std::vector<std::uint32_t> free, Mechanisms& mechanisms);
  /// True if a kernel earlier in the dispatch order takes places that are free now.
  [[nodiscard]] bool others_go_first(std::size_t order, policy::BlockScheduler& blocks);
  /// Reserves the free places first, then distributes the other blocks evenly.
  void reserve(const RunningKernel& grid, const Places& places, std::uint64_t blocks);
  /// Resources of an SM that are taken by resident blocks, or reserved for grids before this
  /// place in the dispatch order.
  [[nodiscard]] policy::SmAmounts taken(SmId sm, std::size_t order) const;
  [[nodiscard]] bool leaves_reservations(SmId sm, const RunningKernel& kernel, std::size_t order) const;
  /// Throws UserError if the grid is alone on the machine and will never get the places that it needs.
  void refuse_if_never(const RunningKernel& grid, const Places& places, const Mechanisms& mechanisms);
  bool dispatch_in(Cycle start, Mechanisms& mechanisms);
  /// dispatch_in() within an instance, which has a dispatcher of its own.
  bool dispatch_within(std::size_t instance, Cycle start, Mechanisms& mechanisms);
  bool dispatch_to(SmId sm, Cycle start, Mechanisms& mechanisms);
  /// True if the SM may take a block of the kernel at this place of the dispatch order.
  /// False for a cooperative grid.
  [[nodiscard]] bool has_room_for(SmId sm, std::size_t order);
  /// True if a kernel of the same application with greater priority must place its blocks on this SM first.
  [[nodiscard]] bool is_held_back(const sm::Sm& sm, const policy::RunningKernel& kernel);
  /// `delay`: cycles after which the block's warps start.
  void place(policy::RunningKernel& kernel, SmId sm, Cycle start, Mechanisms& mechanisms, Cycle delay = 0);
  /// The next block of the kernel for this place: a new block, or a block that has left its SM.
  [[nodiscard]] std::uint32_t next_block(policy::RunningKernel& kernel, std::uint32_t place, SmId sm,
                                         Cycle start);
  /// Returns true if the block was its kernel's last one.
  bool take_back(sm::FinishedBlock& block, SmId sm, Mechanisms& mechanisms);
  void wait(sm::FinishedBlock& block, policy::RunningKernel& kernel);
  void end_kernel(arch::KernelSlot slot, Mechanisms& mechanisms);
  [[nodiscard]] policy::BlockPlace place_of(std::uint32_t number) const;
  [[nodiscard]] policy::RunningKernel& running(arch::KernelSlot slot);

  const arch::MachineConfig& config_;
  Parts& parts_;
  std::vector<arch::Instance> instances_;
  std::vector<std::uint32_t> next_sm_;  // by instance: the SM after the one that took the last block
  std::deque<Submitted> submitted_;     // in order of arrival
  std::deque<CopiedBytes> copied_;      // in order of arrival
  std::vector<Slot> slots_;
  std::vector<policy::RunningKernel> running_;
  std::uint64_t arrivals_ = 0;
  std::uint32_t prioritized_ = 0;  // number of running kernels whose priority is not 0
  std::uint32_t families_ = 0;     // number of running kernels with in_family
  std::vector<arch::KernelSlot> dispatch_order_;
  bool takes_turns_ = false;                   // each SM takes blocks of the kernels in dispatch_order_ by
                                               // turns
  std::vector<arch::KernelSlot> last_kernel_;  // by SM: kernel of the last block that it took
  std::uint64_t all_places_;                   // mask of an SM's block places
  std::vector<std::uint64_t> free_places_;     // [sm] mask of free block places
  std::vector<Duty> duties_;                   // by SM
  std::uint64_t gated_cycles_ = 0;             // past cycles without power of SMs that have power again
  /// [residency] The residency of a new block is the number of its place. With waiting blocks, there may
  /// be more blocks than places.
  std::vector<Block> blocks_;
  bool keeps_records_ = false;
  std::uint32_t grids_ = 0;                // number of running cooperative kernels
  std::vector<Reservation> reservations_;  // those with before_all first, then in order of arrival
  std::uint32_t small_shares_ = 0;         // slots of grids whose share was too small,
                                           // behind which other kernels wait
  Cycle grid_is_alone_since_ = kNever;     // since when the only running kernel is a grid without room
  std::vector<Cycle> busy_until_;          // by dispatcher: until when it places a grid's blocks
  std::vector<SmId> offered_;              // buffer of dispatch_in()
  std::vector<arch::KernelSlot> ready_;    // buffer of dispatch_to()
  bool may_place_ = false;
  std::vector<arch::KernelCounters> folded_;  // by app: counters of recycled slots
  std::vector<std::uint64_t> folded_stalls_;  // by SM: LSU stall cycles of recycled slots
};

}  // namespace gpumux::machine
