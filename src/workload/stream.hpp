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
  LaneMask active;   // lanes that executed it (guard applied); 0: predicated off, takes a slot
};

/// Memory side of an instruction whose StaticInst says Unit::Memory: one header word followed by
/// `transactions` words. Instructions with active == 0 have a header with 0 transactions.
struct MemHeader {
  enum class Where : std::uint8_t { Global, Local, Shared, Constant, None, Texture };
  /// L1 or the texture cache is asked, and behind it memory.
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

/// A transaction word: one line of 128 bytes. bits 0-3 the sectors touched, bits 4-9 the number of
/// lanes that it serves (1..32; for atomics that many operations), bits 10-57 the line number (device
/// address / 128), bits 58-63 for atomics the rounds in which they can be performed
/// (workload/atomic_rounds.hpp; 0: as many as lanes).
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
  /// `line` may also be a difference of lines, to be added to another word's.
  static Transaction make(std::uint64_t line, std::uint32_t sectors, std::uint32_t lanes,
                          std::uint32_t rounds = 0) {
    return {(line << kLineShift) + (std::uint64_t{rounds} << kRoundsShift) +
            ((std::uint64_t{lanes} << 4U) | sectors)};
  }
};

/// What an access to one mbarrier of the block means for time: arrivals are counted from the begin of the
/// block, those of all its phases together. A wait that has found its phase complete says how many arrivals
/// there were when it was; that many have to have happened in time as well before the warp goes on. One that
/// has not says nothing. bits 0-19 the address in shared memory / 8, bits 20-21 the kind, bits 22-63 a
/// number.
struct MbarrierWord {
  enum class Kind : std::uint8_t {
    Arrivals,        // now, so many
    CopiesArrivals,  // so many, when the warp's copies to shared memory so far are performed
    Wait             // until there have been so many
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

/// What the machine has not consumed yet of one warp. The machine advances next and mem_next; the
/// source moves all pointers when it refills (never while an SM runs).
struct WarpStream {
  const ExecRecord* next = nullptr;
  const ExecRecord* end = nullptr;
  const std::uint64_t* mem_next = nullptr;
  bool finished = false;  // nothing follows `end`
  [[nodiscard]] std::uint32_t available() const { return static_cast<std::uint32_t>(end - next); }
};

/// What will become of a warp if memory stays as it is. Waits: it is at a barrier, or in a loop that changes
/// nothing, so that only another warp or the host can release it.
enum class Outlook : std::uint8_t { GoesOn, Waits, Ended };

/// A resident thread block: one stream per warp.
class BlockStream {
 public:
  virtual ~BlockStream() = default;
  /// Makes at least `wanted` records available to `warp`, or all that remain, or fewer when the warp
  /// cannot go on yet because it waits for another block. Called between windows of time, in a fixed
  /// order over blocks and warps, so that results do not depend on threads; for a source that refills
  /// independently, by the thread that runs the block's SM, while other blocks are refilled by others.
  virtual void refill(std::uint32_t warp, std::uint32_t wanted) = 0;
  /// Where a warp that has not ended is, with what it waits for, for the report of an endless kernel; may be
  /// empty. Nothing may be refilled afterwards.
  [[nodiscard]] virtual std::string whereabouts(std::uint32_t /*warp*/) { return {}; }
  /// Of a warp, from where its stream ends. Waits is proven, GoesOn is not. Called between windows; changes
  /// nothing.
  [[nodiscard]] virtual Outlook outlook(std::uint32_t /*warp*/) { return Outlook::GoesOn; }
  /// The block may begin anew: it has issued nothing after which it could not, as far as that is known.
  /// `left`: records that each warp has been given and has not issued.
  [[nodiscard]] virtual bool may_restart(std::span<const std::uint32_t> /*left*/) const { return false; }
  /// The block goes on on another SM, which %smid reads from the next refill on.
  virtual void moved(SmId /*sm*/) {}
  [[nodiscard]] WarpStream& stream(std::uint32_t warp) { return streams_[warp]; }
  [[nodiscard]] std::uint32_t warps() const { return static_cast<std::uint32_t>(streams_.size()); }

 protected:
  explicit BlockStream(std::uint32_t warps) : streams_(warps) {}
  HugePageVector<WarpStream> streams_;
};

/// What a block needs of an SM.
struct BlockResources {
  std::uint32_t threads = 0;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;  // static and dynamic
  [[nodiscard]] std::uint32_t warps() const { return (threads + kWarpSize - 1) / kWarpSize; }
};

/// What a paper's table says that a block needs, where it is to count instead of what compilation found.
struct BlockMetadata {
  std::uint32_t registers_per_thread = 0;  // 0: what allocation used
  std::uint32_t shared_bytes = 0;          // of the block; 0: what the kernel declares and the launch adds
};

/// One kernel launch as the machine sees it.
class KernelSource {
 public:
  virtual ~KernelSource() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::uint64_t blocks() const = 0;  // in the grid
  /// The launch's shape, for reports: of the grid in blocks, of a block in threads.
  [[nodiscard]] virtual Dim3 grid() const { return {static_cast<std::uint32_t>(blocks()), 1, 1}; }
  [[nodiscard]] virtual Dim3 block() const { return {resources().threads, 1, 1}; }
  [[nodiscard]] virtual BlockResources resources() const = 0;
  [[nodiscard]] virtual const std::vector<isa::StaticInst>& static_table() const = 0;
  /// Where the code lies for the instruction cache (a device address of its application).
  [[nodiscard]] virtual Address code_address() const { return 0; }
  /// True when refill() of one block neither reads nor writes what that of another does (a trace, not the
  /// emulator, whose blocks share the device memory): then blocks are refilled by several threads at once.
  [[nodiscard]] virtual bool refills_independently() const { return false; }
  /// The warps of block `index` issue at least so many records in all. 0: none, or not known before it runs.
  [[nodiscard]] virtual std::uint64_t records(std::uint64_t index) const {
    static_cast<void>(index);
    return 0;
  }
  /// Its code has a notice (isa::kNotice) in front of each instruction at which a block may stop being
  /// idempotent.
  [[nodiscard]] virtual bool has_notices() const { return false; }
  /// Its threads may launch kernels, or make streams for them.
  [[nodiscard]] virtual bool launches() const { return false; }
  /// Its blocks may wait for each other, so that all that have not ended have to be resident at a time.
  [[nodiscard]] virtual bool is_cooperative() const { return false; }
  /// Any block may be begun anew at any time, as far as that is known before it runs. May take long.
  [[nodiscard]] virtual bool is_idempotent() { return false; }
  /// Text of a pc for reports ("kernel+12 ld.global.f32 ...").
  [[nodiscard]] virtual std::string describe_pc(std::uint32_t pc) const = 0;
  /// Starts block `index` (x fastest). `residency` is a number that no other resident block of the
  /// whole machine has: it places the block's local memory. `sm` is what %smid reads.
  virtual std::unique_ptr<BlockStream> begin_block(std::uint64_t index, std::uint32_t residency, SmId sm,
                                                   Cycle now) = 0;
  /// Takes back a block of this source that has ended, which begin_block() may return again. Called between
  /// windows, as that is. Blocks that do not come to their end are destroyed instead.
  virtual void end_block(std::unique_ptr<BlockStream> block) { block.reset(); }
};

}  // namespace gpumux::workload
