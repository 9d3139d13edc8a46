// Texture fetches against the results of an H100 in data/h100_textures.txt, which
// validation/h100/texture_subset.py makes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/ptx_runner.hpp"
#include "emulator/texture_sampler.hpp"

namespace gpumux::emulator::test {
namespace {

using workload::AddressMode;
using workload::ArrayShape;
using workload::ChannelKind;
using workload::FilterMode;
using workload::ReadMode;
using workload::TextureArray;
using workload::TextureResource;
using workload::TextureSettings;

constexpr float kBorder = 0.3125F;

struct Case {
  std::string format;
  unsigned axes = 0;
  std::string address;
  bool normalized = false;
  std::string filter;
  std::vector<float> results;
};

struct Recorded {
  std::map<std::pair<unsigned, bool>, std::vector<std::array<double, 3>>> coordinates;  // by axes and kind
  std::map<std::pair<unsigned, std::string>, TextureArray> arrays;  // by axes and format, in device memory
  std::vector<Case> cases;
};

float float_of(const std::string& digits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16)));
}

workload::TexelFormat format_of(const std::string& name) {
  const auto bits = static_cast<std::uint8_t>(std::stoi(name.substr(1)));
  return {name[0] == 'f'   ? ChannelKind::Float
          : name[0] == 'u' ? ChannelKind::Unsigned
                           : ChannelKind::Signed,
          bits, 1};
}

Recorded read(workload::DeviceMemory& memory) {
  Recorded all;
  std::ifstream file(std::string(GPUMUX_SOURCE_DIR) + "/tests/emulator/data/h100_textures.txt");
  std::vector<std::array<double, 3>>* coordinates = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "#") continue;
    if (word == "coordinates") {
      unsigned axes = 0;
      bool normalized = false;
      words >> axes >> normalized;
      coordinates = &all.coordinates[{axes, normalized}];
    } else if (word == "texels") {
      std::string format, bytes;
      unsigned axes = 0;
      words >> format >> axes;
      ArrayShape shape{format_of(format), 0, 0, 0, 0};
      words >> shape.width;
      if (axes > 1) words >> shape.height;
      if (axes > 2) words >> shape.depth;
      words >> bytes;
      std::vector<std::uint8_t> texels;
      for (std::size_t i = 0; i < bytes.size(); i += 2)
        texels.push_back(static_cast<std::uint8_t>(std::stoul(bytes.substr(i, 2), nullptr, 16)));
      TextureArray array{0, shape};
      array.address = memory.allocate(array.bytes());
      memory.write(array.address, workload::lay_out(array, std::as_bytes(std::span(texels))));
      all.arrays[{axes, format}] = array;
    } else if (word == "case") {
      Case each;
      words >> each.format >> each.axes >> each.address >> each.normalized >> each.filter;
      std::getline(file, line);
      for (std::size_t i = 0; i < line.size(); i += 8) each.results.push_back(float_of(line.substr(i, 8)));
      all.cases.push_back(each);
    } else {
      std::array<double, 3> at{};
      for (unsigned axis = 0; axis < 3 && !word.empty(); ++axis, words >> word) {
        at[axis] = double{float_of(word)};
        if (words.eof()) break;
      }
      coordinates->push_back(at);
    }
  }
  return all;
}

TextureSettings settings_of(const Case& each) {
  TextureSettings settings;
  const AddressMode mode = each.address == "wrap"     ? AddressMode::Wrap
                           : each.address == "clamp"  ? AddressMode::Clamp
                           : each.address == "mirror" ? AddressMode::Mirror
                                                      : AddressMode::Border;
  settings.address = {mode, mode, mode};
  settings.filter = each.filter == "linear" ? FilterMode::Linear : FilterMode::Point;
  settings.read = each.format[0] == 'f' ? ReadMode::ElementType : ReadMode::NormalizedFloat;
  settings.normalized = each.normalized;
  settings.border = {kBorder, kBorder, kBorder, kBorder};
  return settings;
}

/// By how much results may differ: for two kinds, in a few cases by one step, of which the rule is not known.
float step(const Case& each, float result) {
  if (each.filter == "point") return 0;
  if (each.format == "s8n") return 1.01F / 32767;
  if (each.format == "f16" && each.axes == 2) return std::ldexp(1.0F, std::ilogb(result) - 9);
  return 0;
}

TEST(TexturesOfHardware, AreReproduced) {
  Device device;
  const Recorded recorded = read(device.memory);
  std::size_t fetches = 0, apart = 0;
  for (const Case& each : recorded.cases) {
    const TextureArray& array = recorded.arrays.at({each.axes, each.format});
    const std::uint64_t handle =
        device.memory.textures().create(TextureResource::of(array), settings_of(each));
    const workload::Texture* const texture = device.memory.textures().find(handle);
    const auto& at = recorded.coordinates.at({each.axes, each.normalized});
    ASSERT_GE(at.size(), each.results.size());
    for (std::size_t i = 0; i < each.results.size(); ++i) {
      TextureFetch fetch;
      fetch.at = at[i];
      const auto ours = std::bit_cast<float>(sample(*texture, device.memory, fetch).value[0]);
      const float theirs = each.results[i];
      ++fetches;
      if (ours == theirs) continue;
      ++apart;
      EXPECT_LE(std::abs(ours - theirs), step(each, theirs))
          << each.format << ' ' << each.axes << ' ' << each.address << ' ' << each.normalized << ' '
          << each.filter << ' ' << i << ": " << ours << " and " << theirs << " at " << at[i][0] << ' '
          << at[i][1] << ' ' << at[i][2];
    }
    device.memory.textures().destroy(handle);
  }
  EXPECT_EQ(recorded.cases.size(), 166U);
  EXPECT_EQ(fetches, 16768U);
  EXPECT_LE(apart, 20U);
}

}  // namespace
}  // namespace gpumux::emulator::test
