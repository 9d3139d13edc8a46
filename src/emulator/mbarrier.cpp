#include "emulator/mbarrier.hpp"

#include <bit>

#include <fmt/core.h>

#include "emulator/addresses.hpp"
#include "workload/shared_banks.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::MbarrierMode;
using isa::Opcode;
using isa::Space;
using workload::MbarrierWord;
using workload::MemHeader;

/// Collects the lanes' accesses for the timing model: one word per barrier and kind.
class Words {
 public:
  explicit Words(u64* words) : words_(words) {}
  void add(u32 address, MbarrierWord::Kind kind, u64 number) {
    for (u32 i = 0; i < count_; ++i) {
      const MbarrierWord word{words_[i]};
      if (word.address() != address || word.kind() != kind) continue;
      // Arrivals are added. All waits here are for the same phase.
      const u64 both = kind == MbarrierWord::Kind::Wait ? number : word.number() + number;
      words_[i] = MbarrierWord::make(address, kind, both).word;
      return;
    }
    words_[count_++] = MbarrierWord::make(address, kind, number).word;
  }
  [[nodiscard]] u32 count() const { return count_; }

 private:
  u64* words_;
  u32 count_ = 0;
};

/// An access of one lane.
struct Access {
  Warp& warp;
  const Op& op;
  u32 lane;
  u32 address;
  Words& words;

  [[noreturn]] void fault(const std::string& what) const {
    warp.block->fault(warp, lane, fmt::format("mbarrier at 0x{:x} of shared memory: {}", address, what));
  }
  [[nodiscard]] u32 number(u32 otherwise) const {
    return op.inst->src[1] ? warp.src<u32>(op, 1)[lane] : otherwise;
  }

  void init(Mbarrier& barrier) const {
    const u32 count = number(0);
    if (count == 0 || count > Mbarrier::kMostCount)
      fault(fmt::format("a count of {} (1 to {} is possible)", count, Mbarrier::kMostCount));
    barrier = {count, count, 0, true, false};
  }
  void expect(Mbarrier& barrier, i64 bytes) const {
    const i64 sum = barrier.bytes + bytes;
    if (sum > Mbarrier::kMostBytes || sum < -Mbarrier::kMostBytes)
      fault(fmt::format("{} bytes under way ({} at most)", sum, Mbarrier::kMostBytes));
    barrier.bytes = static_cast<i32>(sum);
  }
  void arrive(Mbarrier& barrier, u32 count, MbarrierWord::Kind kind) const {
    if (count > barrier.pending)
      fault(fmt::format("{} arrival{} where the phase lacks {}", count, count == 1 ? "" : "s",
                        barrier.pending));
    MbarrierTotals::Total& total = warp.block->mbarriers().of(address);
    barrier.pending -= count;
    total.arrivals += count;
    words.add(address, kind, count);
    end_phase(barrier, total);
  }
  void end_phase(Mbarrier& barrier, MbarrierTotals::Total& total) const {
    if (!barrier.complete()) return;
    if ((op.inst->shift & isa::kMbarrierNoComplete) != 0)
      fault("an arrival with .noComplete that completes the phase");
    total.complete = total.arrivals;
  }
  void run(Mbarrier& barrier) const {
    const Instruction& inst = *op.inst;
    if (inst.mbarrier != MbarrierMode::Init && !barrier.valid)
      fault("not initialised by mbarrier.init, or invalid since");
    const u64 before = barrier.word();
    switch (inst.mbarrier) {
      case MbarrierMode::Init: init(barrier); return;
      case MbarrierMode::Inval: barrier = {}; return;
      case MbarrierMode::ExpectTx: expect(barrier, number(0)); return;
      case MbarrierMode::CompleteTx:
        expect(barrier, -i64{number(0)});
        end_phase(barrier, warp.block->mbarriers().of(address));
        return;
      case MbarrierMode::ArriveCopies:
        // Copies have been performed at their execution. Without .noinc, the arrival is in addition to those
        // that the phase expects.
        if ((inst.shift & isa::kMbarrierNoinc) == 0 && ++barrier.pending > Mbarrier::kMostCount)
          fault(fmt::format("more than {} arrivals are missing", Mbarrier::kMostCount));
        arrive(barrier, 1, MbarrierWord::Kind::CopiesArrivals);
        return;
      case MbarrierMode::Arrive:
      case MbarrierMode::ArriveDrop: {
        const bool bytes = (inst.shift & isa::kMbarrierExpectTx) != 0;
        if (bytes) expect(barrier, number(0));
        const u32 count = bytes ? 1 : number(1);
        if (count == 0) fault("an arrival of 0 threads");
        if (inst.mbarrier == MbarrierMode::ArriveDrop) {
          if (count > barrier.expected) fault("more threads drop out than it counts");
          barrier.expected -= count;
        }
        arrive(barrier, count, MbarrierWord::Kind::Arrivals);
        if (inst.dst[0]) warp.dst<u64>(op)[lane] = before;
        return;
      }
      case MbarrierMode::TestWait:
      case MbarrierMode::TryWait: {
        const bool parity = (inst.shift & isa::kMbarrierParity) != 0;
        const bool awaited =
            parity ? (warp.src<u32>(op, 1)[lane] & 1U) != 0 : Mbarrier::of(warp.src<u64>(op, 1)[lane]).phase;
        const bool complete = barrier.phase != awaited;
        warp.set_pred(op.pred_dst[0], complete ? kAllLanes : 0, 1U << lane);
        if (complete)
          words.add(address, MbarrierWord::Kind::Wait, warp.block->mbarriers().of(address).complete);
        return;
      }
      case MbarrierMode::None: return;
    }
  }
};

void mbarrier(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  make_addresses(a, warp, op, lanes);
  GenericParts parts;
  if (op.inst->space == Space::Generic) {
    const LaneMask shared = parts.select(a, lanes, Space::Shared);
    if (shared != lanes) {
      warp.block->fault(warp, static_cast<u32>(std::countr_zero(lanes & ~shared)),
                        "an mbarrier that does not lie in shared memory");
    }
    a = parts.part;
  }
  check_bounded(a, warp, lanes, sizeof(u64), sizeof(u64), AccessKind::Atomic, Space::Shared,
                warp.block->launch().shared_bytes);
  Words words(warp.buffer->room(kWarpSize) + 1);
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    std::byte* const at = warp.block->shared() + a.at[lane];
    u64 word = 0;
    std::memcpy(&word, at, sizeof(word));
    Mbarrier barrier = Mbarrier::of(word);
    Access{warp, op, lane, static_cast<u32>(a.at[lane]), words}.run(barrier);
    word = barrier.word();
    std::memcpy(at, &word, sizeof(word));
  }
  const bool waits =
      op.inst->mbarrier == MbarrierMode::TestWait || op.inst->mbarrier == MbarrierMode::TryWait;
  MemHeader header;
  header.where = MemHeader::Where::Shared;
  header.transactions = static_cast<u16>(words.count());
  header.shared_passes = static_cast<u16>(
      workload::shared_passes(a.at, lanes, sizeof(u64), !waits, warp.block->launch().config.shared_banks));
  warp.buffer->keep(header);
}

void pending_count(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* state = warp.src<u64>(op, 0);
  alignas(64) u32 count[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) count[i] = Mbarrier::of(state[i]).pending;
  merge(warp.dst<u32>(op), count, lanes);
}

}  // namespace

Handler select_mbarrier(const Instruction& inst) {
  if (inst.op == Opcode::MbarrierPending) return &pending_count;
  return inst.op == Opcode::Mbarrier ? &mbarrier : nullptr;
}

}  // namespace gpumux::emulator
