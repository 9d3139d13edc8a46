// Branches, calls, exits and barriers: handlers that set the pc themselves.
#include <algorithm>

#include <fmt/core.h>

#include "emulator/block.hpp"
#include "emulator/lanes.hpp"
#include "emulator/windows.hpp"

namespace gpumux::emulator {

void Warp::settle() {
  while (active == 0 || (pc == reconverge && !paths.empty())) {
    if (paths.empty()) {
      status = WarpStatus::Done;
      block->warp_done(*this);
      return;
    }
    const PathEntry& entry = paths.back();
    pc = entry.pc;
    reconverge = entry.reconverge;
    active = entry.lanes & alive;
    paths.pop_back();
  }
}

namespace {

using isa::BarMode;
using isa::Instruction;
using isa::kNoTarget;
using isa::Opcode;
using isa::Operand;

/// One side of a branch. The sides run one after the other up to `meet`, the last of the list first. Lanes
/// whose side starts at `meet` wait there.
struct Side {
  std::uint32_t pc;
  LaneMask lanes;
};
void split(Warp& warp, const Side* sides, u32 count, std::uint32_t meet) {
  if (meet != kNoTarget && meet != warp.reconverge) {
    warp.paths.push_back({meet, warp.reconverge, warp.active, false});
    warp.reconverge = meet;
  }
  // If meet == warp.reconverge, the path below already waits there for these lanes.
  bool running = false;
  for (u32 i = 0; i < count; ++i) {
    if (sides[i].lanes == 0 || (meet != kNoTarget && sides[i].pc == meet)) continue;
    if (running) warp.paths.push_back({warp.pc, warp.reconverge, warp.active, false});
    warp.pc = sides[i].pc;
    warp.active = sides[i].lanes;
    running = true;
  }
  if (!running) warp.active = 0;
  warp.settle();
}

void branch(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes == 0 || lanes == warp.active) {
    warp.pc = lanes == 0 ? warp.pc + 1 : op.target;
    if (warp.pc == warp.reconverge) warp.settle();
    return;
  }
  const Side sides[2] = {{warp.pc + 1, warp.active & ~lanes}, {op.target, lanes}};
  split(warp, sides, 2, op.reconverge);
}

void branch_indexed(Warp& warp, const Op& op, LaneMask lanes) {
  const auto& table = warp.block->launch().program->kernel->code.branch_tables[op.inst->call];
  const auto* index = warp.src<u32>(op, 0);
  Side sides[kWarpSize + 1];
  u32 count = 0;
  if (lanes != warp.active) sides[count++] = {warp.pc + 1, warp.active & ~lanes};
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    if (index[lane] >= table.size()) {
      warp.block->fault(
          warp, lane,
          fmt::format("indexed branch with index {} into a table of {} targets", index[lane], table.size()));
    }
    const u32 target = table[index[lane]];
    Side* side = std::find_if(sides, sides + count, [&](const Side& s) { return s.pc == target; });
    if (side == sides + count) sides[count++] = {target, 0};
    side->lanes |= 1U << lane;
  }
  if (count == 1) {
    warp.pc = sides[0].pc;
    if (warp.pc == warp.reconverge) warp.settle();
    return;
  }
  split(warp, sides, count, op.reconverge);
}

void call(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes == 0) {
    if (++warp.pc == warp.reconverge) warp.settle();
    return;
  }
  constexpr std::size_t kDeepest = 65536;  // far beyond the depth that a stack in local memory permits
  const u32 first = static_cast<u32>(std::countr_zero(lanes));
  if (warp.paths.size() > kDeepest) warp.block->fault(warp, first, "stack overflow: calls nest too deeply");
  Side sides[kWarpSize];
  u32 count = 0;
  if (op.target != kNoTarget) {
    sides[count++] = {op.target, lanes};
  } else {
    const auto& table = warp.block->launch().program->kernel->code.branch_tables[op.inst->call];
    const auto* function = warp.src<u64>(op, 0);
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      const u64 index = function_at(function[lane]);
      const u32 target = index < table.size() ? table[index] : kNoTarget;
      if (target == kNoTarget) {
        warp.block->fault(warp, lane,
                          fmt::format("call through 0x{:x}, which is no function's address", function[lane]));
      }
      Side* side = std::find_if(sides, sides + count, [&](const Side& s) { return s.pc == target; });
      if (side == sides + count) sides[count++] = {target, 0};
      side->lanes |= 1U << lane;
    }
  }
  warp.paths.push_back({warp.pc + 1, warp.reconverge, warp.active, true});
  warp.reconverge = kNoTarget;
  for (u32 i = 0; i + 1 < count; ++i) warp.paths.push_back({sides[i].pc, kNoTarget, sides[i].lanes, false});
  warp.pc = sides[count - 1].pc;
  warp.active = sides[count - 1].lanes;
}

