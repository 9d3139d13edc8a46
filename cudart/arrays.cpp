// Arrays and texture objects. An array lies on the device in tiles, so that bytes cannot be copied into a
// part of it: the library keeps the texels of each array as the program gives them, and each copy sends them
// whole. Nothing on the device writes to an array (there are no surfaces), so that they are always what it
// holds.
#include "arrays.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "memory.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

using program::ArrayDescription;

constexpr int kFormatNone = 3;  // cudaChannelFormatKindNone

struct Array {
  ChannelFormat format;
  Extent extent;  // as it was asked for
  unsigned flags = 0;
  ArrayDescription shape;
  std::uint64_t address = 0;
  std::uint32_t texel_bytes = 0;
  std::vector<std::byte> texels;  // x fastest, then y, then z or the layer

  [[nodiscard]] std::size_t rows() const { return std::max<std::size_t>(extent.height, 1); }
  [[nodiscard]] std::size_t slices() const { return std::max<std::size_t>(extent.depth, 1); }
  [[nodiscard]] std::size_t row_bytes() const { return extent.width * texel_bytes; }
};

std::set<Array*>& arrays() {
  static auto* const all = new std::set<Array*>;
  return *all;
}

Array* array_of(void* handle) {
  auto* const array = static_cast<Array*>(handle);
  return arrays().contains(array) ? array : nullptr;
}

/// False for what no texel is: 1, 2 or 4 channels of the same 8, 16 or 32 bits.
bool describe(const ChannelFormat& format, ArrayDescription& shape) {
  const int bits = format.bits[0];
  std::uint32_t channels = 0;
  for (const int of_channel : format.bits) {
    if (of_channel == 0) break;
    if (of_channel != bits) return false;
    ++channels;
  }
  if ((bits != 8 && bits != 16 && bits != 32) || channels == 0 || channels == 3) return false;
  if (format.kind < 0 || format.kind >= kFormatNone) return false;
  shape.kind = static_cast<std::uint32_t>(format.kind);
  shape.bits = static_cast<std::uint32_t>(bits);
  shape.channels = channels;
  return true;
}

Error make_array(void** handle, const ChannelFormat* format, Extent extent, unsigned flags) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (handle == nullptr || format == nullptr) return returned(Error::InvalidValue);
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  if ((flags & ~(kArrayLayered | kArrayTextureGather)) != 0)
    return returned(not_supported("an array for surfaces or of cube maps"));
  auto array = std::make_unique<Array>();
  array->format = *format;
  array->extent = extent;
  array->flags = flags;
  ArrayDescription& shape = array->shape;
  constexpr std::size_t kMost = 1U << 20U;
  if (!describe(*format, shape) || extent.width == 0 || extent.width > kMost || extent.height > kMost ||
      extent.depth > kMost)
    return returned(Error::InvalidValue);
  const bool layered = (flags & kArrayLayered) != 0;
  shape.width = static_cast<std::uint32_t>(extent.width);
  shape.height = static_cast<std::uint32_t>(extent.height);
  shape.depth = layered ? 0 : static_cast<std::uint32_t>(extent.depth);
  shape.layers = layered ? static_cast<std::uint32_t>(extent.depth) : 0;
  program::AllocateResult result{};
  const Error error = session.call(Call::CreateArray, shape, &result);
  if (error != Error::Success) return returned(error);
  array->address = result.address;
  array->texel_bytes = shape.bits / 8 * shape.channels;
  array->texels.resize(array->row_bytes() * array->rows() * array->slices());
  *handle = array.get();
  arrays().insert(array.release());
  return Error::Success;
}

/// A box of an array: its first byte in x, row and slice; bytes, rows and slices.
struct Box {
  std::size_t x, row, slice;
  std::size_t bytes, rows, slices;
};

bool fits(const Array& array, const Box& box) {
  const auto within = [](std::size_t first, std::size_t count, std::size_t all) {
    return first <= all && count <= all - first;
  };
  return within(box.x, box.bytes, array.row_bytes()) && within(box.row, box.rows, array.rows()) &&
         within(box.slice, box.slices, array.slices());
}

std::byte* row_of(Array& array, const Box& box, std::size_t slice, std::size_t row) {
  return array.texels.data() + ((box.slice + slice) * array.rows() + box.row + row) * array.row_bytes() +
         box.x;
}

/// Memory that the host can read, which device memory is once the stream has come so far.
Error to_array(Array& array, const Box& box, const std::byte* from, std::size_t pitch,
               std::size_t slice_pitch, Where where) {
  Session& session = Session::get();
  if (!fits(array, box)) return Error::InvalidValue;
  const std::uint32_t stream = stream_number(where.stream, where.per_thread);
  if (is_under_capture(stream)) return not_supported("a copy to an array under capture");
  if (session.is_shared(from)) {
    const Error error = session.call(Call::WaitForStream, program::StreamNumber{stream});
    if (error != Error::Success) return error;
  }
  for (std::size_t slice = 0; slice < box.slices; ++slice)
    for (std::size_t row = 0; row < box.rows; ++row)
      std::memcpy(row_of(array, box, slice, row), from + slice * slice_pitch + row * pitch, box.bytes);
  const program::FillArrayArguments arguments{array.address, stream, where.blocking ? 1U : 0U};
  return session.call(Call::FillArray, arguments, array.texels);
}

