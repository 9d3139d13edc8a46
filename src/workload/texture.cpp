#include "workload/texture.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/core.h>

#include "base/error.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::workload {
namespace {

// Handles lie above all addresses, so that neither is taken for the other.
constexpr std::uint64_t kHandleBase = std::uint64_t{1} << 60U;
constexpr unsigned kHandleAppShift = 32;

// CUDA's limits, of compute capability 7.5.
constexpr std::uint32_t kMaxLinear = 1U << 28U;
constexpr std::uint32_t kMaxWidth = 131072;
constexpr std::uint32_t kMaxHeight = 65536;
constexpr std::uint32_t kMaxDepth = 16384;
constexpr std::uint32_t kMaxLayered = 32768;
constexpr std::uint32_t kMaxLayers = 2048;
constexpr std::uint32_t kPitchUnit = 32;
constexpr std::uint64_t kMaxPitch = std::uint64_t{1} << 21U;  // bytes, of CUDA's devices

std::string format_error(const TexelFormat& format) {
  const bool bits = format.bits == 8 || format.bits == 16 || format.bits == 32;
  if (!bits || (format.kind == ChannelKind::Float && format.bits == 8))
    return fmt::format("a texel has no channels of {} bits; integers have 8, 16 or 32, floats 16 or 32",
                       format.bits);
  if (format.channels != 1 && format.channels != 2 && format.channels != 4)
    return fmt::format("a texel of {} channels; 1, 2 and 4 are possible", format.channels);
  return {};
}

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

}  // namespace

std::vector<std::byte> lay_out(const TextureArray& array, std::span<const std::byte> texels) {
  if (texels.size() != array.texel_bytes()) {
    throw SimulationFault(
        fmt::format("error: copy of {} bytes to an array, which has {}", texels.size(), array.texel_bytes()));
  }
  // A piece of a row that lies in one tile stays in one piece.
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

std::string Texture::geometry() const {
  return layered ? fmt::format("tex.a{}d", dimensions) : fmt::format("tex.{}d", dimensions);
}

std::uint64_t TextureTable::first_handle() const {
  // Serial numbers of an application begin behind those of the one before it.
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

std::uint64_t TextureTable::create(const TextureResource& resource, const TextureSettings& settings) {
  using Kind = TextureResource::Kind;
  Texture texture;
  texture.resource = resource;
  texture.settings = settings;
  texture.alive = true;
  const ArrayShape& shape = resource.array.shape;
  const TexelFormat& format = shape.format;
  if (const std::string error = format_error(format); !error.empty()) fail("texture: " + error);
  texture.texel_bytes = format.bytes();
  switch (resource.kind) {
    case Kind::Linear:
      if (shape.width == 0 || shape.width > kMaxLinear)
        fail(fmt::format("texture of {} texels of linear memory; 1 to {} are possible", shape.width,
                         kMaxLinear));
      texture.bytes = std::uint64_t{shape.width} * texture.texel_bytes;
      break;
    case Kind::Pitch2D: {
      if (const std::string error = shape_error(shape); !error.empty()) fail("texture: " + error);
      if (shape.height == 0) fail("texture of pitched memory without rows");
      const std::uint64_t row = std::uint64_t{shape.width} * texture.texel_bytes;
      if (resource.pitch_bytes < row || resource.pitch_bytes > kMaxPitch ||
          resource.pitch_bytes % kPitchUnit != 0)
        fail(fmt::format(
            "texture with a pitch of {} bytes; rows have {}, and it must be a multiple of {}, and {} at most",
            resource.pitch_bytes, row, kPitchUnit, kMaxPitch));
      texture.dimensions = 2;
      texture.bytes = resource.pitch_bytes * (shape.height - 1) + row;
      break;
    }
    case Kind::Array:
      if (const std::string error = shape_error(shape); !error.empty()) fail("texture: " + error);
      texture.dimensions = shape.depth != 0 ? 3 : shape.height != 0 ? 2 : 1;
      texture.layered = shape.layers != 0;
      texture.slices = resource.array.slices();
      texture.bytes = resource.array.bytes();
      break;
  }
  const std::uint32_t unit = resource.kind == Kind::Array ? kLineBytes : texture.texel_bytes;
  if (texture.address() % unit != 0)
    fail(fmt::format("texture at 0x{:x}, which is no multiple of {}", texture.address(), unit));
  if (!memory_->valid(texture.address(), texture.bytes))
    fail(fmt::format("texture of {} bytes at 0x{:x}: {}", texture.bytes, texture.address(),
                     memory_->describe(texture.address())));
  texture.extent = {shape.width, std::max(1U, shape.height), std::max(1U, shape.depth)};
  // 32-bit integers stay as they are whatever the read mode.
  const bool promoted =
      settings.read == ReadMode::NormalizedFloat && format.kind != ChannelKind::Float && format.bits < 32;
  texture.reads_floats = format.kind == ChannelKind::Float || promoted;
  if (settings.filter == FilterMode::Linear && !texture.reads_floats && resource.kind != Kind::Linear)
    fail("texture with linear filtering of integers, which are not read as floats");
  if (!settings.normalized || resource.kind == Kind::Linear) {  // what such modes need is normalized
    for (AddressMode& mode : texture.settings.address)
      if (mode == AddressMode::Wrap || mode == AddressMode::Mirror) mode = AddressMode::Clamp;
  }
  textures_.push_back(texture);
  return first_handle() + textures_.size() - 1;
}

void TextureTable::destroy(std::uint64_t handle) {
  if (find(handle) == nullptr) fail(fmt::format("destroying a texture object: {}", describe(handle)));
  textures_[handle - first_handle()].alive = false;
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
