// A resident thread block: executes its warps lazily and hands out their streams.
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

/// The storage of a block, kept from block to block.
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

/// Storage of ended blocks. Belongs to one loaded module, so one thread uses it at a time.
class BlockPool {
 public:
  std::unique_ptr<BlockStorage> take();
  void give(std::unique_ptr<BlockStorage> storage);

 private:
  std::vector<std::unique_ptr<BlockStorage>> free_;
};

/// One of the 16 barriers of a block.
struct Barrier {
  std::uint32_t warps_arrived = 0;  // one bit per warp: each counts once until the barrier opens
  std::uint32_t warps_waiting = 0;
  std::uint32_t count = 0;     // threads expected; 0: the whole block
  std::uint32_t arrivals = 0;  // in warps, for a barrier with a count
  std::uint32_t popc = 0;      // of bar.red's predicate
  bool all = true;
};

class BlockRaces;

class Block final : public workload::BlockStream {
 public:
  /// `recorded`: its warps are executed by refill(), and leave records for the timing model. Else by
  /// advance().
  Block(std::shared_ptr<LaunchData> launch, std::uint64_t index, std::uint32_t residency, SmId sm, Cycle now,
        bool recorded = true);
  ~Block() override;
  void refill(std::uint32_t warp, std::uint32_t wanted) override;
  void moved(SmId sm) override;
  /// Executes up to `turn` instructions of each warp that is not at a barrier; returns how many they were.
  std::uint64_t advance(std::uint32_t turn);
  [[nodiscard]] bool ended() const { return done_warps_ == all_warps_; }

  // For the handlers.
  [[nodiscard]] const LaunchData& launch() const { return *launch_; }
  [[nodiscard]] const ModuleData& module() const { return *launch_->module; }
  [[nodiscard]] workload::DeviceMemory& memory() const { return *launch_->module->memory; }
  [[nodiscard]] std::byte* shared() { return storage_->shared.data(); }
  [[nodiscard]] BlockRaces* races() { return races_.get(); }  // nullptr: nobody watches
  [[nodiscard]] MbarrierTotals& mbarriers() { return storage_->mbarriers; }
  [[nodiscard]] std::uint32_t* local(std::uint32_t warp) {
    return storage_->local.data() + std::size_t{warp} * launch_->local_words * kWarpSize;
  }
  /// Where word 0 of the warp's local memory lies for the caches.
  [[nodiscard]] Address local_line(std::uint32_t warp) const;
  [[nodiscard]] Dim3 coordinates() const { return ctaid_; }
  /// In its grid, x fastest.
  [[nodiscard]] std::uint64_t index() const { return index_; }
  /// Of the device run time, of a thread of the block: cudaError_t.
  [[nodiscard]] std::uint32_t& last_error(std::uint32_t thread) {
    last_errors_.resize(launch_->threads);
    return last_errors_.at(thread);
  }
  [[nodiscard]] Cycle start() const { return start_; }
  /// "thread (3,0,0) of block (7,0,0)".
  [[nodiscard]] std::string thread_text(const Warp& warp, std::uint32_t lane) const;
  [[nodiscard]] Dim3 thread(const Warp& warp, std::uint32_t lane) const;
  /// "pc 12 (hotspot.ptx:123)".
  [[nodiscard]] std::string place_text(std::uint32_t pc) const;
  /// Throws KernelFault: "error: APP: kernel K: WHAT, thread ... of block ..., pc ...".
  [[noreturn]] void fault(const Warp& warp, std::uint32_t lane, const std::string& what,
                          FaultKind kind = FaultKind::Other) const;
  /// A lane may access global memory there. Outside of allocations: where the application lets it
  /// (KernelErrors), and then it is reported once for each instruction; `what` describes the access.
  template <class What>
  [[nodiscard]] bool may_access(const Warp& warp, std::uint32_t lane, Address address, std::uint64_t bytes,
                                What what) const {
    if (memory().valid(address, bytes)) return true;
    KernelErrors* const errors = module().errors;
    if (errors == nullptr || !memory().on_used_pages(address, bytes)) return false;
    if (errors->first_outside(launch_->program, warp.pc)) errors->outside(fault_text(warp, lane, what()));
    return true;
  }

