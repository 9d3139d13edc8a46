#include "emulator/texture_sampler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/half.hpp"

namespace gpumux::emulator {
namespace {

using workload::AddressMode;
using workload::ChannelKind;
using workload::Texture;
using workload::TextureResource;

constexpr std::int64_t kOutside = -1;  // a texel of the border

/// A coordinate in texels. A normalized coordinate is rounded down to a multiple of 2^-21, reduced to the
/// address mode's period and multiplied by the extent. Other coordinates are unchanged, since their texels
/// are clamped individually.
double position(const Texture& texture, const TextureFetch& fetch, unsigned axis) {
  constexpr double kFar = 1e12;  // beyond every texel, and well inside the range of 64-bit integers
  double x = fetch.at[axis];
  if (std::isnan(x)) return 0;
  if (fetch.integers) return x;
  const AddressMode mode = texture.settings.address[axis];
  if (texture.settings.normalized) {
    constexpr double kParts = 1 << 21;
    x = std::floor(x * kParts) / kParts;
  }
  if (mode == AddressMode::Wrap || mode == AddressMode::Mirror) {  // only with normalized coordinates
    if (std::isinf(x)) return 0;
    const double period = mode == AddressMode::Wrap ? 1 : 2;
    x -= period * std::floor(x / period);
  }
  if (texture.settings.normalized) x *= texture.extent[axis];
  return std::clamp(x, -kFar, kFar);
}

/// The texel of index `index` on an axis, by the address mode.
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

/// The two texels next to a position on an axis, and the weight of the second one in 256ths, less than 256.
struct Neighbours {
  std::array<std::int64_t, 2> index{};
  std::int64_t weight = 0;
};

Neighbours neighbours(const Texture& texture, const TextureFetch& fetch, unsigned axis) {
  const double x = position(texture, fetch, axis) - 0.5;
  const auto parts = static_cast<std::int64_t>(std::floor(x * 256 + 0.5));
  const std::int64_t first = parts >> 8U;
  return {{resolve(texture, fetch, axis, first), resolve(texture, fetch, axis, first + 1)}, parts & 255};
}

/// The divisor for integers of a texel's format that are read as floats.
std::int64_t largest(const workload::TexelFormat& format) {
  return (std::int64_t{1} << (format.bits - (format.kind == ChannelKind::Signed ? 1U : 0U))) - 1;
}

/// `x` rounded to the nearest f32, ties away from zero.
float nearest_away(double x) {
  const auto to_even = static_cast<float>(x);
  const double rest = x - double{to_even};
  if (!std::isfinite(to_even) || rest == 0 || (rest > 0) != (x > 0)) return to_even;
  const float farther =
      std::nextafter(to_even, std::copysign(std::numeric_limits<float>::infinity(), to_even));
  return double{farther} - x == rest ? farther : to_even;
}

/// `x` rounded to the nearest f16, ties away from zero, as f32.
float nearest_half_away(double x) {
  if (!(std::abs(x) < 65520)) return half_to_float(float_to_half(static_cast<float>(x)));
  int exponent = 0;
  (void)std::frexp(x, &exponent);
  const double step = std::ldexp(1.0, std::max(exponent, -13) - 11);
  return static_cast<float>(std::round(x / step) * step);
}

/// The border's value in the precision and range of the texels.
float at_precision(const workload::TexelFormat& format, float border) {
  if (format.kind == ChannelKind::Float) return format.bits == 16 ? nearest_half_away(border) : border;
  if (std::isnan(border)) return 0;
  const double scale = static_cast<double>(largest(format));
  const double least = format.kind == ChannelKind::Signed ? -1 : 0;
  return static_cast<float>(std::floor(std::clamp(double{border}, least, 1.0) * scale + 0.5) / scale);
}

/// The value of a channel that the texels do not have: (0, 0, 0, 1).
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
  const auto value = static_cast<std::int32_t>(bits << unused) >> unused;  // sign-extended
  if (!texture.reads_floats) return is_signed ? static_cast<std::uint32_t>(value) : bits;
  const auto one = static_cast<float>(largest(format));
  const float scaled =
      is_signed ? std::max(static_cast<float>(value) / one, -1.0F) : static_cast<float>(bits) / one;
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
      for (std::uint32_t c = 0; c < channels_; ++c) texel[c] = border(c);
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
  [[nodiscard]] std::uint32_t border(std::uint32_t channel) const {
    const float value = texture_.settings.border[channel];
    return std::bit_cast<std::uint32_t>(
        texture_.reads_floats ? at_precision(texture_.resource.array.shape.format, value) : value);
  }