void exit_lanes(Warp& warp, const Op&, LaneMask lanes) {
  warp.alive &= ~lanes;
  warp.active &= ~lanes;
  ++warp.pc;
  if (warp.active == 0 || warp.pc == warp.reconverge) warp.settle();
}

void ret(Warp& warp, const Op& op, LaneMask lanes) {
  // The lanes leave every path of the called function.
  auto path = warp.paths.rbegin();
  const auto called_it = [lanes](const PathEntry& entry) {
    return entry.caller && (entry.lanes & lanes) != 0;
  };
  for (; path != warp.paths.rend() && !called_it(*path); ++path) path->lanes &= ~lanes;
  if (path == warp.paths.rend()) {  // the kernel itself
    exit_lanes(warp, op, lanes);
    return;
  }
  warp.active &= ~lanes;
  ++warp.pc;
  if (warp.active == 0 || warp.pc == warp.reconverge) warp.settle();
}

void trap(Warp& warp, const Op&, LaneMask lanes) {
  if (lanes == 0) {
    if (++warp.pc == warp.reconverge) warp.settle();
    return;
  }
  warp.block->fault(warp, static_cast<u32>(std::countr_zero(lanes)), "trap");
}

u32 operand_value(const Warp& warp, const Op& op, u32 which, LaneMask lanes) {
  return warp.src<u32>(op, which)[std::countr_zero(lanes)];
}

void barrier(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes == 0) {
    if (++warp.pc == warp.reconverge) warp.settle();
    return;
  }
  const Instruction& inst = *op.inst;
  const auto has_value = [&](u32 which) {
    return inst.src[which].kind != Operand::Kind::None && inst.src[which].kind != Operand::Kind::Pred;
  };
  const u32 lane = static_cast<u32>(std::countr_zero(lanes));
  const u32 id = has_value(0) ? operand_value(warp, op, 0, lanes) : 0;
  const u32 count = has_value(1) ? operand_value(warp, op, 1, lanes) : 0;
  if (id > 15)
    warp.block->fault(warp, lane, fmt::format("barrier {} does not exist (a block has 0 to 15)", id));
  if (count % kWarpSize != 0) {
    warp.block->fault(warp, lane, fmt::format("barrier for {} threads (must be a multiple of 32)", count));
  }
  warp.block->arrive(warp, id, count, op, lanes, inst.bar != BarMode::Arrive);
}

/// Lanes wait here for the lanes in their masks that are on other paths and have not arrived.
void warp_barrier(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != warp.alive && lanes != 0 && !warp.paths.empty()) {
    const auto* masks = warp.src<u32>(op, 0);
    LaneMask wanted = 0;
    for (u32 i = 0; i < kWarpSize; ++i) wanted |= ((lanes >> i) & 1U) != 0 ? masks[i] : 0;
    if (!warp.block->meet(warp, wanted)) return;
  }
  if (++warp.pc == warp.reconverge) warp.settle();
}

}  // namespace

Handler select_control(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Bra: return &branch;
    case Opcode::BrxIdx: return &branch_indexed;
    case Opcode::Call: return &call;
    case Opcode::Ret: return &ret;
    case Opcode::Exit: return &exit_lanes;
    case Opcode::Trap: return &trap;
    case Opcode::Bar: return &barrier;
    case Opcode::BarWarp: return &warp_barrier;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
