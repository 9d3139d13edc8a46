// Copies of boxes of bytes between arrays and linear memory, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "workload/texture.hpp"

namespace gpumux::workload {

/// One side of a copy: the position of its first byte in an array or in linear device memory.
struct BoxEnd {
  bool in_array = false;
  TextureArray array;       // linear memory: only the address is used
  std::uint64_t x = 0;      // in_array: bytes into the row
  std::uint32_t row = 0;    // in_array
  std::uint32_t slice = 0;  // in_array: slice or layer
  std::uint64_t pitch = 0;  // linear: distance in bytes of rows (pitch) and of slices
  std::uint64_t slice_pitch = 0;

  static BoxEnd of(const TextureArray& array, std::uint64_t x = 0, std::uint32_t row = 0,
                   std::uint32_t slice = 0) {
    return {true, array, x, row, slice, 0, 0};
  }
  static BoxEnd linear(Address address, std::uint64_t pitch, std::uint64_t slice_pitch) {
    return {false, {address, {}}, 0, 0, 0, pitch, slice_pitch};
  }
};

/// The size of a copy: `slices` times `rows` rows of `bytes`.
struct BoxSize {
  std::uint64_t bytes = 0;
  std::uint32_t rows = 1;
  std::uint32_t slices = 1;
  [[nodiscard]] std::uint64_t total() const { return bytes * rows * slices; }
};

/// A message about a malformed side of a copy, or an empty text: a shape that no array has, a box that is
/// empty or not within its array, overlapping rows or slices of linear memory. Addresses are not checked.
[[nodiscard]] std::string box_error(const BoxEnd& end, const BoxSize& size);
/// Bytes of memory from the side's address on: the whole array, or the linear memory up to the last byte.
/// box_error() must have found no error.
[[nodiscard]] std::uint64_t box_span(const BoxEnd& end, const BoxSize& size);

/// Throws SimulationFault with a message for a box with a box_error(), and for a box in memory that is not
/// allocated.
void check_box(const DeviceMemory& memory, const BoxEnd& end, const BoxSize& size);

// Copies of boxes that check_box() has accepted. The host's bytes have no gaps.
void copy_box(DeviceMemory& memory, const BoxEnd& to, const BoxEnd& from, const BoxSize& size);
void write_box(DeviceMemory& memory, const BoxEnd& to, const BoxSize& size, std::span<const std::byte> from);
void read_box(const DeviceMemory& memory, const BoxEnd& from, const BoxSize& size, std::span<std::byte> to);

}  // namespace gpumux::workload
