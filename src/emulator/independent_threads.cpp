// Lanes of one warp that wait for each other, as permitted since Volta (NVIDIA, "Tesla V100 GPU
// architecture", 2017, "Independent thread scheduling"). The paths of a warp run one after the other and
// reconverge at the post-dominator of their branch. So a lane that spins until another lane acts beyond this
// point would spin forever.
//
// A. ElTantawy and T. M. Aamodt ("MIMD synchronization on SIMT architectures", MICRO 2016) let the warp leave
// such a loop for the waiting lanes. This file does so as well, without their compile-time analysis: a loop
// counts as spinning if it repeatedly reads the same memory with the same values and writes nothing
// (docs/independent-threads.md).
#include <algorithm>
#include <bit>

#include "emulator/addresses.hpp"
#include "emulator/execute.hpp"

namespace gpumux::emulator {

LaneMask Warp::own_lanes(std::size_t path) const {
  LaneMask above = active;
  for (std::size_t i = paths.size(); --i > path;) above |= paths[i].lanes;
  return paths[path].lanes & alive & ~above;
}

namespace {

using isa::MbarrierMode;
using isa::Opcode;
using isa::Space;

/// Number of instructions before the first check of a diverged warp, and the maximum between two checks.
constexpr std::uint64_t kFirstLook = 512;
constexpr std::uint64_t kLongestGap = 8192;
/// Number of instructions of a check. The longest loop that is recognised has a third of this length.
constexpr std::uint32_t kLook = 384;
constexpr std::uint32_t kRounds = 3;
/// Number of instructions that a loop must spin before its warp switches to other lanes for the first time. A
/// loop nearly always waits for another warp, and then its lanes should stay together. If it once waited for
/// another lane of the warp, kImpatience is sufficient afterwards.
constexpr std::uint64_t kPatience = 4096;
constexpr std::uint64_t kImpatience = 64;

constexpr std::size_t kNobody = ~std::size_t{0};

/// The lowest path with lanes that could run. These lanes have waited longest, since a path that is left is
/// put on top.
std::size_t next_path(const Warp& warp) {
  for (std::size_t i = 0; i < warp.paths.size(); ++i)
    if (!warp.paths[i].at_sync && warp.own_lanes(i) != 0) return i;
  return kNobody;
}

/// Continues with the path's own lanes up to the point where they would have met the others, which run
/// afterwards.
void switch_to(Warp& warp, std::size_t index, bool at_sync) {
  const PathEntry next = warp.paths[index];
  const LaneMask lanes = warp.own_lanes(index);
  warp.paths[index].lanes &= ~lanes;
  if ((warp.paths[index].lanes & warp.alive) == 0)
    warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(index));
  warp.paths.push_back({warp.pc, warp.reconverge, warp.active, false, at_sync});
  warp.pc = next.pc;
  warp.reconverge = next.reconverge;
  warp.active = lanes;
  warp.split = true;
  if (warp.pc == warp.reconverge) warp.settle();
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 29U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 32U);
}

enum class Effect : std::uint8_t { None, Reads, Writes };

/// The effect of an instruction that other lanes can observe.
Effect effect_of(const isa::Instruction& inst) {
  const bool own = inst.space == Space::Local || inst.space == Space::Const || inst.space == Space::Param;
  switch (inst.op) {
    case Opcode::Ld: return own ? Effect::None : Effect::Reads;
    case Opcode::St: return own ? Effect::None : Effect::Writes;
    // An atomic that changes memory reads a different value the next time.
    case Opcode::Atom: return inst.dst[0] ? Effect::Reads : Effect::Writes;
    case Opcode::Mbarrier:
      return inst.mbarrier == MbarrierMode::TestWait || inst.mbarrier == MbarrierMode::TryWait
                 ? Effect::Reads
                 : Effect::Writes;
    case Opcode::Red:
    case Opcode::SurfSt:
    case Opcode::SurfRed:
    case Opcode::CpAsync:
    case Opcode::Bar:
    case Opcode::Exit:
    case Opcode::Syscall: return Effect::Writes;
    default: return Effect::None;
  }
}

