// Percentiles by nearest rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gpumux {

/// The smallest element of `sorted` that at least the fraction `part` of all elements do not exceed. `sorted`
/// must not be empty.
template <typename T>
[[nodiscard]] T percentile(const std::vector<T>& sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace gpumux
