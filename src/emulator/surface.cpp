// Loads and stores of surfaces.
#include "emulator/surface.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "emulator/half.hpp"
#include "emulator/many_sources.hpp"
#include "emulator/texture_objects.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::SurfaceBounds;
using workload::ChannelKind;
using workload::MemHeader;
using workload::Texture;

/// The position of one lane's access. `x` and `row`, the size of a row, are in bytes.
struct SurfacePlace {
  i64 x = 0, y = 0, slice = 0;
  i64 row = 0;
};

bool is_inside(const SurfacePlace& at, const Texture& surface, u32 bytes) {
  return at.x >= 0 && at.x + bytes <= at.row && at.y >= 0 && at.y < i64{surface.extent[1]} && at.slice >= 0 &&
         at.slice < i64{surface.slices};
}

[[noreturn]] void fault_outside(const Warp& warp, u32 lane, const SurfacePlace& at, const Texture& surface,
                                u64 handle) {
  warp.block->fault(warp, lane,
                    fmt::format("surface access outside: byte {} of row {} of slice or layer {} of surface "
                                "object 0x{:x}, which has {} bytes x {} rows x {}",
                                at.x, at.y, at.slice, handle, at.row, surface.extent[1], surface.slices));
}

/// The nearest position inside the surface.
SurfacePlace clamped(const SurfacePlace& at, const Texture& surface, u32 bytes) {
  const i64 last = (at.row / bytes - 1) * bytes;
  return {std::clamp<i64>(at.x, 0, last), std::clamp<i64>(at.y, 0, i64{surface.extent[1]} - 1),
          std::clamp<i64>(at.slice, 0, i64{surface.slices} - 1), at.row};
}

void load(Warp& warp, const Op& op, LaneMask lanes) {
  const Instruction& inst = *op.inst;
  const u32 width = isa::width_bytes(inst.type);
  const u32 bytes = width * inst.vector;
  Addresses a;
  const LaneMask inside = place_on_surface(a, warp, op, lanes, bytes);
  const workload::DeviceMemory& memory = warp.block->memory();
  for (u32 e = 0; e < inst.vector; ++e) {
    alignas(64) u64 value[kWarpSize] = {};
    for (LaneMask rest = inside; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      std::memcpy(&value[lane], memory.host(a.at[lane] + u64{e} * width), width);
    }
    if (!inst.dst[e]) continue;
    if (inst.dst[e].kind == isa::Operand::Kind::Reg64) {
      merge(warp.dst<u64>(op, e), value, lanes);
    } else {
      alignas(64) u32 narrow[kWarpSize];
      for (u32 i = 0; i < kWarpSize; ++i) narrow[i] = static_cast<u32>(value[i]);
      merge(warp.dst<u32>(op, e), narrow, lanes);
    }
  }
  if (inside != 0) return record_global(warp, a, inside, bytes, MemHeader::Where::Texture);
  warp.buffer->room(0);
  MemHeader header;  // also answered by the machine, like a fetch that reads only border
  header.where = MemHeader::Where::Texture;
  warp.buffer->keep(header);
}

/// A 32-bit value converted to a channel of the format.
u32 as_channel(const workload::TexelFormat& format, u32 bits) {
  switch (format.kind) {
    case ChannelKind::Float: return format.bits == 16 ? float_to_half(std::bit_cast<float>(bits)) : bits;
    case ChannelKind::Unsigned: {
      const u64 most = (u64{1} << format.bits) - 1;
      return static_cast<u32>(std::min<u64>(bits, most));
    }
    case ChannelKind::Signed: {
      const i64 most = (i64{1} << (format.bits - 1U)) - 1;
      return static_cast<u32>(std::clamp<i64>(static_cast<i32>(bits), -most - 1, most));
    }
  }
  return bits;
}