/// Tracks the reads of a warp in a loop.
class Rounds {
 public:
  explicit Rounds(const Warp& warp)
      : warp_(warp), pc_(warp.pc), active_(warp.active), depth_(warp.paths.size()) {}

  /// Called before an instruction. Returns false when the result is known.
  bool see(const Op& op, std::uint32_t pc, LaneMask active, bool first) {
    if (read_ != nullptr) {
      hash_ += results(*read_, lanes_);
      read_ = nullptr;
    }
    if (!first && pc == pc_ && active == active_ && warp_.paths.size() == depth_) {
      if (reads_ == 0 || (rounds_ > 0 && hash_ != last_)) return false;
      last_ = hash_;
      hash_ = reads_ = 0;
      if (++rounds_ == kRounds) return false;
    }
    const LaneMask lanes = active & warp_.pred(op.guard);
    if (lanes == 0) return true;
    const Effect effect = effect_of(*op.inst);
    if (effect == Effect::Writes) return false;
    if (effect == Effect::Reads) {
      ++reads_;
      Addresses addresses;
      make_addresses(addresses, warp_, op, lanes);
      std::uint64_t where = mix(pc, lanes);
      for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
        where = mix(where, addresses.at[std::countr_zero(rest)]);
      hash_ += where;
      read_ = &op;
      lanes_ = lanes;
    }
    return true;
  }
  [[nodiscard]] bool spins() const { return rounds_ == kRounds; }
  [[nodiscard]] std::uint64_t reads() const { return last_; }

 private:
  [[nodiscard]] std::uint64_t results(const Op& op, LaneMask lanes) const {
    std::uint64_t hash = 0;
    for (std::size_t d = 0; d < op.dst.size(); ++d) {
      const isa::Operand& operand = op.inst->dst[d];
      if (operand.kind == isa::Operand::Kind::Pred) hash = mix(hash, warp_.preds[op.pred_dst[0]] & lanes);
      if (operand.kind != isa::Operand::Kind::Reg32 && operand.kind != isa::Operand::Kind::Reg64) continue;
      const std::byte* row = warp_.base[kRegisterRows] + op.dst[d];
      const bool wide = operand.kind == isa::Operand::Kind::Reg64;
      for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
        std::uint64_t value = 0;
        std::memcpy(&value, row + lane * (wide ? 8 : 4), wide ? 8 : 4);
        hash = mix(hash, value);
      }
    }
    return hash;
  }

  const Warp& warp_;
  std::uint32_t pc_;
  LaneMask active_;
  std::size_t depth_;
  const Op* read_ = nullptr;
  LaneMask lanes_ = 0;
  std::uint64_t hash_ = 0;  // sum over the current round, independent of where the round starts
  std::uint64_t last_ = 0;
  std::uint64_t reads_ = 0;
  std::uint32_t rounds_ = 0;
};

}  // namespace

LaneMask lanes_that_meet(const Warp& warp, const Op& op, LaneMask lanes) {
  unsigned which = 1;
  switch (op.inst->op) {
    case Opcode::Bar: return kAllLanes;
    case Opcode::BarWarp: which = 0; break;
    case Opcode::Shfl: which = 3; break;
    case Opcode::Vote:
    case Opcode::Match:
    case Opcode::Redux: break;
    default: return 0;
  }
  if (!op.inst->src[which]) return 0;  // a form without .sync
  const auto* masks = warp.src<u32>(op, which);
  LaneMask wanted = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) wanted |= masks[std::countr_zero(rest)];
  return wanted;
}

