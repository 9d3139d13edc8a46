#include "policy/qos/symmetric.hpp"

#include <algorithm>

namespace gpumux::policy {
namespace {

constexpr std::size_t kThreads = 2;  // index in SmAmounts

std::uint64_t used(const std::vector<QosSharer>& kernels, const std::vector<std::uint32_t>& blocks,
                   std::size_t resource) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) sum += kernels[i].sharer.demand[resource] * blocks[i];
  return sum;
}

}  // namespace

std::vector<std::size_t> kernels_on(std::uint32_t sm, std::uint32_t sms,
                                    const std::vector<QosSharer>& kernels) {
  std::vector<std::size_t> here;
  const auto others = static_cast<std::uint64_t>(std::count_if(
      kernels.begin(), kernels.end(), [](const QosSharer& kernel) { return !kernel.has_goal; }));
  std::uint64_t other = 0;  // index among kernels without a goal
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool divides = !kernels[i].has_goal;
    const std::uint64_t number = divides ? other++ : 0;
    // SM s belongs to kernel number s * others / sms. With more kernels than SMs, several share an SM.
    const bool its = !divides || (others <= sms ? std::uint64_t{sm} * others / sms == number
                                                : number * sms / others == sm);
    if (its) here.push_back(i);
  }
  return here;
}

std::optional<std::vector<std::uint32_t>> symmetric_blocks(const SmAmounts& capacity,
                                                           const std::vector<QosSharer>& kernels) {
  std::vector<std::uint32_t> blocks;
  for (const QosSharer& kernel : kernels) {
    const std::uint64_t part = capacity[kThreads] / kernels.size();
    const auto fit = static_cast<std::uint32_t>(part / std::max(kernel.threads, 1U));
    blocks.push_back(std::clamp(fit, 1U, std::max(kernel.sharer.most, 1U)));
  }
  for (std::size_t r = 0; r < capacity.size(); ++r) {
    while (used(kernels, blocks, r) > capacity[r]) {
      std::optional<std::size_t> greatest;
      const auto takes = [&](std::size_t i) { return kernels[i].sharer.demand[r] * blocks[i]; };
      for (std::size_t i = 0; i < kernels.size(); ++i)
        if (blocks[i] > 1 && (!greatest || takes(i) > takes(*greatest))) greatest = i;
      if (!greatest) return std::nullopt;
      --blocks[*greatest];
    }
  }
  return blocks;
}

}  // namespace gpumux::policy
