// By how many warps CM-CPU changes its limit. Source: kayiran14 section 4.1.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/concurrency_controls/congestion.hpp"

namespace gpumux::policy {

/// Two at a time from 8 warps on, one at a time below, where each has more effect. The paper gives both steps
/// to a limit of exactly 8.
struct WarpSteps {
  enum class AtEdge : std::uint8_t { ByDirection, Small, Large };  // up by two and down by one; one; two
  static constexpr std::uint32_t kSmall = 1, kLarge = 2;
  std::uint32_t edge = 8;
  AtEdge at_edge = AtEdge::ByDirection;

  /// The limit after one of `limit` warps, 1 to `most`. A step from above does not go beyond the edge.
  [[nodiscard]] std::uint32_t next(std::uint32_t limit, Change change, std::uint32_t most) const {
    const auto step = [&](bool up) {
      if (limit != edge) return limit > edge ? kLarge : kSmall;
      if (at_edge == AtEdge::ByDirection) return up ? kLarge : kSmall;
      return at_edge == AtEdge::Large ? kLarge : kSmall;
    };
    if (change == Change::Increase) return std::min(limit + step(true), most);
    if (change == Change::Keep) return limit;
    const std::uint32_t least = limit > edge ? edge : 1;
    return std::max(limit - std::min(step(false), limit - 1), least);
  }
};

}  // namespace gpumux::policy
