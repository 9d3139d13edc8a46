// Cube maps and mipmaps, by hand: faces, levels, and filtering between levels.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "emulator/ptx_runner.hpp"
#include "emulator/texture_sampler.hpp"

namespace gpumux::emulator::test {
namespace {

using isa::TextureDetail;
using isa::TextureQuery;
using workload::ArrayShape;
using workload::FilterMode;
using workload::TextureArray;
using workload::TextureResource;
using workload::TextureSettings;

class Levels : public testing::Test {
 protected:
  /// Texels of each level, one behind the other.
  TextureArray array(const ArrayShape& shape, const std::vector<float>& texels, std::uint32_t levels = 1) {
    TextureArray made{0, shape};
    made.address = device.memory.allocate(workload::mipmap_bytes(made, levels));
    auto rest = std::span(texels);
    for (std::uint32_t l = 0; l < levels; ++l) {
      const TextureArray level = workload::mipmap_level(made, l);
      const std::size_t count = level.texel_bytes() / 4;
      device.memory.write(level.address, workload::lay_out(level, std::as_bytes(rest.first(count))));
      rest = rest.subspan(count);
    }
    EXPECT_TRUE(rest.empty());
    return made;
  }
  const workload::Texture& object(const TextureResource& resource, const TextureSettings& settings) {
    workload::TextureTable& textures = device.memory.textures();
    return *textures.find(textures.create(resource, settings));
  }
  float at(const workload::Texture& texture, std::array<double, 3> place, TextureFetch fetch = {}) const {
    fetch.at = place;
    return std::bit_cast<float>(sample(texture, device.memory, fetch).value[0]);
  }
  static TextureFetch level(double value) {
    TextureFetch fetch;
    fetch.detail = TextureDetail::Level;
    fetch.level = value;
    return fetch;
  }
  static TextureFetch gradients(const std::array<double, 6>& values) {
    TextureFetch fetch;
    fetch.detail = TextureDetail::Gradients;
    fetch.gradients = values;
    return fetch;
  }
  std::string error(const TextureResource& resource, const TextureSettings& settings = {}) {
    try {
      device.memory.textures().create(resource, settings);
    } catch (const SimulationFault& fault) {
      return fault.what();
    }
    return "";
  }
  Device device;
};

/// Texel (x, y) of face f is 100 f + 10 y + x, of 2 x 2 texels.
std::vector<float> faces(int count) {
  std::vector<float> texels;
  for (int f = 0; f < count; ++f)
    for (int i = 0; i < 4; ++i) texels.push_back(static_cast<float>(100 * f + 10 * (i / 2) + i % 2));
  return texels;
}

// CUDA C++ Programming Guide, "Cubemap Textures": the face is the axis of the largest part, with its sign; s
// and t are the two others, as the table has them.
TEST_F(Levels, ADirectionIsAPlaceOnAFace) {
  const TextureArray cube = array({{}, 2, 2, 0, 6}, faces(6));
  const workload::Texture& texture = object(TextureResource::cube(cube), {});
  EXPECT_EQ(at(texture, {1, 0.5, 0.5}), 0);  // +x: s = -z, t = -y
  EXPECT_EQ(at(texture, {1, -0.5, 0.5}), 10);
  EXPECT_EQ(at(texture, {1, 0.5, -0.5}), 1);
  EXPECT_EQ(at(texture, {-2, 0.5, 0.5}), 101);  // -x: s = z, t = -y
  EXPECT_EQ(at(texture, {-2, -0.5, -0.5}), 110);
  EXPECT_EQ(at(texture, {-0.5, 1, 0.5}), 210);  // +y: s = x, t = z
  EXPECT_EQ(at(texture, {0.5, 1, -0.5}), 201);
  EXPECT_EQ(at(texture, {0.5, -1, 0.5}), 301);  // -y: s = x, t = -z
  EXPECT_EQ(at(texture, {-0.5, -1, -0.5}), 310);
  EXPECT_EQ(at(texture, {-0.5, 0.5, 8}), 400);  // +z: s = x, t = -y
  EXPECT_EQ(at(texture, {4, -4, 8}), 411);
  EXPECT_EQ(at(texture, {0.5, 0.5, -1}), 500);  // -z: s = -x, t = -y
  EXPECT_EQ(at(texture, {-0.5, -0.5, -1}), 511);
  EXPECT_EQ(at(texture, {0, 0, 0}), 400);  // no direction at all: no numbers, which are 0
  EXPECT_EQ(at(texture, {1, 1, 1}), 401);  // ties: z before y before x
  EXPECT_EQ(at(texture, {-1, 1, 0}), 210);
}

TEST_F(Levels, FacesAreFilteredByThemselves) {
  const TextureArray cube = array({{}, 2, 2, 0, 6}, faces(6));
  TextureSettings settings;
  settings.filter = FilterMode::Linear;
  settings.address.fill(workload::AddressMode::Clamp);
  const workload::Texture& texture = object(TextureResource::cube(cube), settings);
  EXPECT_EQ(at(texture, {0, 0, 1}), 400 + 5.5F);  // its middle
  EXPECT_EQ(at(texture, {0.25, 0, 1}),
            400 + 5.75F);  // an eighth of the face to the right: a quarter of a texel
  EXPECT_EQ(at(texture, {1, 0, 1.0001}), 401 + 5.0F);  // its edge, not that of +x
}

TEST_F(Levels, LayersOfCubes) {
  const TextureArray cubes = array({{}, 2, 2, 0, 12}, faces(12));
  const workload::Texture& texture = object(TextureResource::cube(cubes, true), {});
  EXPECT_EQ(texture.geometry, isa::TextureGeometry::ACube);
  TextureFetch fetch;
  fetch.layer = 1;
  EXPECT_EQ(at(texture, {0.5, 1, -0.5}, fetch), 801);
  fetch.layer = 5;  // the last one
  EXPECT_EQ(at(texture, {0.5, 1, -0.5}, fetch), 801);
  EXPECT_EQ(error(TextureResource::cube(cubes)),
            "error: texture of a cube map of 12 layers with 2 x 2 texels; it has squares, six for each cube");
}

/// 8 x 4 texels of 0, then levels of 1, 2 and 3.
class Pyramid : public Levels {
 protected:
  Pyramid() {
    std::vector<float> texels(32, 0);
    texels.insert(texels.end(), 8, 1);
    texels.insert(texels.end(), 2, 2);
    texels.insert(texels.end(), 1, 3);
    first = array({{}, 8, 4, 0, 0}, texels, 4);
    settings.normalized = true;
    settings.most_level = 100;
  }
  TextureArray first;
  TextureSettings settings;
};

TEST_F(Pyramid, LevelsAreHalvesOneBehindTheOther) {
  const TextureArray last = workload::mipmap_level(first, 3);
  EXPECT_EQ(last.shape.width, 1U);
  EXPECT_EQ(last.shape.height, 1U);
  EXPECT_EQ(workload::most_mipmap_levels(first.shape), 4U);
  EXPECT_EQ(last.address + last.bytes() - first.address, workload::mipmap_bytes(first, 4));
  EXPECT_EQ(error(TextureResource::of(first, 5)), "error: texture of 5 levels; 1 to 4 are possible");
}

TEST_F(Pyramid, PointTakesTheNearestLevel) {
  const workload::Texture& texture = object(TextureResource::of(first, 4), settings);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}), 0);  // no level at all is the first
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(0.498)), 0);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(0.5)), 1);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(2)), 2);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(77)), 3);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(-77)), 0);
}

