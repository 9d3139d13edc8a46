// Copies to, from and between arrays, in stream order.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "arrays.hpp"
#include "copies.hpp"
#include "mappings.hpp"
#include "registered.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

using program::ArrayPlace;
using program::BoxSide;

/// A box of an array: the position of its first byte (x in bytes, row, slice) and its size (bytes, rows,
/// slices).
struct Box {
  std::size_t x, row, slice;
  std::size_t bytes, rows, slices;
};
/// Rows of linear memory.
struct BoxMemory {
  std::byte* first;
  std::size_t pitch, slice_pitch;
};

bool fits(const Array& array, const Box& box) {
  const auto within = [](std::size_t first, std::size_t count, std::size_t all) {
    return first <= all && count <= all - first;
  };
  return within(box.x, box.bytes, array.row_bytes()) && within(box.row, box.rows, array.rows()) &&
         within(box.slice, box.slices, array.slices());
}

ArrayPlace place_in(const Array& array, const Box& box) {
  return {array.address,
          array.shape,
          1,
          box.x,
          static_cast<std::uint32_t>(box.row),
          static_cast<std::uint32_t>(box.slice),
          0,
          0};
}
ArrayPlace place_in(const BoxMemory& memory) {
  return {reinterpret_cast<std::uintptr_t>(memory.first), {}, 0, 0, 0, 0, memory.pitch, memory.slice_pitch};
}

program::CopyBoxArguments arguments_of(const Box& box, BoxSide side, std::uint32_t stream, bool blocking) {
  return {{},
          {},
          box.bytes,
          static_cast<std::uint32_t>(box.rows),
          static_cast<std::uint32_t>(box.slices),
          side,
          stream,
          blocking ? 1U : 0U};
}

/// device_view() of registered.hpp for linear memory.
BoxMemory box_view(BoxMemory memory, const Box& box) {
  const std::size_t bytes = (box.slices - 1) * memory.slice_pitch + (box.rows - 1) * memory.pitch + box.bytes;
  memory.first = static_cast<std::byte*>(cudart::device_view(memory.first, bytes));
  return memory;
}

/// The way of a copy whose linear side is in memory that the device can access: over the link, or on the
/// device.
BoxSide side_of(const BoxMemory& memory, MemcpyKind kind, MemcpyKind over_link, BoxSide link) {
  const bool host = kind == over_link || (kind == MemcpyKind::Default && is_pinned(memory.first));
  return host ? link : BoxSide::OnDevice;
}

Error to_array_now(const ArrayPlace& place, const Box& box, const BoxMemory& from, MemcpyKind kind,
                   std::uint32_t stream, bool blocking) {
  Session& session = Session::get();
  const bool shared = session.is_shared(from.first);
  program::CopyBoxArguments arguments = arguments_of(
      box, shared ? side_of(from, kind, MemcpyKind::HostToDevice, BoxSide::ToDevice) : BoxSide::Sent, stream,
      blocking);
  arguments.to = place;
  if (shared) {
    arguments.from = place_in(from);
    return session.call(Call::CopyBox, arguments);
  }
  if (kind == MemcpyKind::DeviceToDevice) return Error::InvalidValue;
  std::vector<std::byte> bytes(box.bytes * box.rows * box.slices);
  std::byte* next = bytes.data();
  for (std::size_t slice = 0; slice < box.slices; ++slice) {
    for (std::size_t row = 0; row < box.rows; ++row, next += box.bytes)
      std::memcpy(next, from.first + slice * from.slice_pitch + row * from.pitch, box.bytes);
  }
  return session.call(Call::CopyBox, arguments, bytes);
}

Error from_array_now(const ArrayPlace& place, const Box& box, const BoxMemory& to, MemcpyKind kind,
                     std::uint32_t stream, bool blocking) {
  Session& session = Session::get();
  const bool shared = session.is_shared(to.first);
  program::CopyBoxArguments arguments = arguments_of(
      box, shared ? side_of(to, kind, MemcpyKind::DeviceToHost, BoxSide::FromDevice) : BoxSide::Answered,
      stream, blocking);
  arguments.from = place;
  if (shared) {
    arguments.to = place_in(to);
    return session.call(Call::CopyBox, arguments);
  }
  if (kind == MemcpyKind::DeviceToDevice) return Error::InvalidValue;
  std::string bytes;
  const Error error = session.call(Call::CopyBox, arguments, {}, &bytes);
  if (error != Error::Success) return error;
  const char* next = bytes.data();
  for (std::size_t slice = 0; slice < box.slices; ++slice) {
    for (std::size_t row = 0; row < box.rows; ++row, next += box.bytes)
      std::memcpy(to.first + slice * to.slice_pitch + row * to.pitch, next, box.bytes);
  }
  return Error::Success;
}

