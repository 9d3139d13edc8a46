// Communication inside a warp, and the instructions that only take a slot.
//
// Only the lanes of the running path take part: lanes that member masks name but that run elsewhere are
// left out, which is where lanes of one warp that meet from different paths would differ from hardware with
// independent thread scheduling.
#include "emulator/lanes.hpp"

namespace gpumux::emulator {
namespace {

using isa::AtomicOp;
using isa::Instruction;
using isa::MatchMode;
using isa::Opcode;
using isa::Operand;
using isa::ShflMode;
using isa::Type;
using isa::VoteMode;

template <ShflMode Mode>
void shfl(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u32>(op, 0);
  const auto* b = warp.src<u32>(op, 1);
  const auto* c = warp.src<u32>(op, 2);
  alignas(64) u32 result[kWarpSize];
  LaneMask inside = 0;
  for (u32 lane = 0; lane < kWarpSize; ++lane) {
    const u32 distance = b[lane] & 31U;
    const u32 segment = (c[lane] >> 8U) & 31U;
    const u32 lowest = lane & segment;
    const u32 bound = lowest | (c[lane] & 31U & ~segment);
    i32 from = 0;
    bool ok = false;
    if constexpr (Mode == ShflMode::Up) {
      from = static_cast<i32>(lane) - static_cast<i32>(distance);
      ok = from >= static_cast<i32>(bound);
    } else {
      if constexpr (Mode == ShflMode::Down) from = static_cast<i32>(lane + distance);
      if constexpr (Mode == ShflMode::Bfly) from = static_cast<i32>(lane ^ distance);
      if constexpr (Mode == ShflMode::Idx) from = static_cast<i32>(lowest | (distance & ~segment));
      ok = from <= static_cast<i32>(bound);
    }
    result[lane] = a[ok ? static_cast<u32>(from) & 31U : lane];
    inside |= (ok ? 1U : 0U) << lane;
  }
  merge(d, result, lanes);
  warp.set_pred(op.pred_dst[0], inside, lanes);
}

/// The lanes that take part: those that run and that the mask of the lowest one names.
LaneMask members(const Warp& warp, const Op& op, u32 which, LaneMask lanes) {
  if (op.inst->src[which].kind == Operand::Kind::None) return lanes;
  return lanes & warp.src<u32>(op, which)[std::countr_zero(lanes)];
}

void broadcast(Warp& warp, const Op& op, u32 value, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  for (u32 i = 0; i < kWarpSize; ++i) d[i] = (lanes & (1U << i)) != 0 ? value : d[i];
}

void vote(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask part = members(warp, op, 1, lanes);
  const LaneMask holds = warp.pred(op.pred_src[0]) & part;
  bool result = false;
  switch (op.inst->vote) {
    case VoteMode::Ballot: broadcast(warp, op, holds, lanes); return;
    case VoteMode::All: result = holds == part; break;
    case VoteMode::Any: result = holds != 0; break;
    default: result = holds == 0 || holds == part; break;
  }
  warp.set_pred(op.pred_dst[0], result ? kAllLanes : 0, lanes);
}

template <class T>
void match(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<T>(op, 0);
  const LaneMask part = members(warp, op, 1, lanes);
  if (op.inst->match == MatchMode::All) {
    bool same = true;
    const T first = a[std::countr_zero(lanes)];
    for (u32 i = 0; i < kWarpSize; ++i) same = same && ((part & (1U << i)) == 0 || a[i] == first);
    broadcast(warp, op, same ? part : 0, lanes);
    warp.set_pred(op.pred_dst[0], same ? kAllLanes : 0, lanes);
    return;
  }
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    LaneMask equal = 0;
    for (u32 k = 0; k < kWarpSize; ++k) equal |= (a[k] == a[i] ? 1U : 0U) << k;
    result[i] = equal & part;
  }
  merge(d, result, lanes);
}

void redux(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* a = warp.src<u32>(op, 0);
  const LaneMask part = members(warp, op, 1, lanes);
  const bool is_signed = isa::is_signed(op.inst->type);
  u32 result = 0;
  bool first = true;
  for (LaneMask rest = part; rest != 0; rest &= rest - 1) {
    const u32 value = a[std::countr_zero(rest)];
    if (first) {
      result = value;
      first = false;
      continue;
    }
    const bool less = is_signed ? static_cast<i32>(value) < static_cast<i32>(result) : value < result;
    switch (op.inst->atomic) {
      case AtomicOp::Add: result += value; break;
      case AtomicOp::Min: result = less ? value : result; break;
      case AtomicOp::Max: result = less ? result : value; break;
      case AtomicOp::And: result &= value; break;
      case AtomicOp::Or: result |= value; break;
      case AtomicOp::Xor: result ^= value; break;
      default: break;
    }
  }
  broadcast(warp, op, result, lanes);
}

void nothing(Warp&, const Op&, LaneMask) {}

}  // namespace

Handler select_warp_op(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Shfl:
      switch (inst.shfl) {
        case ShflMode::Up: return &shfl<ShflMode::Up>;
        case ShflMode::Down: return &shfl<ShflMode::Down>;
        case ShflMode::Bfly: return &shfl<ShflMode::Bfly>;
        case ShflMode::Idx: return &shfl<ShflMode::Idx>;
        case ShflMode::None: return nullptr;
      }
      return nullptr;
    case Opcode::Vote: return inst.vote == VoteMode::None ? nullptr : &vote;
    case Opcode::Match: return isa::width_bits(inst.type) == 64 ? &match<u64> : &match<u32>;
    case Opcode::Redux: return inst.type == Type::F32 ? nullptr : &redux;
    case Opcode::Activemask:
      return [](Warp& warp, const Op& op, LaneMask lanes) { broadcast(warp, op, lanes, lanes); };
    // Memory is coherent and a path runs in order; the timing model gives these their meaning.
    case Opcode::BarWarp:
    case Opcode::Membar:
    case Opcode::Nanosleep:
    case Opcode::Nop: return &nothing;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
