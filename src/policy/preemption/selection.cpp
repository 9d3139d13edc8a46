#include "policy/preemption/selection.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace gpumux::policy {

SmPlan plan_sm(std::uint32_t sm, const std::vector<Candidate>& blocks, const std::vector<BlockCosts>& costs,
               Allowed allowed, double limit) {
  struct Entry {
    std::size_t block;
    Technique technique;
    Cost cost;
  };
  std::vector<Entry> sorted;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t t = 0; t < kTechniques; ++t) {
      const auto technique = static_cast<Technique>(t);
      if (allowed.of(technique)) sorted.push_back({b, technique, costs[b][t]});
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Entry& a, const Entry& b) {
    return std::tuple(a.cost.overhead, a.cost.latency, blocks[a.block].block.residency) <
           std::tuple(b.cost.overhead, b.cost.latency, blocks[b.block].block.residency);
  });
  std::vector<std::optional<Entry>> chosen(blocks.size());
  for (const Entry& entry : sorted)
    if (entry.cost.latency <= limit && entry.cost.latency != kMostCost && !chosen[entry.block])
      chosen[entry.block] = entry;
  const Technique otherwise = allowed.switching ? Technique::Switch : Technique::Drain;
  SmPlan plan;
  plan.sm = sm;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Entry entry =
        chosen[b].value_or(Entry{b, otherwise, costs[b][static_cast<std::size_t>(otherwise)]});
    plan.blocks.push_back({blocks[b].block.residency, entry.technique, entry.cost});
    plan.latency = std::max(plan.latency, entry.cost.latency);
    plan.overhead += entry.cost.overhead;
  }
  return plan;
}

std::vector<SmPlan> select_sms(std::vector<SmPlan> plans, std::size_t count, double limit) {
  const auto within = std::stable_partition(plans.begin(), plans.end(),
                                            [limit](const SmPlan& plan) { return plan.latency <= limit; });
  std::sort(plans.begin(), within, [](const SmPlan& a, const SmPlan& b) {
    return std::tuple(a.overhead, a.latency, a.sm) < std::tuple(b.overhead, b.latency, b.sm);
  });
  std::sort(within, plans.end(), [](const SmPlan& a, const SmPlan& b) {
    return std::tuple(a.latency, a.overhead, a.sm) < std::tuple(b.latency, b.overhead, b.sm);
  });
  if (plans.size() > count) plans.resize(count);
  return plans;
}

}  // namespace gpumux::policy
