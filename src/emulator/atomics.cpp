// Atomics and reductions. The lanes of a warp perform their operations one after the other, lane 0 first.
// Warps never interleave inside an instruction.
#include "emulator/addresses.hpp"
#include "emulator/float_math.hpp"
#include "emulator/half.hpp"
#include "emulator/surface.hpp"

namespace gpumux::emulator {
namespace {

using isa::AtomicOp;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Type;

template <class V>
typename V::Value combine_int(AtomicOp op, typename V::Value old, typename V::Value b) {
  using T = typename V::Value;
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case AtomicOp::Add: return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
    case AtomicOp::Min: return b < old ? b : old;
    case AtomicOp::Max: return b > old ? b : old;
    case AtomicOp::Inc: return old >= b ? T{0} : static_cast<T>(old + 1);
    case AtomicOp::Dec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
    case AtomicOp::Exch: return b;
    case AtomicOp::And: return old & b;
    case AtomicOp::Or: return old | b;
    case AtomicOp::Xor: return old ^ b;
    default: return old;
  }
}

template <bool Bfloat>
u32 add_half(u32 a, u32 b) {
  if constexpr (Bfloat) {
    return double_to_bfloat(static_cast<double>(bfloat_to_float(a)) +
                            static_cast<double>(bfloat_to_float(b)));
  }
  return float_to_half(half_to_float(a) + half_to_float(b));
}

/// The new value in memory. All values are raw bits of the access's width.
u64 combine(const Instruction& inst, u64 old, u64 b, u64 c, bool flush_subnormals) {
  if (inst.atomic == AtomicOp::Cas) return old == b ? c : old;
  if (inst.atomic == AtomicOp::Exch) return b;
  switch (inst.type) {
    case Type::S32:
      return static_cast<u32>(combine_int<ViewS32>(inst.atomic, static_cast<i32>(old), static_cast<i32>(b)));
    case Type::B32:
    case Type::U32: return combine_int<ViewU32>(inst.atomic, static_cast<u32>(old), static_cast<u32>(b));
    case Type::S64:
      return static_cast<u64>(combine_int<ViewS64>(inst.atomic, static_cast<i64>(old), static_cast<i64>(b)));
    case Type::B64:
    case Type::U64: return combine_int<ViewU64>(inst.atomic, old, b);
    case Type::F32: {
      float x = std::bit_cast<float>(static_cast<u32>(old));
      float y = std::bit_cast<float>(static_cast<u32>(b));
      if (inst.atomic == AtomicOp::Min) return std::bit_cast<u32>(min_max<float, false, false>(x, y));
      if (inst.atomic == AtomicOp::Max) return std::bit_cast<u32>(min_max<float, true, false>(x, y));
      if (flush_subnormals) {
        x = flush(x);
        y = flush(y);
      }
      const float sum = with_nan(x + y, x, y);
      return std::bit_cast<u32>(flush_subnormals ? flush(sum) : sum);
    }
    case Type::F64: {
      const double x = std::bit_cast<double>(old);
      const double y = std::bit_cast<double>(b);
      return std::bit_cast<u64>(with_nan(x + y, x, y));
    }
    case Type::F16: return add_half<false>(static_cast<u32>(old), static_cast<u32>(b));
    case Type::BF16: return add_half<true>(static_cast<u32>(old), static_cast<u32>(b));
    case Type::F16x2:
      return add_half<false>(old & 0xffffU, b & 0xffffU) |
             (u64{add_half<false>((old >> 16U) & 0xffffU, (b >> 16U) & 0xffffU)} << 16U);
    case Type::BF16x2:
      return add_half<true>(old & 0xffffU, b & 0xffffU) |
             (u64{add_half<true>((old >> 16U) & 0xffffU, (b >> 16U) & 0xffffU)} << 16U);
    default: return old;
  }
}

u64 source_bits(const Warp& warp, const Op& op, u32 which, u32 lane, u32 bytes) {
  return bytes == 8 ? warp.src<u64>(op, which)[lane] : warp.src<u32>(op, which)[lane];
}

/// Index of the source with the operand: after the address, or after the coordinates of a surface.
u32 value_source(const Instruction& inst) {
  return inst.op == Opcode::SurfRed ? 1 + isa::coordinates(inst.geometry) : 1;
}

/// Performs the operations of `lanes` at host address `origin + address`, on words of `bytes`.
template <u32 bytes>
void perform(Warp& warp, const Op& op, const Addresses& a, LaneMask lanes, std::uintptr_t origin,
             bool in_global) {
  const Instruction& inst = *op.inst;
  const u32 value = value_source(inst);
  const bool has_result = inst.dst[0].kind != Operand::Kind::None;
  constexpr u64 mask = ~u64{0} >> (64 - 8 * bytes);
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    auto* at = reinterpret_cast<std::byte*>(origin + a.at[lane]);
    u64 old = 0;
    std::memcpy(&old, at, bytes);
    const u64 b = source_bits(warp, op, value, lane, bytes) & mask;
    const u64 c = inst.atomic == AtomicOp::Cas ? source_bits(warp, op, 2, lane, bytes) & mask : 0;
    const u64 result = combine(inst, old, b, c, in_global);
    std::memcpy(at, &result, bytes);
    if (!has_result) continue;
    if (bytes == 8) {
      warp.dst<u64>(op)[lane] = old;
    } else {
      warp.dst<u32>(op)[lane] = static_cast<u32>(old);
    }
  }
}

