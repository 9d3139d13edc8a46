// The thread blocks that are resident on an SM: the progress of each block and its warps, the resources that
// they use, the warps that wait at each barrier, and when a block ends. The table knows neither time nor
// schedulers: callers tell it what happens, and it returns the consequences for the block as data.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/prefetch.hpp"
#include "sm/block_context.hpp"
#include "sm/warp.hpp"
#include "workload/stream.hpp"

namespace gpumux::sm {

/// The state of a resident block, together with the Warps of its slots.
struct Block {
  std::unique_ptr<workload::BlockStream> stream;
  std::vector<std::uint16_t> warps;  // warp slots
  arch::KernelSlot kernel = 0;
  AppId app = 0;
  std::uint32_t residency = 0;
  std::uint32_t registers = 0;  // allocated, rounded up
  std::uint32_t shared_bytes = 0;
  std::uint32_t threads = 0;
  std::uint32_t alive = 0;         // warps that have not exited
  std::uint32_t at_barrier = 0;    // warps that wait at a barrier
  std::uint32_t accesses_out = 0;  // memory instructions that have not been performed
  Cycle last_time = 0;             // latest exit or return of data so far
  Cycle finish_at = kNever;
  bool wants_records = true;      // a warp may have fewer records left than the watermark
  std::uint64_t alive_warps = 0;  // by index within the block
  Barriers barriers{};
  bool resident = false;
  Left leaves = Left::Ended;        // as requested; other than Ended, the block issues nothing more
  bool waits_to_leave = false;      // true: it is not known when the block leaves
  bool notified = false;            // true: a notice was issued after which the block may
                                    // become impossible to restart
  Cycle leave_from = 0;             // earliest cycle in which the block may leave
  Cycle restore = 0;                // cycles that its context takes to arrive at its next SM
  std::uint32_t context_lines = 0;  // lines of its context that have not started to go to memory
  std::uint32_t restore_lines = 0;  // lines of its context that will come back
  std::uint32_t move = 0;           // number of the current move of its context, to memory or back; 0: none
  std::uint32_t lines_out = 0;      // lines of that move that have not arrived
  bool restores = false;            // true: its context is coming back; until then, its warps issue nothing
  std::uint64_t supplied = 0;       // records that its stream has supplied, issued or not
  Cycle began = 0;                  // when the block was dispatched to this SM
  Cycle cycles_before = 0;          // cycles that it was on other SMs
  [[nodiscard]] bool may_issue() const { return leaves == Left::Ended && !restores; }
};

class BlockTable {
 public:
  /// Effect of barriers that have opened: the warps released, as bits by index within the block. Released
  /// warps may issue from their sync_until on.
  struct Released {
    WarpMask warps = 0;
    bool opened = false;  // true: a barrier has opened, perhaps without any warp waiting there
  };

  /// `config` must outlive the table. `warp_slots`: at least config.max_warps.
  BlockTable(const arch::SmConfig& config, std::uint32_t warp_slots);

  // --- resources ----------------------------------------------------------------------------------
  /// Assigns the slot to a kernel that has no block here. Its block limit becomes 0.
  void bind(arch::KernelSlot kernel, AppId app, const workload::BlockResources& resources);
  /// True if threads, warps, registers, shared memory and block slots suffice for one more block.
  [[nodiscard]] bool fits(const workload::BlockResources& resources) const;
  /// Registers of a block: allocated by warp, in units of config.register_allocation_unit.
  [[nodiscard]] std::uint32_t registers_of(const workload::BlockResources& resources) const;
  /// Bytes of shared memory of a block, in units of config.shared_allocation_unit.
  [[nodiscard]] std::uint32_t shared_of(const workload::BlockResources& resources) const;
  /// Bytes of shared memory that the resident kernels need when each fills the SM alone: at least the bytes
  /// in use, at most the capacity.
  [[nodiscard]] std::uint32_t shared_need() const;
  [[nodiscard]] std::uint32_t shared_capacity() const { return config_.shared_bytes; }
  /// True if no resource is in use.
  [[nodiscard]] bool drained() const {
    return order_.empty() && used_.threads == 0 && used_.warps == 0 && used_.registers == 0 &&
           used_.shared == 0;
  }

  // --- kernels ------------------------------------------------------------------------------------
  /// Number of resident blocks: of a kernel, and of an application.
  [[nodiscard]] std::uint32_t resident(arch::KernelSlot kernel) const { return resident_[kernel]; }
  [[nodiscard]] std::uint32_t resident_of(AppId app) const { return of_app_[app]; }
  /// Number of resident blocks of all kernels.
  [[nodiscard]] std::uint32_t resident() const { return static_cast<std::uint32_t>(order_.size()); }
  [[nodiscard]] bool empty() const { return order_.empty(); }
  /// Mask of the kernels with a resident block.
  [[nodiscard]] std::uint32_t present() const;
  /// Limit of the kernel's blocks on this SM. Stored for the work distributor; the table does not enforce it.
  [[nodiscard]] std::uint32_t limit(arch::KernelSlot kernel) const { return limit_[kernel]; }
  void set_limit(arch::KernelSlot kernel, std::uint32_t blocks) { limit_[kernel] = blocks; }

