// Tests whether a warp can continue by itself. A warp that returns to an earlier state and has changed
// nothing that others can observe will loop as long as memory does not change. If this holds for all running
// warps, memory will not change. This test detects a grid that waits for blocks which cannot start.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "emulator/addresses.hpp"
#include "emulator/execute.hpp"

namespace gpumux::emulator {
namespace {

/// Number of instructions of the longest loop that is recognised.
constexpr std::uint32_t kLongestLoop = 1024;

/// The state that determines a warp's next instruction, except for memory that others can access.
struct WarpState {
  std::vector<std::byte> registers;
  std::vector<LaneMask> preds;
  std::vector<std::uint32_t> local;
  Warp warp;

  /// True if the warp is in this state again. The number of executed instructions is not compared.
  [[nodiscard]] bool is_at(const Warp& now, const std::byte* rows, const std::uint32_t* words,
                           std::uint32_t pc, LaneMask active) const {
    return pc == warp.pc && active == warp.active && now.reconverge == warp.reconverge &&
           now.alive == warp.alive &&
           std::equal(warp.paths.begin(), warp.paths.end(), now.paths.begin(), now.paths.end()) &&
           std::equal(preds.begin(), preds.end(), now.preds) &&
           std::equal(registers.begin(), registers.end(), rows) &&
           std::equal(local.begin(), local.end(), words);
  }
};

/// Saves the words of an atomic operation, so that an operation that changes memory can be undone.
class AtomicWatch {
 public:
  /// Must be called before the operation. Returns false if it cannot be watched.
  bool begin(const Warp& warp, const Op& op, LaneMask lanes) {
    const isa::Instruction& inst = *op.inst;
    bytes_ = isa::width_bytes(inst.type);
    Addresses a;
    make_addresses(a, warp, op, lanes);
    const LaunchData& launch = warp.block->launch();
    const workload::DeviceMemory& memory = warp.block->memory();
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const std::uint64_t address = a.at[std::countr_zero(rest)];
      std::byte* at = nullptr;
      if (inst.space == isa::Space::Shared) {
        if (address + bytes_ > launch.shared_bytes) return false;
        at = warp.block->shared() + address;
      } else {
        if (address >= kFirstWindow || !memory.valid(address, bytes_)) return false;
        at = memory.host(address);
      }
      words_[count_].at = at;
      std::memcpy(&words_[count_].before, at, bytes_);
      ++count_;
    }
    return true;
  }
  /// Must be called after the operation. If the operation changed memory, undoes it and returns true.
  bool end() {
    bool changed = false;
    for (std::uint32_t i = 0; i < count_; ++i)
      changed = changed || std::memcmp(&words_[i].before, words_[i].at, bytes_) != 0;
    for (std::uint32_t i = 0; changed && i < count_; ++i)
      std::memcpy(words_[i].at, &words_[i].before, bytes_);
    count_ = 0;
    return changed;
  }

 private:
  struct Word {
    std::byte* at = nullptr;
    std::uint64_t before = 0;
  };
  std::array<Word, kWarpSize> words_{};
  std::uint32_t count_ = 0;
  std::uint32_t bytes_ = 0;
};

enum class Seen : std::uint8_t { Own, Atomic, Others };

/// True for an instruction whose result others may change.
bool looks(const isa::Instruction& inst) {
  switch (inst.op) {
    case isa::Opcode::Ld: return inst.space != isa::Space::Local && inst.space != isa::Space::Param;
    case isa::Opcode::LdMatrix:
    case isa::Opcode::Tex:
    case isa::Opcode::SurfLd:
    case isa::Opcode::Atom:
    case isa::Opcode::Mbarrier: return true;
    default: return false;
  }
}

/// The observers of an instruction's execution. Local memory is the warp's own state.
Seen seen_by(const Op& op) {
  const isa::Instruction& inst = *op.inst;
  switch (inst.op) {
    case isa::Opcode::Atom:
    case isa::Opcode::Red:
      return inst.space == isa::Space::Global || inst.space == isa::Space::Shared ||
                     inst.space == isa::Space::Generic
                 ? Seen::Atomic
                 : Seen::Others;
    case isa::Opcode::St: return inst.space == isa::Space::Local ? Seen::Own : Seen::Others;
    case isa::Opcode::Mbarrier:
      return inst.mbarrier == isa::MbarrierMode::TestWait || inst.mbarrier == isa::MbarrierMode::TryWait
                 ? Seen::Own
                 : Seen::Others;
    case isa::Opcode::Mov:  // a clock reads a different value each time
      return inst.src[0].kind == isa::Operand::Kind::Special &&
                     is_clock(static_cast<isa::Special>(inst.src[0].reg))
                 ? Seen::Others
                 : Seen::Own;
    case isa::Opcode::Ld:
    case isa::Opcode::LdMatrix:
    case isa::Opcode::Tex:
    case isa::Opcode::Txq:
    case isa::Opcode::SurfLd:
    case isa::Opcode::Prefetch: return Seen::Own;
    case isa::Opcode::Bar:
    case isa::Opcode::Exit:
    case isa::Opcode::Syscall: return Seen::Others;
    default: return op.kind == OpKind::Memory ? Seen::Others : Seen::Own;
  }
}

}  // namespace

workload::Outlook Block::outlook(std::uint32_t index) {
  using workload::Outlook;
  Warp& warp = storage_->warps[index];
  if (warp.status == WarpStatus::Done) return Outlook::Ended;
  if (warp.status == WarpStatus::AtBarrier) return Outlook::Waits;
  // Lanes on other paths may run after this path has spun for long. With race detection, execution has side
  // effects.
  if (holds_back(warp) || races_ || ended_by_errors() || other_lanes_may_run(warp)) return Outlook::GoesOn;
  const Program& program = *launch_->program;
  std::byte* const registers = warp.base[kRegisterRows] + program.registers_from;
  std::uint32_t* const words = local(index);
  const std::size_t local_words = std::size_t{launch_->local_words} * kWarpSize;
  WarpState first{{registers, registers + (program.register_bytes - program.registers_from)},
                  {warp.preds, warp.preds + program.num_preds},
                  {words, words + local_words},
                  warp};
  RecordBuffer unused;
  unused.begin(false);
  warp.buffer = &unused;
  AtomicWatch atomic;
  bool repeats = false;
  bool looked = false;
  try {
    execute_as<false>(warp, kLongestLoop, [&](const Op& op, std::uint32_t pc, LaneMask active) {
      if (atomic.end()) return false;
      if (warp.executed != first.warp.executed && first.is_at(warp, registers, words, pc, active)) {
        repeats = true;
        return false;
      }
      if (warp.split && (lanes_that_meet(warp, op, active) & warp.alive & ~active) != 0) return false;
      const LaneMask lanes = active & warp.pred(op.guard);
      if (lanes == 0) return true;
      looked = looked || looks(*op.inst);
      switch (seen_by(op)) {
        case Seen::Own: return true;
        case Seen::Others: return false;
        case Seen::Atomic: return atomic.begin(warp, op, lanes);
      }
      return false;
    });
  } catch (const SimulationFault&) {  // reported when the warp really executes this
  }
  static_cast<void>(atomic.end());
  warp = std::move(first.warp);
  std::copy(first.registers.begin(), first.registers.end(), registers);
  std::copy(first.preds.begin(), first.preds.end(), warp.preds);
  std::copy(first.local.begin(), first.local.end(), words);
  // A loop that reads nothing is endless. Block::watch_for_repetition reports it.
  return repeats && looked ? Outlook::Waits : Outlook::GoesOn;
}

}  // namespace gpumux::emulator
