// Selects which SMs are taken from a kernel, and the technique for each of their blocks: chimera15's
// Algorithm 1, also with a single technique.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/preemption/cost.hpp"

namespace gpumux::policy {

/// The techniques that may be chosen.
struct Allowed {
  bool switching = false;
  bool draining = false;
  bool flushing = false;
  [[nodiscard]] bool of(Technique technique) const {
    switch (technique) {
      case Technique::Switch: return switching;
      case Technique::Drain: return draining;
      case Technique::Flush: return flushing;
    }
    return false;
  }
};

/// The technique that is chosen for one block, and its cost.
struct BlockPlan {
  std::uint32_t residency = 0;
  Technique technique = Technique::Drain;
  Cost cost;
};
/// The techniques for the blocks of one SM.
struct SmPlan {
  std::uint32_t sm = 0;
  std::vector<BlockPlan> blocks;
  double latency = 0;   // of the slowest block
  double overhead = 0;  // sum over the blocks
};

/// Chooses a technique for each block of an SM (lines 2 to 17 of the algorithm). In order of overhead, each
/// block takes the first technique that meets the latency limit. A block without such a technique is switched
/// or, if switching is not allowed, drained. Ties: lower latency, then lower residency number.
[[nodiscard]] SmPlan plan_sm(std::uint32_t sm, const std::vector<Candidate>& blocks,
                             const std::vector<BlockCosts>& costs, Allowed allowed, double limit);

/// Selects `count` SMs, or all if there are fewer (lines 19 to 28): first those that meet the latency limit,
/// in order of overhead. If these are too few, a case that the paper does not treat, SMs with the least
/// latency follow.
[[nodiscard]] std::vector<SmPlan> select_sms(std::vector<SmPlan> plans, std::size_t count, double limit);

}  // namespace gpumux::policy
