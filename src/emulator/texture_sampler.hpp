// The result of a texture fetch for one thread, by CUDA's formulae (docs/textures.md).
#pragma once

#include <array>
#include <cstdint>

#include "isa/instruction.hpp"
#include "workload/device_memory.hpp"
#include "workload/texture.hpp"

namespace gpumux::emulator {

/// A fetch of one thread. Coordinates are without the layer, in the order x, y, z.
struct TextureFetch {
  std::array<double, 3> at{};  // value of each coordinate, also of integer ones
  bool integers = false;       // integer coordinates: they count texels, and there is no filtering
  std::int64_t layer = 0;
  isa::TextureDetail detail = isa::TextureDetail::None;
  double level = 0;                   // for TextureDetail::Level
  std::array<double, 6> gradients{};  // changes of the coordinates in x, then in y
};

/// The result of a fetch, and the texels that it reads.
struct TextureSample {
  static constexpr std::uint32_t kMost = 16;  // eight in each of two levels
  std::array<std::uint32_t, 4> value{};       // bits
  std::array<Address, kMost> touched;         // device addresses of texels, without those outside the texture
  std::uint32_t touches = 0;
};

/// Performs a fetch. The memory of the texture must be allocated.
[[nodiscard]] TextureSample sample(const workload::Texture& texture, const workload::DeviceMemory& memory,
                                   const TextureFetch& fetch);
/// Component 0 to 3 of the four texels that two-dimensional linear filtering would read.
[[nodiscard]] TextureSample gather(const workload::Texture& texture, const workload::DeviceMemory& memory,
                                   const TextureFetch& fetch, std::uint32_t component);
/// The result of txq, with PTX's enumerations. `level`: the level whose extents are returned, 0 beyond the
/// last one.
[[nodiscard]] std::uint32_t answer(const workload::Texture& texture, isa::TextureQuery query,
                                   std::uint32_t level = 0);

}  // namespace gpumux::emulator
