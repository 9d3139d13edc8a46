// Texture fetches against a slow reference, for every geometry, address mode, filter, format and kind of
// coordinates. Also faults, the records for the machine, queries and texture references.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "emulator/half.hpp"
#include "emulator/ptx_runner.hpp"
#include "emulator/texture_sampler.hpp"

namespace gpumux::emulator::test {
namespace {

using workload::AddressMode;
using workload::ArrayShape;
using workload::ChannelKind;
using workload::FilterMode;
using workload::MemHeader;
using workload::ReadMode;
using workload::TexelFormat;
using workload::TextureArray;
using workload::TextureResource;
using workload::TextureSettings;
using workload::Transaction;

// --- kernels ---------------------------------------------------------------------------------------------

struct Geometry {
  const char* name;
  unsigned words;            // coordinates as PTX has them, the layer included
  const char* float_list;    // of %f1 to %f3, or the layer %r4
  const char* integer_list;  // of %r1 to %r3
};
constexpr Geometry kGeometries[] = {{"1d", 1, "%f1", "%r1"},
                                    {"2d", 2, "%f1, %f2", "%r1, %r2"},
                                    {"3d", 3, "%f1, %f2, %f3, %f3", "%r1, %r2, %r3, %r3"},
                                    {"a1d", 2, "%r4, %f1", "%r4, %r1"},
                                    {"a2d", 3, "%r4, %f1, %f2, %f2", "%r4, %r1, %r2, %r2"}};

/// Thread t reads x, y, z and the layer from in[4 t], and writes four words to out[4 t].
std::string texture_kernel(const std::string& name, const std::string& fetch) {
  return ".visible .entry " + name + R"((.param .u64 t, .param .u64 in, .param .u64 out)
{
  .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [t];
  ld.param.u64 %rd2, [in];
  ld.param.u64 %rd3, [out];
  mov.u32 %r10, %tid.x;
  mul.wide.u32 %rd4, %r10, 16;
  add.s64 %rd5, %rd2, %rd4;
  add.s64 %rd6, %rd3, %rd4;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd5];
  mov.b32 %f1, %r1;
  mov.b32 %f2, %r2;
  mov.b32 %f3, %r3;
  )" + fetch +
         R"(
  st.global.v4.u32 [%rd6], {%r11, %r12, %r13, %r14};
  ret;
}
)";
}

std::string all_texture_kernels() {
  std::string text;
  for (const Geometry& g : kGeometries) {
    for (const char* type : {"f32", "s32", "u32"}) {
      for (const bool integers : {false, true}) {
        const bool real = std::string(type) == "f32";
        const std::string results = real ? "{%f5, %f6, %f7, %f8}" : "{%r11, %r12, %r13, %r14}";
        std::string fetch = std::string("tex.") + g.name + ".v4." + type + (integers ? ".s32 " : ".f32 ") +
                            results + ", [%rd1, {" + (integers ? g.integer_list : g.float_list) + "}];\n";
        if (real) fetch += "mov.b32 %r11, %f5; mov.b32 %r12, %f6; mov.b32 %r13, %f7; mov.b32 %r14, %f8;";
        text += texture_kernel(std::string("k_") + g.name + "_" + type + (integers ? "_s32" : "_f32"), fetch);
      }
    }
  }
  return text;
}

// --- the reference ----------------------------------------------------------------------------------------

/// A texture as docs/textures.md describes it: texels by their numbers, no memory.
struct TextureReference {
  TexelFormat format;
  unsigned axes = 1;
  std::array<int, 3> extent{1, 1, 1};
  int layers = 0;
  bool linear_memory = false;
  TextureSettings settings;
  std::vector<std::uint8_t> bytes;  // x fastest, then y, then z or the layer