  // --- a block's life -----------------------------------------------------------------------------
  /// Admits a block of a bound kernel. Requires fits(). The block's warps get the lowest free slots in the
  /// order of their numbers. The warps wait for their first fetch, which is possible from sync_until on:
  /// `start` + `delay` + config.block_launch_latency. A block without warps ends at `start` + `delay`.
  /// `context`: context of a block that continues.
  Block& admit(arch::KernelSlot kernel, std::uint32_t residency,
               std::unique_ptr<workload::BlockStream> stream, Cycle start,
               const BlockContext* context = nullptr, Cycle delay = 0);
  /// A warp has issued its last instruction. This may open barriers, or end the block.
  Released exits(std::uint32_t slot, Cycle now);
  /// A warp arrives at barrier `number` (modulo 16), which opens after `expected` arrivals; 0: after arrivals
  /// of all warps that have not exited. `waits`: the warp waits there; otherwise it continues (bar.arrive).
  Released arrives(std::uint32_t slot, std::uint32_t number, std::uint32_t expected, bool waits, Cycle now);
  /// A memory instruction was issued. The block does not end before the instruction is performed: its data,
  /// or the acknowledgements of its stores, have arrived.
  void access_issued(std::uint32_t block) { ++blocks_[block].accesses_out; }
  /// A memory instruction is performed at `ready`.
  void access_done(std::uint32_t block, Cycle ready) {
    Block& of = blocks_[block];
    --of.accesses_out;
    of.last_time = std::max(of.last_time, ready);
    if (of.alive == 0) check_finished(of);
  }
  /// Memory instructions of resident blocks that have not been performed.
  [[nodiscard]] std::uint32_t accesses_out() const;
  /// The resident block of this number, if it has a warp that has not exited and was not
  /// asked to leave; or nullptr.
  [[nodiscard]] Block* find_running(std::uint32_t residency);
  /// Asks the block to leave. stopping() is true until leaves_at().
  void ask_to_leave(Block& block, Left how) {
    block.leaves = how;
    block.waits_to_leave = true;
    ++stopping_;
  }
  /// The block leaves in cycle `at`, unless its last warp has exited by then.
  void leaves_at(Block& block, Cycle at) {
    block.waits_to_leave = false;
    --stopping_;
    block.finish_at = at;
    next_end_ = std::min(next_end_, at);
  }
  /// True if a block was asked to leave and it is not known when it leaves.
  [[nodiscard]] bool stopping() const { return stopping_ != 0; }
  /// True if a memory instruction of the block is in flight.
  [[nodiscard]] bool in_flight(const Block& block) const;
  /// Warp instructions that the block has issued since its start.
  [[nodiscard]] std::uint64_t issued(const Block& block) const;
  /// True if the block could be dropped now and restarted (workload/overwrites.hpp).
  [[nodiscard]] bool may_restart(const Block& block) const;
  /// The context of a block that leaves.
  [[nodiscard]] BlockContext context_of(const Block& block) const;
  /// Earliest cycle in which a block may end or leave.
  [[nodiscard]] Cycle next_end() const { return next_end_; }
  /// Calls ended(block) for each block that ends or leaves in `now` or before, oldest first, after
  /// the block has returned its resources. Its stream is valid only during this call. Returns true
  /// if there was such a block.
  template <typename Ended>
  bool end_blocks(Cycle now, Ended&& ended) {
    next_end_ = kNever;
    std::size_t kept = 0;
    for (const std::uint8_t index : order_) {
      Block& block = blocks_[index];
      if (block.finish_at > now) {
        next_end_ = std::min(next_end_, block.finish_at);
        order_[kept++] = index;
        continue;
      }
      give_back(block);
      ended(block);
    }
    const bool some = kept < order_.size();
    order_.resize(kept);
    return some;
  }

  // --- contents -----------------------------------------------------------------------------------
  /// Resident blocks, oldest first, as indices for block().
  [[nodiscard]] const std::vector<std::uint8_t>& order() const { return order_; }
  [[nodiscard]] Block& block(std::size_t index) { return blocks_[index]; }
  [[nodiscard]] const Block& block(std::size_t index) const { return blocks_[index]; }
  [[nodiscard]] Warp& warp(std::size_t slot) { return warps_[slot]; }
  [[nodiscard]] const Warp& warp(std::size_t slot) const { return warps_[slot]; }
  /// All warp slots, used or not.
  [[nodiscard]] std::span<Warp> warps() { return warps_; }
  [[nodiscard]] std::span<const Warp> warps() const { return warps_; }

  /// Prefetches what each run touches of this object into the host's cache.
  [[gnu::always_inline]] void prefetch() const { prefetch_lines(this, &resident_); }

 private:
  struct Used {
    std::uint32_t threads = 0, warps = 0, registers = 0, shared = 0;
  };
  struct Kernel {
    workload::BlockResources resources;
    AppId app = 0;
  };
  void go_on(Block& block, const BlockContext& context);
  void open(Block& block, std::uint32_t number, Cycle now, Released& released);
  bool try_open(Block& block, std::uint32_t number, Cycle now, Released& released);
  void open_if_stuck(Block& block, Cycle now, Released& released);
  void check_finished(Block& block);
  void give_back(Block& block);

  const arch::SmConfig& config_;
  HugePageVector<Warp> warps_;
  HugePageVector<Block> blocks_;
  std::vector<std::uint8_t> order_;
  Cycle next_end_ = kNever;
  std::uint32_t stopping_ = 0;
  Used used_;
  std::array<std::uint32_t, arch::kMaxKernelSlots> resident_{};
  std::array<std::uint32_t, arch::kMaxKernelSlots> limit_{};
  std::array<std::uint32_t, kMaxApps> of_app_{};
  std::array<Kernel, arch::kMaxKernelSlots> kernels_{};
};

}  // namespace gpumux::sm
