#include "workload/texture.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "base/error.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::workload {
namespace {

// Handles are above all addresses, so that handles and addresses cannot be mistaken for each other.
constexpr std::uint64_t kHandleBase = std::uint64_t{1} << 60U;
constexpr unsigned kHandleAppShift = 32;

// CUDA's limits for compute capability 7.5.
constexpr std::uint32_t kMaxLinear = 1U << 28U;
constexpr std::uint32_t kMaxWidth = 131072;
constexpr std::uint32_t kMaxHeight = 65536;
constexpr std::uint32_t kMaxDepth = 16384;
constexpr std::uint32_t kMaxLayered = 32768;
constexpr std::uint32_t kMaxLayers = 2048;
constexpr std::uint32_t kPitchUnit = 32;
constexpr std::uint64_t kMaxPitch = std::uint64_t{1} << 21U;  // bytes, the limit of CUDA's devices

std::string format_error(const TexelFormat& format) {
  const bool bits = format.bits == 8 || format.bits == 16 || format.bits == 32;
  if (!bits || (format.kind == ChannelKind::Float && format.bits == 8))
    return fmt::format("a texel has no channels of {} bits; integers have 8, 16 or 32, floats 16 or 32",
                       format.bits);
  if (format.channels != 1 && format.channels != 2 && format.channels != 4)
    return fmt::format("a texel of {} channels; 1, 2 and 4 are possible", format.channels);
  return {};
}

}  // namespace

std::string shape_error(const ArrayShape& shape) {
  if (std::string error = format_error(shape.format); !error.empty()) return error;
  const auto within = [](const char* what, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
    if (value >= least && value <= most) return std::string();
    return fmt::format("an array with a {} of {}; it must be {} to {}", what, value, least, most);
  };
  if (shape.depth != 0 && (shape.height == 0 || shape.layers != 0))
    return "an array of three dimensions has a height and no layers";
  const bool layered = shape.layers != 0;
  const bool volume = shape.depth != 0;
  const std::uint32_t widest = volume ? kMaxDepth : layered ? kMaxLayered : kMaxWidth;
  const std::uint32_t highest = volume ? kMaxDepth : layered ? kMaxLayered : kMaxHeight;
  for (const std::string& error :
       {within("width", shape.width, 1, widest), within("height", shape.height, 0, highest),
        within("depth", shape.depth, 0, kMaxDepth),
        within("number of layers", shape.layers, 0, kMaxLayers)}) {
    if (!error.empty()) return error;
  }
  return {};
}

TextureArray mipmap_level(const TextureArray& first, std::uint32_t level) {
  TextureArray at = first;
  for (std::uint32_t i = 0; i < level; ++i) {
    at.address += at.bytes();
    for (std::uint32_t* extent : {&at.shape.width, &at.shape.height, &at.shape.depth})
      if (*extent > 1) *extent /= 2;
  }
  return at;
}

std::uint64_t mipmap_bytes(const TextureArray& first, std::uint32_t levels) {
  return mipmap_level(first, levels).address - first.address;
}

std::uint32_t most_mipmap_levels(const ArrayShape& shape) {
  return static_cast<std::uint32_t>(std::bit_width(std::max({shape.width, shape.height, shape.depth})));
}

std::vector<std::byte> lay_out(const TextureArray& array, std::span<const std::byte> texels) {
  if (texels.size() != array.texel_bytes()) {
    throw SimulationFault(
        fmt::format("error: copy of {} bytes to an array, which has {}", texels.size(), array.texel_bytes()));
  }
  // A part of a row within one tile is contiguous.
  const std::uint32_t texel = array.shape.format.bytes();
  const std::uint32_t piece = array.shape.height == 0 ? array.shape.width : TextureArray::kTileBytes / texel;
  std::vector<std::byte> laid(array.bytes());
  const std::byte* from = texels.data();
  for (std::uint32_t slice = 0; slice < array.slices(); ++slice) {
    for (std::uint32_t y = 0; y < array.rows(); ++y) {
      for (std::uint32_t x = 0; x < array.shape.width; x += piece) {
        const std::size_t bytes = std::size_t{std::min(piece, array.shape.width - x)} * texel;
        std::memcpy(laid.data() + array.offset(x, y, slice), from, bytes);
        from += bytes;
      }
    }
  }
  return laid;
}