void perform(Warp& warp, const Op& op, const Addresses& a, LaneMask lanes, std::uintptr_t origin,
             bool in_global) {
  switch (isa::width_bytes(op.inst->type)) {
    case 2: return perform<2>(warp, op, a, lanes, origin, in_global);
    case 8: return perform<8>(warp, op, a, lanes, origin, in_global);
    default: return perform<4>(warp, op, a, lanes, origin, in_global);
  }
}

void in_global(Warp& warp, const Op& op, Addresses& a, LaneMask lanes, u32 bytes) {
  check_global(a, warp, lanes, bytes, bytes, AccessKind::Atomic);
  record_atomic(warp, a, lanes, bytes);
  const workload::DeviceMemory& memory = warp.block->memory();
  const auto origin = reinterpret_cast<std::uintptr_t>(memory.host(memory.base())) - memory.base();
  perform(warp, op, a, lanes, origin, true);
}

void in_shared(Warp& warp, const Op& op, const Addresses& a, LaneMask lanes, u32 bytes, bool record) {
  check_bounded(a, warp, lanes, bytes, bytes, AccessKind::Atomic, Space::Shared,
                warp.block->launch().shared_bytes);
  if (record) record_shared(warp, a, lanes, bytes, true);
  perform(warp, op, a, lanes, reinterpret_cast<std::uintptr_t>(warp.block->shared()), false);
}

void atom_global(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  make_addresses(a, warp, op, lanes);
  in_global(warp, op, a, lanes, isa::width_bytes(op.inst->type));
}

void atom_shared(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  make_addresses(a, warp, op, lanes);
  in_shared(warp, op, a, lanes, isa::width_bytes(op.inst->type), true);
}

void atom_generic(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  make_addresses(a, warp, op, lanes);
  const u32 bytes = isa::width_bytes(op.inst->type);
  GenericParts parts;
  const LaneMask global = parts.select(a, lanes, Space::Global);
  if (global != 0) in_global(warp, op, parts.part, global, bytes);
  const LaneMask shared = parts.select(a, lanes & ~global, Space::Shared);
  if (shared != 0) in_shared(warp, op, parts.part, shared, bytes, global == 0);
  if (const LaneMask other = lanes & ~global & ~shared; other != 0) {
    warp.block->fault(warp, static_cast<u32>(std::countr_zero(other)),
                      "atomic access to local or constant memory");
  }
}

void reduce_on_surface(Warp& warp, const Op& op, LaneMask lanes) {
  const u32 bytes = isa::width_bytes(op.inst->type);
  Addresses a;
  const LaneMask inside = place_on_surface(a, warp, op, lanes, bytes);
  if (inside == 0) return keep_no_access(warp);
  in_global(warp, op, a, inside, bytes);
}

bool supported(const Instruction& inst) {
  const unsigned width = isa::width_bits(inst.type);
  switch (inst.atomic) {
    case AtomicOp::Cas:
    case AtomicOp::Exch: return width == 16 || width == 32 || width == 64;
    case AtomicOp::Add: return width >= 32 || inst.type == Type::F16 || inst.type == Type::BF16;
    case AtomicOp::Min:
    case AtomicOp::Max: return (!isa::is_float(inst.type) && width >= 32) || inst.type == Type::F32;
    case AtomicOp::Inc:
    case AtomicOp::Dec: return width == 32 && !isa::is_float(inst.type);
    case AtomicOp::And:
    case AtomicOp::Or:
    case AtomicOp::Xor: return width >= 32 && !isa::is_float(inst.type);
    case AtomicOp::None: return false;
  }
  return false;
}

}  // namespace

Handler select_atomic(const Instruction& inst) {
  if (inst.op != Opcode::Atom && inst.op != Opcode::Red && inst.op != Opcode::SurfRed) return nullptr;
  if (inst.vector != 1 || !supported(inst)) return nullptr;
  if (inst.op == Opcode::SurfRed) return &reduce_on_surface;
  switch (inst.space) {
    case Space::Global: return &atom_global;
    case Space::Shared: return &atom_shared;
    case Space::Generic: return &atom_generic;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
