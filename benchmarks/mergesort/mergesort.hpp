// What the application mergesort sorts, on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gpumux::benchmarks::mergesort {

/// Where the elements of sorted `keys` were; equal ones keep their order.
[[nodiscard]] inline std::vector<std::uint32_t> reference(const std::vector<std::uint32_t>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace gpumux::benchmarks::mergesort
