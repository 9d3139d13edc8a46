// Whether a kernel that is behind its goal gets one more block on an SM, and whose blocks make place for it.
// Source: wang17 section 3.6.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// A kernel on an SM.
struct Tenant {
  SmAmounts demand{};            // of one block
  std::uint32_t blocks = 0;      // that it may have there
  std::uint32_t idle = 0;        // of these: as many as its warps that could issue and do not would fill
  std::uint32_t everywhere = 0;  // blocks that it may have on all SMs
  bool has_goal = false;
  double goal = 0;        // thread instructions per cycle; with a goal
  double history = 0;     // reached since it came
  bool gives = true;      // blocks may be taken from it
  bool has_more = false;  // blocks that wait for a place
};

struct Growth {
  std::size_t kernel = 0;             // gets one block more
  std::optional<std::size_t> victim;  // gives up `blocks`; nothing: there is room
  std::uint32_t blocks = 0;
};

/// A kernel grows when it is behind its goal, has at most one idle block, and more to run. Of several the
/// first one, of victims one without a goal, then one with more idle blocks than it gives up, then one that
/// stays above its goal without them; none gives its last block of all. (The paper does not say in which
/// order the conditions are tried.)
[[nodiscard]] std::optional<Growth> next_growth(const SmAmounts& capacity,
                                                const std::vector<Tenant>& tenants);

}  // namespace gpumux::policy
