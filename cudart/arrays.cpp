// Arrays and mipmaps. Their texels are stored on the device in tiles. Copies and surfaces access them there.
#include "arrays.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "copies.hpp"

namespace gpumux::cudart {
namespace {

using program::ArrayDescription;

constexpr int kFormatNone = 3;  // cudaChannelFormatKindNone

std::set<Array*>& arrays() {
  static auto* const all = new std::set<Array*>;
  return *all;
}
std::set<Mipmap*>& mipmaps() {
  static auto* const all = new std::set<Mipmap*>;
  return *all;
}

/// Creates the first level of an array of `levels` levels, which are stored one after the other.
Error make(const ChannelFormat* format, Extent extent, unsigned flags, std::uint32_t levels,
           std::unique_ptr<Array>& made) {
  Session& session = Session::get();
  if (format == nullptr) return Error::InvalidValue;
  if (const Error error = session.connect(); error != Error::Success) return error;
  constexpr unsigned kKnown = kArrayLayered | kArraySurface | kArrayCubemap | kArrayTextureGather;
  if ((flags & ~kKnown) != 0) return not_supported("a sparse or deferred array");
  auto array = std::make_unique<Array>();
  array->format = *format;
  array->extent = extent;
  array->flags = flags;
  ArrayDescription& shape = array->shape;
  constexpr std::size_t kMost = 1U << 20U;
  if (!describe(*format, shape) || extent.width == 0 || extent.width > kMost || extent.height > kMost ||
      extent.depth > kMost)
    return Error::InvalidValue;
  const bool cube = (flags & kArrayCubemap) != 0;
  const bool layered = (flags & kArrayLayered) != 0;
  if (cube && (extent.width != extent.height || extent.depth == 0 || extent.depth % 6 != 0 ||
               (!layered && extent.depth != 6)))
    return Error::InvalidValue;
  if (layered && extent.depth == 0) return Error::InvalidValue;
  shape.width = static_cast<std::uint32_t>(extent.width);
  shape.height = static_cast<std::uint32_t>(extent.height);
  (layered || cube ? shape.layers : shape.depth) = static_cast<std::uint32_t>(extent.depth);
  array->texel_bytes = shape.bits / 8 * shape.channels;
  program::AllocateResult result{};
  const Error error = session.call(Call::CreateArray, program::CreateArrayArguments{shape, levels}, &result);
  array->address = result.address;
  made = std::move(array);
  return error;
}

Error make_array(void** handle, const ChannelFormat* format, Extent extent, unsigned flags) {
  const std::scoped_lock lock(Session::get().lock());
  if (handle == nullptr) return returned(Error::InvalidValue);
  std::unique_ptr<Array> array;
  if (const Error error = make(format, extent, flags, 1, array); error != Error::Success)
    return returned(error);
  *handle = array.get();
  arrays().insert(array.release());
  return Error::Success;
}

Error free_memory(std::uint64_t address) {
  return Session::get().call(Call::Free, program::FreeArguments{address, 0});
}

/// Bytes of a level on the device, in the layout of workload::TextureArray.
std::uint64_t device_bytes(const Array& array) {
  constexpr std::uint64_t kLine = 128, kTileBytes = 32, kTileRows = 4;
  const auto up = [](std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit; };
  const std::uint64_t slice =
      array.shape.height == 0 ? up(array.row_bytes(), kLine) * kLine
                              : up(array.row_bytes(), kTileBytes) * up(array.shape.height, kTileRows) * kLine;
  return slice * array.slices();
}

/// The next level of a mipmap, with half the extent in each direction.
std::unique_ptr<Array> next_level(const Array& finer) {
  auto level = std::make_unique<Array>(finer);
  level->address = finer.address + device_bytes(finer);
  for (std::uint32_t* extent : {&level->shape.width, &level->shape.height, &level->shape.depth})
    if (*extent > 1) *extent /= 2;
  level->extent.width = level->shape.width;
  level->extent.height = level->shape.height;
  if (level->shape.layers == 0) level->extent.depth = level->shape.depth;
  return level;
}

}  // namespace

Array* array_of(void* handle) {
  auto* const array = static_cast<Array*>(handle);
  return arrays().contains(array) ? array : nullptr;
}

Mipmap* mipmap_of(void* handle) {
  auto* const mipmap = static_cast<Mipmap*>(handle);
  return mipmaps().contains(mipmap) ? mipmap : nullptr;
}

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

std::size_t texel_bytes_of(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  return array == nullptr ? 0 : array->texel_bytes;
}

GPUMUX_CUDART_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}
GPUMUX_CUDART_API Error cudaGetChannelDesc(ChannelFormat* format, void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Array* const array = array_of(handle);
  if (array == nullptr || format == nullptr) return returned(Error::InvalidValue);
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
  const std::scoped_lock lock(Session::get().lock());
  if (handle == nullptr) return Error::Success;
  Array* const array = array_of(handle);
  if (array == nullptr || array->is_level) return returned(Error::InvalidValue);
  const Error error = free_memory(array->address);
  arrays().erase(array);
  delete array;
  return returned(error);
}

GPUMUX_CUDART_API Error cudaMallocMipmappedArray(void** handle, const ChannelFormat* format, Extent extent,
                                                 unsigned levels, unsigned flags) {
  const std::scoped_lock lock(Session::get().lock());
  if (handle == nullptr) return returned(Error::InvalidValue);
  // Like CUDA, creates no level beyond a single texel. Layers are not halved.
  const bool flat = (flags & (kArrayLayered | kArrayCubemap)) != 0;
  std::size_t most = 1;
  const std::size_t largest = std::max({extent.width, extent.height, flat ? 0 : extent.depth});
  while (most < 32 && largest >> most != 0) ++most;
  const auto count = static_cast<std::uint32_t>(std::clamp<std::size_t>(levels, 1, most));
  auto mipmap = std::make_unique<Mipmap>();
  mipmap->levels.resize(1);
  if (const Error error = make(format, extent, flags, count, mipmap->levels[0]); error != Error::Success)
    return returned(error);
  while (mipmap->levels.size() < count) mipmap->levels.push_back(next_level(*mipmap->levels.back()));
  for (const auto& level : mipmap->levels) {
    level->is_level = true;
    arrays().insert(level.get());
  }
  *handle = mipmap.get();
  mipmaps().insert(mipmap.release());
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGetMipmappedArrayLevel(void** array, void* handle, unsigned level) {
  const std::scoped_lock lock(Session::get().lock());
  const Mipmap* const mipmap = mipmap_of(handle);
  if (array == nullptr || mipmap == nullptr || level >= mipmap->levels.size())
    return returned(Error::InvalidValue);
  *array = mipmap->levels[level].get();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaFreeMipmappedArray(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  if (handle == nullptr) return Error::Success;
  Mipmap* const mipmap = mipmap_of(handle);
  if (mipmap == nullptr) return returned(Error::InvalidValue);
  const Error error = free_memory(mipmap->levels[0]->address);
  for (const auto& level : mipmap->levels) arrays().erase(level.get());
  mipmaps().erase(mipmap);
  delete mipmap;
  return returned(error);
}

}  // namespace gpumux::cudart
