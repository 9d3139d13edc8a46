// Moves, packing, selection, and generic addresses.
#include "emulator/block.hpp"
#include "emulator/float_math.hpp"
#include "emulator/lanes.hpp"
#include "emulator/windows.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Special;
using isa::Type;

/// The time that a kernel reads (KernelClock).
u64 read_clock(const Warp& warp, Special special) {
  const KernelClock& clock = warp.block->launch().config.clock;
  const u64 now = warp.block->start() + warp.executed * clock.cycles_per_instruction;
  const auto nanoseconds = [&] { return static_cast<u64>(static_cast<double>(now) / clock.cycles_per_ns); };
  switch (special) {
    case Special::ClockHi: return now >> 32U;
    case Special::GlobalTimer:
    case Special::GlobalTimerLo: return nanoseconds();
    case Special::GlobalTimerHi: return nanoseconds() >> 32U;
    default: return now;
  }
}

Handler select_mov(const Instruction& inst) {
  if (inst.type == Type::Pred) {
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      warp.set_pred(op.pred_dst[0], warp.pred(op.pred_src[0]), lanes);
    };
  }
  if (inst.src[0].kind == Operand::Kind::Special && is_clock(static_cast<Special>(inst.src[0].reg))) {
    if (isa::width_bits(inst.type) == 64) {
      return [](Warp& warp, const Op& op, LaneMask lanes) {
        const u64 now = read_clock(warp, static_cast<Special>(op.inst->src[0].reg));
        auto* d = warp.dst<u64>(op);
        for (u32 i = 0; i < kWarpSize; ++i) d[i] = (lanes >> i) & 1U ? now : d[i];
      };
    }
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      const auto now = static_cast<u32>(read_clock(warp, static_cast<Special>(op.inst->src[0].reg)));
      auto* d = warp.dst<u32>(op);
      for (u32 i = 0; i < kWarpSize; ++i) d[i] = (lanes >> i) & 1U ? now : d[i];
    };
  }
  switch (isa::width_bits(inst.type)) {
    case 8: return &map1<ViewU8, ViewU8, ([](u32 a) { return a; })>;
    case 16: return &map1<ViewU16, ViewU16, ([](u32 a) { return a; })>;
    case 32: return &map1<ViewU32, ViewU32, ([](u32 a) { return a; })>;
    case 64: return &map1<ViewU64, ViewU64, ([](u64 a) { return a; })>;
    default: return nullptr;
  }
}

// mov.b64 d, {a, b}: all parts have the same width.
template <class D>
void pack(Warp& warp, const Op& op, LaneMask lanes) {
  const unsigned parts = op.elements;
  const unsigned bits = op.param;
  const u64 mask = (u64{1} << bits) - 1;
  alignas(64) D result[kWarpSize] = {};
  for (unsigned part = 0; part < parts; ++part) {
    const auto* a = warp.src<u32>(op, part);
    for (u32 i = 0; i < kWarpSize; ++i) result[i] |= static_cast<D>((a[i] & mask) << (bits * part));
  }
  merge(warp.dst<D>(op), result, lanes);
}

// mov.b64 {a, b}, d: null parts are skipped.
template <class S>
void unpack(Warp& warp, const Op& op, LaneMask lanes) {
  alignas(64) S value[kWarpSize];
  std::memcpy(value, warp.src<S>(op, 0), sizeof(value));
  const unsigned bits = op.param;
  const S mask = static_cast<S>((u64{1} << bits) - 1);
  for (unsigned part = 0; part < op.elements; ++part) {
    if (op.inst->dst[part].kind == Operand::Kind::None) continue;
    alignas(64) u32 result[kWarpSize];
    for (u32 i = 0; i < kWarpSize; ++i) {
      result[i] = static_cast<u32>((value[i] >> (bits * part)) & mask);
    }
    merge(warp.dst<u32>(op, part), result, lanes);
  }
}