TEST_F(Pyramid, LinearFiltersBetweenLevelsIn256ths) {
  settings.level_filter = FilterMode::Linear;
  settings.filter = FilterMode::Linear;
  const workload::Texture& texture = object(TextureResource::of(first, 4), settings);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(1.25)), 1.25F);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(1.25 + 1.0 / 600)), 1.25F);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(1.25 + 1.0 / 500)), 1.25F + 1.0F / 256);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(3)), 3);
  TextureFetch between = level(1.5);
  between.at = {0.3, 0.3, 0};
  EXPECT_EQ(sample(texture, device.memory, between).touches, 8U);  // four texels of each
}

TEST_F(Pyramid, BiasAndBounds) {
  settings.level_filter = FilterMode::Linear;
  settings.level_bias = 0.5;
  settings.least_level = 0.75;
  settings.most_level = 2.5;
  const workload::Texture& texture = object(TextureResource::of(first, 4), settings);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(1)), 1.5F);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(0)), 0.75F);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, level(9)), 2.5F);
}

TEST_F(Pyramid, GradientsAreInTexels) {
  settings.level_filter = FilterMode::Linear;
  const workload::Texture& texture = object(TextureResource::of(first, 4), settings);
  // Two texels of eight in x, one of four in y: two texels apart, so the second level.
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, gradients({2.0 / 8, 0, 0, 1.0 / 4})), 1);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, gradients({1.0 / 8, 0, 0, 4.0 / 4})), 2);
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, gradients({3.0 / 8, 4.0 / 4, 0, 0})), 2 + 82.0F / 256);  // log2(5)
  EXPECT_EQ(at(texture, {0.3, 0.3, 0}, gradients({})), 0);
}

