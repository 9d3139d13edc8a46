// Cooperative grids. The blocks of a cooperative grid may wait for each other, so all of them are placed at
// once. For a grid that has no room yet, places are reserved. If the policy's share is too small for a grid,
// the grid waits until earlier kernels end, and later kernels wait for the grid.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "machine/work_distributor.hpp"

namespace gpumux::machine {

namespace {

using policy::SmAmounts;

[[nodiscard]] bool waits_for_places(const policy::RunningKernel& kernel) {
  return kernel.cooperative &&
         (kernel.blocks_dispatched != kernel.blocks_total || kernel.blocks_waiting != 0);
}

/// Number of blocks of the grid that must be placed together.
[[nodiscard]] std::uint64_t to_place(const policy::RunningKernel& grid) {
  return grid.blocks_total - grid.blocks_dispatched + grid.blocks_waiting;
}

[[nodiscard]] std::uint64_t sum(const std::vector<std::uint32_t>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
}

void add(SmAmounts& to, const SmAmounts& each, std::uint64_t count) {
  for (std::size_t r = 0; r < to.size(); ++r) to[r] += each[r] * count;
}

/// Number of blocks that fit in addition to what is taken, at most `most`.
[[nodiscard]] std::uint32_t fitting(const SmAmounts& capacity, const SmAmounts& taken, const SmAmounts& each,
                                    std::uint32_t most) {
  std::uint64_t blocks = most;
  for (std::size_t r = 0; r < capacity.size(); ++r)
    if (each[r] != 0) blocks = std::min(blocks, (capacity[r] - std::min(capacity[r], taken[r])) / each[r]);
  return static_cast<std::uint32_t>(blocks);
}

}  // namespace

bool WorkDistributor::grid_waits() const {
  return grids_ != 0 && std::any_of(running_.begin(), running_.end(), waits_for_places);
}

std::optional<std::size_t> WorkDistributor::next_admitted(const Mechanisms& mechanisms) const {
  if (!kernel_has_arrived() || !room_for_kernel()) return std::nullopt;
  if (grids_ == 0) return 0;
  const auto next = std::find_if(submitted_.begin(), submitted_.end(), [&](const Submitted& submitted) {
    return submitted.arrival > parts_.now() || !is_kept_waiting(submitted, mechanisms);
  });
  if (next == submitted_.end() || next->arrival > parts_.now()) return std::nullopt;
  return static_cast<std::size_t>(next - submitted_.begin());
}

/// True if the kernel must not be admitted yet. If two grids waited, a policy might give neither
/// grid the share that it needs.
bool WorkDistributor::is_kept_waiting(const Submitted& submitted, const Mechanisms& mechanisms) const {
  // The kernel that launches a child may wait for it, so children are always admitted.
  if ((submitted.stream & runtime::DeviceLaunches::kChild) != 0) return false;
  const AppId app = submitted.context->app();
  return std::any_of(running_.begin(), running_.end(), [&](const RunningKernel& grid) {
    if (!waits_for_places(grid) || !mechanisms.waits_behind(app, grid.app)) return false;
    if (submitted.source->is_cooperative()) return true;
    // The grid waits for earlier kernels to end, and an earlier kernel of `app` may wait for the new kernel.
    const bool may_be_waited_for =
        std::any_of(running_.begin(), running_.end(), [&](const RunningKernel& other) {
          return other.app == app && other.slot != grid.slot && other.arrival < grid.arrival &&
                 policy::resident_blocks(other) != 0;
        });
    return (small_shares_ >> grid.slot & 1U) != 0 && !may_be_waited_for;
  });
}

void WorkDistributor::place_grids(Mechanisms& mechanisms) {
  reservations_.clear();
  if (grids_ == 0) return;
  // Partly resident grids go first, because their resident blocks hold places without making progress.
  std::vector<arch::KernelSlot> grids;
  for (const bool in_part : {true, false})
    for (const RunningKernel& kernel : running_)
      if (waits_for_places(kernel) && (policy::resident_blocks(kernel) != 0) == in_part)
        grids.push_back(kernel.slot);
  for (const arch::KernelSlot slot : grids) {
    RunningKernel& grid = running(slot);
    if (place_grid(grid, mechanisms)) continue;
    const bool has_reservation =
        std::any_of(reservations_.begin(), reservations_.end(),
                    [slot](const Reservation& reservation) { return reservation.grid == slot; });
    // Holds until the grid is placed: each further kernel would make the grid's share too small again.
    if (!has_reservation && grid.blocks_dispatched == 0) small_shares_ |= std::uint32_t{1} << slot;
  }
}

bool WorkDistributor::place_grid(RunningKernel& grid, Mechanisms& mechanisms) {
  const std::uint64_t blocks = to_place(grid);
  const auto order = std::find(dispatch_order_.begin(), dispatch_order_.end(), grid.slot);
  Places places;
  if (order != dispatch_order_.end()) places = places_of(grid, mechanisms.block_scheduler());
  if (sum(places.free) >= blocks &&
      (policy::resident_blocks(grid) != 0 ||
       !others_go_first(static_cast<std::size_t>(order - dispatch_order_.begin()),
                        mechanisms.block_scheduler()))) {
    grid_is_alone_since_ = kNever;
    small_shares_ &= ~(std::uint32_t{1} << grid.slot);
    place_all(grid, std::move(places.free), mechanisms);
    return true;
  }
  if (sum(places.most) >= blocks) {
    grid_is_alone_since_ = kNever;
    reserve(grid, places, blocks);
  } else {
    refuse_if_never(grid, places, mechanisms);
  }
  return false;
}

bool WorkDistributor::others_go_first(std::size_t order, policy::BlockScheduler& blocks) {
  if (takes_turns_) return false;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    const auto sm = static_cast<SmId>(i);
    if (duties_[sm].duty != policy::SmDuty::Serves || parts_.now() < duties_[sm].powered_at ||
        parts_.is_ahead(i))
      continue;
    for (std::size_t before = 0; before < order; ++before)
      if (has_room_for(sm, before) &&
          blocks.choose(sm, parts_.settled_sm(i), std::span(&dispatch_order_[before], 1)))
        return true;
  }
  return false;
}

