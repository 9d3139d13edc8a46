#include "workload/array_copy.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::workload {
namespace {

/// A size limit larger than all device memory, such that the sum of two sizes cannot overflow.
constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;

/// Calls visit(address, bytes) for each contiguous piece of a row.
template <class Visit>
void for_each_piece(const BoxEnd& end, std::uint32_t row, std::uint32_t slice, std::uint64_t bytes,
                    const Visit& visit) {
  if (!end.in_array) {
    visit(end.array.address + slice * end.slice_pitch + row * end.pitch, bytes);
    return;
  }
  const std::uint64_t unit = end.array.shape.height == 0 ? kMost : TextureArray::kTileBytes;
  for (std::uint64_t at = end.x, rest = bytes; rest != 0;) {
    const std::uint64_t piece = std::min(rest, unit - at % unit);
    visit(end.array.address + end.array.offset_of_byte(at, end.row + row, end.slice + slice), piece);
    at += piece;
    rest -= piece;
  }
}

template <class Visit>
void for_each_row(const BoxSize& size, const Visit& visit) {
  for (std::uint32_t slice = 0; slice < size.slices; ++slice)
    for (std::uint32_t row = 0; row < size.rows; ++row) visit(row, slice);
}

}  // namespace

std::string box_error(const BoxEnd& end, const BoxSize& size) {
  if (size.bytes == 0 || size.rows == 0 || size.slices == 0) return "it is empty";
  const auto within = [](std::uint64_t first, std::uint64_t count, std::uint64_t all) {
    return first <= all && count <= all - first;
  };
  if (end.in_array) {
    if (std::string error = shape_error(end.array.shape); !error.empty()) return error;
    const std::uint64_t row = std::uint64_t{end.array.shape.width} * end.array.shape.format.bytes();
    if (within(end.x, size.bytes, row) && within(end.row, size.rows, end.array.rows()) &&
        within(end.slice, size.slices, end.array.slices()))
      return {};
    return fmt::format(
        "{} bytes x {} rows x {} slices from byte {}, row {}, slice {} on; its array has {} x {} x {}",
        size.bytes, size.rows, size.slices, end.x, end.row, end.slice, row, end.array.rows(),
        end.array.slices());
  }
  if (size.bytes > kMost || end.pitch > kMost || end.slice_pitch > kMost ||
      (size.rows - 1) > kMost / std::max<std::uint64_t>(end.pitch, 1) ||
      (size.slices - 1) > kMost / std::max<std::uint64_t>(end.slice_pitch, 1))
    return "it is larger than memory";
  if (size.rows > 1 && end.pitch < size.bytes)
    return fmt::format("rows of {} bytes, {} bytes apart", size.bytes, end.pitch);
  if (const std::uint64_t slice = (size.rows - 1) * end.pitch + size.bytes;
      size.slices > 1 && end.slice_pitch < slice)
    return fmt::format("slices of {} bytes, {} bytes apart", slice, end.slice_pitch);
  return {};
}

std::uint64_t box_span(const BoxEnd& end, const BoxSize& size) {
  if (end.in_array) return end.array.bytes();
  return (size.slices - 1) * end.slice_pitch + (size.rows - 1) * end.pitch + size.bytes;
}

void check_box(const DeviceMemory& memory, const BoxEnd& end, const BoxSize& size) {
  const auto fail = [](const std::string& what) { throw SimulationFault("error: copy of a box: " + what); };
  if (const std::string error = box_error(end, size); !error.empty()) fail(error);
  const std::uint64_t bytes = box_span(end, size);
  if (!memory.valid(end.array.address, bytes))
    fail(fmt::format("{} bytes at 0x{:x}: {}", bytes, end.array.address, memory.describe(end.array.address)));
}

void write_box(DeviceMemory& memory, const BoxEnd& to, const BoxSize& size, std::span<const std::byte> from) {
  GPUMUX_CHECK(from.size() == size.total());
  const std::byte* next = from.data();
  for_each_row(size, [&](std::uint32_t row, std::uint32_t slice) {
    for_each_piece(to, row, slice, size.bytes, [&](Address at, std::uint64_t bytes) {
      std::memcpy(memory.host(at), next, bytes);
      next += bytes;
    });
  });
}

void read_box(const DeviceMemory& memory, const BoxEnd& from, const BoxSize& size, std::span<std::byte> to) {
  GPUMUX_CHECK(to.size() == size.total());
  std::byte* next = to.data();
  for_each_row(size, [&](std::uint32_t row, std::uint32_t slice) {
    for_each_piece(from, row, slice, size.bytes, [&](Address at, std::uint64_t bytes) {
      std::memcpy(next, memory.host(at), bytes);
      next += bytes;
    });
  });
}

void copy_box(DeviceMemory& memory, const BoxEnd& to, const BoxEnd& from, const BoxSize& size) {
  std::vector<std::byte> bytes(size.bytes);
  for_each_row(size, [&](std::uint32_t row, std::uint32_t slice) {
    std::byte* next = bytes.data();
    for_each_piece(from, row, slice, size.bytes, [&](Address at, std::uint64_t piece) {
      std::memcpy(next, memory.host(at), piece);
      next += piece;
    });
    next = bytes.data();
    for_each_piece(to, row, slice, size.bytes, [&](Address at, std::uint64_t piece) {
      std::memcpy(memory.host(at), next, piece);
      next += piece;
    });
  });
}

}  // namespace gpumux::workload
