#include "policy/dominant_resource.hpp"

#include <algorithm>

namespace gpumux::policy {
namespace {

/// The dominant share of `blocks` blocks. Equal fractions give equal numbers, because a division is rounded
/// correctly.
double dominant_share(const SmAmounts& capacity, const Sharer& sharer, std::uint32_t blocks) {
  double share = 0;
  for (std::size_t r = 0; r < kFairResources; ++r) {
    if (sharer.demand[r] == 0) continue;
    share =
        std::max(share, static_cast<double>(sharer.demand[r] * blocks) / static_cast<double>(capacity[r]));
  }
  return share;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> dominant_resource_fairness(const SmAmounts& capacity,
                                                                     const std::vector<Sharer>& sharers) {
  std::vector<std::uint32_t> blocks(sharers.size(), 0);
  std::vector<bool> full(sharers.size(), false);  // a block that does not fit now never will
  while (true) {
    std::size_t poorest = sharers.size();
    double least = 0;
    for (std::size_t i = 0; i < sharers.size(); ++i) {
      if (full[i]) continue;
      const double share = dominant_share(capacity, sharers[i], blocks[i]);
      if (poorest < sharers.size() && share >= least) continue;
      poorest = i;
      least = share;
    }
    if (poorest == sharers.size()) break;
    ++blocks[poorest];
    if (blocks[poorest] > sharers[poorest].most || !fit_together(capacity, sharers, blocks)) {
      --blocks[poorest];
      full[poorest] = true;
    }
  }
  if (std::find(blocks.begin(), blocks.end(), 0U) != blocks.end()) return std::nullopt;
  return blocks;
}

}  // namespace gpumux::policy
