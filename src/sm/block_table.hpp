// The thread blocks that are resident on an SM: what each of them and its warps have come to, what they use
// of the SM, who waits at which barrier, and when a block ends. It knows neither time's course nor
// schedulers: those who use it tell it what happens, and it answers with what follows for the block, as data.
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

/// With the Warps of its slots, all that there is to know of a resident block.
struct Block {
  std::unique_ptr<workload::BlockStream> stream;
  std::vector<std::uint16_t> warps;  // warp slots
  arch::KernelSlot kernel = 0;
  AppId app = 0;
  std::uint32_t residency = 0;
  std::uint32_t registers = 0;  // allocated, rounded
  std::uint32_t shared_bytes = 0;
  std::uint32_t threads = 0;
  std::uint32_t alive = 0;         // warps that have not exited
  std::uint32_t at_barrier = 0;    // warps that wait at any barrier
  std::uint32_t accesses_out = 0;  // memory instructions that are not performed
  Cycle last_time = 0;             // latest exit or data return so far
  Cycle finish_at = kNever;
  bool wants_records = true;      // a warp may have fewer than the watermark left
  std::uint64_t alive_warps = 0;  // by index within the block
  Barriers barriers{};
  bool resident = false;
  Left leaves = Left::Ended;        // as has been asked; it then issues nothing more
  bool waits_to_leave = false;      // it is not known when
  bool notified = false;            // it has issued a notice that it may not begin anew
  Cycle leave_from = 0;             // not before
  Cycle restore = 0;                // that its context takes where it goes
  std::uint32_t context_lines = 0;  // of it that have yet to begin to go to memory
  std::uint32_t restore_lines = 0;  // and that are to come back
  std::uint32_t move = 0;           // the move of its context, to memory or back, that is under way; 0: none
  std::uint32_t lines_out = 0;      // of that
  bool restores = false;            // it comes back: until it has, nothing issues
  std::uint64_t supplied = 0;       // records that its stream has given, issued or not
  Cycle began = 0;                  // dispatched to this SM
  Cycle cycles_before = 0;          // that it was on others
  [[nodiscard]] bool may_issue() const { return leaves == Left::Ended && !restores; }
};

class BlockTable {
 public:
  /// What barriers that have opened let go: warps, as bits by their index within the block. They may issue
  /// from their sync_until on.
  struct Released {
    WarpMask warps = 0;
    bool opened = false;  // a barrier has; nobody may have waited there
  };

  /// `config` has to outlive the table. `warp_slots`: config.max_warps at least.
  BlockTable(const arch::SmConfig& config, std::uint32_t warp_slots);

  // --- resources ----------------------------------------------------------------------------------
  /// A kernel that has no block here gets the slot; its block limit is 0 from now on.
  void bind(arch::KernelSlot kernel, AppId app, const workload::BlockResources& resources);
  /// Threads, warps, registers, shared memory and block slots suffice for one more block.
  [[nodiscard]] bool fits(const workload::BlockResources& resources) const;
  /// Registers that a block takes: allocated by warp, in units of config.register_allocation_unit.
  [[nodiscard]] std::uint32_t registers_of(const workload::BlockResources& resources) const;
  /// Bytes of shared memory that it takes, in units of config.shared_allocation_unit.
  [[nodiscard]] std::uint32_t shared_of(const workload::BlockResources& resources) const;
  /// Bytes of shared memory that the resident kernels need when each fills the SM alone: no less than is
  /// taken, no more than there are.
  [[nodiscard]] std::uint32_t shared_need() const;
  [[nodiscard]] std::uint32_t shared_capacity() const { return config_.shared_bytes; }
  /// Nothing is taken.
  [[nodiscard]] bool drained() const {
    return order_.empty() && used_.threads == 0 && used_.warps == 0 && used_.registers == 0 &&
           used_.shared == 0;
  }

  // --- kernels ------------------------------------------------------------------------------------
  /// Resident blocks of a kernel, of an application,
  [[nodiscard]] std::uint32_t resident(arch::KernelSlot kernel) const { return resident_[kernel]; }
  [[nodiscard]] std::uint32_t resident_of(AppId app) const { return of_app_[app]; }
  /// of all.
  [[nodiscard]] std::uint32_t resident() const { return static_cast<std::uint32_t>(order_.size()); }
  [[nodiscard]] bool empty() const { return order_.empty(); }
  /// Kernels with a block here, as bits.
  [[nodiscard]] std::uint32_t present() const;
  /// Blocks of the kernel that those who dispatch may place here; kept for them, and not enforced.
  [[nodiscard]] std::uint32_t limit(arch::KernelSlot kernel) const { return limit_[kernel]; }
  void set_limit(arch::KernelSlot kernel, std::uint32_t blocks) { limit_[kernel] = blocks; }