  [[nodiscard]] bool promoted() const {
    return settings.read == ReadMode::NormalizedFloat && format.kind != ChannelKind::Float &&
           format.bits != 32;
  }
  [[nodiscard]] bool floats() const { return format.kind == ChannelKind::Float || promoted(); }
  [[nodiscard]] AddressMode mode(unsigned axis, bool integers) const {
    const AddressMode wanted = settings.address[axis];
    const bool repeats = wanted == AddressMode::Wrap || wanted == AddressMode::Mirror;
    return repeats && (!settings.normalized || integers) ? AddressMode::Clamp : wanted;
  }
  /// Number of the texel that an axis has in place of number i; -1: the border.
  [[nodiscard]] int texel_of(unsigned axis, bool integers, int i) const {
    const int n = extent[axis];
    switch (mode(axis, integers)) {
      case AddressMode::Clamp: return i < 0 ? 0 : i >= n ? n - 1 : i;
      case AddressMode::Border: return i < 0 || i >= n ? -1 : i;
      case AddressMode::Wrap:
        while (i < 0) i += n;
        while (i >= n) i -= n;
        return i;
      case AddressMode::Mirror:
        while (i < 0) i += 2 * n;
        while (i >= 2 * n) i -= 2 * n;
        return i < n ? i : 2 * n - 1 - i;
    }
    return 0;
  }
  [[nodiscard]] std::uint32_t raw(int x, int y, int slice, unsigned channel) const {
    const std::size_t texel = (static_cast<std::size_t>(slice) * extent[1] + y) * extent[0] + x;
    const std::size_t at = (texel * format.channels + channel) * (format.bits / 8);
    std::uint32_t value = 0;
    for (unsigned b = 0; b < format.bits / 8U; ++b) value |= std::uint32_t{bytes[at + b]} << (8 * b);
    return value;
  }
  [[nodiscard]] std::uint32_t channel(int x, int y, int z, int layer, unsigned c) const {
    if (c >= format.channels) return c < 3 ? 0 : floats() ? 0x3f800000U : 1U;
    if (x < 0 || y < 0 || z < 0) return border(c);
    const std::uint32_t bits = raw(x, y, layers != 0 ? layer : z, c);
    if (format.kind == ChannelKind::Float)
      return format.bits == 32 ? bits : std::bit_cast<std::uint32_t>(half_to_float(bits));
    if (format.kind == ChannelKind::Unsigned) {
      if (!promoted()) return bits;
      return std::bit_cast<std::uint32_t>(static_cast<float>(bits) / (format.bits == 8 ? 255.0F : 65535.0F));
    }
    const std::int32_t value = format.bits == 8    ? static_cast<std::int8_t>(bits)
                               : format.bits == 16 ? static_cast<std::int16_t>(bits)
                                                   : static_cast<std::int32_t>(bits);
    if (!promoted()) return static_cast<std::uint32_t>(value);
    const float scaled = static_cast<float>(value) / (format.bits == 8 ? 127.0F : 32767.0F);
    return std::bit_cast<std::uint32_t>(scaled < -1.0F ? -1.0F : scaled);
  }
  [[nodiscard]] int largest() const {
    const int levels = format.bits == 8 ? 256 : 65536;
    return (format.kind == ChannelKind::Signed ? levels / 2 : levels) - 1;
  }
  /// The border's value as a texel would hold it.
  [[nodiscard]] std::uint32_t border(unsigned c) const {
    const float value = settings.border[c];
    if (!promoted()) return std::bit_cast<std::uint32_t>(value);  // those here are whole f16
    const double level = static_cast<double>(value) * largest();
    int nearest = static_cast<int>(std::floor(level));
    if (level - nearest >= 0.5) ++nearest;
    nearest = std::min(std::max(nearest, format.kind == ChannelKind::Signed ? -largest() : 0), largest());
    return std::bit_cast<std::uint32_t>(static_cast<float>(nearest) / static_cast<float>(largest()));
  }
  /// Of two neighbouring values of a format the nearer one, where x is in the middle the one away from zero.
  [[nodiscard]] static float nearest(long double x, float below, float above) {
    const long double down = x - below, up = above - x;
    if (down == up) return std::abs(below) > std::abs(above) ? below : above;
    return down < up ? below : above;
  }
  /// What a filter gives for 256ths (in three dimensions 2^-24) of texels.
  [[nodiscard]] std::uint32_t filtered(
      const std::vector<std::pair<std::int64_t, std::uint32_t>>& shares) const {
    std::int64_t unit = 0;
    long double sum = 0;
    long double levels = 0;
    for (const auto& [weight, bits] : shares) {
      unit += weight;
      if (weight == 0) continue;
      const float value = std::bit_cast<float>(bits);
      sum += static_cast<long double>(weight) * value;
      if (promoted())
        levels += static_cast<long double>(weight) * std::round(value * static_cast<float>(largest()));
    }
    if (promoted()) {  // multiples of 1/65535, or 1/32767 if signed; halves up. All here are exact.
      const int wide = format.kind == ChannelKind::Signed ? 32767 : 65535;
      const long double most = static_cast<long double>(largest()) * static_cast<long double>(unit);
      auto level = static_cast<int>(std::floor(levels * wide / most));
      if (2 * (levels * wide - level * most) >= most) ++level;
      return std::bit_cast<std::uint32_t>(static_cast<float>(level) / static_cast<float>(wide));
    }
    sum /= static_cast<long double>(unit);
    if (std::isnan(sum)) return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    if (format.bits == 16) {
      std::uint32_t magnitude = float_to_half(static_cast<float>(std::abs(sum)));
      if (half_to_float(magnitude) > std::abs(sum)) --magnitude;  // the f16 next to the sum towards zero
      const float value = nearest(std::abs(sum), half_to_float(magnitude), half_to_float(magnitude + 1));
      return std::bit_cast<std::uint32_t>(std::signbit(sum) ? -value : value);
    }
    const auto value = static_cast<float>(sum);
    const float below = value > sum ? std::nextafter(value, -10.0F) : value;
    const float above = value < sum ? std::nextafter(value, 10.0F) : value;
    return std::bit_cast<std::uint32_t>(below == above ? value : nearest(sum, below, above));
  }
  /// Coordinate in texels; far ones are brought near, which changes no texel.
  [[nodiscard]] double in_texels(unsigned axis, float x) const {
    if (std::isnan(x)) return 0;
    double at = x;
    const int n = extent[axis];
    if (settings.normalized) {
      at = std::floor(std::ldexp(at, 21));  // cut off
      const AddressMode m = mode(axis, false);
      if (m == AddressMode::Wrap || m == AddressMode::Mirror) {
        if (std::isinf(x)) return 0;
        const double period = std::ldexp(m == AddressMode::Wrap ? 1 : 2, 21);
        at = std::fmod(at, period);
        if (at < 0) at += period;
      }
      at = std::ldexp(at, -21) * n;
    }
    return std::min(std::max(at, -1000.0), 1000.0);
  }
  [[nodiscard]] std::array<std::uint32_t, 4> fetch(const std::array<std::uint32_t, 4>& words, bool integers,
                                                   unsigned* ulps) const {
    std::array<std::uint32_t, 4> result{};
    *ulps = 0;
    const int layer =
        layers == 0
            ? 0
            : static_cast<int>(std::min<std::uint64_t>(words[3], static_cast<std::uint64_t>(layers) - 1));
    if (linear_memory) {
      const auto i = static_cast<std::int32_t>(words[0]);
      if (i < 0 || i >= extent[0]) return result;
      for (unsigned c = 0; c < 4; ++c) result[c] = channel(i, 0, 0, 0, c);
      return result;
    }
    std::array<int, 3> at{};
    if (integers || settings.filter == FilterMode::Point) {
      for (unsigned a = 0; a < axes; ++a) {
        const double x = integers
                             ? std::min(std::max<double>(static_cast<std::int32_t>(words[a]), -1000), 1000.0)
                             : in_texels(a, std::bit_cast<float>(words[a]));
        at[a] = texel_of(a, integers, static_cast<int>(std::floor(x)));
      }
      for (unsigned c = 0; c < 4; ++c) result[c] = channel(at[0], at[1], at[2], layer, c);
      return result;
    }
    *ulps = format.kind == ChannelKind::Float && format.bits == 32 ? 1 : 0;
    std::array<int, 3> first{};
    std::array<std::int64_t, 3> share{};  // 256ths of the second texel
    for (unsigned a = 0; a < axes; ++a) {
      const double x = std::floor((in_texels(a, std::bit_cast<float>(words[a])) - 0.5) * 256 + 0.5);
      first[a] = static_cast<int>(std::floor(x / 256));
      share[a] = static_cast<std::int64_t>(x) - 256 * first[a];
    }
    const int rows = axes == 3 ? 4 : 2;  // of texels, by y and z
    for (unsigned c = 0; c < 4; ++c) {
      std::vector<std::pair<std::int64_t, std::uint32_t>> shares;
      for (int i = 0; i < rows; ++i) {
        const int dy = i % 2, dz = i / 2;
        for (int dx = 0; dx < 2; ++dx) {
          std::int64_t weight = 1;
          if (axes == 3) {
            weight = (dx != 0 ? share[0] : 256 - share[0]) * (dy != 0 ? share[1] : 256 - share[1]) *
                     (dz != 0 ? share[2] : 256 - share[2]);
          } else {  // one dimension: two rows, halfway between them
            const std::int64_t x = share[0], y = axes == 2 ? share[1] : 128;
            const auto both = static_cast<std::int64_t>(std::floor(static_cast<double>(x * y) / 256 + 0.5));
            weight = dx + dy == 2 ? both : dx == 1 ? x - both : dy == 1 ? y - both : 256 - x - y + both;
          }
          int y = 0;
          if (axes > 1) y = texel_of(1, false, first[1] + dy);
          if (axes == 1 && dy == 0 && settings.address[1] == AddressMode::Border) y = -1;
          const int z = axes == 3 ? texel_of(2, false, first[2] + dz) : 0;
          shares.emplace_back(weight, channel(texel_of(0, false, first[0] + dx), y, z, layer, c));
        }
      }
      result[c] = filtered(shares);
    }
    return result;
  }
};

