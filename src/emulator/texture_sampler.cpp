#include "emulator/texture_sampler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emulator/half.hpp"

namespace gpumux::emulator {
namespace {

using workload::AddressMode;
using workload::ChannelKind;
using workload::Texture;
using workload::TextureResource;

constexpr std::int64_t kOutside = -1;  // a texel of the border

/// A coordinate in texels: what the texture's address mode makes of one that is normalized, times the extent.
/// Other coordinates stay: their texels are clamped one by one.
double position(const Texture& texture, const TextureFetch& fetch, unsigned axis) {
  constexpr double kFar = 1e12;  // beyond every texel, and far from where integers of 64 bits end
  double x = fetch.at[axis];
  if (std::isnan(x)) return 0;
  if (fetch.integers) return x;
  const AddressMode mode = texture.settings.address[axis];
  const bool repeats = mode == AddressMode::Wrap || mode == AddressMode::Mirror;
  if (repeats) {  // only where coordinates are normalized
    if (std::isinf(x)) return 0;
    const double whole = std::floor(x);
    x -= whole;
    if (mode == AddressMode::Mirror && std::fmod(whole, 2.0) != 0) x = 1 - x;
  }
  if (texture.settings.normalized) x *= texture.extent[axis];
  return std::clamp(x, -kFar, kFar);
}

/// The texel that stands for number `index` of an axis.
std::int64_t resolve(const Texture& texture, const TextureFetch& fetch, unsigned axis, std::int64_t index) {
  const auto extent = static_cast<std::int64_t>(texture.extent[axis]);
  if (index >= 0 && index < extent) return index;
  switch (texture.settings.address[axis]) {
    case AddressMode::Border: return kOutside;
    case AddressMode::Wrap:
      if (fetch.integers) break;
      return (index % extent + extent) % extent;
    case AddressMode::Mirror:
      if (fetch.integers) break;
      return std::clamp<std::int64_t>(index < 0 ? -1 - index : 2 * extent - 1 - index, 0, extent - 1);
    case AddressMode::Clamp: break;
  }
  return std::clamp<std::int64_t>(index, 0, extent - 1);
}

/// The two neighbours of a position along an axis, and the weight of the second in 256ths.
struct Neighbours {
  std::array<std::int64_t, 2> index{};
  std::uint32_t weight = 0;
};

Neighbours neighbours(const Texture& texture, const TextureFetch& fetch, unsigned axis) {
  const double x = position(texture, fetch, axis) - 0.5;
  const double whole = std::floor(x);
  const auto first = static_cast<std::int64_t>(whole);
  return {{resolve(texture, fetch, axis, first), resolve(texture, fetch, axis, first + 1)},
          static_cast<std::uint32_t>(std::floor((x - whole) * 256 + 0.5))};
}

/// What channels that a texel does not have give: (0, 0, 0, 1).
std::uint32_t missing(const Texture& texture, std::uint32_t channel) {
  if (channel != 3) return 0;
  return texture.reads_floats ? std::bit_cast<std::uint32_t>(1.0F) : 1;
}

std::uint32_t channel_value(const Texture& texture, const std::byte* at) {
  const workload::TexelFormat& format = texture.resource.array.shape.format;
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, format.bits / 8U);  // the lowest bytes: hosts are little-endian
  if (format.kind == ChannelKind::Float)
    return format.bits == 16 ? std::bit_cast<std::uint32_t>(half_to_float(bits)) : bits;
  const bool is_signed = format.kind == ChannelKind::Signed;
  const unsigned unused = 32U - format.bits;
  const auto value = static_cast<std::int32_t>(bits << unused) >> unused;  // of a signed one
  if (!texture.reads_floats) return is_signed ? static_cast<std::uint32_t>(value) : bits;
  const auto largest = static_cast<float>((1U << (format.bits - (is_signed ? 1U : 0U))) - 1);
  const float scaled =
      is_signed ? std::max(static_cast<float>(value) / largest, -1.0F) : static_cast<float>(bits) / largest;
  return std::bit_cast<std::uint32_t>(scaled);
}

using Texel = std::array<std::uint32_t, 4>;

class Reader {
 public:
  Reader(const Texture& texture, const workload::DeviceMemory& memory, const TextureFetch& fetch,
         TextureSample& sample)
      : texture_(texture),
        memory_(memory),
        slice_(static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(fetch.layer, 0, std::int64_t{texture.slices} - 1))),
        channels_(texture.resource.array.shape.format.channels),
        channel_bytes_(texture.resource.array.shape.format.bits / 8U),
        sample_(sample) {}

  Texel read(std::int64_t x, std::int64_t y, std::int64_t z) {
    Texel texel;
    for (std::uint32_t c = channels_; c < 4; ++c) texel[c] = missing(texture_, c);
    if (x == kOutside || y == kOutside || z == kOutside) {
      for (std::uint32_t c = 0; c < channels_; ++c)
        texel[c] = std::bit_cast<std::uint32_t>(texture_.settings.border[c]);
      return texel;
    }
    const std::uint32_t slice = texture_.layered ? slice_ : static_cast<std::uint32_t>(z);
    const Address at = texture_.texel(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), slice);
    sample_.touched[sample_.touches++] = at;
    const std::byte* const bytes = memory_.host(at);
    for (std::uint32_t c = 0; c < channels_; ++c)
      texel[c] = channel_value(texture_, bytes + std::size_t{c} * channel_bytes_);
    return texel;
  }

 private:
  const Texture& texture_;
  const workload::DeviceMemory& memory_;
  std::uint32_t slice_;
  std::uint32_t channels_;
  std::uint32_t channel_bytes_;
  TextureSample& sample_;
};

}  // namespace

