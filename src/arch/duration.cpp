#include "arch/duration.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace gpumux::arch {

namespace {

constexpr double kMostSeconds = 1000;
constexpr double kMostCycles = 1e12;

/// Number of the unit in a second; nothing for an unknown unit.
std::optional<double> per_second(std::string_view unit) {
  if (unit == "ns") return 1e9;
  if (unit == "us") return 1e6;
  if (unit == "ms") return 1e3;
  if (unit == "s") return 1.0;
  return std::nullopt;
}

}  // namespace

Cycle Duration::cycles(const MachineConfig& config) const {
  const double cycles = unit.empty() ? amount : amount / *per_second(unit) * config.clocks.core * 1e6;
  return std::max<Cycle>(1, static_cast<Cycle>(std::llround(cycles)));
}

std::optional<Duration> parse_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  const auto amount = parse_double(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  const auto each = per_second(unit);
  if (!amount || !(*amount > 0) || (!unit.empty() && !each)) return std::nullopt;
  if (*amount > (unit.empty() ? kMostCycles : kMostSeconds * *each)) return std::nullopt;
  return Duration{*amount, std::string(unit)};
}

}  // namespace gpumux::arch