Error from_array(Array& array, const Box& box, std::byte* to, std::size_t pitch, std::size_t slice_pitch,
                 MemcpyKind kind, Where where) {
  if (!fits(array, box)) return Error::InvalidValue;
  if (kind == MemcpyKind::DeviceToDevice) kind = MemcpyKind::HostToDevice;  // the library has the texels
  if (kind == MemcpyKind::DeviceToHost) kind = MemcpyKind::HostToHost;
  for (std::size_t slice = 0; slice < box.slices; ++slice) {
    const Error error = copy_2d(to + slice * slice_pitch, pitch, row_of(array, box, slice, 0),
                                array.row_bytes(), box.bytes, box.rows, kind, where);
    if (error != Error::Success) return error;
  }
  return Error::Success;
}

/// Runs of bytes that may end in the middle of a row, as cudaMemcpyToArray has them.
Error linear_to_array(void* handle, std::size_t x, std::size_t row, const void* from, std::size_t count,
                      Where where) {
  const std::scoped_lock lock(Session::get().lock());
  Array* const array = array_of(handle);
  if (array == nullptr || from == nullptr) return returned(Error::InvalidValue);
  const auto* bytes = static_cast<const std::byte*>(from);
  while (count > 0) {
    const std::size_t part = std::min(count, array->row_bytes() - std::min(x, array->row_bytes()));
    if (part == 0) return returned(Error::InvalidValue);
    const std::size_t rows = x == 0 ? std::max<std::size_t>(count / array->row_bytes(), 1) : 1;
    const Error error = to_array(*array, {x, row, 0, part, rows, 1}, bytes, part, 0, where);
    if (error != Error::Success) return returned(error);
    bytes += part * rows;
    count -= part * rows;
    row += rows;
    x = 0;
  }
  return Error::Success;
}

Error rows_to_array(void* handle, std::size_t x, std::size_t row, const void* from, std::size_t pitch,
                    std::size_t width, std::size_t height, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  Array* const array = array_of(handle);
  if (array == nullptr || from == nullptr || width > pitch) return returned(Error::InvalidValue);
  return returned(
      to_array(*array, {x, row, 0, width, height, 1}, static_cast<const std::byte*>(from), pitch, 0, where));
}

Error rows_from_array(void* to, std::size_t pitch, void* handle, std::size_t x, std::size_t row,
                      std::size_t width, std::size_t height, MemcpyKind kind, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  Array* const array = array_of(handle);
  if (array == nullptr || to == nullptr || width > pitch) return returned(Error::InvalidValue);
  return returned(
      from_array(*array, {x, row, 0, width, height, 1}, static_cast<std::byte*>(to), pitch, 0, kind, where));
}

/// What a texture object is made of; false: there is no such texture.
bool describe(const ResourceDescription& resource, program::TextureArguments& of) {
  switch (resource.type) {
    case kResourceArray: {
      const Array* const array = array_of(resource.of.array);
      if (array == nullptr) return false;
      of.kind = program::TextureKind::Array;
      of.shape = array->shape;
      of.address = array->address;
      return true;
    }
    case kResourceLinear: {
      const LinearResource& linear = resource.of.linear;
      if (!describe(linear.format, of.shape)) return false;
      of.kind = program::TextureKind::Linear;
      of.address = reinterpret_cast<std::uintptr_t>(linear.pointer);
      of.shape.width = static_cast<std::uint32_t>(linear.bytes / (of.shape.bits / 8 * of.shape.channels));
      return true;
    }
    case kResourcePitch2D: {
      const PitchResource& pitched = resource.of.pitched;
      if (!describe(pitched.format, of.shape)) return false;
      of.kind = program::TextureKind::Pitch2D;
      of.address = reinterpret_cast<std::uintptr_t>(pitched.pointer);
      of.shape.width = static_cast<std::uint32_t>(pitched.width);
      of.shape.height = static_cast<std::uint32_t>(pitched.height);
      of.pitch_bytes = pitched.pitch;
      return true;
    }
    default: return false;
  }
}

constexpr Where kBlocking{nullptr, false, true};
Where in(StreamHandle stream) { return {stream, false, false}; }

}  // namespace

std::size_t texel_bytes_of(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  return array == nullptr ? 0 : array->texel_bytes;
}

