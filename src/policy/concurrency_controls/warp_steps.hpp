// The steps of CM-CPU's limit, in warps. Source: kayiran14 section 4.1.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/concurrency_controls/congestion.hpp"

namespace gpumux::policy {

/// Steps of two warps from `edge` (8) warps on, and of one warp below, where a warp has more effect. The
/// paper gives both steps for a limit of exactly 8.
struct WarpSteps {
  enum class AtEdge : std::uint8_t { ByDirection, Small, Large };  // up by 2 and down by 1; by 1; by 2
  static constexpr std::uint32_t kSmall = 1, kLarge = 2;
  std::uint32_t edge = 8;
  AtEdge at_edge = AtEdge::ByDirection;

  /// The limit that follows `limit` after `change`, from 1 to `most`. A step down from above `edge` does not
  /// go below it.
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
