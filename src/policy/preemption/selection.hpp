// Which SMs are taken from a kernel, and by which technique each of their blocks: chimera15's Algorithm 1,
// and the same with one technique.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/preemption/cost.hpp"

namespace gpumux::policy {

/// Techniques that may be chosen.
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

/// What becomes of one block.
struct BlockPlan {
  std::uint32_t residency = 0;
  Technique technique = Technique::Drain;
  Cost cost;
};
/// And of one SM.
struct SmPlan {
  std::uint32_t sm = 0;
  std::vector<BlockPlan> blocks;
  double latency = 0;   // of its slowest block
  double overhead = 0;  // of all
};

/// Lines 2 to 17 of the algorithm: costs are looked at in order of overhead, and each block takes the first
/// technique that meets the limit. One that none meets is switched, or, where that is not allowed, drained.
/// Ties: lower latency, then lower number.
[[nodiscard]] SmPlan plan_sm(std::uint32_t sm, const std::vector<Candidate>& blocks,
                             const std::vector<BlockCosts>& costs, Allowed allowed, double limit);

/// Lines 19 to 28: `count` SMs in order of overhead, of those that meet the limit. Where these are too few
/// (the paper says nothing of it), those of least latency follow. Fewer only when there are fewer SMs.
[[nodiscard]] std::vector<SmPlan> select_sms(std::vector<SmPlan> plans, std::size_t count, double limit);

}  // namespace gpumux::policy
