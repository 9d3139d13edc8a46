// Rounding of sizes and addresses to units of allocation.
#pragma once

#include <concepts>
#include <type_traits>

namespace gpumux {

/// The smallest multiple of `unit` that is not below `value`; `value` itself if the unit is 0 or 1.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T round_up(T value, std::type_identity_t<T> unit) {
  return unit <= 1 ? value : (value + unit - 1) / unit * unit;
}

}  // namespace gpumux