  const Texture& texture_;
  const workload::DeviceMemory& memory_;
  std::uint32_t slice_;
  std::uint32_t channels_;
  std::uint32_t channel_bytes_;
  TextureSample& sample_;
};

/// The weighted sum of a filter's texels. `unit` is the sum of all weights.
class Filter {
 public:
  Filter(const Texture& texture, std::int64_t unit)
      : format_(texture.resource.array.shape.format),
        unit_(unit),
        integers_(format_.kind != ChannelKind::Float) {}
  /// Texels of weight 0 have no effect, not even NaN.
  void add(const Texel& texel, std::int64_t weight) {
    if (weight == 0) return;
    for (std::uint32_t c = 0; c < 4; ++c) {
      const double value{std::bit_cast<float>(texel[c])};
      if (integers_)
        levels_[c] += weight * std::llround(value * static_cast<double>(largest(format_)));
      else
        sum_[c] += static_cast<double>(weight) * value;
    }
  }
  [[nodiscard]] Texel result() const {
    Texel result;
    for (std::uint32_t c = 0; c < 4; ++c) {
      const float value = integers_ ? level(levels_[c]) : real(sum_[c] / static_cast<double>(unit_));
      result[c] = std::isnan(value) ? kNan32 : std::bit_cast<std::uint32_t>(value);
    }
    return result;
  }

 private:
  /// The sum rounded to 16 bits, ties upward.
  [[nodiscard]] float level(std::int64_t sum) const {
    const std::int64_t wide = format_.kind == ChannelKind::Signed ? 32767 : 65535;
    const std::int64_t over = 2 * largest(format_) * unit_;
    std::int64_t up = 2 * sum * wide + over / 2;
    if (up < 0) up -= over - 1;  // division rounds toward zero
    const std::int64_t nearest = up / over;
    return static_cast<float>(nearest) / static_cast<float>(wide);
  }
  [[nodiscard]] float real(double sum) const {
    return format_.bits == 16 ? nearest_half_away(sum) : nearest_away(sum);
  }

  const workload::TexelFormat& format_;
  std::int64_t unit_;
  bool integers_;
  std::array<std::int64_t, 4> levels_{};
  std::array<double, 4> sum_{};
};

/// Filters in two dimensions like hardware: the fourth texel's weight is rounded, and the others are derived
/// from it.
Texel filter_plane(const Texture& texture, Reader& reader, const Neighbours& x, const Neighbours& y) {
  Filter filter(texture, 256);
  const std::int64_t both = (x.weight * y.weight + 128) >> 8U;
  const std::array<std::int64_t, 4> weights{256 - x.weight - y.weight + both, x.weight - both,
                                            y.weight - both, both};
  for (std::uint32_t corner = 0; corner < 4; ++corner)
    filter.add(reader.read(x.index[corner & 1U], y.index[corner >> 1U], 0), weights[corner]);
  return filter.result();
}

/// Filters in one dimension, as the first row of a plane at y = 0: halfway between this row and the one
/// before it.
Texel filter_row(const Texture& texture, Reader& reader, const Neighbours& x) {
  Filter filter(texture, 256);
  const bool bordered = texture.settings.address[1] == AddressMode::Border;
  const std::int64_t far = bordered ? (x.weight + 1) / 2 : x.weight;
  const std::int64_t row = bordered ? 128 : 256;
  filter.add(reader.read(x.index[0], 0, 0), row - far);
  filter.add(reader.read(x.index[1], 0, 0), far);
  if (bordered) filter.add(reader.read(0, kOutside, 0), 256 - row);
  return filter.result();
}

/// Filters in three dimensions with exact products. How hardware rounds the weights of eight texels is not
/// known.
Texel filter_volume(const Texture& texture, Reader& reader, const std::array<Neighbours, 3>& along) {
  Filter filter(texture, 1 << 24);
  for (std::uint32_t corner = 0; corner < 8; ++corner) {
    std::int64_t weight = 1;
    std::array<std::int64_t, 3> at{};
    for (unsigned axis = 0; axis < 3; ++axis) {
      const std::uint32_t second = (corner >> axis) & 1U;
      at[axis] = along[axis].index[second];
      weight *= second != 0 ? along[axis].weight : 256 - along[axis].weight;
    }
    filter.add(reader.read(at[0], at[1], at[2]), weight);
  }
  return filter.result();
}

}  // namespace

