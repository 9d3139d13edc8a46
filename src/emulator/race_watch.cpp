#include "emulator/race_watch.hpp"

#include <bit>

#include "emulator/addresses.hpp"
#include "emulator/device_runtime.hpp"
#include "emulator/generic_access.hpp"
#include "emulator/race_order.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::MbarrierMode;
using isa::Opcode;
using isa::Space;
using WatchedAccess = BlockRaces::Access;
using Kind = BlockRaces::Kind;

u32 pc_of(const Warp& warp, const Op& op) {
  return static_cast<u32>(&op - warp.block->launch().program->ops.data());
}

void execute(Warp& warp, const Op& op, LaneMask lanes) {
  warp.block->launch().program->unwatched[pc_of(warp, op)](warp, op, lanes);
}

template <class Body>
void for_each_lane(LaneMask lanes, Body body) {
  for (; lanes != 0; lanes &= lanes - 1) body(static_cast<u32>(std::countr_zero(lanes)));
}

/// Divides lanes into those with addresses in global memory and those in the block's shared memory, whose
/// addresses become offsets.
struct BySpace {
  LaneMask global = 0;
  LaneMask shared = 0;
  BySpace(Addresses& a, Space space, LaneMask lanes, const workload::DeviceMemory& memory) {
    if (space == Space::Global) global = lanes;
    if (space == Space::Shared) shared = lanes;
    if (space == Space::Generic) {
      for_each_lane(lanes, [&](u32 lane) {
        const Space of = space_of(a.at[lane]);
        if (of == Space::Global) global |= 1U << lane;
        if (of == Space::Shared) {
          shared |= 1U << lane;
          a.at[lane] -= window_of(Space::Shared);
        }
      });
    }
    if (memory.maps_host())
      for_each_lane(global, [&](u32 lane) { a.at[lane] = memory.translated(a.at[lane], 1); });
  }
};

/// Checks loads, stores and atomics.
void access(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  const Instruction& inst = *op.inst;
  races.enter(warp);
  const bool atomic = inst.op == Opcode::Atom || inst.op == Opcode::Red;
  WatchedAccess what{&op, pc_of(warp, op), Kind::Read, atomic, inst.vector * isa::width_bytes(inst.type)};
  if (atomic) what.kind = Kind::Atomic;
  if (inst.op == Opcode::St) what.kind = Kind::Write;
  what.strong = what.strong || inst.is_volatile || inst.relaxed || inst.acquire_release;
  Addresses a;
  make_addresses(a, warp, op, lanes);
  const BySpace where(a, inst.space, lanes, warp.block->memory());
  const auto for_each_place = [&](auto body) {
    for_each_lane(where.global, [&](u32 lane) { body(lane, Space::Global, a.at[lane]); });
    for_each_lane(where.shared, [&](u32 lane) { body(lane, Space::Shared, a.at[lane]); });
  };
  const bool learns = what.strong && (inst.op == Opcode::Ld || (inst.op == Opcode::Atom && inst.dst[0]));
  if (learns)
    for_each_place([&](u32 lane, Space space, u64 address) { races.acquire(warp, lane, space, address); });
  if (where.global != 0) races.global_access(warp, what, a.at, where.global);
  if (where.shared != 0) races.shared_access(warp, what, a.at, where.shared);
  if (what.strong && what.kind != Kind::Read) {
    for_each_place(
        [&](u32, Space space, u64 address) { races.release(warp, space, address, inst.acquire_release); });
  }
  execute(warp, op, lanes);
}

/// Checks matrix accesses: each row of 16 bytes counts as an access of the lane that provides its address.
void matrix(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  if (races.mode() == RaceMode::Warp) races.join_lanes(warp, lanes);
  constexpr u32 kRowBytes16 = 16;
  const u32 rows = 8U * op.inst->vector;
  const LaneMask named = lanes & (rows == kWarpSize ? kAllLanes : (LaneMask{1} << rows) - 1);
  if (named != 0) {
    Addresses a;
    make_addresses(a, warp, op, named);
    const BySpace where(a, op.inst->space, named, warp.block->memory());
    const Kind kind = op.inst->op == Opcode::StMatrix ? Kind::Write : Kind::Read;
    races.shared_access(warp, {&op, pc_of(warp, op), kind, false, kRowBytes16}, a.at, where.shared);
  }
  execute(warp, op, lanes);
}

/// Checks asynchronous copies. A copy counts as complete when it is issued.
void async_copy(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  const Instruction& inst = *op.inst;
  races.enter(warp);
  const u32 bytes = inst.vector * isa::width_bytes(inst.type);
  const u32 pc = pc_of(warp, op);
  Addresses to;
  make_addresses(to, warp, op, lanes);
  races.shared_access(warp, {&op, pc, Kind::Write, false, bytes}, to.at, lanes);
  const LaneMask reading = lanes & ~(inst.src[3] ? warp.pred(op.pred_src[0]) : 0);
  if (reading != 0) {
    Addresses from;
    read_addresses(from, warp, op, 1, reading);
    translate_host(from, warp, reading, 1);
    for_each_lane(reading, [&](u32 lane) {
      const u32 wanted = inst.src[2] ? warp.src<u32>(op, 2)[lane] : bytes;
      if (wanted == 0 || wanted > bytes || from.at[lane] % bytes != 0) return;
      races.global_access(warp, {&op, pc, Kind::Read, false, wanted}, from.at, 1U << lane);
    });
  }
  execute(warp, op, lanes);
}

