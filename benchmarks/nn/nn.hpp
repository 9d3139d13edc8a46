// The CPU references of the application nn: distances of places, and the nearest places.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::nn {

/// A place in the kernel's layout, in degrees.
struct Place {
  float latitude, longitude;
};

/// Euclidean distances to `target`, in degrees.
[[nodiscard]] std::vector<double> distances(const std::vector<Place>& places, const Place& target);

/// The indices of the `k` smallest distances, in ascending order of distance. Of equal distances, the lower
/// index comes first.
template <typename Number>
[[nodiscard]] std::vector<std::uint32_t> nearest(const std::vector<Number>& distance, std::uint32_t k);

}  // namespace gpumux::benchmarks::nn