// --- the comparison ---------------------------------------------------------------------------------------

enum class Source : std::uint8_t { Linear, Pitch2D, Array1, Array2, Array3, Layered1, Layered2 };
constexpr Source kSources[] = {Source::Linear, Source::Pitch2D,  Source::Array1,  Source::Array2,
                               Source::Array3, Source::Layered1, Source::Layered2};

const Geometry& geometry_of(Source source) {
  switch (source) {
    case Source::Linear:
    case Source::Array1: return kGeometries[0];
    case Source::Pitch2D:
    case Source::Array2: return kGeometries[1];
    case Source::Array3: return kGeometries[2];
    case Source::Layered1: return kGeometries[3];
    case Source::Layered2: return kGeometries[4];
  }
  return kGeometries[0];
}

std::vector<TexelFormat> formats() {
  std::vector<TexelFormat> all;
  for (const std::uint8_t channels : std::array<std::uint8_t, 3>{1, 2, 4}) {
    for (const std::uint8_t bits : std::array<std::uint8_t, 3>{8, 16, 32}) {
      all.push_back({ChannelKind::Signed, bits, channels});
      all.push_back({ChannelKind::Unsigned, bits, channels});
      if (bits > 8) all.push_back({ChannelKind::Float, bits, channels});
    }
  }
  return all;
}

class TextureUnit : public testing::Test {
 protected:
  static constexpr std::uint32_t kThreads = 64;

  TextureUnit() : runner_(all_texture_kernels(), 1) {}