namespace {

/// Samples one level. Touched texels are appended to `result`.
void sample_level(const Texture& texture, const workload::DeviceMemory& memory, const TextureFetch& fetch,
                  TextureSample& result) {
  Reader reader(texture, memory, fetch, result);
  const unsigned dimensions = texture.dimensions;
  if (texture.resource.kind == TextureResource::Kind::Linear) {
    const double x = fetch.at[0];
    // Texels beyond the ends are zero.
    if (x >= 0 && x < texture.extent[0]) result.value = reader.read(static_cast<std::int64_t>(x), 0, 0);
    return;
  }
  if (fetch.integers || texture.settings.filter == workload::FilterMode::Point) {
    std::array<std::int64_t, 3> at{};
    for (unsigned axis = 0; axis < dimensions; ++axis) {
      const auto index = static_cast<std::int64_t>(std::floor(position(texture, fetch, axis)));
      at[axis] = resolve(texture, fetch, axis, index);
    }
    result.value = reader.read(at[0], at[1], at[2]);
    return;
  }
  std::array<Neighbours, 3> along{};
  for (unsigned axis = 0; axis < dimensions; ++axis) along[axis] = neighbours(texture, fetch, axis);
  result.value = dimensions == 1   ? filter_row(texture, reader, along[0])
                 : dimensions == 2 ? filter_plane(texture, reader, along[0], along[1])
                                   : filter_volume(texture, reader, along);
}

/// A direction as a position on a face (CUDA C++ Programming Guide, "Cubemap Textures"). The guide does not
/// define ties between axes. Here z has precedence over y, and y over x.
struct Face {
  std::uint32_t number = 0;  // +x, -x, +y, -y, +z, -z
  double major = 0, s = 0, t = 0;
};

Face face_along(std::uint32_t number, const double* v) {
  switch (number) {
    case 0: return {0, v[0], -v[2], -v[1]};
    case 1: return {1, -v[0], v[2], -v[1]};
    case 2: return {2, v[1], v[0], v[2]};
    case 3: return {3, -v[1], v[0], -v[2]};
    case 4: return {4, v[2], v[0], -v[1]};
    default: return {5, -v[2], -v[0], -v[1]};
  }
}

Face face_of(const double* v) {
  const double x = std::abs(v[0]), y = std::abs(v[1]), z = std::abs(v[2]);
  const unsigned axis = z >= x && z >= y ? 2 : y >= x ? 1 : 0;
  return face_along(axis * 2 + (v[axis] < 0 ? 1 : 0), v);
}

/// Converts a fetch of a cube map to a fetch of a two-dimensional layer.
TextureFetch on_face(const Texture& texture, const TextureFetch& fetch) {
  const Face face = face_of(fetch.at.data());
  TextureFetch flat = fetch;
  flat.at = {(face.s / face.major + 1) / 2, (face.t / face.major + 1) / 2, 0};
  const std::int64_t cubes = std::int64_t{texture.slices} / 6;
  flat.layer = std::clamp<std::int64_t>(fetch.layer, 0, cubes - 1) * 6 + face.number;
  for (unsigned along = 0; along < 2; ++along) {  // derivative of (s / m + 1) / 2
    const Face change = face_along(face.number, &fetch.gradients[std::size_t{along} * 3]);
    const double over = 2 * face.major * face.major;
    flat.gradients[std::size_t{along} * 2] = (change.s * face.major - face.s * change.major) / over;
    flat.gradients[std::size_t{along} * 2 + 1] = (change.t * face.major - face.t * change.major) / over;
  }
  return flat;
}

/// The mipmap level of a fetch. With gradients, it is derived from the larger of the distances in texels to
/// the neighbours in x and y.
double wanted_level(const Texture& texture, const TextureFetch& fetch) {
  switch (fetch.detail) {
    case isa::TextureDetail::None: return 0;
    case isa::TextureDetail::Level: return fetch.level;
    case isa::TextureDetail::Gradients: break;
  }
  double farthest = 0;
  for (unsigned along = 0; along < 2; ++along) {
    double square = 0;
    for (unsigned axis = 0; axis < texture.dimensions; ++axis) {
      const double step = fetch.gradients[std::size_t{along} * texture.dimensions + axis] *
                          (texture.settings.normalized ? texture.extent[axis] : 1U);
      square += step * step;
    }
    farthest = std::max(farthest, square);
  }
  return std::log2(farthest) / 2;
}

/// The level in 256ths, with the texture's bias, within its bounds and its number of levels.
std::int64_t level_parts(const Texture& texture, const TextureFetch& fetch) {
  const auto last = static_cast<double>(texture.further.size());
  double level = wanted_level(texture, fetch);
  level = std::isnan(level) ? 0 : level + double{texture.settings.level_bias};
  level =
      std::min(std::max(level, double{texture.settings.least_level}), double{texture.settings.most_level});
  return static_cast<std::int64_t>(std::floor(0.5 + std::clamp(level, 0.0, last) * 256));
}

const Texture& level_of(const Texture& texture, std::int64_t level) {
  return level == 0 ? texture : texture.further[static_cast<std::size_t>(level) - 1];
}

void sample_mipmap(const Texture& texture, const workload::DeviceMemory& memory, const TextureFetch& fetch,
                   TextureSample& result) {
  const std::int64_t parts = level_parts(texture, fetch);
  if (texture.settings.level_filter == workload::FilterMode::Point)
    return sample_level(level_of(texture, (128 + parts) >> 8U), memory, fetch, result);
  sample_level(level_of(texture, parts >> 8U), memory, fetch, result);
  const std::int64_t weight = parts & 255;
  if (weight == 0) return;
  const Texel finer = result.value;
  sample_level(level_of(texture, (parts >> 8U) + 1), memory, fetch, result);
  for (std::uint32_t c = 0; c < 4; ++c) {
    const double near = std::bit_cast<float>(finer[c]), far = std::bit_cast<float>(result.value[c]);
    const auto value = static_cast<float>(
        (near * static_cast<double>(256 - weight) + far * static_cast<double>(weight)) / 256);
    result.value[c] = std::isnan(value) ? kNan32 : std::bit_cast<std::uint32_t>(value);
  }
}

}  // namespace