std::string Texture::read_by() const {
  return fmt::format("{}.{}", surface ? "suld" : "tex", isa::name(geometry));
}

std::uint64_t TextureTable::first_handle() const {
  // Each application has its own range of serial numbers.
  return kHandleBase + ((memory_->base() >> kAppShift) << kHandleAppShift) + 1;
}

void TextureTable::fail(const std::string& what) const {
  const std::string& owner = memory_->owner();
  throw SimulationFault(owner.empty() ? fmt::format("error: {}", what)
                                      : fmt::format("error: app {}: {}", owner, what));
}

void TextureTable::check(const ArrayShape& shape) const {
  if (const std::string error = shape_error(shape); !error.empty()) fail(error);
}

namespace {

std::string resource_error(const TextureResource& resource) {
  using Kind = TextureResource::Kind;
  const ArrayShape& shape = resource.array.shape;
  if (const std::string error = format_error(shape.format); !error.empty()) return ": " + error;
  if (resource.kind != Kind::Linear) {
    if (const std::string error = shape_error(shape); !error.empty()) return ": " + error;
  }
  const bool cube = resource.kind == Kind::Cube || resource.kind == Kind::LayeredCube;
  if (cube && (shape.width != shape.height || shape.layers == 0 || shape.layers % 6 != 0 ||
               (resource.kind == Kind::Cube && shape.layers != 6)))
    return fmt::format(" of a cube map of {} layers with {} x {} texels; it has squares, six for each cube",
                       shape.layers, shape.width, shape.height);
  const std::uint32_t most = resource.is_array() ? most_mipmap_levels(shape) : 1;
  if (resource.levels < 1 || resource.levels > most)
    return fmt::format(" of {} levels; 1 to {} are possible", resource.levels, most);
  if (resource.kind == Kind::Linear && (shape.width == 0 || shape.width > kMaxLinear))
    return fmt::format(" of {} texels of linear memory; 1 to {} are possible", shape.width, kMaxLinear);
  if (resource.kind == Kind::Pitch2D) {
    if (shape.height == 0) return " of pitched memory without rows";
    const std::uint64_t row = std::uint64_t{shape.width} * shape.format.bytes();
    if (resource.pitch_bytes < row || resource.pitch_bytes > kMaxPitch ||
        resource.pitch_bytes % kPitchUnit != 0)
      return fmt::format(
          " with a pitch of {} bytes; rows have {}, and it must be a multiple of {}, and {} at most",
          resource.pitch_bytes, row, kPitchUnit, kMaxPitch);
  }
  return {};
}

/// Derived properties of a texture. The resource must be valid.
Texture texture_of(const TextureResource& resource, const TextureSettings& settings) {
  using Kind = TextureResource::Kind;
  using isa::TextureGeometry;
  Texture texture;
  texture.resource = resource;
  texture.settings = settings;
  const ArrayShape& shape = resource.array.shape;
  const TexelFormat& format = shape.format;
  texture.texel_bytes = format.bytes();
  switch (resource.kind) {
    case Kind::Linear: texture.bytes = std::uint64_t{shape.width} * texture.texel_bytes; break;
    case Kind::Pitch2D:
      texture.dimensions = 2;
      texture.bytes =
          resource.pitch_bytes * (shape.height - 1) + std::uint64_t{shape.width} * texture.texel_bytes;
      break;
    case Kind::Array:
    case Kind::Cube:
    case Kind::LayeredCube:
      texture.dimensions = shape.depth != 0 ? 3 : shape.height != 0 ? 2 : 1;
      texture.cube = resource.kind != Kind::Array;
      texture.layered = shape.layers != 0;
      texture.slices = resource.array.slices();
      texture.bytes = mipmap_bytes(resource.array, resource.levels);
      break;
  }
  texture.geometry = resource.kind == Kind::Cube          ? TextureGeometry::Cube
                     : resource.kind == Kind::LayeredCube ? TextureGeometry::ACube
                     : texture.dimensions == 3            ? TextureGeometry::D3
                     : texture.dimensions == 2 ? (texture.layered ? TextureGeometry::A2 : TextureGeometry::D2)
                     : texture.layered         ? TextureGeometry::A1
                                               : TextureGeometry::D1;
  texture.extent = {shape.width, std::max(1U, shape.height), std::max(1U, shape.depth)};
  // 32-bit integers are never converted, whatever the read mode.
  const bool promoted =
      settings.read == ReadMode::NormalizedFloat && format.kind != ChannelKind::Float && format.bits < 32;
  texture.reads_floats = format.kind == ChannelKind::Float || promoted;
  if (texture.cube) {  // coordinates on a face; filtering does not cross its edges
    texture.settings.normalized = true;
    texture.settings.address.fill(AddressMode::Clamp);
  }
  if (!texture.settings.normalized || resource.kind == Kind::Linear) {  // Wrap, Mirror: only if normalized
    for (AddressMode& mode : texture.settings.address)
      if (mode == AddressMode::Wrap || mode == AddressMode::Mirror) mode = AddressMode::Clamp;
  }
  return texture;
}

}  // namespace

