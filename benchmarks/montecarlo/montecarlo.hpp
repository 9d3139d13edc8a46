// Monte Carlo prices of European call options in double precision, for the host program and its tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpumux::benchmarks::montecarlo {

inline constexpr double kRate = 0.06;
inline constexpr double kVolatility = 0.1;

/// An option as in the kernel. Drift and spread are those of the logarithm of the price over the option's
/// life.
struct Option {
  float price, strike;
  float drift, spread;
};
[[nodiscard]] inline Option make_option(float price, float strike, float years) {
  const auto time = static_cast<double>(years);
  return {price, strike, static_cast<float>((kRate - kVolatility * kVolatility / 2) * time),
          static_cast<float>(kVolatility * std::sqrt(time))};
}

/// Sums over all paths: payoffs and their squares, and the change of each per relative error of the final
/// price.
struct Sums {
  double payoffs = 0, squares = 0;
  double payoffs_by_price = 0, squares_by_price = 0;
};
[[nodiscard]] inline Sums reference(const Option& option, const std::vector<float>& samples) {
  Sums sums;
  for (const float sample : samples) {
    const double end = static_cast<double>(option.price) *
                       std::exp(static_cast<double>(option.drift) +
                                static_cast<double>(option.spread) * static_cast<double>(sample));
    const double payoff = std::max(end - static_cast<double>(option.strike), 0.0);
    sums.payoffs += payoff;
    sums.squares += payoff * payoff;
    sums.payoffs_by_price += end;
    sums.squares_by_price += 2 * payoff * end;
  }
  return sums;
}

}  // namespace gpumux::benchmarks::montecarlo
