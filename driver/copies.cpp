// Copies and fills.
#include <algorithm>

#include "cudart/api.hpp"
#include "cudart/arrays.hpp"
#include "cudart/copies.hpp"
#include "driver/call.hpp"
#include "driver/copies.hpp"

namespace gpumux::driver {
namespace {

using cudart::MemcpyKind;
using cudart::Where;

constexpr bool kBlocks = true;
constexpr bool kReturns = false;

Result copy_bytes(void* to, const void* from, std::size_t bytes, MemcpyKind kind, Where where) {
  return in_context([=] { return cudart::copy(to, from, bytes, kind, where); });
}
Result to_device(DevicePointer to, const void* from, std::size_t bytes, Where where) {
  return copy_bytes(pointer_to(to), from, bytes, MemcpyKind::HostToDevice, where);
}
Result from_device(void* to, DevicePointer from, std::size_t bytes, Where where) {
  return copy_bytes(to, pointer_to(from), bytes, MemcpyKind::DeviceToHost, where);
}
Result on_device(DevicePointer to, DevicePointer from, std::size_t bytes, Where where) {
  return copy_bytes(pointer_to(to), pointer_to(from), bytes, MemcpyKind::DeviceToDevice, where);
}
Result anywhere(DevicePointer to, DevicePointer from, std::size_t bytes, Where where) {
  return copy_bytes(pointer_to(to), pointer_to(from), bytes, MemcpyKind::Default, where);
}

/// One side of a multi-dimensional copy, in bytes.
struct Side {
  MemoryType type;
  const void* host;
  DevicePointer device;
  void* array;
  std::size_t x, y, z;
  std::size_t pitch, height;
};

/// Converts a side to the run time's types. Returns false if there is no such memory, or its rows or slices
/// overlap.
bool convert(const Side& side, const cudart::Extent& extent, void*& array, cudart::Position& at,
             cudart::PitchedPointer& memory) {
  at = {side.x, side.y, side.z};
  if (side.type == MemoryType::Array) {
    array = side.array;
    const std::size_t texel = cudart::texel_bytes_of(side.array);
    if (texel == 0) return false;
    at.x /= texel;
    return true;
  }
  const bool is_host = side.type == MemoryType::Host;
  if (!is_host && side.type != MemoryType::Device && side.type != MemoryType::Unified) return false;
  memory.pointer = is_host ? const_cast<void*>(side.host) : pointer_to(side.device);
  memory.pitch = side.pitch != 0 ? side.pitch : side.x + extent.width;
  memory.height = side.height != 0 ? side.height : side.y + extent.height;
  return side.x + extent.width <= memory.pitch &&
         (extent.depth <= 1 || side.y + extent.height <= memory.height);
}

MemcpyKind kind_of(MemoryType to, MemoryType from) {
  if (to == MemoryType::Unified || from == MemoryType::Unified) return MemcpyKind::Default;
  if (to == MemoryType::Host) return from == to ? MemcpyKind::HostToHost : MemcpyKind::DeviceToHost;
  return from == MemoryType::Host ? MemcpyKind::HostToDevice : MemcpyKind::DeviceToDevice;
}

Error describe_box(const Side& to, const Side& from, cudart::Extent extent, cudart::Copy3D& of) {
  of = {};
  if (!convert(to, extent, of.to_array, of.to_at, of.to) ||
      !convert(from, extent, of.from_array, of.from_at, of.from))
    return Error::InvalidValue;
  of.kind = kind_of(to.type, from.type);
  of.extent = extent;
  if (of.to_array != nullptr || of.from_array != nullptr)
    of.extent.width /= cudart::texel_bytes_of(of.to_array != nullptr ? of.to_array : of.from_array);
  return Error::Success;
}
Error copy_box(const Side& to, const Side& from, cudart::Extent extent, Where where) {
  cudart::Copy3D of{};
  const Error error = describe_box(to, from, extent, of);
  return error == Error::Success ? cudart::copy_3d(&of, where) : error;
}

Result copy_2d(const Copy2D* of, Where where) {
  return in_context([=] {
    if (of == nullptr) return Error::InvalidValue;
    const Side to{
        of->to_type, of->to_host, of->to_device, of->to_array, of->to_x, of->to_y, 0, of->to_pitch, 0};
    const Side from{of->from_type,
                    of->from_host,
                    of->from_device,
                    of->from_array,
                    of->from_x,
                    of->from_y,
                    0,
                    of->from_pitch,
                    0};
    return copy_box(to, from, {of->width, of->height, 1}, where);
  });
}
Result copy_3d(const Copy3D* of, Where where) {
  return in_context([=] {
    cudart::Copy3D described;
    const Error error = describe_copy(of, described);
    return error == Error::Success ? cudart::copy_3d(&described, where) : error;
  });
}

/// Fills rows of `width` elements.
Result fill(DevicePointer to, std::size_t pitch, cudart::Pattern with, std::size_t width, std::size_t height,
            Where where) {
  return in_context([=] {
    if (to % with.bytes != 0 || pitch % with.bytes != 0) return Error::InvalidValue;
    return cudart::fill(pointer_to(to), pitch, with, {width * with.bytes, height}, where);
  });
}
/// Fills one row of `width` elements.
Result fill(DevicePointer to, cudart::Pattern with, std::size_t width, Where where) {
  return fill(to, width * with.bytes, with, width, 1, where);
}

}  // namespace

Error describe_copy(const Copy3D* of, cudart::Copy3D& out) {
  if (of == nullptr) return Error::InvalidValue;
  const Side to{of->to_type, of->to_host, of->to_device, of->to_array, of->to_x,
                of->to_y,    of->to_z,    of->to_pitch,  of->to_height};
  const Side from{of->from_type, of->from_host, of->from_device, of->from_array, of->from_x,
                  of->from_y,    of->from_z,    of->from_pitch,  of->from_height};
  return describe_box(to, from, {of->width, of->height, of->depth}, out);
}

GPUMUX_DRIVER_BOTH(cuMemcpy, _ptds, (DevicePointer to, DevicePointer from, std::size_t bytes),
                   anywhere(to, from, bytes, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpyAsync, _ptsz,
                   (DevicePointer to, DevicePointer from, std::size_t bytes, cudart::StreamHandle stream),
                   anywhere(to, from, bytes, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemcpyPeer, _ptds,
                   (DevicePointer to, const void*, DevicePointer from, const void*, std::size_t bytes),
                   on_device(to, from, bytes, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpyPeerAsync, _ptsz,
                   (DevicePointer to, const void*, DevicePointer from, const void*, std::size_t bytes,
                    cudart::StreamHandle stream),
                   on_device(to, from, bytes, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemcpyHtoD_v2, _ptds, (DevicePointer to, const void* from, std::size_t bytes),
                   to_device(to, from, bytes, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpyHtoDAsync_v2, _ptsz,
                   (DevicePointer to, const void* from, std::size_t bytes, cudart::StreamHandle stream),
                   to_device(to, from, bytes, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemcpyDtoH_v2, _ptds, (void* to, DevicePointer from, std::size_t bytes),
                   from_device(to, from, bytes, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpyDtoHAsync_v2, _ptsz,
                   (void* to, DevicePointer from, std::size_t bytes, cudart::StreamHandle stream),
                   from_device(to, from, bytes, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemcpyDtoD_v2, _ptds, (DevicePointer to, DevicePointer from, std::size_t bytes),
                   on_device(to, from, bytes, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpyDtoDAsync_v2, _ptsz,
                   (DevicePointer to, DevicePointer from, std::size_t bytes, cudart::StreamHandle stream),
                   on_device(to, from, bytes, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemcpy2D_v2, _ptds, (const Copy2D* of), copy_2d(of, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpy2DUnaligned_v2, _ptds, (const Copy2D* of),
                   copy_2d(of, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpy2DAsync_v2, _ptsz, (const Copy2D* of, cudart::StreamHandle stream),
                   copy_2d(of, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemcpy3D_v2, _ptds, (const Copy3D* of), copy_3d(of, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemcpy3DAsync_v2, _ptsz, (const Copy3D* of, cudart::StreamHandle stream),
                   copy_3d(of, {stream, per_thread, kReturns}))

GPUMUX_DRIVER_BOTH(cuMemsetD8_v2, _ptds, (DevicePointer to, unsigned char value, std::size_t count),
                   fill(to, {value, 1}, count, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemsetD16_v2, _ptds, (DevicePointer to, unsigned short value, std::size_t count),
                   fill(to, {value, 2}, count, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemsetD32_v2, _ptds, (DevicePointer to, unsigned value, std::size_t count),
                   fill(to, {value, 4}, count, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemsetD2D8_v2, _ptds,
                   (DevicePointer to, std::size_t pitch, unsigned char value, std::size_t width,
                    std::size_t height),
                   fill(to, pitch, {value, 1}, width, height, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemsetD2D16_v2, _ptds,
                   (DevicePointer to, std::size_t pitch, unsigned short value, std::size_t width,
                    std::size_t height),
                   fill(to, pitch, {value, 2}, width, height, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemsetD2D32_v2, _ptds,
                   (DevicePointer to, std::size_t pitch, unsigned value, std::size_t width,
                    std::size_t height),
                   fill(to, pitch, {value, 4}, width, height, {nullptr, per_thread, kBlocks}))
GPUMUX_DRIVER_BOTH(cuMemsetD8Async, _ptsz,
                   (DevicePointer to, unsigned char value, std::size_t count, cudart::StreamHandle stream),
                   fill(to, {value, 1}, count, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemsetD16Async, _ptsz,
                   (DevicePointer to, unsigned short value, std::size_t count, cudart::StreamHandle stream),
                   fill(to, {value, 2}, count, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemsetD32Async, _ptsz,
                   (DevicePointer to, unsigned value, std::size_t count, cudart::StreamHandle stream),
                   fill(to, {value, 4}, count, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemsetD2D8Async, _ptsz,
                   (DevicePointer to, std::size_t pitch, unsigned char value, std::size_t width,
                    std::size_t height, cudart::StreamHandle stream),
                   fill(to, pitch, {value, 1}, width, height, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemsetD2D16Async, _ptsz,
                   (DevicePointer to, std::size_t pitch, unsigned short value, std::size_t width,
                    std::size_t height, cudart::StreamHandle stream),
                   fill(to, pitch, {value, 2}, width, height, {stream, per_thread, kReturns}))
GPUMUX_DRIVER_BOTH(cuMemsetD2D32Async, _ptsz,
                   (DevicePointer to, std::size_t pitch, unsigned value, std::size_t width,
                    std::size_t height, cudart::StreamHandle stream),
                   fill(to, pitch, {value, 4}, width, height, {stream, per_thread, kReturns}))

}  // namespace gpumux::driver