void watched_mbarrier(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  Addresses a;
  make_addresses(a, warp, op, lanes);
  const BySpace where(a, op.inst->space, lanes, warp.block->memory());
  switch (op.inst->mbarrier) {
    case MbarrierMode::Arrive:
    case MbarrierMode::ArriveDrop:
    case MbarrierMode::ArriveCopies:
    case MbarrierMode::CompleteTx:
      for_each_lane(where.shared, [&](u32 lane) { races.mbarrier_arrives(warp, 1U << lane, a.at[lane]); });
      break;
    default: break;
  }
  execute(warp, op, lanes);
  if (op.inst->mbarrier != MbarrierMode::TestWait && op.inst->mbarrier != MbarrierMode::TryWait) return;
  for_each_lane(where.shared & warp.preds[op.pred_dst[0]],
                [&](u32 lane) { races.mbarrier_passes(warp, 1U << lane, a.at[lane]); });
}

void membar(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  races.fence(warp, op.inst->shift);
  execute(warp, op, lanes);
}

/// Memory from malloc has no earlier accesses.
void service(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  alignas(64) u64 bytes[kWarpSize];
  std::memcpy(bytes, warp.src<u64>(op, 0), sizeof(bytes));
  execute(warp, op, lanes);
  const auto* given = warp.dst<u64>(op);
  for_each_lane(lanes, [&](u32 lane) {
    if (given[lane] != 0) races.forget_global(given[lane], bytes[lane]);
  });
}

/// Memory from the device run time has no earlier accesses.
void parameter_buffer(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  execute(warp, op, lanes);
  const auto* given = warp.dst<u64>(op);
  for_each_lane(lanes, [&](u32 lane) {
    if (given[lane] == 0) return;
    races.forget_global(given[lane], warp.block->module().device_runtime->parameter_bytes(given[lane]));
  });
}

void device_malloc(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  alignas(64) u64 pointers[kWarpSize];
  alignas(64) u64 bytes[kWarpSize];
  std::memcpy(pointers, warp.src<u64>(op, 0), sizeof(pointers));
  std::memcpy(bytes, warp.src<u64>(op, 1), sizeof(bytes));
  execute(warp, op, lanes);
  for_each_lane(lanes, [&](u32 lane) {
    u64 given = 0;
    read_generic(warp, lane, pointers[lane], &given, sizeof(given));
    if (given != 0) races.forget_global(given, bytes[lane]);
  });
}

/// The watching handler of a service that returns memory, or nullptr.
Handler gives_memory(isa::Service called) {
  switch (called) {
    case isa::Service::Malloc: return &service;
    case isa::Service::ParameterBuffer: return &parameter_buffer;
    case isa::Service::CudaMalloc: return &device_malloc;
    default: return nullptr;
  }
}

/// The lanes in the member masks of `lanes`.
LaneMask members(const Warp& warp, const Op& op, u32 which, LaneMask lanes) {
  if (!op.inst->src[which]) return lanes;  // a form without .sync
  const auto* masks = warp.src<u32>(op, which);
  LaneMask named = 0;
  for_each_lane(lanes, [&](u32 lane) { named |= masks[lane]; });
  return named;
}

void watched_warp_barrier(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  const LaneMask named = members(warp, op, 0, lanes) & warp.alive;
  execute(warp, op, lanes);
  if (lanes != 0 && warp.status != WarpStatus::Switched) races.join_lanes(warp, named);
}

template <u32 Mask>
void exchange(Warp& warp, const Op& op, LaneMask lanes) {
  BlockRaces& races = *warp.block->races();
  races.enter(warp);
  races.join_lanes(warp, members(warp, op, Mask, lanes) & warp.active);
  execute(warp, op, lanes);
}

/// Only notes which lanes execute together.
void only_enter(Warp& warp, const Op& op, LaneMask lanes) {
  warp.block->races()->enter(warp);
  execute(warp, op, lanes);
}

Handler watched(const Instruction& inst, RaceMode mode) {
  const bool by_lanes = mode == RaceMode::Warp;
  switch (inst.op) {
    case Opcode::Ld:
    case Opcode::St: {
      const bool own = inst.space == Space::Local || inst.space == Space::Const || inst.space == Space::Param;
      return own ? nullptr : &access;
    }
    case Opcode::Atom:
    case Opcode::Red: return &access;
    case Opcode::LdMatrix:
    case Opcode::StMatrix: return &matrix;
    case Opcode::CpAsync: return &async_copy;
    case Opcode::Mbarrier: return &watched_mbarrier;
    case Opcode::Membar: return &membar;
    case Opcode::Syscall: return gives_memory(inst.service);
    case Opcode::BarWarp: return &watched_warp_barrier;
    case Opcode::Shfl: return by_lanes ? &exchange<3> : nullptr;
    case Opcode::Vote:
    case Opcode::Match:
    case Opcode::Redux: return by_lanes ? &exchange<1> : nullptr;
    case Opcode::Bra:
    case Opcode::BrxIdx:
    case Opcode::Call:
    case Opcode::Ret:
    case Opcode::Exit: return by_lanes ? nullptr : &only_enter;
    default: return nullptr;
  }
}

}  // namespace

void watch_races(Program& program, RaceMode mode) {
  program.unwatched.reserve(program.ops.size());
  for (Op& op : program.ops) {
    program.unwatched.push_back(op.run);
    if (const Handler looks_on = watched(*op.inst, mode); looks_on != nullptr) op.run = looks_on;
  }
}

}  // namespace gpumux::emulator
