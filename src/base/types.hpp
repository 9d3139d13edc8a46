// The few scalar types that every part shares.
#pragma once

#include <cstdint>

namespace gpumux {

/// Time in core clock cycles since the start of the run, unless a name says another clock.
using Cycle = std::uint64_t;
inline constexpr Cycle kNever = ~Cycle{0};

/// One bit per lane of a warp; lane 0 is bit 0.
using LaneMask = std::uint32_t;
inline constexpr std::uint32_t kWarpSize = 32;
inline constexpr LaneMask kAllLanes = 0xffff'ffffU;

/// One bit per warp slot of a warp scheduler.
using WarpMask = std::uint64_t;

/// A device virtual address in one application's address space.
using Address = std::uint64_t;

/// Index of an application within a run (dense, from 0). Every request and statistic carries its application.
using AppId = std::uint8_t;
inline constexpr unsigned kMaxApps = 16;

/// Application i has the device addresses [(i + 1) << kAppShift, (i + 2) << kAppShift), so different
/// applications never share a line in shared caches.
inline constexpr unsigned kAppShift = 40;
inline constexpr unsigned kAppLineShift = kAppShift - 7;  // for line numbers: address / 128
[[nodiscard]] constexpr std::uint64_t first_line_of(AppId app) {
  return (std::uint64_t{app} + 1) << kAppLineShift;
}

/// Index of an SM or of a memory partition within the machine.
using SmId = std::uint16_t;
using PartitionId = std::uint16_t;

/// Sizes in bytes of cache lines and sectors. Lines are 128 B in every modelled GPU, a sector is a quarter of
/// a line.
inline constexpr std::uint32_t kLineBytes = 128;
inline constexpr std::uint32_t kSectorBytes = 32;
inline constexpr std::uint32_t kSectorsPerLine = 4;

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  /// The point with this index in a box of this size: x runs fastest, then y.
  [[nodiscard]] Dim3 at(std::uint64_t index) const {
    return {static_cast<std::uint32_t>(index % x), static_cast<std::uint32_t>(index / x % y),
            static_cast<std::uint32_t>(index / x / y)};
  }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

}  // namespace gpumux