  /// Fills a reference with random texels, and device memory with the same; gives what reads them.
  TextureResource place(Source source, TextureReference& reference) {
    const auto upto = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random_); };
    const TexelFormat format = reference.format;
    reference.extent = {upto(40), 1, 1};
    if (source == Source::Pitch2D || source == Source::Array2 || source == Source::Array3 ||
        source == Source::Layered2)
      reference.extent[1] = upto(19);
    if (source == Source::Array3) reference.extent[2] = upto(5);
    reference.layers = source == Source::Layered1 || source == Source::Layered2 ? upto(4) : 0;
    reference.axes = source == Source::Array3 ? 3
                     : source == Source::Pitch2D || source == Source::Array2 || source == Source::Layered2
                         ? 2
                         : 1;
    reference.linear_memory = source == Source::Linear;
    const int slices = reference.layers != 0 ? reference.layers : reference.extent[2];
    const std::size_t row = static_cast<std::size_t>(reference.extent[0]) * format.bytes();
    reference.bytes.resize(row * reference.extent[1] * slices);
    for (std::uint8_t& byte : reference.bytes) byte = static_cast<std::uint8_t>(random_());
    if (format.kind == ChannelKind::Float) {  // numbers of moderate size, and some that are none
      for (std::size_t i = 0; i < reference.bytes.size(); i += format.bits / 8U) {
        const float value = std::uniform_real_distribution<float>(-4, 4)(random_);
        const std::uint32_t bits =
            format.bits == 16 ? float_to_half(value) : std::bit_cast<std::uint32_t>(value);
        std::memcpy(&reference.bytes[i], &bits, format.bits / 8U);
      }
    }
    auto& memory = runner_.device.memory;
    const auto width = static_cast<std::uint32_t>(reference.extent[0]);
    const auto height = static_cast<std::uint32_t>(reference.extent[1]);
    const auto bytes = std::as_bytes(std::span(reference.bytes));
    if (source == Source::Linear) {
      const Address at = memory.allocate(reference.bytes.size());
      memory.write(at, bytes);
      return TextureResource::linear(at, format, width);
    }
    if (source == Source::Pitch2D) {
      const std::size_t pitch = (row + 31) / 32 * 32 + 32;
      const Address at = memory.allocate(pitch * height);
      for (std::uint32_t y = 0; y < height; ++y) memory.write(at + y * pitch, bytes.subspan(y * row, row));
      return TextureResource::pitch2d(at, format, width, height, pitch);
    }
    ArrayShape shape{format, width, 0, 0, static_cast<std::uint32_t>(reference.layers)};
    if (reference.axes > 1) shape.height = height;
    if (reference.axes > 2) shape.depth = static_cast<std::uint32_t>(reference.extent[2]);
    TextureArray array{0, shape};
    array.address = memory.allocate(array.bytes());
    memory.write(array.address, workload::lay_out(array, bytes));
    return TextureResource::of(array);
  }

  float coordinate(bool normalized, int extent) {
    switch (random_() % 16) {
      case 0: return std::numeric_limits<float>::quiet_NaN();
      case 1: return std::numeric_limits<float>::infinity();
      case 2: return -std::numeric_limits<float>::infinity();
      case 3: return 3e38F;
      case 4: return -1e20F;
      case 5: return 1e-40F;
      case 6: return std::floor(std::uniform_real_distribution<float>(-3, 3)(random_));
      default: break;
    }
    const float range = normalized ? 3.0F : 2.0F * static_cast<float>(extent);
    const float x = std::uniform_real_distribution<float>(-range, range)(random_);
    if (random_() % 4 != 0) return x;
    // Where texels begin and their middles.
    const float grid = normalized ? 2.0F * static_cast<float>(extent) : 2.0F;
    return std::round(x * grid) / grid;
  }

  void compare(Source source, const TexelFormat& format, const TextureSettings& settings, bool integers) {
    auto& memory = runner_.device.memory;
    TextureReference reference;
    reference.format = format;
    reference.settings = settings;
    const TextureResource resource = place(source, reference);
    const std::uint64_t texture = memory.textures().create(resource, settings);
    std::vector<std::array<std::uint32_t, 4>> in(kThreads), out(kThreads);
    for (auto& words : in) {
      for (unsigned a = 0; a < 3; ++a) {
        const int far = 2 * reference.extent[a] + 2;
        words[a] = integers
                       ? static_cast<std::uint32_t>(
                             random_() % 16 == 0 ? static_cast<std::int32_t>(random_())
                                                 : std::uniform_int_distribution<int>(-far, far)(random_))
                       : std::bit_cast<std::uint32_t>(coordinate(settings.normalized, reference.extent[a]));
      }
      words[3] = random_() % 8 == 0 ? static_cast<std::uint32_t>(random_())
                                    : static_cast<std::uint32_t>(random_() % 6);
    }
    const Address from = memory.allocate(kThreads * 16);
    const Address to = memory.allocate(kThreads * 16);
    memory.write(from, std::as_bytes(std::span(in)));
    const char* type = reference.floats() ? "f32" : format.kind == ChannelKind::Signed ? "s32" : "u32";
    const std::string name =
        std::string("k_") + geometry_of(source).name + "_" + type + (integers ? "_s32" : "_f32");
    runner_.run(name, {1, 1, 1}, {kThreads, 1, 1}, {texture, from, to});
    memory.read(to, std::as_writable_bytes(std::span(out)));
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      unsigned ulps = 0;
      const auto expected = reference.fetch(in[t], integers, &ulps);
      for (unsigned c = 0; c < 4; ++c) {
        const std::uint32_t difference =
            out[t][c] > expected[c] ? out[t][c] - expected[c] : expected[c] - out[t][c];
        ASSERT_LE(difference, ulps) << name << " thread " << t << " channel " << c << ": " << std::hex
                                    << out[t][c] << " and " << expected[c] << " at " << in[t][0] << ' '
                                    << in[t][1] << ' ' << in[t][2] << ' ' << in[t][3] << std::dec
                                    << " extent " << reference.extent[0] << ' ' << reference.extent[1] << ' '
                                    << reference.extent[2];
      }
    }
    memory.textures().destroy(texture);
    memory.free(resource.array.address);
    memory.free(from);
    memory.free(to);
  }

  std::mt19937 random_{1};
  PtxRunner runner_;
};

