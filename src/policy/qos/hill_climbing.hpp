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
/// One SM.
struct SmMove {
  std::size_t from = 0;
  std::size_t to = 0;
};

/// The first application that misses its goal gets one from the largest without a goal, else from the one
/// that has most to spare by the linear model (IPC in proportion to SMs); where nobody misses one, who has to
/// spare gives one to the smallest without a goal. Nobody gives its last.
[[nodiscard]] std::optional<SmMove> climb(const std::vector<Climber>& apps);

}  // namespace gpumux::policy
