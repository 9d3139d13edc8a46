// Communication inside a warp, and instructions that only take an issue slot.
//
// Only lanes of the running path participate. Lanes in a member mask that are on other paths are waited for
// if the lanes of the warp have been split (independent_threads.cpp), and left out otherwise.
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
  alignas(64) u32 from[kWarpSize];
  alignas(64) u32 inside[kWarpSize];
  for (u32 lane = 0; lane < kWarpSize; ++lane) {
    const u32 distance = b[lane] & 31U;
    const u32 segment = (c[lane] >> 8U) & 31U;
    const u32 lowest = lane & segment;
    const u32 bound = lowest | (c[lane] & 31U & ~segment);
    u32 wanted = 0;
    bool ok = false;
    if constexpr (Mode == ShflMode::Up) {
      wanted = lane - distance;
      ok = static_cast<i32>(wanted) >= static_cast<i32>(bound);
    } else {
      if constexpr (Mode == ShflMode::Down) wanted = lane + distance;
      if constexpr (Mode == ShflMode::Bfly) wanted = lane ^ distance;
      if constexpr (Mode == ShflMode::Idx) wanted = lowest | (distance & ~segment);
      ok = static_cast<i32>(wanted) <= static_cast<i32>(bound);
    }
    from[lane] = ok ? wanted & 31U : lane;
    inside[lane] = ok ? 1 : 0;
  }
  alignas(64) u32 result[kWarpSize];
  for (u32 lane = 0; lane < kWarpSize; ++lane) result[lane] = a[from[lane]];
  merge(d, result, lanes);
  warp.set_pred(op.pred_dst[0], to_mask(inside), lanes);
}

/// Calls body(lanes, members) for each group of lanes that vote, match or reduce together: `lanes` have the
/// same member mask, and `members` are the active lanes in that mask. Nearly always, all lanes have the same
/// mask.
template <class Body>
void for_each_group(const Warp& warp, const Op& op, u32 which, LaneMask lanes, Body body) {
  if (op.inst->src[which].kind == Operand::Kind::None) {  // a form without .sync
    body(lanes, lanes);
    return;
  }
  const auto* masks = warp.src<u32>(op, which);
  while (lanes != 0) {
    const LaneMask mask = masks[std::countr_zero(lanes)];
    LaneMask group = 0;
    for (u32 i = 0; i < kWarpSize; ++i) group |= (masks[i] == mask ? 1U : 0U) << i;
    group &= lanes;
    body(group, group & mask);
    lanes &= ~group;
  }
}

void broadcast(Warp& warp, const Op& op, u32 value, LaneMask lanes) {
  auto* d = warp.dst<u32>(op);
  for (u32 i = 0; i < kWarpSize; ++i) d[i] = (lanes & (1U << i)) != 0 ? value : d[i];
}

void vote(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask predicate = warp.pred(op.pred_src[0]);
  for_each_group(warp, op, 1, lanes, [&](LaneMask group, LaneMask members) {
    const LaneMask holds = predicate & members;
    bool result = false;
    switch (op.inst->vote) {
      case VoteMode::Ballot: broadcast(warp, op, holds, group); return;
      case VoteMode::All: result = holds == members; break;
      case VoteMode::Any: result = holds != 0; break;
      default: result = holds == 0 || holds == members; break;
    }
    warp.set_pred(op.pred_dst[0], result ? kAllLanes : 0, group);
  });
}

template <class T>
void match_all(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* a = warp.src<T>(op, 0);
  for_each_group(warp, op, 1, lanes, [&](LaneMask group, LaneMask members) {
    bool same = true;
    const T first = members == 0 ? T{0} : a[std::countr_zero(members)];
    for (u32 i = 0; i < kWarpSize; ++i) same = same && ((members & (1U << i)) == 0 || a[i] == first);
    broadcast(warp, op, same ? members : 0, group);
    warp.set_pred(op.pred_dst[0], same ? kAllLanes : 0, group);
  });
}

template <class T>
void match_any(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* a = warp.src<T>(op, 0);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) {
    LaneMask equal = 0;
    for (u32 k = 0; k < kWarpSize; ++k) equal |= (a[k] == a[i] ? 1U : 0U) << k;
    result[i] = equal;
  }
  for_each_group(warp, op, 1, lanes, [&](LaneMask group, LaneMask members) {
    for (LaneMask rest = group; rest != 0; rest &= rest - 1) result[std::countr_zero(rest)] &= members;
  });
  merge(warp.dst<u32>(op), result, lanes);
}

u32 reduce(const Instruction& inst, const u32* values, LaneMask members) {
  if (members == 0) return 0;
  const bool is_signed = isa::is_signed(inst.type);
  u32 result = values[std::countr_zero(members)];
  for (LaneMask rest = members & (members - 1); rest != 0; rest &= rest - 1) {
    const u32 value = values[std::countr_zero(rest)];
    const bool less = is_signed ? static_cast<i32>(value) < static_cast<i32>(result) : value < result;
    switch (inst.atomic) {
      case AtomicOp::Add: result += value; break;
      case AtomicOp::Min: result = less ? value : result; break;
      case AtomicOp::Max: result = less ? result : value; break;
      case AtomicOp::And: result &= value; break;
      case AtomicOp::Or: result |= value; break;
      case AtomicOp::Xor: result ^= value; break;
      default: break;
    }
  }
  return result;
}

void redux(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* a = warp.src<u32>(op, 0);
  for_each_group(warp, op, 1, lanes, [&](LaneMask group, LaneMask members) {
    broadcast(warp, op, reduce(*op.inst, a, members), group);
  });
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
    case Opcode::Match: {
      const bool wide = isa::width_bits(inst.type) == 64;
      if (inst.match == MatchMode::All) return wide ? &match_all<u64> : &match_all<u32>;
      return wide ? &match_any<u64> : &match_any<u32>;
    }
    case Opcode::Redux: return inst.type == Type::F32 ? nullptr : &redux;
    case Opcode::Activemask:
      return [](Warp& warp, const Op& op, LaneMask lanes) { broadcast(warp, op, lanes, lanes); };
    // Memory is coherent and a path executes in order, so only the timing model treats these.
    case Opcode::Membar:
    case Opcode::Nanosleep:
    case Opcode::Nop: return &nothing;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