/// Performs the work in the stream. If a graph captures the stream, adds the work as a node instead.
Error perform(const Work& work, Where where) {
  if (const Error error = Session::get().connect(); error != Error::Success) return error;
  const std::uint32_t stream = stream_number(where.stream, where.per_thread);
  return captured(stream, {NodeType::Memcpy, {}, work}) ? Error::Success : work(stream);
}

bool is_empty(const Box& box) { return box.bytes == 0 || box.rows == 0 || box.slices == 0; }

/// Error of linear memory that box_view() could not translate to device memory: a box in the program's own
/// mappings that is not within a single mapping.
Error check_reach(const BoxMemory& memory) {
  if (!is_virtual(memory.first)) return Error::Success;
  const bool is_mapped = mapped_at(memory.first).has_value();
  return is_mapped ? not_supported("a copy between an array and several mappings") : Error::InvalidValue;
}

// Copies to an array. If the array is freed before a captured copy is launched, the launch fails.
Error to_array(const Array& array, const Box& box, const BoxMemory& from, MemcpyKind kind, Where where) {
  if (!fits(array, box) || kind == MemcpyKind::DeviceToHost || kind == MemcpyKind::HostToHost)
    return Error::InvalidValue;
  if (is_empty(box)) return Error::Success;
  const ArrayPlace place = place_in(array, box);
  const BoxMemory source = box_view(from, box);
  if (const Error error = check_reach(source); error != Error::Success) return error;
  return perform(
      [=](std::uint32_t stream) { return to_array_now(place, box, source, kind, stream, where.blocking); },
      where);
}

Error from_array(const Array& array, const Box& box, const BoxMemory& to, MemcpyKind kind, Where where) {
  if (!fits(array, box) || kind == MemcpyKind::HostToDevice || kind == MemcpyKind::HostToHost)
    return Error::InvalidValue;
  if (is_empty(box)) return Error::Success;
  const ArrayPlace place = place_in(array, box);
  const BoxMemory target = box_view(to, box);
  if (const Error error = check_reach(target); error != Error::Success) return error;
  return perform(
      [=](std::uint32_t stream) { return from_array_now(place, box, target, kind, stream, where.blocking); },
      where);
}

/// Copies between arrays. `box`: position in `to` and size. `at`: position in `from`.
Error between_arrays(const Array& to, const Box& box, const Array& from, const Box& at, Where where) {
  if (!fits(to, box) || !fits(from, at)) return Error::InvalidValue;
  if (is_empty(box)) return Error::Success;
  program::CopyBoxArguments arguments = arguments_of(box, BoxSide::OnDevice, 0, where.blocking);
  arguments.to = place_in(to, box);
  arguments.from = place_in(from, at);
  return perform(
      [arguments](std::uint32_t stream) {
        program::CopyBoxArguments of = arguments;
        of.stream = stream;
        return Session::get().call(Call::CopyBox, of);
      },
      where);
}

/// Divides a run of bytes that may start or end in the middle of a row into boxes, as for cudaMemcpyToArray.
/// Calls copy(box, number of preceding bytes) for each box.
template <class Copy>
Error in_rows(const Array& array, std::size_t x, std::size_t row, std::size_t count, const Copy& copy) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t part = std::min(count - done, array.row_bytes() - std::min(x, array.row_bytes()));
    if (part == 0) return Error::InvalidValue;
    const std::size_t rows = x == 0 ? std::max<std::size_t>((count - done) / array.row_bytes(), 1) : 1;
    const Error error = copy(Box{x, row, 0, part, rows, 1}, done);
    if (error != Error::Success) return error;
    done += part * rows;
    row += rows;
    x = 0;
  }
  return Error::Success;
}

Error linear_to_array(void* handle, std::size_t x, std::size_t row, const void* from, std::size_t count,
                      MemcpyKind kind, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr || from == nullptr) return returned(Error::InvalidValue);
  auto* const first = static_cast<std::byte*>(const_cast<void*>(from));
  return returned(in_rows(*array, x, row, count, [&](const Box& box, std::size_t done) {
    return to_array(*array, box, {first + done, box.bytes, 0}, kind, where);
  }));
}

Error linear_from_array(void* to, void* handle, std::size_t x, std::size_t row, std::size_t count,
                        MemcpyKind kind, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr || to == nullptr) return returned(Error::InvalidValue);
  auto* const first = static_cast<std::byte*>(to);
  return returned(in_rows(*array, x, row, count, [&](const Box& box, std::size_t done) {
    return from_array(*array, box, {first + done, box.bytes, 0}, kind, where);
  }));
}