TextureSample sample(const Texture& texture, const workload::DeviceMemory& memory,
                     const TextureFetch& fetch) {
  TextureSample result;
  Reader reader(texture, memory, fetch, result);
  const unsigned dimensions = texture.dimensions;
  if (texture.resource.kind == TextureResource::Kind::Linear) {
    const double x = fetch.at[0];
    if (x >= 0 && x < texture.extent[0]) result.value = reader.read(static_cast<std::int64_t>(x), 0, 0);
    return result;  // beyond its ends there are zeroes
  }
  if (fetch.integers || texture.settings.filter == workload::FilterMode::Point) {
    std::array<std::int64_t, 3> at{};
    for (unsigned axis = 0; axis < dimensions; ++axis) {
      const auto index = static_cast<std::int64_t>(std::floor(position(texture, fetch, axis)));
      at[axis] = resolve(texture, fetch, axis, index);
    }
    result.value = reader.read(at[0], at[1], at[2]);
    return result;
  }
  std::array<Neighbours, 3> along{};
  for (unsigned axis = 0; axis < dimensions; ++axis) along[axis] = neighbours(texture, fetch, axis);
  // Weights are whole 256ths, so their products are exact; texels of weight 0 add nothing, not even a NaN.
  std::array<double, 4> sum{};
  for (std::uint32_t corner = 0; corner < 1U << dimensions; ++corner) {
    double weight = 1;
    std::array<std::int64_t, 3> at{};
    for (unsigned axis = 0; axis < dimensions; ++axis) {
      const std::uint32_t second = (corner >> axis) & 1U;
      at[axis] = along[axis].index[second];
      weight *= (second != 0 ? along[axis].weight : 256 - along[axis].weight) / 256.0;
    }
    const Texel texel = reader.read(at[0], at[1], at[2]);
    if (weight == 0) continue;
    for (std::uint32_t c = 0; c < 4; ++c) sum[c] += weight * double{std::bit_cast<float>(texel[c])};
  }
  for (std::uint32_t c = 0; c < 4; ++c) {
    const auto value = static_cast<float>(sum[c]);
    result.value[c] = std::isnan(value) ? kNan32 : std::bit_cast<std::uint32_t>(value);
  }
  return result;
}

TextureSample gather(const Texture& texture, const workload::DeviceMemory& memory, const TextureFetch& fetch,
                     std::uint32_t component) {
  TextureSample result;
  Reader reader(texture, memory, fetch, result);
  const Neighbours x = neighbours(texture, fetch, 0);
  const Neighbours y = neighbours(texture, fetch, 1);
  constexpr std::array<std::array<unsigned, 2>, 4> kOrder{{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
  for (std::uint32_t i = 0; i < 4; ++i)
    result.value[i] = reader.read(x.index[kOrder[i][0]], y.index[kOrder[i][1]], 0)[component];
  return result;
}

std::uint32_t answer(const Texture& texture, isa::TextureQuery query) {
  using isa::TextureQuery;
  const workload::ArrayShape& shape = texture.resource.array.shape;
  const auto mode = [&](unsigned axis) -> std::uint32_t {
    switch (texture.settings.address[axis]) {
      case AddressMode::Wrap: return 0;
      case AddressMode::Mirror: return 1;
      case AddressMode::Clamp: return 3;  // 2 is OpenGL's old clamping
      case AddressMode::Border: return 4;
    }
    return 0;
  };
  switch (query) {
    case TextureQuery::None: break;
    case TextureQuery::Width: return shape.width;
    case TextureQuery::Height: return shape.height;
    case TextureQuery::Depth: return shape.depth;
    case TextureQuery::ArraySize: return texture.layered ? texture.slices : 0;
    case TextureQuery::ChannelDataType: {
      // OpenCL's numbers, which PTX has taken over.
      const workload::TexelFormat& format = shape.format;
      const std::uint32_t width = format.bits == 8 ? 0 : format.bits == 16 ? 1 : 2;
      if (format.kind == ChannelKind::Float) return 0x10ddU + (format.bits == 32 ? 1 : 0);
      const bool is_signed = format.kind == ChannelKind::Signed;
      if (texture.reads_floats) return (is_signed ? 0x10d0U : 0x10d2U) + width;
      return (is_signed ? 0x10d7U : 0x10daU) + width;
    }
    case TextureQuery::ChannelOrder:  // CL_R, CL_RG, CL_RGBA
      return shape.format.channels == 1 ? 0x10b0U : shape.format.channels == 2 ? 0x10b2U : 0x10b5U;
    case TextureQuery::NormalizedMode: return texture.settings.normalized ? 1 : 0;
    case TextureQuery::FilterMode: return texture.settings.filter == workload::FilterMode::Linear ? 1 : 0;
    case TextureQuery::AddressMode0: return mode(0);
    case TextureQuery::AddressMode1: return mode(1);
    case TextureQuery::AddressMode2: return mode(2);
  }
  return 0;
}

}  // namespace gpumux::emulator
