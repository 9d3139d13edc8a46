// Comparison of results with CPU references, and checks of sizes, for the host programs of the benchmarks.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {

/// Half a unit in the last place of a float: the relative error of one rounding.
inline constexpr double kFloatRounding = 0x1p-24;

/// Allowed difference of a float result from its reference: absolute + relative * |reference|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// Tolerance of sums of products of non-negative floats. `roundings`: the largest number of roundings that a
/// term passes (the number of terms, plus one if products are rounded). With u the error of one rounding, the
/// error never exceeds n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
/// It exceeds 10 sqrt(n) u with a probability below 1e-20 (Higham and Mary, SIAM J. Sci. Comput. 41(5),
/// 2019). The result is the smaller of the two bounds.
inline Tolerance sum_tolerance(std::uint64_t roundings) {
  const auto n = static_cast<double>(roundings);
  const double always = n * kFloatRounding / (1 - n * kFloatRounding);
  return {.relative = std::min(always, 10 * std::sqrt(n) * kFloatRounding), .absolute = 0};
}

/// Throws SimulationFault that names the first element with an error above allowed[i] (or NaN), both values
/// and the tolerance. `what` names app and array: "sgemm: c".
inline void check_within(std::string_view what, const std::vector<float>& result,
                         const std::vector<double>& reference, const std::vector<double>& allowed) {
  GPUMUX_CHECK(result.size() == reference.size() && result.size() == allowed.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double difference = std::abs(static_cast<double>(result[i]) - reference[i]);
    if (!(difference <= allowed[i])) {
      throw SimulationFault(fmt::format("{}[{}] is {:.9g} instead of {:.9g} (tolerance {:.3g})", what, i,
                                        result[i], reference[i], allowed[i]));
    }
  }
}

/// check_within() with one rule for all elements. The reference can be float or double.
template <typename Reference>
void check_close(std::string_view what, const std::vector<float>& result,
                 const std::vector<Reference>& reference, Tolerance tolerance) {
  GPUMUX_CHECK(result.size() == reference.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto expected = static_cast<double>(reference[i]);
    const double allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
    const double difference = std::abs(static_cast<double>(result[i]) - expected);
    if (!(difference <= allowed)) {
      throw SimulationFault(fmt::format("{}[{}] is {:.9g} instead of {:.9g} (tolerance {:.3g})", what, i,
                                        result[i], expected, allowed));
    }
  }
}

/// Throws SimulationFault that names the first element that differs. For integers, which must be equal.
template <typename T>
requires std::is_integral_v<T>
void check_equal(std::string_view what, const std::vector<T>& result, const std::vector<T>& reference) {
  GPUMUX_CHECK(result.size() == reference.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] != reference[i]) {
      throw SimulationFault(
          fmt::format("{}[{}] is {} instead of {} (tolerance 0)", what, i, result[i], reference[i]));
    }
  }
}

/// Most bytes of device memory per application. check_memory() throws UserError if the arrays of an
/// application take more than `limit` bytes.
inline constexpr std::uint64_t kMostMemory = 256ULL << 20U;
inline void check_memory(std::string_view app, std::uint64_t bytes, std::uint64_t limit = kMostMemory) {
  if (bytes > limit) {
    throw UserError(fmt::format("app {}: these sizes need {} MB of device memory; at most {} MB are allowed",
                                app, bytes >> 20U, limit >> 20U));
  }
}

/// Number of blocks of `block` threads that cover `threads` threads.
constexpr std::uint32_t blocks_for(std::uint32_t threads, std::uint32_t block) {
  return (threads + block - 1) / block;
}

}  // namespace gpumux::benchmarks