Error rows_to_array(void* handle, std::size_t x, std::size_t row, const void* from, std::size_t pitch,
                    std::size_t width, std::size_t height, MemcpyKind kind, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr || from == nullptr) return returned(Error::InvalidValue);
  if (width > pitch) return returned(kInvalidPitch);
  return returned(to_array(*array, {x, row, 0, width, height, 1},
                           {static_cast<std::byte*>(const_cast<void*>(from)), pitch, 0}, kind, where));
}

Error rows_from_array(void* to, std::size_t pitch, void* handle, std::size_t x, std::size_t row,
                      std::size_t width, std::size_t height, MemcpyKind kind, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr || to == nullptr) return returned(Error::InvalidValue);
  if (width > pitch) return returned(kInvalidPitch);
  return returned(from_array(*array, {x, row, 0, width, height, 1}, {static_cast<std::byte*>(to), pitch, 0},
                             kind, where));
}

Error rows_between_arrays(void* to, std::size_t to_x, std::size_t to_row, void* from, std::size_t from_x,
                          std::size_t from_row, std::size_t width, std::size_t height, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const target = array_of(to);
  const Array* const source = array_of(from);
  if (target == nullptr || source == nullptr) return returned(Error::InvalidValue);
  return returned(between_arrays(*target, {to_x, to_row, 0, width, height, 1}, *source,
                                 {from_x, from_row, 0, width, height, 1}, where));
}

/// Copies a run of bytes row by row between arrays with rows of the same size.
Error linear_between_arrays(void* to, std::size_t to_x, std::size_t to_row, void* from, std::size_t from_x,
                            std::size_t from_row, std::size_t count, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const target = array_of(to);
  const Array* const source = array_of(from);
  if (target == nullptr || source == nullptr) return returned(Error::InvalidValue);
  if (target->row_bytes() != source->row_bytes() || to_x != from_x)
    return returned(not_supported("cudaMemcpyArrayToArray between rows that differ"));
  return returned(in_rows(*target, to_x, to_row, count, [&](const Box& box, std::size_t) {
    Box at = box;
    at.row = from_row + (box.row - to_row);
    return between_arrays(*target, box, *source, at, where);
  }));
}

}  // namespace

Error copy_3d_of_arrays(const Copy3D& of, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const to = array_of(of.to_array);
  const Array* const from = array_of(of.from_array);
  if ((of.to_array != nullptr && to == nullptr) || (of.from_array != nullptr && from == nullptr))
    return returned(Error::InvalidValue);
  // For copies with arrays, extents are in texels, and a height or depth of 0 means 1.
  const auto box_of = [&](const Array& array, const Position& at) {
    return Box{at.x * array.texel_bytes,
               at.y,
               at.z,
               of.extent.width * array.texel_bytes,
               std::max<std::size_t>(of.extent.height, 1),
               std::max<std::size_t>(of.extent.depth, 1)};
  };
  if (to != nullptr && from != nullptr) {
    if (to->texel_bytes != from->texel_bytes) return returned(Error::InvalidValue);
    return returned(between_arrays(*to, box_of(*to, of.to_at), *from, box_of(*from, of.from_at), where));
  }
  const PitchedPointer& pointer = to != nullptr ? of.from : of.to;
  const Position& there = to != nullptr ? of.from_at : of.to_at;
  if (pointer.pointer == nullptr) return returned(Error::InvalidValue);
  const std::size_t slice_pitch = pointer.pitch * std::max<std::size_t>(pointer.height, 1);
  const BoxMemory memory{
      static_cast<std::byte*>(pointer.pointer) + there.z * slice_pitch + there.y * pointer.pitch + there.x,
      pointer.pitch, slice_pitch};
  return returned(to != nullptr ? to_array(*to, box_of(*to, of.to_at), memory, of.kind, where)
                                : from_array(*from, box_of(*from, of.from_at), memory, of.kind, where));
}

