// What a texture fetch gives for one thread: CUDA's formulae. docs/textures.md.
#pragma once

#include <array>
#include <cstdint>

#include "isa/instruction.hpp"
#include "workload/device_memory.hpp"
#include "workload/texture.hpp"

namespace gpumux::emulator {

/// A fetch of one thread. Coordinates without the layer, in the order x, y, z.
struct TextureFetch {
  std::array<double, 3> at{};  // of an integer coordinate its value
  bool integers = false;       // coordinates were: texels are counted, and nothing is filtered
  std::int64_t layer = 0;
  isa::TextureDetail detail = isa::TextureDetail::None;
  double level = 0;                   // Level
  std::array<double, 6> gradients{};  // of the coordinates in x, then in y
};

/// The texels that a fetch looks at, and what it gives.
struct TextureSample {
  static constexpr std::uint32_t kMost = 16;  // eight in each of two levels
  std::array<std::uint32_t, 4> value{};       // bits
  std::array<Address, kMost> touched;         // of device memory; texels outside the texture are none
  std::uint32_t touches = 0;
};

/// The memory of the texture is allocated.
[[nodiscard]] TextureSample sample(const workload::Texture& texture, const workload::DeviceMemory& memory,
                                   const TextureFetch& fetch);
/// Component 0 to 3 of the four texels that linear filtering of two dimensions would look at.
[[nodiscard]] TextureSample gather(const workload::Texture& texture, const workload::DeviceMemory& memory,
                                   const TextureFetch& fetch, std::uint32_t component);
/// What txq gives; enumerations are those of PTX. `level`: of the extents; beyond the last it is 0.
[[nodiscard]] std::uint32_t answer(const workload::Texture& texture, isa::TextureQuery query,
                                   std::uint32_t level = 0);

}  // namespace gpumux::emulator
