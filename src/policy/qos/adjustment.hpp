// Decides whether a kernel that is behind its goal gets one more block on an SM, and whose blocks make room
// for it. Source: wang17 section 3.6.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// A kernel on an SM.
struct Tenant {
  SmAmounts demand{};            // of one block
  std::uint32_t blocks = 0;      // limit of its blocks on this SM
  std::uint32_t idle = 0;        // of `blocks`: as many as its idle but ready warps would fill
  std::uint32_t everywhere = 0;  // limit of its blocks on all SMs together
  bool has_goal = false;
  double goal = 0;        // thread instructions per cycle, if has_goal
  double history = 0;     // thread instructions per cycle since its arrival
  bool gives = true;      // blocks may be taken from this kernel
  bool has_more = false;  // the kernel has blocks that wait for an SM
};

struct Growth {
  std::size_t kernel = 0;             // the kernel that gets a block
  std::optional<std::size_t> victim;  // the kernel that gives up `blocks`; nothing: there is room
  std::uint32_t blocks = 0;
};

/// The next growth on an SM; nothing if no kernel can grow. A kernel grows if it is behind its goal, has at
/// most one idle block, and has more blocks to run; the first such kernel is chosen. The victim is a kernel
/// without a goal, else a kernel with more idle blocks than it gives up, else a kernel that stays above its
/// goal without them. No kernel gives up its last block on the GPU. (The paper does not say in which order
/// the conditions are tried.)
[[nodiscard]] std::optional<Growth> next_growth(const SmAmounts& capacity,
                                                const std::vector<Tenant>& tenants);

}  // namespace gpumux::policy