GPUMUX_CUDART_API Error cudaMemcpyToArray(void* array, std::size_t x, std::size_t row, const void* from,
                                          std::size_t count, MemcpyKind kind) {
  return linear_to_array(array, x, row, from, count, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyToArray_ptds(void* array, std::size_t x, std::size_t row, const void* from,
                                               std::size_t count, MemcpyKind kind) {
  return linear_to_array(array, x, row, from, count, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpyToArrayAsync(void* array, std::size_t x, std::size_t row, const void* from,
                                               std::size_t count, MemcpyKind kind, StreamHandle stream) {
  return linear_to_array(array, x, row, from, count, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyToArrayAsync_ptsz(void* array, std::size_t x, std::size_t row,
                                                    const void* from, std::size_t count, MemcpyKind kind,
                                                    StreamHandle stream) {
  return linear_to_array(array, x, row, from, count, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyFromArray(void* to, void* array, std::size_t x, std::size_t row,
                                            std::size_t count, MemcpyKind kind) {
  return linear_from_array(to, array, x, row, count, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyFromArray_ptds(void* to, void* array, std::size_t x, std::size_t row,
                                                 std::size_t count, MemcpyKind kind) {
  return linear_from_array(to, array, x, row, count, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpyFromArrayAsync(void* to, void* array, std::size_t x, std::size_t row,
                                                 std::size_t count, MemcpyKind kind, StreamHandle stream) {
  return linear_from_array(to, array, x, row, count, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyFromArrayAsync_ptsz(void* to, void* array, std::size_t x, std::size_t row,
                                                      std::size_t count, MemcpyKind kind,
                                                      StreamHandle stream) {
  return linear_from_array(to, array, x, row, count, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DToArray(void* array, std::size_t x, std::size_t row, const void* from,
                                            std::size_t pitch, std::size_t width, std::size_t height,
                                            MemcpyKind kind) {
  return rows_to_array(array, x, row, from, pitch, width, height, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy2DToArray_ptds(void* array, std::size_t x, std::size_t row,
                                                 const void* from, std::size_t pitch, std::size_t width,
                                                 std::size_t height, MemcpyKind kind) {
  return rows_to_array(array, x, row, from, pitch, width, height, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpy2DToArrayAsync(void* array, std::size_t x, std::size_t row,
                                                 const void* from, std::size_t pitch, std::size_t width,
                                                 std::size_t height, MemcpyKind kind, StreamHandle stream) {
  return rows_to_array(array, x, row, from, pitch, width, height, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DToArrayAsync_ptsz(void* array, std::size_t x, std::size_t row,
                                                      const void* from, std::size_t pitch, std::size_t width,
                                                      std::size_t height, MemcpyKind kind,
                                                      StreamHandle stream) {
  return rows_to_array(array, x, row, from, pitch, width, height, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DFromArray(void* to, std::size_t pitch, void* array, std::size_t x,
                                              std::size_t row, std::size_t width, std::size_t height,
                                              MemcpyKind kind) {
  return rows_from_array(to, pitch, array, x, row, width, height, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy2DFromArray_ptds(void* to, std::size_t pitch, void* array, std::size_t x,
                                                   std::size_t row, std::size_t width, std::size_t height,
                                                   MemcpyKind kind) {
  return rows_from_array(to, pitch, array, x, row, width, height, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, void* array, std::size_t x,
                                                   std::size_t row, std::size_t width, std::size_t height,
                                                   MemcpyKind kind, StreamHandle stream) {
  return rows_from_array(to, pitch, array, x, row, width, height, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DFromArrayAsync_ptsz(void* to, std::size_t pitch, void* array,
                                                        std::size_t x, std::size_t row, std::size_t width,
                                                        std::size_t height, MemcpyKind kind,
                                                        StreamHandle stream) {
  return rows_from_array(to, pitch, array, x, row, width, height, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyArrayToArray(void* to, std::size_t to_x, std::size_t to_row, void* from,
                                               std::size_t from_x, std::size_t from_row, std::size_t count,
                                               MemcpyKind) {
  return linear_between_arrays(to, to_x, to_row, from, from_x, from_row, count, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyArrayToArray_ptds(void* to, std::size_t to_x, std::size_t to_row,
                                                    void* from, std::size_t from_x, std::size_t from_row,
                                                    std::size_t count, MemcpyKind) {
  return linear_between_arrays(to, to_x, to_row, from, from_x, from_row, count, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpy2DArrayToArray(void* to, std::size_t to_x, std::size_t to_row, void* from,
                                                 std::size_t from_x, std::size_t from_row, std::size_t width,
                                                 std::size_t height, MemcpyKind) {
  return rows_between_arrays(to, to_x, to_row, from, from_x, from_row, width, height, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy2DArrayToArray_ptds(void* to, std::size_t to_x, std::size_t to_row,
                                                      void* from, std::size_t from_x, std::size_t from_row,
                                                      std::size_t width, std::size_t height, MemcpyKind) {
  return rows_between_arrays(to, to_x, to_row, from, from_x, from_row, width, height, kBlockingPerThread);
}

}  // namespace gpumux::cudart