std::string texture_error(const TextureResource& resource, const TextureSettings& settings) {
  if (std::string error = resource_error(resource); !error.empty()) return error;
  const Texture texture = texture_of(resource, settings);
  const std::uint32_t unit = resource.is_array() ? kLineBytes : texture.texel_bytes;
  if (texture.address() % unit != 0)
    return fmt::format(" at 0x{:x}, which is no multiple of {}", texture.address(), unit);
  const bool filters = settings.filter == FilterMode::Linear ||
                       (resource.levels > 1 && settings.level_filter == FilterMode::Linear);
  if (filters && !texture.reads_floats && resource.kind != TextureResource::Kind::Linear)
    return " with linear filtering of integers, which are not read as floats";
  for (const float level : {settings.level_bias, settings.least_level, settings.most_level})
    if (std::isnan(level)) return " with a level that is no number";
  return {};
}

std::uint64_t texture_bytes(const TextureResource& resource) { return texture_of(resource, {}).bytes; }

Texture TextureTable::made(const char* what, const TextureResource& resource,
                           const TextureSettings& settings) const {
  if (const std::string error = texture_error(resource, settings); !error.empty()) fail(what + error);
  Texture texture = texture_of(resource, settings);
  if (!memory_->valid(texture.address(), texture.bytes))
    fail(fmt::format("{} of {} bytes at 0x{:x}: {}", what, texture.bytes, texture.address(),
                     memory_->describe(texture.address())));
  return texture;
}

std::uint64_t TextureTable::create(const TextureResource& resource, const TextureSettings& settings) {
  Texture texture = made("texture", resource, settings);
  for (std::uint32_t level = 1; level < resource.levels; ++level) {
    TextureResource one = resource;
    one.array = mipmap_level(resource.array, level);
    one.levels = 1;
    texture.further.push_back(texture_of(one, settings));
  }
  textures_.push_back(std::move(texture));
  return first_handle() + textures_.size() - 1;
}

std::uint64_t TextureTable::create_surface(const TextureArray& array) {
  Texture surface = made("surface", TextureResource::of(array), {});
  surface.surface = true;
  textures_.push_back(std::move(surface));
  return first_handle() + textures_.size() - 1;
}

void TextureTable::destroy(std::uint64_t handle) {
  if (find(handle, time()) == nullptr) fail(fmt::format("destroying a texture object: {}", describe(handle)));
  textures_[handle - first_handle()].destroyed_at = ++destroyed_;
}

std::string TextureTable::describe(std::uint64_t handle) const {
  if (handle - first_handle() < textures_.size())
    return fmt::format("texture object 0x{:x} was destroyed", handle);
  if (handle == 0) return "0 is no texture object";
  if (handle >> 60U == kHandleBase >> 60U && (handle & ((std::uint64_t{1} << kHandleAppShift) - 1)) != 0)
    return fmt::format("0x{:x} is no texture object of this application", handle);
  return fmt::format("0x{:x} is no texture object", handle);
}

}  // namespace gpumux::workload
