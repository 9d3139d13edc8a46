#include "policy/qos/adjustment.hpp"

#include <algorithm>

namespace gpumux::policy {
namespace {

/// Blocks of `victim` that must leave to make room for one block of `kernel`; nothing: even all of them are
/// not enough.
std::optional<std::uint32_t> needed(const SmAmounts& capacity, const std::vector<Tenant>& tenants,
                                    std::size_t kernel, std::size_t victim) {
  std::uint32_t blocks = 0;
  for (std::size_t r = 0; r < capacity.size(); ++r) {
    std::uint64_t used = tenants[kernel].demand[r];
    for (const Tenant& tenant : tenants) used += tenant.demand[r] * tenant.blocks;
    if (used <= capacity[r]) continue;
    const std::uint64_t each = tenants[victim].demand[r];
    if (each == 0) return std::nullopt;
    blocks = std::max(blocks, static_cast<std::uint32_t>((used - capacity[r] + each - 1) / each));
  }
  if (blocks > tenants[victim].blocks) return std::nullopt;
  return blocks;
}

bool wants_more(const Tenant& tenant) {
  return tenant.has_goal && tenant.idle <= 1 && tenant.history < tenant.goal && tenant.has_more;
}

/// True if the tenant may give up `blocks` blocks by a condition. Conditions 0 to 2 are tried in this order.
bool may_give(const Tenant& tenant, std::uint32_t blocks, int condition) {
  if (!tenant.gives) return false;
  if (tenant.everywhere <= blocks) return false;
  switch (condition) {
    case 0: return !tenant.has_goal;
    case 1: return tenant.idle >= blocks + 1;
    default: {
      const double left = 1.0 - static_cast<double>(blocks) / static_cast<double>(tenant.everywhere);
      return tenant.has_goal && tenant.history * left > tenant.goal;
    }
  }
}

}  // namespace

std::optional<Growth> next_growth(const SmAmounts& capacity, const std::vector<Tenant>& tenants) {
  for (std::size_t kernel = 0; kernel < tenants.size(); ++kernel) {
    if (!wants_more(tenants[kernel])) continue;
    if (needed(capacity, tenants, kernel, kernel) == 0U) return Growth{kernel, std::nullopt, 0};
    for (int condition = 0; condition < 3; ++condition) {
      for (std::size_t victim = 0; victim < tenants.size(); ++victim) {
        if (victim == kernel) continue;
        const std::optional<std::uint32_t> blocks = needed(capacity, tenants, kernel, victim);
        if (blocks && may_give(tenants[victim], *blocks, condition)) return Growth{kernel, victim, *blocks};
      }
    }
  }
  return std::nullopt;
}

}  // namespace gpumux::policy
