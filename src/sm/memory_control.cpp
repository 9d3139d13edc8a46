#include "sm/memory_control.hpp"

#include <algorithm>
#include <numeric>

namespace gpumux::sm {

std::uint32_t requests_per_instruction(std::uint32_t requests, std::uint32_t instructions) {
  if (instructions == 0) return 1;
  return std::max(1U, (requests + instructions / 2) / instructions);
}

std::array<std::int32_t, kMaxApps> quotas(const std::array<std::uint32_t, kMaxApps>& requests_per_instruction,
                                          std::uint32_t sharers) {
  std::array<std::int32_t, kMaxApps> quota{};
  // With many sharers, the multiple could overflow. A multiple this large preserves the proportions.
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 40U;
  std::uint64_t multiple = 1;
  std::uint32_t least = ~0U;
  for (std::uint32_t left = sharers; left != 0; left &= left - 1) {
    const std::uint32_t each = requests_per_instruction[static_cast<std::size_t>(std::countr_zero(left))];
    least = std::min(least, each);
    if (multiple < kLarge) multiple = std::lcm(multiple, std::uint64_t{each});
  }
  unsigned shift = 0;
  while ((multiple / least) >> shift > MemoryControl::kMostQuota) ++shift;
  for (std::uint32_t left = sharers; left != 0; left &= left - 1) {
    const auto app = static_cast<std::size_t>(std::countr_zero(left));
    quota[app] = std::max(1, static_cast<std::int32_t>((multiple / requests_per_instruction[app]) >> shift));
  }
  return quota;
}

std::uint32_t dynamic_limit(std::uint32_t peak, std::uint64_t failures, std::uint32_t interval) {
  const std::uint64_t per_request = failures >> static_cast<unsigned>(std::countr_zero(interval));
  if (per_request == 0) return arch::kNoMemoryLimit;
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(peak / per_request));
}

void MemoryControl::set(const arch::MemoryScheme& scheme) {
  GPUMUX_CHECK(std::has_single_bit(scheme.interval));
  scheme_ = scheme;
  most_failures_ = std::uint64_t{kFailuresPerRequest} * scheme.interval;
  full_ = 0;
  for (std::uint32_t app = 0; app < kMaxApps; ++app) {
    clients_[app].limit = clients_[app].lowest_limit =
        scheme.limit == arch::MemoryScheme::Limit::Static ? scheme.limits[app] : arch::kNoMemoryLimit;
    note_full(static_cast<AppId>(app));
  }
}

void MemoryControl::set_sharers(std::uint32_t sharers) {
  sharers_ = sharers;
  if (scheme_.order != arch::MemoryScheme::Order::Quota) return;
  for (std::uint32_t left = here(); left != 0; left &= left - 1) {
    if (clients_[static_cast<std::size_t>(std::countr_zero(left))].quota > 0) continue;
    add_quotas();  // a new sharer has no quota
    return;
  }
}

void MemoryControl::arrived(AppId app) {
  present_ |= 1U << app;
  if (scheme_.order != arch::MemoryScheme::Order::Quota) return;
  for (arch::MemoryClient& client : clients_) client.quota = 0;
  add_quotas();
}

void MemoryControl::issued(AppId app) {
  arch::MemoryClient& client = clients_[app];
  ++client.in_flight;
  client.peak = std::max(client.peak, client.in_flight);
  intervals_[app].peak = std::max(intervals_[app].peak, client.in_flight);
  note_full(app);
  spend_turn(app);
}

/// Adds a new set of quotas for all, from current knowledge, so that no application waits for a quota.
void MemoryControl::add_quotas() {
  std::array<std::uint32_t, kMaxApps> known{};
  for (std::uint32_t app = 0; app < kMaxApps; ++app) known[app] = clients_[app].requests_per_instruction;
  const std::array<std::int32_t, kMaxApps> fresh = quotas(known, here());
  for (std::uint32_t left = here(); left != 0; left &= left - 1) {
    const auto app = static_cast<std::size_t>(std::countr_zero(left));
    arch::MemoryClient& client = clients_[app];
    client.quota = std::min(client.quota + fresh[app], kMostQuota);
    ++client.quota_rounds;
  }
}

bool MemoryControl::requested(AppId app, bool last) {
  Interval& interval = intervals_[app];
  interval.instructions += last ? 1U : 0U;
  if (++interval.requests < scheme_.interval) return false;
  arch::MemoryClient& client = clients_[app];
  client.requests_per_instruction = requests_per_instruction(interval.requests, interval.instructions);
  bool frees = false;
  if (scheme_.limit == arch::MemoryScheme::Limit::Dynamic ||
      (scheme_.limit == arch::MemoryScheme::Limit::DynamicGlobal && id_ == scheme_.monitor)) {
    frees = set_limit(
        app, dynamic_limit(std::min(interval.peak, kMostInFlight), interval.failures, scheme_.interval));
  }
  interval = {};
  interval.peak = client.in_flight;
  return frees;
}

bool MemoryControl::set_limit(AppId app, std::uint32_t limit) {
  arch::MemoryClient& client = clients_[app];
  client.limit = limit;
  client.lowest_limit = std::min(client.lowest_limit, limit);
  ++client.limit_updates;
  return note_full(app);
}

void MemoryControl::ends_at(AppId app, Cycle cycle) {
  constexpr std::size_t kMany = 256;
  if (head_ >= kMany) {
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  std::size_t at = ends_.size();
  ends_.push_back({cycle, app});
  // Almost always behind all others, because L1's latency is constant.
  for (; at > head_ && ends_[at - 1].cycle > cycle; --at) ends_[at] = ends_[at - 1];
  ends_[at] = {cycle, app};
}

bool MemoryControl::drained() const {
  std::array<std::uint32_t, kMaxApps> ending{};
  for (std::size_t i = head_; i < ends_.size(); ++i) ++ending[ends_[i].app];
  for (std::uint32_t app = 0; app < kMaxApps; ++app)
    if (clients_[app].in_flight != ending[app]) return false;
  return true;
}

AppId MemoryControl::first_of(std::uint32_t offered) const {
  if (scheme_.order != arch::MemoryScheme::Order::Quota) return next_in_turn(offered);
  std::int32_t most = 0;
  std::uint32_t best = 0;
  for (std::uint32_t left = offered; left != 0; left &= left - 1) {
    const std::int32_t quota = clients_[static_cast<std::size_t>(std::countr_zero(left))].quota;
    if (best != 0 && quota < most) continue;
    best = (best != 0 && quota == most ? best : 0U) | (left & -left);
    most = quota;
  }
  return next_in_turn(best);
}

}  // namespace gpumux::sm
