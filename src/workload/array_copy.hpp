// Copies of boxes of bytes between arrays and linear memory, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "workload/texture.hpp"

namespace gpumux::workload {

/// One side of a copy: where its first byte lies, in an array or in linear device memory.
struct BoxEnd {
  bool in_array = false;
  TextureArray array;       // in_array; of linear memory its address alone
  std::uint64_t x = 0;      // in_array: bytes into the row
  std::uint32_t row = 0;    // in_array
  std::uint32_t slice = 0;  // in_array: slice or layer
  std::uint64_t pitch = 0;  // linear: bytes from row to row, and from slice to slice
  std::uint64_t slice_pitch = 0;

  static BoxEnd of(const TextureArray& array, std::uint64_t x = 0, std::uint32_t row = 0,
                   std::uint32_t slice = 0) {
    return {true, array, x, row, slice, 0, 0};
  }
  static BoxEnd linear(Address address, std::uint64_t pitch, std::uint64_t slice_pitch) {
    return {false, {address, {}}, 0, 0, 0, pitch, slice_pitch};
  }
};

/// How much is copied: `slices` times `rows` rows of `bytes`.
struct BoxSize {
  std::uint64_t bytes = 0;
  std::uint32_t rows = 1;
  std::uint32_t slices = 1;
  [[nodiscard]] std::uint64_t total() const { return bytes * rows * slices; }
};

/// What is wrong with one end of a copy, wherever its memory lies: a shape that no array has, a box that is
/// empty or not within its array, rows or slices of linear memory that overlap. Empty: nothing.
[[nodiscard]] std::string box_error(const BoxEnd& end, const BoxSize& size);
/// Bytes of memory that such an end has from its address on: of an array, all of it. It is right.
[[nodiscard]] std::uint64_t box_span(const BoxEnd& end, const BoxSize& size);

/// Throws SimulationFault, which says what is wrong, for an empty box, an end that is no array, and a box
/// that does not lie in its array, or whose memory is not allocated.
void check_box(const DeviceMemory& memory, const BoxEnd& end, const BoxSize& size);

// Of boxes that are right; the host has its bytes without gaps.
void copy_box(DeviceMemory& memory, const BoxEnd& to, const BoxEnd& from, const BoxSize& size);
void write_box(DeviceMemory& memory, const BoxEnd& to, const BoxSize& size, std::span<const std::byte> from);
void read_box(const DeviceMemory& memory, const BoxEnd& from, const BoxSize& size, std::span<std::byte> to);

}  // namespace gpumux::workload
