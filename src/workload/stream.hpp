// The stream of executed instructions that feeds the timing model. The emulator, trace readers and
// synthetic kernels produce it; the machine cannot tell them apart.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::workload {

/// One executed warp instruction.
struct ExecRecord {
  std::uint32_t pc;  // index into the kernel's static table
  LaneMask active;   // lanes that executed it (guard applied); 0: predicated off, but takes an issue slot
};

/// The memory side of an instruction whose StaticInst says Unit::Memory: one header word followed by
/// `transactions` words. Instructions with active == 0 have a header with 0 transactions.
struct MemHeader {
  enum class Where : std::uint8_t { Global, Local, Shared, Constant, None, Texture };
  /// True for accesses to the L1 or texture cache and the memory behind them.
  [[nodiscard]] static constexpr bool beyond_sm(Where where) {
    return where == Where::Global || where == Where::Local || where == Where::Texture;
  }
  std::uint16_t transactions = 0;   // line accesses after coalescing; shared: MbarrierWords, or 0
  std::uint16_t shared_passes = 0;  // shared: serialised passes (1 = conflict-free); constant: distinct words
  Where where = Where::None;
  std::uint8_t unused0 = 0;
  std::uint16_t unused1 = 0;
};
static_assert(sizeof(MemHeader) == 8);

/// A transaction word: an access to one line of 128 bytes.
///   bits 0-3: the sectors touched.
///   bits 4-9: the number of lanes served (1 to 32; for atomics the number of operations).
///   bits 10-57: the line number (device address / 128).
///   bits 58-63: for atomics, the rounds in which they can be performed (workload/atomic_rounds.hpp; 0: as
///   many as lanes).
struct Transaction {
  static constexpr unsigned kLineShift = 10;
  static constexpr unsigned kRoundsShift = 58;
  std::uint64_t word;
  [[nodiscard]] std::uint64_t line() const {
    return (word & ((std::uint64_t{1} << kRoundsShift) - 1)) >> kLineShift;
  }
  [[nodiscard]] std::uint32_t sectors() const { return word & 0xfU; }
  [[nodiscard]] std::uint32_t lanes() const { return (word >> 4U) & 0x3fU; }
  [[nodiscard]] std::uint32_t rounds() const {
    const auto rounds = static_cast<std::uint32_t>(word >> kRoundsShift);
    return rounds != 0 ? rounds : lanes();
  }
  /// `line` may also be a difference of lines, to be added to the line of another word.
  static Transaction make(std::uint64_t line, std::uint32_t sectors, std::uint32_t lanes,
                          std::uint32_t rounds = 0) {
    return {(line << kLineShift) + (std::uint64_t{rounds} << kRoundsShift) +
            ((std::uint64_t{lanes} << 4U) | sectors)};
  }
};

/// An access to an mbarrier of the block, for the timing model. Arrivals are counted since the start of the
/// block, over all phases. A wait whose phase was complete holds the number of arrivals at its completion: in
/// simulated time, the warp also waits for this number of arrivals. A wait whose phase was not complete has
/// no word.
///   bits 0-19: the address in shared memory / 8.
///   bits 20-21: the kind.
///   bits 22-63: the number of arrivals.
struct MbarrierWord {
  enum class Kind : std::uint8_t {
    Arrivals,        // adds this number of arrivals now
    CopiesArrivals,  // adds this number when the warp's earlier copies to shared memory are complete
    Wait             // waits for this number of arrivals
  };
  static constexpr unsigned kKindShift = 20;
  static constexpr unsigned kNumberShift = 22;
  std::uint64_t word;
  [[nodiscard]] std::uint32_t address() const { return (word & ((1U << kKindShift) - 1)) * 8; }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>((word >> kKindShift) & 3U); }
  [[nodiscard]] std::uint64_t number() const { return word >> kNumberShift; }
  static MbarrierWord make(std::uint32_t address, Kind kind, std::uint64_t number) {
    return {(number << kNumberShift) | (std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindShift) |
            (address / 8)};
  }
};

/// The records of one warp that the machine has not consumed yet. The machine advances next and mem_next. The
/// source moves all pointers when it refills the stream, never while an SM runs.
struct WarpStream {
  const ExecRecord* next = nullptr;
  const ExecRecord* end = nullptr;
  const std::uint64_t* mem_next = nullptr;
  bool finished = false;  // nothing follows `end`
  [[nodiscard]] std::uint32_t available() const { return static_cast<std::uint32_t>(end - next); }
};

/// The future of a warp if memory does not change. Waits: the warp is at a barrier, or in a loop that changes
/// nothing, so that only another warp or the host can release it.
enum class Outlook : std::uint8_t { GoesOn, Waits, Ended };

