// One step of hill climbing from a division of SMs towards goals. Source: wang17 section 2.3, after Aguilera
// et al., ASP-DAC 2014.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gpumux::policy {

struct Climber {
  std::uint32_t sms = 0;
  std::optional<double> goal;  // IPC
  double ipc = 0;              // IPC reached with these SMs
};
struct ClimbingRules {
  std::uint32_t least = 0;  // SMs that an application without a goal keeps
  /// True: move as many SMs as the linear model says (IPC in proportion to SMs). False: move one SM.
  bool by_model = false;
};
struct SmMove {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint32_t count = 1;

  bool operator==(const SmMove&) const = default;
};

/// The next move of SMs between applications; nothing if none helps.
/// The first application that misses its goal receives SMs from the largest application without a goal that
/// may give, else from the application with a goal that has the most to spare by the linear model. If no
/// application misses its goal, the application with the most to spare gives to the smallest one without a
/// goal. An application with a goal keeps at least one SM.
[[nodiscard]] std::optional<SmMove> climb(const std::vector<Climber>& apps, const ClimbingRules& rules);

}  // namespace gpumux::policy