TEST_F(TextureUnit, EveryKindOfFetchGivesWhatTheReferenceGives) {
  std::uint32_t kinds = 0;
  for (const Source source : kSources) {
    for (const TexelFormat& format : formats()) {
      for (const ReadMode read : {ReadMode::ElementType, ReadMode::NormalizedFloat}) {
        for (const FilterMode filter : {FilterMode::Point, FilterMode::Linear}) {
          for (const AddressMode mode :
               {AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border}) {
            for (const bool normalized : {false, true}) {
              for (const bool integers : {false, true}) {
                TextureSettings settings;
                settings.read = read;
                settings.filter = filter;
                settings.normalized = normalized;
                // The first axis has the mode; the others any.
                for (AddressMode& each : settings.address) each = static_cast<AddressMode>(random_() % 4);
                settings.address[0] = mode;
                settings.border = {0.25F, -3.0F, 7.0F, 0.5F};
                TextureReference reference;
                reference.format = format;
                reference.settings = settings;
                if (filter == FilterMode::Linear && !reference.floats()) continue;
                if (source == Source::Linear && !integers) continue;
                compare(source, format, settings, integers);
                if (HasFatalFailure()) {
                  FAIL() << "source " << static_cast<int>(source) << " kind " << static_cast<int>(format.kind)
                         << " bits " << int{format.bits} << " channels " << int{format.channels} << " read "
                         << static_cast<int>(read) << " filter " << static_cast<int>(filter) << " mode "
                         << static_cast<int>(mode) << " normalized " << normalized;
                }
                ++kinds;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(kinds, 5000U);
}

// --- by hand ----------------------------------------------------------------------------------------------

class TextureByHand : public testing::Test {
 protected:
  /// An array of floats 0, 1, 2 and so on.
  TextureResource counting(std::uint32_t width, std::uint32_t height, std::uint32_t depth = 0,
                           std::uint32_t layers = 0) {
    TextureArray array{0, {{}, width, height, depth, layers}};
    array.address = device.memory.allocate(array.bytes());
    std::vector<float> texels(array.texel_bytes() / 4);
    for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(i);
    device.memory.write(array.address, workload::lay_out(array, std::as_bytes(std::span(texels))));
    return TextureResource::of(array);
  }
  std::uint64_t object(const TextureResource& resource, const TextureSettings& settings = {}) {
    return device.memory.textures().create(resource, settings);
  }
  float first(std::uint64_t texture, double x, double y = 0) {
    TextureFetch fetch;
    fetch.at = {x, y, 0};
    const workload::Texture* found = device.memory.textures().find(texture);
    return std::bit_cast<float>(sample(*found, device.memory, fetch).value[0]);
  }
  static TextureSettings with(AddressMode mode, FilterMode filter, bool normalized) {
    TextureSettings settings;
    settings.address = {mode, mode, mode};
    settings.filter = filter;
    settings.normalized = normalized;
    return settings;
  }
  Device device;
};

TEST_F(TextureByHand, LinearFilteringHasItsFractionIn256ths) {
  const auto t = object(counting(4, 0), with(AddressMode::Clamp, FilterMode::Linear, false));
  EXPECT_EQ(first(t, 1.5), 1.0F);  // the middle of texel 1
  EXPECT_EQ(first(t, 2.0), 1.5F);
  EXPECT_EQ(first(t, 1.5 + 1.0 / 256), 1 + 1.0F / 256);
  EXPECT_EQ(first(t, 1.5 + 1.0 / 1024), 1.0F);  // less than half a step
  EXPECT_EQ(first(t, 1.5 + 1.0 / 512), 1 + 1.0F / 256);
  EXPECT_EQ(first(t, 0.0), 0.0F);
  EXPECT_EQ(first(t, 9.0), 3.0F);
}

TEST_F(TextureByHand, AddressModesByTheirPictures) {
  const auto wrap = object(counting(4, 0), with(AddressMode::Wrap, FilterMode::Point, true));
  const auto mirror = object(counting(4, 0), with(AddressMode::Mirror, FilterMode::Point, true));
  const auto clamp = object(counting(4, 0), with(AddressMode::Clamp, FilterMode::Point, true));
  TextureSettings bordered = with(AddressMode::Border, FilterMode::Point, true);
  bordered.border[0] = -1;
  const auto border = object(counting(4, 0), bordered);
  const double at[] = {-1.1, -0.1, 0.1, 0.9, 1.1, 2.1};
  const float wraps[] = {3, 3, 0, 3, 0, 0};
  const float mirrors[] = {3, 0, 0, 3, 3, 0};
  const float clamps[] = {0, 0, 0, 3, 3, 3};
  const float borders[] = {-1, -1, 0, 3, -1, -1};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(first(wrap, at[i]), wraps[i]) << at[i];
    EXPECT_EQ(first(mirror, at[i]), mirrors[i]) << at[i];
    EXPECT_EQ(first(clamp, at[i]), clamps[i]) << at[i];
    EXPECT_EQ(first(border, at[i]), borders[i]) << at[i];
  }
  // Halfway between the last texel and the first.
  const auto around = object(counting(4, 0), with(AddressMode::Wrap, FilterMode::Linear, true));
  EXPECT_EQ(first(around, 0.0), 1.5F);
}

TEST_F(TextureByHand, TilesOfAnArrayAreLines) {
  TextureArray array{0, {{}, 20, 9, 0, 0}};
  EXPECT_EQ(array.bytes(), 3U * 3 * 128);  // 80 bytes and 9 rows in tiles of 32 bytes and 4 rows
  EXPECT_EQ(array.offset(0, 0, 0), 0U);
  EXPECT_EQ(array.offset(7, 3, 0), 127U - 3);
  EXPECT_EQ(array.offset(8, 0, 0), 128U);
  EXPECT_EQ(array.offset(0, 4, 0), 3U * 128);
  EXPECT_EQ(array.offset(9, 5, 0), 4U * 128 + 32 + 4);
  std::set<std::uint64_t> all;
  array.shape.depth = 3;
  for (std::uint32_t z = 0; z < 3; ++z)
    for (std::uint32_t y = 0; y < 9; ++y)
      for (std::uint32_t x = 0; x < 20; ++x) all.insert(array.offset(x, y, z));
  EXPECT_EQ(all.size(), 20U * 9 * 3);
  EXPECT_LT(*all.rbegin(), array.bytes());
  const TextureArray row{0, {{ChannelKind::Unsigned, 8, 1}, 130, 0, 0, 2}};
  EXPECT_EQ(row.offset(5, 0, 1), 256U + 5);
  EXPECT_EQ(row.bytes(), 512U);
}

TEST_F(TextureByHand, CoordinatesFromZeroToOneHave21Bits) {
  const auto t = object(counting(23, 0), with(AddressMode::Wrap, FilterMode::Point, true));
  const double edge = 957395.5 / (1 << 20);  // 21 + 5e-7 texels
  EXPECT_EQ(first(t, edge), 21.0F);
  EXPECT_EQ(first(t, edge - 1e-9), 20.0F);
  EXPECT_EQ(first(t, -1e-30), 22.0F);
}

TEST_F(TextureByHand, TheFourthTexelsWeightIsRoundedAndTheOthersAreWhatIsLeft) {
  const auto t = object(counting(2, 2), with(AddressMode::Clamp, FilterMode::Linear, false));  // 0 1 / 2 3
  const double x = 0.5 + 3.0 / 256,
               y = 0.5 + 100.0 / 256;  // 300/256 are 1 for texel 3; 2 and 99 for the others
  EXPECT_EQ(first(t, x, y), (2 * 1 + 99 * 2 + 1 * 3) / 256.0F);
}

TEST_F(TextureByHand, HalfABorderLiesBeforeARow) {
  TextureSettings settings = with(AddressMode::Border, FilterMode::Linear, false);
  settings.border[0] = 100;
  EXPECT_EQ(first(object(counting(4, 0), settings), 2.5), (2 + 100) / 2.0F);
  settings.address[1] = AddressMode::Clamp;
  EXPECT_EQ(first(object(counting(4, 0), settings), 2.5), 2.0F);
}

// --- what the machine is told, and faults -----------------------------------------------------------------

class TextureKernels : public testing::Test {
 protected:
  TextureKernels()
      : runner(
            all_texture_kernels() +
            texture_kernel("gather", "tld4.g.2d.v4.u32.f32 {%r11, %r12, %r13, %r14}, [%rd1, {%f1, %f2}];") +
            texture_kernel("level",
                           "tex.level.2d.v4.u32.f32 {%r11, %r12, %r13, %r14}, [%rd1, {%f1, %f2}], %f3;") +
            texture_kernel("grad",
                           "tex.grad.2d.v4.u32.f32 {%r11, %r12, %r13, %r14}, [%rd1, {%f1, %f2}], {%f3, %f3}, "
                           "{%f1, %f1};") +
            texture_kernel(
                "ask",
                "txq.width.b32 %r11, [%rd1]; txq.height.b32 %r12, [%rd1]; txq.channel_order.b32 %r13, "
                "[%rd1]; txq.channel_data_type.b32 %r14, [%rd1];") +
            texture_kernel(
                "ask_more",
                "txq.depth.b32 %r11, [%rd1]; txq.normalized_mode.b32 %r12, [%rd1]; txq.filter_mode.b32 "
                "%r13, [%rd1]; txq.addr_mode_1.b32 %r14, [%rd1];") +
            ".global .texref bound;\n" +
            texture_kernel("reference", "tex.1d.v4.u32.s32 {%r11, %r12, %r13, %r14}, [bound, {%r1}];")) {}

  Address words(const std::vector<std::uint32_t>& values) {
    const Address at = runner.device.memory.allocate(std::max<std::size_t>(values.size(), 256) * 4);
    runner.device.memory.write(at, std::as_bytes(std::span(values)));
    return at;
  }
  std::uint64_t linear(std::uint32_t texels, std::uint8_t channels = 1) {
    std::vector<std::uint32_t> values(std::size_t{texels} * channels);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(100 + i);
    return runner.device.memory.textures().create(
        TextureResource::linear(words(values), {ChannelKind::Unsigned, 32, channels}, texels), {});
  }
  std::vector<std::uint32_t> run(const std::string& name, std::uint64_t texture,
                                 const std::vector<std::uint32_t>& in) {
    const Address to = runner.device.memory.allocate(16);
    runner.run(name, {1, 1, 1}, {1, 1, 1}, {texture, words(in), to});
    std::vector<std::uint32_t> out(4);
    runner.device.memory.read(to, std::as_writable_bytes(std::span(out)));
    return out;
  }
  std::string fault(const std::string& name, std::uint64_t texture) {
    const std::string what =
        runner.fault_of(name, {1, 1, 1}, {1, 1, 1}, {texture, words({0, 0, 0, 0}), words({})});
    const std::size_t at = what.find("texture");
    return at == std::string::npos ? what : what.substr(at, what.find(", thread") - at);
  }
  /// The record of the fetch of one warp.
  std::pair<MemHeader, std::vector<Transaction>> record(const std::string& name, std::uint64_t texture,
                                                        const std::vector<std::uint32_t>& in) {
    const auto source =
        runner.launch(name, {1, 1, 1}, {32, 1, 1}, {texture, words(in), runner.device.memory.allocate(512)});
    const auto block = source->begin_block(0, 0, 0, 0);
    block->refill(0, 512);
    workload::WarpStream& stream = block->stream(0);
    for (; stream.next != stream.end; ++stream.next) {
      if (source->static_table()[stream.next->pc].unit != isa::Unit::Memory) continue;
      const auto header = std::bit_cast<MemHeader>(*stream.mem_next++);
      std::vector<Transaction> lines;
      for (unsigned i = 0; i < header.transactions; ++i) lines.push_back({*stream.mem_next++});
      if (header.where == MemHeader::Where::Texture) return {header, lines};
    }
    return {};
  }
  PtxRunner runner;
};

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST_F(TextureKernels, LinesOfAFetch) {
  // Neighbours of linear memory: 32 texels of 16 bytes in four lines.
  std::vector<std::uint32_t> in;
  for (std::uint32_t lane = 0; lane < 32; ++lane) in.insert(in.end(), {lane, 0, 0, 0});
  const auto [header, lines] = record("k_1d_u32_s32", linear(64, 4), in);
  EXPECT_EQ(header.transactions, 4U);
  ASSERT_EQ(lines.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lines[i].line(), lines[0].line() + i);
    EXPECT_EQ(lines[i].sectors(), 0xfU);
    EXPECT_EQ(lines[i].lanes(), 8U);
  }
  // Beyond the end there is nothing to read.
  for (std::uint32_t lane = 0; lane < 32; ++lane) in[4 * lane] = 64 + lane;
  EXPECT_EQ(record("k_1d_u32_s32", linear(64, 4), in).first.transactions, 0U);
}

TEST_F(TextureKernels, LinearFilteringTouchesItsNeighboursLines) {
  auto& memory = runner.device.memory;
  TextureArray array{0, {{}, 64, 64, 0, 0}};
  array.address = memory.allocate(array.bytes());
  TextureSettings settings;
  settings.filter = FilterMode::Linear;
  const std::uint64_t texture = memory.textures().create(TextureResource::of(array), settings);
  // All lanes at one point whose four texels lie in four tiles.
  std::vector<std::uint32_t> in;
  for (std::uint32_t lane = 0; lane < 32; ++lane) in.insert(in.end(), {bits(8.0F), bits(4.0F), 0, 0});
  const auto [header, lines] = record("k_2d_f32_f32", texture, in);
  ASSERT_EQ(header.transactions, 4U);
  const std::uint64_t base = array.address / kLineBytes;
  const std::uint64_t expected[] = {base, base + 1, base + 8, base + 9};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lines[i].line(), expected[i]);
    EXPECT_EQ(lines[i].lanes(), 32U);
    EXPECT_EQ(lines[i].sectors(), i < 2 ? 0x8U : 0x1U);
  }
}

TEST_F(TextureKernels, GatherTakesFourTexelsAgainstTheClock) {
  auto& memory = runner.device.memory;
  TextureArray array{0, {{ChannelKind::Unsigned, 16, 2}, 4, 4, 0, 0}};
  array.address = memory.allocate(array.bytes());
  std::vector<std::uint16_t> texels;
  for (std::uint16_t i = 0; i < 16; ++i) texels.insert(texels.end(), {0, i});
  memory.write(array.address, workload::lay_out(array, std::as_bytes(std::span(texels))));
  const std::uint64_t texture = memory.textures().create(TextureResource::of(array), {});
  EXPECT_EQ(run("gather", texture, {bits(2.0F), bits(1.0F), 0, 0}),
            (std::vector<std::uint32_t>{1 + 4, 2 + 4, 2, 1}));
  // Levels and gradients choose among levels, and there is one.
  EXPECT_EQ(run("level", texture, {bits(2.0F), bits(1.0F), bits(5.0F), 0}),
            (std::vector<std::uint32_t>{0, 6, 0, 1}));
  EXPECT_EQ(run("grad", texture, {bits(2.0F), bits(1.0F), bits(5.0F), 0}),
            (std::vector<std::uint32_t>{0, 6, 0, 1}));
  EXPECT_EQ(run("ask", texture, {0, 0, 0, 0}), (std::vector<std::uint32_t>{4, 4, 0x10b2, 0x10db}));
  EXPECT_EQ(run("ask_more", texture, {0, 0, 0, 0}), (std::vector<std::uint32_t>{0, 0, 0, 3}));
}

TEST_F(TextureKernels, AReferenceReadsWhatIsBoundToIt) {
  EXPECT_NE(fault("reference", 0).find("reference that is not bound"), std::string::npos)
      << fault("reference", 0);
  const std::uint64_t handle = linear(8);
  runner.device.memory.write(runner.module().global_address("bound"), std::as_bytes(std::span(&handle, 1)));
  EXPECT_EQ(run("reference", 0, {3, 0, 0, 0}), (std::vector<std::uint32_t>{103, 0, 0, 1}));
  EXPECT_EQ(run("reference", 0, {8, 0, 0, 0}), (std::vector<std::uint32_t>{0, 0, 0, 0}));
}

TEST_F(TextureKernels, WrongHandlesAreFaults) {
  auto& textures = runner.device.memory.textures();
  EXPECT_EQ(fault("k_1d_u32_s32", 0), "texture access: 0 is no texture object");
  EXPECT_EQ(fault("k_1d_u32_s32", 4096), "texture access: 0x1000 is no texture object");
  const std::uint64_t handle = linear(65536);
  EXPECT_EQ(fault("k_1d_u32_s32", handle + 1),
            fmt::format("texture access: 0x{:x} is no texture object of this application", handle + 1));
  workload::DeviceMemory other(AppId{1}, "other");
  const std::uint64_t foreign = other.textures().create(
      TextureResource::linear(other.allocate(64), {ChannelKind::Unsigned, 32, 1}, 16), {});
  EXPECT_NE(foreign, handle);
  EXPECT_EQ(fault("k_1d_u32_s32", foreign),
            fmt::format("texture access: 0x{:x} is no texture object of this application", foreign));
  EXPECT_EQ(fault("k_2d_u32_f32", handle),
            fmt::format("texture access: texture object 0x{:x} is read by tex.1d, not by tex.2d", handle));
  EXPECT_EQ(fault("k_1d_u32_f32", handle),
            fmt::format("texture access: texture object 0x{:x} is linear memory, which is read by integer "
                        "coordinates alone (tex1Dfetch)",
                        handle));
  const Address memory = textures.find(handle)->address();
  runner.device.memory.free(memory);  // others' memory may come there, but not so much
  EXPECT_EQ(fault("k_1d_u32_s32", handle),
            fmt::format("texture access: the memory of texture object 0x{:x} was freed", handle));
  textures.destroy(handle);
  EXPECT_EQ(fault("k_1d_u32_s32", handle),
            fmt::format("texture access: texture object 0x{:x} was destroyed", handle));
}

TEST_F(TextureKernels, WhatCudaRefusesIsRefused) {
  auto& memory = runner.device.memory;
  const Address at = memory.allocate(4096);
  const TexelFormat word{ChannelKind::Unsigned, 32, 1};
  const auto error = [&](const TextureResource& resource, const TextureSettings& settings = {}) {
    try {
      memory.textures().create(resource, settings);
    } catch (const SimulationFault& fault) {
      return std::string(fault.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error(TextureResource::linear(at, word, 1024)), "none");
  EXPECT_NE(error(TextureResource::linear(at, word, 1025)).find("error: texture of 4100 bytes at"),
            std::string::npos);
  EXPECT_EQ(error(TextureResource::linear(at, word, 0)),
            "error: texture of 0 texels of linear memory; 1 to 268435456 are possible");
  EXPECT_EQ(error(TextureResource::linear(at, {ChannelKind::Float, 8, 1}, 4)),
            "error: texture: a texel has no channels of 8 bits; integers have 8, 16 or 32, floats 16 or 32");
  EXPECT_EQ(error(TextureResource::linear(at, {ChannelKind::Float, 32, 3}, 4)),
            "error: texture: a texel of 3 channels; 1, 2 and 4 are possible");
  EXPECT_EQ(error(TextureResource::linear(at + 4, {ChannelKind::Float, 32, 4}, 4)),
            fmt::format("error: texture at 0x{:x}, which is no multiple of 16", at + 4));
  EXPECT_EQ(error(TextureResource::pitch2d(at, word, 8, 4, 48)),
            "error: texture with a pitch of 48 bytes; rows have 32, and it must be a multiple of 32, "
            "and 2097152 at most");
  EXPECT_NE(error(TextureResource::pitch2d(at, word, 8, 3, std::uint64_t{1} << 63U)).find("2097152 at most"),
            std::string::npos)
      << "whose size would wrap";
  EXPECT_EQ(error(TextureResource::pitch2d(at, word, 16, 4, 32)),
            "error: texture with a pitch of 32 bytes; rows have 64, and it must be a multiple of 32, "
            "and 2097152 at most");
  EXPECT_EQ(error(TextureResource::pitch2d(at, word, 8, 0, 32)),
            "error: texture of pitched memory without rows");
  EXPECT_EQ(error(TextureResource::of({at, {word, 8, 8, 2, 2}})),
            "error: texture: an array of three dimensions has a height and no layers");
  EXPECT_EQ(error(TextureResource::of({at, {word, 0, 8, 0, 0}})),
            "error: texture: an array with a width of 0; it must be 1 to 131072");
  TextureSettings settings;
  settings.filter = FilterMode::Linear;
  EXPECT_EQ(error(TextureResource::of({at, {word, 8, 8, 0, 0}}), settings),
            "error: texture with linear filtering of integers, which are not read as floats");
  EXPECT_THROW(memory.textures().destroy(17), SimulationFault);
  EXPECT_THROW(static_cast<void>(workload::lay_out({at, {word, 8, 8, 0, 0}}, {})), SimulationFault);
}

}  // namespace
}  // namespace gpumux::emulator::test
