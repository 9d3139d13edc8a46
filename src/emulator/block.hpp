// A resident thread block: executes its warps lazily and provides their streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/huge_pages.hpp"
#include "emulator/kernel_errors.hpp"
#include "emulator/launch.hpp"
#include "emulator/mbarrier.hpp"
#include "emulator/record_buffer.hpp"
#include "emulator/warp.hpp"
#include "workload/stream.hpp"

namespace gpumux::emulator {

/// Memory of a block, which is reused for later blocks.
struct BlockStorage {
  HugePageArray<std::byte> registers;
  std::size_t register_capacity = 0;
  HugePageVector<std::byte> block_rows;  // kBlockRows
  HugePageVector<LaneMask> preds;
  std::vector<std::byte> shared;
  std::vector<std::uint32_t> local;  // [warp][word][lane]
  HugePageVector<Warp> warps;
  HugePageVector<RecordBuffer> buffers;
  MbarrierTotals mbarriers;
};

/// Memory of ended blocks. The pool belongs to one loaded module, so only one thread at a time uses it.
class BlockPool {
 public:
  std::unique_ptr<BlockStorage> take();
  void give(std::unique_ptr<BlockStorage> storage);

 private:
  std::vector<std::unique_ptr<BlockStorage>> free_;
};

/// One of the 16 barriers of a block.
struct Barrier {
  std::uint32_t warps_arrived = 0;  // one bit per warp; a warp counts once until the barrier opens
  std::uint32_t warps_waiting = 0;
  std::uint32_t count = 0;     // expected threads; 0: the whole block
  std::uint32_t arrivals = 0;  // in warps, for a barrier with a count
  std::uint32_t popc = 0;      // sum of bar.red's predicate
  bool all = true;
};

class BlockRaces;

class Block final : public workload::BlockStream {
 public:
  /// `recorded`: refill() executes the warps and leaves records for the timing model. Otherwise advance()
  /// executes them.
  Block(std::shared_ptr<LaunchData> launch, std::uint64_t index, std::uint32_t residency, SmId sm, Cycle now,
        bool recorded = true);
  ~Block() override;
  void refill(std::uint32_t warp, std::uint32_t wanted) override;
  void moved(SmId sm) override;
  /// Executes up to `turn` instructions of each warp that is not at a barrier. Returns the number of
  /// instructions.
  std::uint64_t advance(std::uint32_t turn);
  [[nodiscard]] bool ended() const { return done_warps_ == all_warps_; }

  // Interface for the handlers.
  [[nodiscard]] const LaunchData& launch() const { return *launch_; }
  [[nodiscard]] const ModuleData& module() const { return *launch_->module; }
  [[nodiscard]] workload::DeviceMemory& memory() const { return *launch_->module->memory; }
  [[nodiscard]] std::byte* shared() { return storage_->shared.data(); }
  [[nodiscard]] BlockRaces* races() { return races_.get(); }  // nullptr: not watched for races
  [[nodiscard]] MbarrierTotals& mbarriers() { return storage_->mbarriers; }
  [[nodiscard]] std::uint32_t* local(std::uint32_t warp) {
    return storage_->local.data() + std::size_t{warp} * launch_->local_words * kWarpSize;
  }
  /// Address of word 0 of the warp's local memory for the caches.
  [[nodiscard]] Address local_line(std::uint32_t warp) const;
  [[nodiscard]] Dim3 coordinates() const { return ctaid_; }
  /// Index in the grid, x fastest.
  [[nodiscard]] std::uint64_t index() const { return index_; }
  /// The cudaError_t of the device run time for a thread of the block.
  [[nodiscard]] std::uint32_t& last_error(std::uint32_t thread) {
    last_errors_.resize(launch_->threads);
    return last_errors_.at(thread);
  }
  [[nodiscard]] Cycle start() const { return start_; }
  /// The text of a thread: "thread (3,0,0) of block (7,0,0)".
  [[nodiscard]] std::string thread_text(const Warp& warp, std::uint32_t lane) const;
  [[nodiscard]] Dim3 thread(const Warp& warp, std::uint32_t lane) const;
  /// The text of a pc: "pc 12 (hotspot.ptx:123)".
  [[nodiscard]] std::string place_text(std::uint32_t pc) const;
  /// Throws KernelFault: "error: APP: kernel K: WHAT, thread ... of block ..., pc ...".
  [[noreturn]] void fault(const Warp& warp, std::uint32_t lane, const std::string& what,
                          FaultKind kind = FaultKind::Other) const;
  /// True if a lane may access these bytes of global memory. Bytes outside of allocations may be accessed if
  /// the application permits it (KernelErrors). This is reported once per instruction. `what` returns a
  /// description of the access.
  template <class What>
  [[nodiscard]] bool may_access(const Warp& warp, std::uint32_t lane, Address address, std::uint64_t bytes,
                                What what) const {
    if (memory().valid(address, bytes)) return true;
    KernelErrors* const errors = module().errors;
    if (errors == nullptr || !memory().on_used_pages(address, bytes)) return false;
    if (errors->first_outside(launch_->program, warp.pc)) errors->outside(fault_text(warp, lane, what()));
    return true;
  }