/// Stores texels in the surface's own format. Values for channels that it lacks are dropped, and channels
/// without a value become 0.
void store_texels(Warp& warp, const Op& op, LaneMask lanes) {
  const Instruction& inst = *op.inst;
  TextureObjects objects(warp, op);
  const ManySources sources(warp, op);
  const u32 first = 1 + isa::coordinates(inst.geometry);
  const workload::TexelFormat format =
      objects.of(static_cast<u32>(std::countr_zero(lanes))).resource.array.shape.format;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    if (objects.of(lane).resource.array.shape.format != format)
      warp.block->fault(warp, lane, "surface access: sust.p to surfaces of several formats at once");
  }
  Addresses a;
  const LaneMask inside = place_on_surface(a, warp, op, lanes, format.bytes());
  if (inside == 0) return keep_no_access(warp);
  record_global(warp, a, inside, format.bytes());
  const workload::DeviceMemory& memory = warp.block->memory();
  const u32 width = format.bits / 8U;
  for (LaneMask rest = inside; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    for (u32 c = 0; c < format.channels; ++c) {
      const u32 value = c < inst.vector ? as_channel(format, sources.row<u32>(first + c)[lane]) : 0;
      std::memcpy(memory.host(a.at[lane] + u64{c} * width), &value, width);
    }
  }
}

void store(Warp& warp, const Op& op, LaneMask lanes) {
  const Instruction& inst = *op.inst;
  const u32 width = isa::width_bytes(inst.type);
  Addresses a;
  const LaneMask inside = place_on_surface(a, warp, op, lanes, width * inst.vector);
  if (inside == 0) return keep_no_access(warp);
  record_global(warp, a, inside, width * inst.vector);
  const ManySources sources(warp, op);
  const u32 first = 1 + isa::coordinates(inst.geometry);
  const workload::DeviceMemory& memory = warp.block->memory();
  for (u32 e = 0; e < inst.vector; ++e) {
    const bool wide = width == 8 || inst.src[first + e].kind == isa::Operand::Kind::Reg64;
    for (LaneMask rest = inside; rest != 0; rest &= rest - 1) {  // in lane order: the highest lane wins
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      const u64 value = wide ? sources.row<u64>(first + e)[lane] : sources.row<u32>(first + e)[lane];
      std::memcpy(memory.host(a.at[lane] + u64{e} * width), &value, width);
    }
  }
}

}  // namespace

LaneMask place_on_surface(Addresses& addresses, const Warp& warp, const Op& op, LaneMask lanes, u32 bytes) {
  const Instruction& inst = *op.inst;
  const bool layered = isa::is_layered(inst.geometry);
  const u32 first = layered ? 2 : 1;  // source index of x
  const u32 axes = isa::coordinates(inst.geometry) - (layered ? 1U : 0U);
  const ManySources sources(warp, op);
  TextureObjects surfaces(warp, op);
  const auto number = [&](u32 which, u32 lane) {
    return i64{static_cast<i32>(sources.row<u32>(which)[lane])};
  };
  LaneMask inside = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const Texture& surface = surfaces.of(lane);
    SurfacePlace at;
    at.row = i64{surface.extent[0]} * surface.texel_bytes;
    at.x = number(first, lane) * (inst.formatted ? surface.texel_bytes : 1);
    if (axes > 1) at.y = number(first + 1, lane);
    if (axes > 2) at.slice = number(first + 2, lane);
    if (layered) at.slice = sources.row<u32>(1)[lane];
    if (at.x % bytes != 0) {
      warp.block->fault(warp, lane,
                        fmt::format("misaligned surface access: {} bytes at byte {} of a row (it must be a "
                                    "multiple of them)",
                                    bytes, at.x));
    }
    if (!is_inside(at, surface, bytes)) {
      // An access wider than a row has no nearest position.
      if (inst.bounds == SurfaceBounds::Trap || at.row < bytes)
        fault_outside(warp, lane, at, surface, surfaces.handle());
      if (inst.bounds == SurfaceBounds::Zero) continue;
      at = clamped(at, surface, bytes);
    }
    inside |= 1U << lane;
    addresses.at[lane] =
        surface.address() + surface.resource.array.offset_of_byte(
                                static_cast<u64>(at.x), static_cast<u32>(at.y), static_cast<u32>(at.slice));
  }
  if (inside != 0) finish_addresses(addresses, inside);
  return inside;
}

void keep_no_access(Warp& warp) {
  warp.buffer->room(0);
  warp.buffer->keep(MemHeader{});
}

Handler select_surface(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::SurfLd: return &load;
    case Opcode::SurfSt: return inst.formatted ? &store_texels : &store;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