  // --- a block's life -----------------------------------------------------------------------------
  /// Takes a block in, of a bound kernel, for which fits() holds. Its warps get the lowest free slots in the
  /// order of their numbers, wait for their first fetch, and may be fetched from sync_until on: `start` +
  /// `delay` + config.block_launch_latency. A block without warps ends at `start` + `delay`.
  /// `context`: of a block that goes on.
  Block& admit(arch::KernelSlot kernel, std::uint32_t residency,
               std::unique_ptr<workload::BlockStream> stream, Cycle start,
               const BlockContext* context = nullptr, Cycle delay = 0);
  /// A warp has issued its last instruction. This may open barriers, or end the block.
  Released exits(std::uint32_t slot, Cycle now);
  /// A warp arrives at barrier `number` (modulo 16), which opens after `expected` arrivals; 0: when all warps
  /// that run have come. `waits`: it stays there; else it goes on (bar.arrive).
  Released arrives(std::uint32_t slot, std::uint32_t number, std::uint32_t expected, bool waits, Cycle now);
  /// The block does not end before a memory instruction is performed: its data, or the acknowledgement of its
  /// stores, are there.
  void access_issued(std::uint32_t block) { ++blocks_[block].accesses_out; }
  /// They are, at `ready`.
  void access_done(std::uint32_t block, Cycle ready) {
    Block& of = blocks_[block];
    --of.accesses_out;
    of.last_time = std::max(of.last_time, ready);
    if (of.alive == 0) check_finished(of);
  }
  /// Memory instructions of resident blocks that are not performed.
  [[nodiscard]] std::uint32_t accesses_out() const;
  /// The resident block of this number, if it has a warp that has not exited and has not been asked to leave.
  [[nodiscard]] Block* find_running(std::uint32_t residency);
  /// It is to leave: stopping() until leaves_at().
  void ask_to_leave(Block& block, Left how) {
    block.leaves = how;
    block.waits_to_leave = true;
    ++stopping_;
  }
  /// It does, in cycle `at`, unless its last warp has exited by then.
  void leaves_at(Block& block, Cycle at) {
    block.waits_to_leave = false;
    --stopping_;
    block.finish_at = at;
    next_end_ = std::min(next_end_, at);
  }
  /// Some block has been asked to leave, and it is not known when it does.
  [[nodiscard]] bool stopping() const { return stopping_ != 0; }
  /// A memory instruction of the block is in flight.
  [[nodiscard]] bool in_flight(const Block& block) const;
  /// Warp instructions that it has issued since it began.
  [[nodiscard]] std::uint64_t issued(const Block& block) const;
  /// It could be dropped now, and begin anew (workload/overwrites.hpp).
  [[nodiscard]] bool may_restart(const Block& block) const;
  /// Of a block that leaves.
  [[nodiscard]] BlockContext context_of(const Block& block) const;
  /// In this cycle a block ends, or leaves, or none before.
  [[nodiscard]] Cycle next_end() const { return next_end_; }
  /// Calls ended(block) for each that ends or leaves in `now` or before, the oldest first, when it has given
  /// back what it used; its stream is there for the last time. True: there was one.
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

  // --- who is here --------------------------------------------------------------------------------
  /// Resident blocks, the oldest first, as indices for block().
  [[nodiscard]] const std::vector<std::uint8_t>& order() const { return order_; }
  [[nodiscard]] Block& block(std::size_t index) { return blocks_[index]; }
  [[nodiscard]] const Block& block(std::size_t index) const { return blocks_[index]; }
  [[nodiscard]] Warp& warp(std::size_t slot) { return warps_[slot]; }
  [[nodiscard]] const Warp& warp(std::size_t slot) const { return warps_[slot]; }
  /// All slots, taken or not.
  [[nodiscard]] std::span<Warp> warps() { return warps_; }
  [[nodiscard]] std::span<const Warp> warps() const { return warps_; }

  /// Into the host's cache: what each run touches of this object.
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
