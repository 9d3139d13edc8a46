// One step of a division of SMs towards goals. Source: wang17 section 2.3, after Aguilera et al., ASP-DAC
// 2014.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gpumux::policy {

struct Climber {
  std::uint32_t sms = 0;
  std::optional<double> goal;  // IPC
  double ipc = 0;              // reached with these SMs
};
struct ClimbingRules {
  std::uint32_t least = 0;  // SMs that an application without a goal keeps
  /// As many SMs as the linear model (IPC in proportion to SMs) says, instead of one.
  bool by_model = false;
};
struct SmMove {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint32_t count = 1;

  bool operator==(const SmMove&) const = default;
};

/// The first application that misses its goal gets some from the largest without a goal that may give, else
/// from the one with a goal that has most to spare by the linear model; where nobody misses one, who has to
/// spare gives to the smallest without a goal. Who has a goal keeps one SM at least.
[[nodiscard]] std::optional<SmMove> climb(const std::vector<Climber>& apps, const ClimbingRules& rules);

}  // namespace gpumux::policy