  /// Called for an invalid access of a lane to local memory. Faults if the reason is a stack overflow.
  void check_stack(const Warp& warp, std::uint32_t lane) const;
  [[nodiscard]] std::string whereabouts(std::uint32_t warp) override;
  [[nodiscard]] workload::Outlook outlook(std::uint32_t warp) override;

  /// Lets the warp arrive at a barrier, and opens the barrier if this is the last arrival.
  void arrive(Warp& warp, std::uint32_t barrier, std::uint32_t count, const Op& op, LaneMask lanes,
              bool waits);
  /// Called when the running path reaches an instruction at which lanes of `wanted` meet. Missing lanes that
  /// wait at the same instruction join the path. If others are still missing, the path waits and another one
  /// runs. Returns true if the instruction can be executed.
  bool meet(Warp& warp, LaneMask wanted);
  /// A warp has ended, so barriers of the whole block no longer wait for it.
  void warp_done(Warp& warp);

 private:
  [[nodiscard]] std::string fault_text(const Warp& warp, std::uint32_t lane, const std::string& what) const;
  /// True if errors have ended the application's kernels.
  [[nodiscard]] bool ended_by_errors() const {
    return launch_->module->errors != nullptr && launch_->module->errors->ended();
  }
  /// Ends the warp: it executes nothing more.
  void stop(Warp& warp);
  void fill_block_rows();
  /// True if the next instruction leaves work for the device (isa::enqueues()) and must wait until all
  /// earlier records have been consumed. The launched kernel may assume that earlier instructions are
  /// complete, also in simulated time.
  [[nodiscard]] bool holds_back(const Warp& warp) const {
    return launch_->program->enqueues && isa::enqueues(launch_->program->ops[warp.pc].inst->service) &&
           streams_[warp.index].available() != 0;
  }
  void run(Warp& warp, std::uint32_t limit);
  void run_up_to(Warp& warp, std::uint32_t limit);
  /// Executes up to `limit` instructions of a running warp. Stops before an instruction for which `go`
  /// returns false.
  template <class Go>
  void execute(Warp& warp, std::uint32_t limit, Go go);
  template <bool Recorded, class Go>
  void execute_as(Warp& warp, std::uint32_t limit, Go go);
  /// Executes up to `limit` instructions. Throws SimulationFault if they prove that the warp never ends.
  void watch_for_repetition(Warp& warp, std::uint32_t limit);
  void try_open(std::uint32_t barrier);
  // --- independent_threads.cpp ------------------------------------------------------------------
  /// If the running path waits in a loop for actions of others, switches to another path and returns true.
  bool yield_if_spinning(Warp& warp);
  /// True if the running path may yield to lanes that wait below it.
  [[nodiscard]] bool other_lanes_may_run(const Warp& warp) const;
  /// Executes up to `limit` instructions of a warp with `split` set.
  void run_split(Warp& warp, std::uint32_t limit);
  void let_others_run(const Warp& stuck);
  /// Text of the memory that a running warp reads repeatedly, "0x10000001000 (the variable lock)", or "".
  [[nodiscard]] std::string watched_memory(Warp& warp);
  [[nodiscard]] std::string waiting_lanes(const Warp& warp) const;
  [[noreturn]] void report_deadlock() const;
  [[noreturn]] void report_endless(const Warp& warp) const;
  [[noreturn]] void report_repetition(const Warp& warp, std::uint32_t pc, std::uint64_t period) const;

  std::shared_ptr<LaunchData> launch_;
  std::unique_ptr<BlockStorage> storage_;
  Dim3 ctaid_;
  std::uint64_t index_;
  std::uint32_t residency_;
  SmId sm_;
  Cycle start_;
  bool recorded_;
  std::uint32_t all_warps_;  // one bit per warp
  std::uint32_t done_warps_ = 0;
  std::uint32_t barriers_in_use_ = 0;  // one bit per barrier at which a warp has arrived
  std::array<Barrier, 16> barriers_{};
  std::unique_ptr<BlockRaces> races_;
  std::vector<std::uint32_t> last_errors_;  // by thread; empty until it is needed
};

/// Computes the rows of special registers that all blocks of the launch share.
void fill_warp_rows(LaunchData& launch);

/// True for special registers that differ between the blocks of a launch.
[[nodiscard]] constexpr bool differs_by_block(isa::Special special) {
  return special == isa::Special::CtaidX || special == isa::Special::CtaidY ||
         special == isa::Special::CtaidZ || special == isa::Special::SmId;
}

/// True for special registers that change while a warp runs. They advance with each executed instruction of
/// the warp from the cycle at which the block started, so they are monotonic and independent of the host.
[[nodiscard]] constexpr bool is_clock(isa::Special special) {
  return special >= isa::Special::Clock && special <= isa::Special::GlobalTimerHi;
}

/// The lanes of the warp that an instruction needs if lanes meet at it, or none (independent_threads.cpp).
[[nodiscard]] LaneMask lanes_that_meet(const Warp& warp, const Op& op, LaneMask lanes);

}  // namespace gpumux::emulator
