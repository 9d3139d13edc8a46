// The CPU reference of the application mergesort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gpumux::benchmarks::mergesort {

/// The places of the elements of `keys` in ascending order of keys. Equal keys keep their order.
[[nodiscard]] inline std::vector<std::uint32_t> reference(const std::vector<std::uint32_t>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace gpumux::benchmarks::mergesort