Error copy_3d_of_arrays(const Copy3D& of, Where where) {
  const std::scoped_lock lock(Session::get().lock());
  if (of.from_array != nullptr && of.to_array != nullptr)
    return returned(not_supported("cudaMemcpy3D from array to array"));
  Array* const array = array_of(of.to_array != nullptr ? of.to_array : of.from_array);
  if (array == nullptr) return returned(Error::InvalidValue);
  const Position& at = of.to_array != nullptr ? of.to_at : of.from_at;
  const Position& there = of.to_array != nullptr ? of.from_at : of.to_at;
  const PitchedPointer& pointer = of.to_array != nullptr ? of.from : of.to;
  // Of arrays, in texels; a height or depth of 0 is one.
  const Box box{at.x * array->texel_bytes,
                at.y,
                at.z,
                of.extent.width * array->texel_bytes,
                std::max<std::size_t>(of.extent.height, 1),
                std::max<std::size_t>(of.extent.depth, 1)};
  const std::size_t slice_pitch = pointer.pitch * std::max<std::size_t>(pointer.height, 1);
  std::byte* const first =
      static_cast<std::byte*>(pointer.pointer) + there.z * slice_pitch + there.y * pointer.pitch + there.x;
  return returned(of.to_array != nullptr
                      ? to_array(*array, box, first, pointer.pitch, slice_pitch, where)
                      : from_array(*array, box, first, pointer.pitch, slice_pitch, of.kind, where));
}

GPUMUX_CUDART_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}
GPUMUX_CUDART_API Error cudaGetChannelDesc(ChannelFormat* format, void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr) return returned(Error::InvalidValue);
  *format = array->format;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaArrayGetInfo(ChannelFormat* format, Extent* extent, unsigned* flags,
                                         void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr) return returned(Error::InvalidValue);
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaMallocArray(void** array, const ChannelFormat* format, std::size_t width,
                                        std::size_t height, unsigned flags) {
  return make_array(array, format, {width, height, 0}, flags);
}
GPUMUX_CUDART_API Error cudaMalloc3DArray(void** array, const ChannelFormat* format, Extent extent,
                                          unsigned flags) {
  return make_array(array, format, extent, flags);
}
GPUMUX_CUDART_API Error cudaFreeArray(void* handle) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (handle == nullptr) return Error::Success;
  Array* const array = array_of(handle);
  if (array == nullptr) return returned(Error::InvalidValue);
  const Error error = session.call(Call::Free, program::FreeArguments{array->address, 0});
  arrays().erase(array);
  delete array;
  return returned(error);
}

GPUMUX_CUDART_API Error cudaMemcpyToArray(void* array, std::size_t x, std::size_t row, const void* from,
                                          std::size_t count, MemcpyKind) {
  return linear_to_array(array, x, row, from, count, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyToArrayAsync(void* array, std::size_t x, std::size_t row, const void* from,
                                               std::size_t count, MemcpyKind, StreamHandle stream) {
  return linear_to_array(array, x, row, from, count, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DToArray(void* array, std::size_t x, std::size_t row, const void* from,
                                            std::size_t pitch, std::size_t width, std::size_t height,
                                            MemcpyKind) {
  return rows_to_array(array, x, row, from, pitch, width, height, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy2DToArrayAsync(void* array, std::size_t x, std::size_t row,
                                                 const void* from, std::size_t pitch, std::size_t width,
                                                 std::size_t height, MemcpyKind, StreamHandle stream) {
  return rows_to_array(array, x, row, from, pitch, width, height, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DFromArray(void* to, std::size_t pitch, void* array, std::size_t x,
                                              std::size_t row, std::size_t width, std::size_t height,
                                              MemcpyKind kind) {
  return rows_from_array(to, pitch, array, x, row, width, height, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, void* array, std::size_t x,
                                                   std::size_t row, std::size_t width, std::size_t height,
                                                   MemcpyKind kind, StreamHandle stream) {
  return rows_from_array(to, pitch, array, x, row, width, height, kind, in(stream));
}

GPUMUX_CUDART_API Error cudaCreateTextureObject(std::uint64_t* texture, const ResourceDescription* resource,
                                                const TextureDescription* settings, const void* view) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (texture == nullptr || resource == nullptr || settings == nullptr) return returned(Error::InvalidValue);
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  if (resource->type == kResourceMipmapped) return returned(not_supported("a texture of a mipmapped array"));
  if (view != nullptr) return returned(not_supported("a texture with a resource view"));
  program::TextureArguments arguments{};
  if (!describe(*resource, arguments)) return returned(Error::InvalidValue);
  for (std::size_t axis = 0; axis < arguments.address_modes.size(); ++axis)
    arguments.address_modes[axis] = static_cast<std::uint32_t>(settings->address_modes[axis]);
  arguments.filter = static_cast<std::uint32_t>(settings->filter);
  arguments.read = static_cast<std::uint32_t>(settings->read);
  arguments.normalized = settings->normalized != 0 ? 1 : 0;
  std::copy(std::begin(settings->border), std::end(settings->border), arguments.border.begin());
  program::TextureHandle result{};
  const Error error = session.call(Call::CreateTexture, arguments, &result);
  *texture = result.handle;
  return returned(error);
}
GPUMUX_CUDART_API Error cudaDestroyTextureObject(std::uint64_t texture) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  return returned(session.call(Call::DestroyTexture, program::TextureHandle{texture}));
}

}  // namespace gpumux::cudart