Handler select_selection(const Instruction& inst) {
  if (inst.op == Opcode::Selp) {
    if (inst.type == Type::Pred) return nullptr;
    if (isa::width_bits(inst.type) == 64) {
      return [](Warp& warp, const Op& op, LaneMask lanes) {
        auto* d = warp.dst<u64>(op);
        const auto* a = warp.src<u64>(op, 0);
        const auto* b = warp.src<u64>(op, 1);
        const LaneMask choice = warp.pred(op.pred_src[0]);
        alignas(64) u64 result[kWarpSize];
        for (u32 i = 0; i < kWarpSize; ++i) result[i] = (choice & (1U << i)) != 0 ? a[i] : b[i];
        merge(d, result, lanes);
      };
    }
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      auto* d = warp.dst<u32>(op);
      const auto* a = warp.src<u32>(op, 0);
      const auto* b = warp.src<u32>(op, 1);
      const LaneMask choice = warp.pred(op.pred_src[0]);
      alignas(64) u32 result[kWarpSize];
      for (u32 i = 0; i < kWarpSize; ++i) result[i] = (choice & (1U << i)) != 0 ? a[i] : b[i];
      merge(d, result, lanes);
    };
  }
  // slct: d = c >= 0 ? a : b, which is b for NaN and a for -0.
  const bool wide = isa::width_bits(inst.type) == 64;
  if (inst.type2 == Type::F32) {
    if (wide) {
      return &map3<ViewU64, ViewU64, ViewU64, ViewF32,
                   ([](u64 a, u64 b, float c) { return c >= 0.0F ? a : b; })>;
    }
    return &map3<ViewU32, ViewU32, ViewU32, ViewF32,
                 ([](u32 a, u32 b, float c) { return c >= 0.0F ? a : b; })>;
  }
  if (wide)
    return &map3<ViewU64, ViewU64, ViewU64, ViewS32, ([](u64 a, u64 b, i32 c) { return c >= 0 ? a : b; })>;
  return &map3<ViewU32, ViewU32, ViewU32, ViewS32, ([](u32 a, u32 b, i32 c) { return c >= 0 ? a : b; })>;
}

// cvta adds the window of the space, cvta.to subtracts it. Global addresses are equal to generic ones.
template <class S>
void add_window(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<u64>(op);
  const auto* a = warp.src<S>(op, 0);
  const u64 window = window_of(op.inst->space);
  const u64 delta = op.inst->op == Opcode::Cvta ? window : u64{0} - window;
  alignas(64) u64 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = a[i] + delta;
  merge(d, result, lanes);
}

void add_window32(Warp& warp, const Op& op, LaneMask lanes) {  // cvta.to with a 32-bit destination
  auto* d = warp.dst<u32>(op);
  const auto* a = warp.src<u64>(op, 0);
  const u64 window = window_of(op.inst->space);
  alignas(64) u32 result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = static_cast<u32>(a[i] - window);
  merge(d, result, lanes);
}

Handler select_address(const Instruction& inst) {
  if (inst.op == Opcode::Isspacep) {
    return [](Warp& warp, const Op& op, LaneMask lanes) {
      const auto* a = warp.src<u64>(op, 0);
      LaneMask mask = 0;
      for (u32 i = 0; i < kWarpSize; ++i) mask |= (space_of(a[i]) == op.inst->space ? 1U : 0U) << i;
      warp.set_pred(op.pred_dst[0], mask, lanes);
    };
  }
  if (isa::width_bits(inst.type) == 64) {
    return inst.src[0].kind == Operand::Kind::Reg32 ? &add_window<u32> : &add_window<u64>;
  }
  return inst.op == Opcode::CvtaTo && inst.src[0].kind == Operand::Kind::Reg64 ? &add_window32 : nullptr;
}

}  // namespace

Handler select_move(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Mov: return select_mov(inst);
    case Opcode::Pack: return isa::width_bits(inst.type) == 64 ? &pack<u64> : &pack<u32>;
    case Opcode::Unpack: return isa::width_bits(inst.type) == 64 ? &unpack<u64> : &unpack<u32>;
    case Opcode::Selp:
    case Opcode::Slct: return select_selection(inst);
    case Opcode::Cvta:
    case Opcode::CvtaTo:
    case Opcode::Isspacep: return select_address(inst);
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