WorkDistributor::Places WorkDistributor::places_of(const RunningKernel& grid,
                                                   const policy::BlockScheduler& scheduler) {
  Places places{std::vector<std::uint32_t>(parts_.sms(), 0), std::vector<std::uint32_t>(parts_.sms(), 0)};
  const SmAmounts capacity = policy::sm_capacity(config_.sm);
  const SmAmounts each = policy::block_demand(config_.sm, grid.resources);
  const auto order = static_cast<std::size_t>(
      std::find(dispatch_order_.begin(), dispatch_order_.end(), grid.slot) - dispatch_order_.begin());
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    const auto id = static_cast<SmId>(i);
    const sm::Sm& sm = parts_.sm(i);
    if (duties_[id].duty != policy::SmDuty::Serves) continue;
    const std::uint32_t resident = sm.resident_blocks(grid.slot);
    const std::uint32_t limit =
        std::min({sm.block_limit(grid.slot), scheduler.most_blocks(), grid.max_blocks_per_sm});
    places.most[i] = limit - std::min(limit, resident);
    if (parts_.now() < duties_[id].powered_at || parts_.is_ahead(i) || is_held_back(sm, grid)) continue;
    // Blocks that are about to leave count as resident, because their places go to other blocks of this grid.
    places.free[i] = fitting(capacity, taken(id, order), each, places.most[i]);
  }
  // Blocks that are about to leave keep their places until then, and must be placed together with the others.
  if (policy::resident_blocks(grid) != 0)
    for (std::uint32_t i = 0; i < parts_.sms(); ++i)
      for (const arch::ResidentBlock& block : parts_.sm(i).blocks())
        if (block.kernel == grid.slot && block.stops) std::fill(places.free.begin(), places.free.end(), 0);
  return places;
}

