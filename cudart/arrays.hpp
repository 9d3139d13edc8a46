// Interface of arrays for other parts of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// An array, or a level of a mipmap.
struct Array {
  ChannelFormat format{};
  Extent extent{};  // as requested
  unsigned flags = 0;
  program::ArrayDescription shape{};
  std::uint64_t address = 0;
  std::uint32_t texel_bytes = 0;
  bool is_level = false;  // freed with its mipmap

  [[nodiscard]] std::size_t rows() const { return shape.height == 0 ? 1 : shape.height; }
  [[nodiscard]] std::size_t slices() const {
    return shape.depth != 0 ? shape.depth : shape.layers != 0 ? shape.layers : 1;
  }
  [[nodiscard]] std::size_t row_bytes() const { return std::size_t{shape.width} * texel_bytes; }
};

struct Mipmap {
  std::vector<std::unique_ptr<Array>> levels;
};

/// The array or mipmap with this handle, or nullptr.
[[nodiscard]] Array* array_of(void* handle);
[[nodiscard]] Mipmap* mipmap_of(void* handle);

/// Converts a texel format. Returns false unless there are 1, 2 or 4 channels of the same 8, 16 or 32 bits.
[[nodiscard]] bool describe(const ChannelFormat& format, program::ArrayDescription& shape);
/// Bytes of a texel of the array, or 0 for a handle that is no array.
[[nodiscard]] std::size_t texel_bytes_of(void* array);

}  // namespace gpumux::cudart
