// Times as people write them: 15us, 0.2ms, 21000.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/config.hpp"
#include "base/types.hpp"

namespace gpumux::arch {

/// A time in core cycles, or in ns, us, ms or s, whose cycles the machine's clock tells.
struct Duration {
  double amount = 0;
  std::string unit;  // empty: core cycles
  /// At least 1.
  [[nodiscard]] Cycle cycles(const MachineConfig& config) const;
};

/// More than nothing, at most 1000 s or 10^12 cycles; nothing for any other text.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
/// What a text must be for which parse_duration() has nothing.
inline constexpr const char* kDurationHelp =
    "a time such as 15us, 0.2ms, 500ns or 21000 (core cycles), up to 1000 s";

}  // namespace gpumux::arch