void WorkDistributor::place_all(RunningKernel& grid, std::vector<std::uint32_t> free,
                                Mechanisms& mechanisms) {
  const bool apart = !instances_.empty();
  const std::size_t dispatcher = apart ? grid.app : 0;
  const Cycle now = parts_.now();
  // The dispatcher may still be busy placing another grid.
  Cycle delay = std::max(now, busy_until_[dispatcher]) - now;
  for (std::uint64_t left = to_place(grid); left > 0; ++delay) {
    offered_.clear();
    if (apart) {
      const arch::Instance& within = instances_[dispatcher];
      for (std::uint32_t i = 0; i < within.sms; ++i)
        offered_.push_back(static_cast<SmId>(within.first_sm + (next_sm_[dispatcher] + i) % within.sms));
    } else {
      mechanisms.block_scheduler().order(parts_.sms(), offered_);
    }
    std::uint32_t dispatched = 0;
    for (const SmId sm : offered_) {
      if (free[sm] == 0) continue;
      --free[sm];
      if (apart)
        next_sm_[dispatcher] = (sm - instances_[dispatcher].first_sm + 1) % instances_[dispatcher].sms;
      place(grid, sm, now, mechanisms, delay);
      if (--left == 0 || ++dispatched == config_.runtime.blocks_per_cycle) break;
    }
    GPUMUX_CHECK(left == 0 || dispatched != 0);
  }
  busy_until_[dispatcher] = now + delay;
}

void WorkDistributor::reserve(const RunningKernel& grid, const Places& places, std::uint64_t blocks) {
  Reservation reservation{grid.slot, policy::resident_blocks(grid) != 0,
                          policy::block_demand(config_.sm, grid.resources), places.free};
  std::uint64_t more = sum(places.free);
  for (std::uint32_t& free : reservation.blocks) {  // leave out free places beyond `blocks`
    const std::uint64_t beyond = std::min<std::uint64_t>(free, more - std::min(more, blocks));
    free -= static_cast<std::uint32_t>(beyond);
    more -= beyond;
  }
  for (std::uint64_t left = blocks - more; left > 0;) {
    std::optional<std::size_t> least;
    for (std::size_t i = 0; i < reservation.blocks.size(); ++i)
      if (reservation.blocks[i] < places.most[i] &&
          (!least || reservation.blocks[i] < reservation.blocks[*least]))
        least = i;
    GPUMUX_CHECK(least.has_value());
    ++reservation.blocks[*least];
    --left;
  }
  reservations_.push_back(std::move(reservation));
}

SmAmounts WorkDistributor::taken(SmId sm, std::size_t order) const {
  SmAmounts sum{};
  for (const RunningKernel& kernel : running_)
    if (const std::uint32_t blocks = parts_.sm(sm).resident_blocks(kernel.slot); blocks != 0)
      add(sum, policy::block_demand(config_.sm, kernel.resources), blocks);
  for (const Reservation& reservation : reservations_) {
    const auto at =
        static_cast<std::size_t>(std::find(dispatch_order_.begin(), dispatch_order_.end(), reservation.grid) -
                                 dispatch_order_.begin());
    if (reservation.before_all || at < order) add(sum, reservation.of_block, reservation.blocks[sm]);
  }
  return sum;
}

bool WorkDistributor::leaves_reservations(SmId sm, const RunningKernel& kernel, std::size_t order) const {
  return fitting(policy::sm_capacity(config_.sm), taken(sm, order),
                 policy::block_demand(config_.sm, kernel.resources), 1) == 1;
}

void WorkDistributor::refuse_if_never(const RunningKernel& grid, const Places& places,
                                      const Mechanisms& mechanisms) {
  const Cycle now = parts_.now();
  if (running_.size() > 1 || policy::resident_blocks(grid) != 0 || next_power_up() != kNever) {
    grid_is_alone_since_ = kNever;
    return;
  }
  if (grid_is_alone_since_ == kNever) grid_is_alone_since_ = now;
  if (!mechanisms.none_to_come() && now - grid_is_alone_since_ <= mechanisms.patience()) return;
  throw UserError(fmt::format(
      "policy {}: app {}: kernel {}: a cooperative launch of {} blocks, and the policy has room for {} at a "
      "time, though no other kernel runs",
      mechanisms.choice(), slots_[grid.slot].context->name(), grid.name, grid.blocks_total,
      sum(places.most)));
}

}  // namespace gpumux::machine
