// cutcp: atoms, their bins, the neighbour list, and the CPU reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace gpumux::benchmarks {

/// A point charge. Lengths in angstrom, charge in elementary charges.
struct Atom {
  float x = 0;
  float y = 0;
  float z = 0;
  float q = 0;
};

/// A lattice of regions_x * 8 by regions_y * 8 by regions_z * 8 points that starts at the origin.
struct Lattice {
  static constexpr std::uint32_t kRegion = 8;  // points along the edge of a region
  static constexpr float kSpacing = 0.5F;
  static constexpr float kBinLength = kRegion * kSpacing;
  std::uint32_t regions_x = 0;
  std::uint32_t regions_y = 0;
  std::uint32_t regions_z = 0;
  [[nodiscard]] std::size_t points_x() const { return std::size_t{regions_x} * kRegion; }
  [[nodiscard]] std::size_t points_y() const { return std::size_t{regions_y} * kRegion; }
  [[nodiscard]] std::size_t points_z() const { return std::size_t{regions_z} * kRegion; }
  [[nodiscard]] std::size_t points() const { return points_x() * points_y() * points_z(); }
};

/// Offset of a bin from the region's own bin.
struct BinOffset {
  std::int32_t x;
  std::int32_t y;
  std::int32_t z;
};

/// Smallest distance along one axis from a point of a region to an atom in the bin `offset` bins away.
inline float axis_distance(std::int32_t offset) {
  if (offset == 0) return 0;
  if (offset < 0) return static_cast<float>(-offset - 1) * Lattice::kBinLength;
  return static_cast<float>(offset) * Lattice::kBinLength - (Lattice::kRegion - 1) * Lattice::kSpacing;
}

/// Offsets of the bins that can hold an atom nearer than the cutoff to a point of the region.
inline std::vector<BinOffset> neighbour_offsets(float cutoff) {
  std::vector<BinOffset> offsets;
  const auto reach = static_cast<std::int32_t>(std::ceil(cutoff / Lattice::kBinLength));
  for (std::int32_t z = -reach; z <= reach; ++z) {
    for (std::int32_t y = -reach; y <= reach; ++y) {
      for (std::int32_t x = -reach; x <= reach; ++x) {
        const float dx = axis_distance(x);
        const float dy = axis_distance(y);
        const float dz = axis_distance(z);
        if (dx * dx + dy * dy + dz * dz < cutoff * cutoff) offsets.push_back({x, y, z});
      }
    }
  }
  return offsets;
}

/// Offsets of the bins that Parboil's program examines: the bins whose distance from the region's own bin,
/// corner to corner, is less than the cutoff plus the diagonal of a bin. These are more bins than
/// neighbour_offsets().
inline std::vector<BinOffset> wider_offsets(float cutoff) {
  std::vector<BinOffset> offsets;
  const auto reach = static_cast<std::int32_t>(std::ceil(cutoff / Lattice::kBinLength));
  const float radius = cutoff / Lattice::kBinLength + std::sqrt(3.0F);
  for (std::int32_t z = -reach; z <= reach; ++z)
    for (std::int32_t y = -reach; y <= reach; ++y)
      for (std::int32_t x = -reach; x <= reach; ++x)
        if (static_cast<float>(x * x + y * y + z * z) < radius * radius) offsets.push_back({x, y, z});
  return offsets;
}

/// Bins of 8 slots, x fastest, with `margin` empty bins on every side. An empty slot has q = 0.
struct Bins {
  static constexpr std::size_t kSlots = 8;
  std::uint32_t margin = 0;
  std::uint32_t bins_x = 0;
  std::uint32_t bins_y = 0;
  std::uint32_t bins_z = 0;
  std::vector<Atom> slots;
  std::vector<Atom> overflow;  // atoms whose bin is full; the host adds their potential
};