TextureSample sample(const Texture& texture, const workload::DeviceMemory& memory,
                     const TextureFetch& fetch) {
  TextureSample result;
  const auto read = [&](const TextureFetch& at) {
    if (texture.further.empty())
      sample_level(texture, memory, at, result);
    else
      sample_mipmap(texture, memory, at, result);
  };
  if (texture.cube) [[unlikely]]
    read(on_face(texture, fetch));
  else
    read(fetch);
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

std::uint32_t answer(const Texture& texture, isa::TextureQuery query, std::uint32_t level) {
  using isa::TextureQuery;
  const workload::ArrayShape& shape = texture.resource.array.shape;
  const auto at_level = [&](std::uint32_t extent) {
    if (level > texture.further.size()) return 0U;
    return extent == 0 ? 0U : std::max(1U, extent >> level);
  };
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
    case TextureQuery::Width: return at_level(shape.width);
    case TextureQuery::Height: return at_level(shape.height);
    case TextureQuery::Depth: return at_level(shape.depth);
    case TextureQuery::ArraySize: return texture.layered ? texture.slices : 0;
    case TextureQuery::MipmapLevels: return static_cast<std::uint32_t>(texture.further.size() + 1);
    case TextureQuery::ChannelDataType: {
      // OpenCL's numbers, which PTX uses.
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