  /// Of a lane whose access to local memory is invalid: faults with a stack overflow when it is one.
  void check_stack(const Warp& warp, std::uint32_t lane) const;
  [[nodiscard]] std::string whereabouts(std::uint32_t warp) override;
  [[nodiscard]] workload::Outlook outlook(std::uint32_t warp) override;

  /// The warp arrives at a barrier; opens it when it was the last.
  void arrive(Warp& warp, std::uint32_t barrier, std::uint32_t count, const Op& op, LaneMask lanes,
              bool waits);
  /// The running path has come to an instruction at which lanes of `wanted` meet that it lacks: it takes
  /// those in that wait here, or waits while others run. True: it may execute the instruction.
  bool meet(Warp& warp, LaneMask wanted);
  /// A warp has ended: barriers of the whole block no longer wait for it.
  void warp_done(Warp& warp);

 private:
  [[nodiscard]] std::string fault_text(const Warp& warp, std::uint32_t lane, const std::string& what) const;
  /// Errors have ended the application's kernels.
  [[nodiscard]] bool ended_by_errors() const {
    return launch_->module->errors != nullptr && launch_->module->errors->ended();
  }
  /// The warp executes nothing more.
  void stop(Warp& warp);
  void fill_block_rows();
  /// Its next instruction leaves work for the device (isa::enqueues()), and comes once all before it have
  /// been consumed: that they are done is what a launch means to the kernel that it launches, and for time.
  [[nodiscard]] bool holds_back(const Warp& warp) const {
    return launch_->program->enqueues && isa::enqueues(launch_->program->ops[warp.pc].inst->service) &&
           streams_[warp.index].available() != 0;
  }
  void run(Warp& warp, std::uint32_t limit);
  void run_up_to(Warp& warp, std::uint32_t limit);
  /// Executes up to `limit` instructions of a running warp; stops before one of which `go` says no.
  template <class Go>
  void execute(Warp& warp, std::uint32_t limit, Go go);
  template <bool Recorded, class Go>
  void execute_as(Warp& warp, std::uint32_t limit, Go go);
  /// Executes up to `limit` instructions and throws SimulationFault when they prove that the warp never ends.
  void watch_for_repetition(Warp& warp, std::uint32_t limit);
  void try_open(std::uint32_t barrier);
  // --- independent_threads.cpp ------------------------------------------------------------------
  /// Lets another path run where the running one waits in a loop for what others have to do. True: one does.
  bool yield_if_spinning(Warp& warp);
  /// The running path may leave the warp to lanes that wait below it.
  [[nodiscard]] bool other_lanes_may_run(const Warp& warp) const;
  /// Executes up to `limit` instructions of a warp with `split` set.
  void run_split(Warp& warp, std::uint32_t limit);
  void let_others_run(const Warp& stuck);
  /// "0x10000001000 (the variable lock)" of the memory that a running warp looks at again and again; "":
  /// none.
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
  std::uint32_t barriers_in_use_ = 0;  // one bit each: warps have arrived
  std::array<Barrier, 16> barriers_{};
  std::unique_ptr<BlockRaces> races_;
  std::vector<std::uint32_t> last_errors_;  // by thread; empty: none has asked
};

/// Computes the rows of special registers that all blocks of the launch share.
void fill_warp_rows(LaunchData& launch);

/// Special registers that differ between the blocks of a launch.
[[nodiscard]] constexpr bool differs_by_block(isa::Special special) {
  return special == isa::Special::CtaidX || special == isa::Special::CtaidY ||
         special == isa::Special::CtaidZ || special == isa::Special::SmId;
}

/// Special registers that change while a warp runs. They count one cycle per executed instruction of
/// the warp from the cycle at which the block began: monotonic and independent of the host.
[[nodiscard]] constexpr bool is_clock(isa::Special special) {
  return special >= isa::Special::Clock && special <= isa::Special::GlobalTimerHi;
}

/// Of an instruction at which lanes meet: those that it wants of the warp, or none (independent_threads.cpp).
[[nodiscard]] LaneMask lanes_that_meet(const Warp& warp, const Op& op, LaneMask lanes);

}  // namespace gpumux::emulator
