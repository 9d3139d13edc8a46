// Durations in user input: 15us, 0.2ms, 21000.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/config.hpp"
#include "base/types.hpp"

namespace gpumux::arch {

/// A duration in core cycles, or in ns, us, ms or s, which the machine's core clock converts to cycles.
struct Duration {
  double amount = 0;
  std::string unit;  // empty: core cycles
  /// Duration in core cycles, at least 1.
  [[nodiscard]] Cycle cycles(const MachineConfig& config) const;
};

/// Parses a duration above 0 and at most 1000 s or 10^12 cycles. Returns nothing for any other text.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
/// Description of a valid text, for messages when parse_duration() fails.
inline constexpr const char* kDurationHelp =
    "a time such as 15us, 0.2ms, 500ns or 21000 (core cycles), up to 1000 s";

}  // namespace gpumux::arch