TEST_F(Pyramid, Questions) {
  const workload::Texture& texture = object(TextureResource::of(first, 4), settings);
  EXPECT_EQ(answer(texture, TextureQuery::MipmapLevels), 4U);
  EXPECT_EQ(answer(texture, TextureQuery::Width, 0), 8U);
  EXPECT_EQ(answer(texture, TextureQuery::Width, 2), 2U);
  EXPECT_EQ(answer(texture, TextureQuery::Height, 3), 1U);
  EXPECT_EQ(answer(texture, TextureQuery::Height, 4), 0U);
}

/// The same through PTX: which operands are the level, and the gradients behind four coordinates.
TEST(LevelKernels, OperandsBehindTheCoordinates) {
  const auto kernel = [](const std::string& name, const std::string& fetch) {
    return ".visible .entry " + name + R"((.param .u64 t, .param .u64 out)
{
  .reg .f32 %f<12>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [t];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, 1;
  mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0f3e800000; mov.f32 %f4, 0f00000000;
  )" + fetch +
           R"(
  st.global.f32 [%rd2], %f5;
  ret;
}
)";
  };
  for (const int optimize : {0, 2}) {
    PtxRunner runner(
        kernel("level", "tex.level.acube.v4.f32.f32 {%f5, _, _, _}, [%rd1, {%r1, %f3, %f2, %f3}], %f1;") +
            kernel("gradients",
                   "tex.grad.acube.v4.f32.f32 {%f5, _, _, _}, [%rd1, {%r1, %f3, %f2, %f3}], "
                   "{%f1, %f4, %f4, %f4}, {%f4, %f4, %f2, %f4};") +
            kernel("levels", "txq.num_mipmap_levels.b32 %r2, [%rd1]; cvt.rn.f32.u32 %f5, %r2;") +
            kernel("width", "txq.level.width.b32 %r2, [%rd1], 1; cvt.rn.f32.u32 %f5, %r2;"),
        optimize);
    workload::DeviceMemory& memory = runner.device.memory;
    TextureArray cubes{0, {{}, 4, 4, 0, 12}};
    cubes.address = memory.allocate(workload::mipmap_bytes(cubes, 3));
    for (std::uint32_t l = 0; l < 3; ++l) {
      const TextureArray at = workload::mipmap_level(cubes, l);
      std::vector<float> texels(at.texel_bytes() / 4);
      const std::size_t face = texels.size() / 12;
      for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(100 * l + i / face);
      memory.write(at.address, workload::lay_out(at, std::as_bytes(std::span(texels))));
    }
    TextureSettings settings;
    settings.most_level = 2;
    const std::uint64_t texture = memory.textures().create(TextureResource::cube(cubes, true, 3), settings);
    const Address out = memory.allocate(4);
    const auto run = [&](const std::string& name) {
      runner.run(name, {1, 1, 1}, {1, 1, 1}, {texture, out});
      float value = 0;
      memory.read(out, std::as_writable_bytes(std::span(&value, 1)));
      return value;
    };
    EXPECT_EQ(run("level"), 100 + 6 + 2);
    // A change of x by 1 where y is 2 is one of a quarter of the face, one texel; of z by 2 two: the second
    // level.
    EXPECT_EQ(run("gradients"), 100 + 6 + 2);
    EXPECT_EQ(run("levels"), 3);
    EXPECT_EQ(run("width"), 2);
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