/// A resident thread block: one stream per warp.
class BlockStream {
 public:
  virtual ~BlockStream() = default;
  /// Makes at least `wanted` records available to `warp`. There are fewer if the warp ends, or if it waits
  /// for another block. Called between windows of time, in a fixed order over blocks and warps, so that
  /// results do not depend on threads. For a source that refills independently, called by the thread that
  /// runs the block's SM, concurrently with other blocks.
  virtual void refill(std::uint32_t warp, std::uint32_t wanted) = 0;
  /// The position of a warp that has not ended, and what it waits for, for the report of an endless kernel.
  /// May be empty. Nothing may be refilled afterwards.
  [[nodiscard]] virtual std::string whereabouts(std::uint32_t /*warp*/) { return {}; }
  /// The future of a warp after the end of its stream. Waits is proven, GoesOn is not. Called between
  /// windows. Changes nothing.
  [[nodiscard]] virtual Outlook outlook(std::uint32_t /*warp*/) { return Outlook::GoesOn; }
  /// True if the block can be restarted: as far as is known, it has issued no instruction that prevents a
  /// restart. `left`: for each warp, the number of available records that it has not issued.
  [[nodiscard]] virtual bool may_restart(std::span<const std::uint32_t> /*left*/) const { return false; }
  /// Moves the block to another SM, whose number %smid reads from the next refill on.
  virtual void moved(SmId /*sm*/) {}
  [[nodiscard]] WarpStream& stream(std::uint32_t warp) { return streams_[warp]; }
  [[nodiscard]] std::uint32_t warps() const { return static_cast<std::uint32_t>(streams_.size()); }

 protected:
  explicit BlockStream(std::uint32_t warps) : streams_(warps) {}
  HugePageVector<WarpStream> streams_;
};

/// Resources of an SM that a block needs.
struct BlockResources {
  std::uint32_t threads = 0;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;  // static and dynamic
  [[nodiscard]] std::uint32_t warps() const { return (threads + kWarpSize - 1) / kWarpSize; }
};

/// Resources of a block that a paper's table states, in place of those that compilation found.
struct BlockMetadata {
  std::uint32_t registers_per_thread = 0;  // 0: the number that register allocation found
  std::uint32_t shared_bytes = 0;          // per block; 0: the bytes of kernel and launch
};

/// One kernel launch as the machine sees it.
class KernelSource {
 public:
  virtual ~KernelSource() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::uint64_t blocks() const = 0;  // number in the grid
  /// Shape of the launch for reports: grid() in blocks, block() in threads.
  [[nodiscard]] virtual Dim3 grid() const { return {static_cast<std::uint32_t>(blocks()), 1, 1}; }
  [[nodiscard]] virtual Dim3 block() const { return {resources().threads, 1, 1}; }
  [[nodiscard]] virtual BlockResources resources() const = 0;
  [[nodiscard]] virtual const std::vector<isa::StaticInst>& static_table() const = 0;
  /// Address of the code for the instruction cache (a device address of the application).
  [[nodiscard]] virtual Address code_address() const { return 0; }
  /// True when refill() of different blocks may run on different threads at once, because they share no data.
  /// This holds for traces, but not for the emulator, whose blocks share the device memory.
  [[nodiscard]] virtual bool refills_independently() const { return false; }
  /// A lower bound of the number of records of block `index` over all warps. 0: not known before the block
  /// runs.
  [[nodiscard]] virtual std::uint64_t records(std::uint64_t index) const {
    static_cast<void>(index);
    return 0;
  }
  /// True if the code has a notice (isa::kNotice) in front of each instruction after which a block may not be
  /// idempotent.
  [[nodiscard]] virtual bool has_notices() const { return false; }
  /// True if threads of the kernel may launch kernels, or create streams for them.
  [[nodiscard]] virtual bool launches() const { return false; }
  /// True if blocks may wait for each other, so that all blocks that have not ended must be resident
  /// together.
  [[nodiscard]] virtual bool is_cooperative() const { return false; }
  /// True if any block can be restarted at any time, as far as is known before it runs. May take long.
  [[nodiscard]] virtual bool is_idempotent() { return false; }
  /// The text of a pc for reports ("kernel+12 ld.global.f32 ...").
  [[nodiscard]] virtual std::string describe_pc(std::uint32_t pc) const = 0;
  /// Starts block `index` (x fastest). `residency` is a number that no other resident block of the whole
  /// machine has. It selects the block's local memory. `sm` is the value of %smid.
  virtual std::unique_ptr<BlockStream> begin_block(std::uint64_t index, std::uint32_t residency, SmId sm,
                                                   Cycle now) = 0;
  /// Takes back a block of this source that has ended. begin_block() may return the object again. Called
  /// between windows, like begin_block(). Blocks that do not run to their end are destroyed instead.
  virtual void end_block(std::unique_ptr<BlockStream> block) { block.reset(); }
};

}  // namespace gpumux::workload