inline Bins sort_into_bins(const std::vector<Atom>& atoms, const Lattice& lattice, std::uint32_t margin) {
  Bins bins{margin,
            lattice.regions_x + 2 * margin,
            lattice.regions_y + 2 * margin,
            lattice.regions_z + 2 * margin,
            {},
            {}};
  const std::size_t count = std::size_t{bins.bins_x} * bins.bins_y * bins.bins_z;
  bins.slots.resize(count * Bins::kSlots);
  std::vector<std::uint8_t> used(count, 0);
  for (const Atom& atom : atoms) {
    const auto bin_of = [&](float position) {
      return static_cast<std::size_t>(position / Lattice::kBinLength) + margin;
    };
    const std::size_t bin = (bin_of(atom.z) * bins.bins_y + bin_of(atom.y)) * bins.bins_x + bin_of(atom.x);
    GPUMUX_CHECK(bin < count);
    if (used[bin] == Bins::kSlots) {
      bins.overflow.push_back(atom);
    } else {
      bins.slots[bin * Bins::kSlots + used[bin]++] = atom;
    }
  }
  return bins;
}

/// Potential in e/angstrom, and the error that is allowed in a single-precision result.
struct Potential {
  std::vector<double> value;
  std::vector<double> allowed;
};

/// Sums q/r (1 - r^2/cutoff^2)^2 over the atoms nearer than the cutoff to each point. No atom may be on a
/// lattice point.
///
/// Tolerance: coordinates up to `extent` have an absolute error of extent u, so r has a relative error of
/// about 2 extent u / r. The formula and the sum add fewer than 16 + atoms-in-reach roundings of u.
inline Potential cutcp_reference(const std::vector<Atom>& atoms, const Lattice& lattice, float cutoff) {
  constexpr double kRounding = 0x1p-24;
  constexpr double kSpacing = Lattice::kSpacing;
  const double extent =
      kSpacing * static_cast<double>(std::max({lattice.points_x(), lattice.points_y(), lattice.points_z()}));
  const double cutoff2 = double{cutoff} * cutoff;
  Potential potential;
  potential.value.assign(lattice.points(), 0.0);
  potential.allowed.assign(lattice.points(), 1e-9);
  std::vector<double> magnitude(lattice.points(), 0.0);
  std::vector<std::uint32_t> terms(lattice.points(), 0);
  const auto first = [&](float position) {
    return static_cast<std::size_t>(std::max(0.0, std::floor((double{position} - cutoff) / kSpacing)));
  };
  const auto last = [&](float position, std::size_t points) {
    return std::min(points, static_cast<std::size_t>(std::ceil((double{position} + cutoff) / kSpacing)) + 1);
  };
  for (const Atom& atom : atoms) {
    for (std::size_t z = first(atom.z); z < last(atom.z, lattice.points_z()); ++z) {
      const double dz = static_cast<double>(z) * kSpacing - atom.z;
      for (std::size_t y = first(atom.y); y < last(atom.y, lattice.points_y()); ++y) {
        const double dy = static_cast<double>(y) * kSpacing - atom.y;
        for (std::size_t x = first(atom.x); x < last(atom.x, lattice.points_x()); ++x) {
          const double dx = static_cast<double>(x) * kSpacing - atom.x;
          const double r2 = dx * dx + dy * dy + dz * dz;
          if (r2 >= cutoff2) continue;
          const double r = std::sqrt(r2);
          const double s = 1 - r2 / cutoff2;
          const std::size_t at = (z * lattice.points_y() + y) * lattice.points_x() + x;
          potential.value[at] += atom.q / r * s * s;
          magnitude[at] += std::abs(atom.q) / r;
          ++terms[at];
          potential.allowed[at] += kRounding * std::abs(atom.q) / r * (16 + 4 * extent / r);
        }
      }
    }
  }
  for (std::size_t at = 0; at < terms.size(); ++at)
    potential.allowed[at] += kRounding * terms[at] * magnitude[at];
  return potential;
}

}  // namespace gpumux::benchmarks