bool Block::yield_if_spinning(Warp& warp) {
  SpinWatch& spin = warp.spin;
  const auto look_later = [&](std::uint64_t gap) {
    spin.gap = std::clamp(gap, kImpatience, kLongestGap);
    spin.look_at = warp.executed + spin.gap;
    return false;
  };
  if (warp.executed < kFirstLook && !spin.yielded) return look_later(kFirstLook - warp.executed);
  if (!other_lanes_may_run(warp)) return look_later(kLongestGap);
  Rounds rounds(warp);
  const std::uint64_t first = warp.executed;
  execute(warp, kLook, [&](const Op& op, std::uint32_t pc, LaneMask active) {
    return rounds.see(op, pc, active, warp.executed == first) &&
           (!warp.split || (lanes_that_meet(warp, op, active) & warp.alive & ~active) == 0);
  });
  if (!rounds.spins()) {
    spin.since = 0;
    return look_later(2 * spin.gap);
  }
  if (spin.since == 0 || spin.reads != rounds.reads()) {
    spin.since = warp.executed;
    spin.reads = rounds.reads();
  }
  if (warp.executed - spin.since < (spin.yielded ? kImpatience : kPatience)) return look_later(kImpatience);
  const std::size_t next = next_path(warp);
  if (next == kNobody) return look_later(kLongestGap);
  switch_to(warp, next, false);
  spin.yielded = true;
  spin.since = 0;
  look_later(kImpatience);
  return true;
}

bool Block::other_lanes_may_run(const Warp& warp) const {
  constexpr std::uint32_t kVolta = 70;
  return module().compiled->module.sm >= kVolta && next_path(warp) != kNobody;
}

void Block::run_split(Warp& warp, std::uint32_t limit) {
  if (warp.paths.empty()) {
    warp.split = false;
    return;
  }
  LaneMask wanted = 0;
  bool stopped = false;
  execute(warp, limit, [&](const Op& op, std::uint32_t, LaneMask active) {
    const LaneMask lanes = active & warp.pred(op.guard);
    if (lanes == 0 || op.inst->op == Opcode::BarWarp) return true;  // a BarWarp checks itself
    wanted = lanes_that_meet(warp, op, lanes);
    stopped = (wanted & warp.alive & ~active) != 0;
    return !stopped;
  });
  if (stopped && meet(warp, wanted))
    execute(warp, 1, [](const Op&, std::uint32_t, LaneMask) { return true; });
  if (warp.status == WarpStatus::Switched) warp.status = WarpStatus::Running;
}

bool Block::meet(Warp& warp, LaneMask wanted) {
  constexpr std::uint32_t kVolta = 70;
  const auto missing = [&] { return wanted & warp.alive & ~warp.active; };
  if (missing() == 0 || module().compiled->module.sm < kVolta) return true;
  // Lanes that wait at the same instruction, with the same reconvergence point, join this path.
  for (std::size_t i = warp.paths.size(); i-- > 0;) {
    const PathEntry& path = warp.paths[i];
    if (!path.at_sync || path.pc != warp.pc || path.reconverge != warp.reconverge) continue;
    warp.active |= path.lanes & warp.alive;
    warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (missing() == 0) return true;
  const auto& ops = launch_->program->ops;
  if (ops[warp.pc].inst->op == Opcode::BarWarp) {
    LaneMask arrived = 0;
    const auto waits_too = [&](const PathEntry& path) {
      return path.at_sync && ops[path.pc].inst->op == Opcode::BarWarp;
    };
    for (const PathEntry& path : warp.paths) arrived |= waits_too(path) ? path.lanes : 0;
    if ((missing() & ~arrived) == 0) {  // from several branches: each path continues after its own
      for (PathEntry& path : warp.paths) {
        if (!waits_too(path)) continue;
        path.at_sync = false;
        ++path.pc;
      }
      return true;
    }
  }
  const std::size_t next = next_path(warp);
  if (next == kNobody) return true;  // no lane can come, so execution continues as with exited lanes
  switch_to(warp, next, true);
  warp.status = WarpStatus::Switched;
  return false;
}

}  // namespace gpumux::emulator
