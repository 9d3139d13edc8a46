// Distances of places and the nearest ones, on the CPU.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::nn {

/// As the kernel reads it.
struct Place {
  float latitude, longitude;
};

/// Euclidean, in degrees.
[[nodiscard]] std::vector<double> distances(const std::vector<Place>& places, const Place& target);

/// The places of the `k` least distances, nearest first, of equal ones the first first.
template <typename Number>
[[nodiscard]] std::vector<std::uint32_t> nearest(const std::vector<Number>& distance, std::uint32_t k);

}  // namespace gpumux::benchmarks::nn
