// Prices of European options in double precision, for the host program and its tests.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::blackscholes {

inline constexpr float kRate = 0.02F;
inline constexpr float kVolatility = 0.3F;

struct Option {
  float price, strike, years;
};
struct Prices {
  double call, put;
};
/// Price of one option. Uses the kernel's polynomial for the normal distribution, whose error is at most
/// 7.5e-8.
[[nodiscard]] Prices reference(const Option& option, double rate, double volatility);

}  // namespace gpumux::benchmarks::blackscholes
