// Detects applications whose blocks wait for each other, and what may still let them continue.
#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "machine/work_distributor.hpp"

namespace gpumux::machine {

WorkDistributor::Activity WorkDistributor::activity(AppId app) const {
  bool some = false;
  for (const RunningKernel& kernel : running_) {
    if (kernel.app != app) continue;
    const Slot& slot = slots_[kernel.slot];
    if (slot.killed || !slot.context->waits_for_kernels()) return Activity::Moves;
    if (policy::resident_blocks(kernel) == 0) continue;
    some = true;
    for (std::uint32_t i = 0; i < parts_.sms(); ++i)
      if (!parts_.sm(i).waits_for_others(kernel.slot)) return Activity::Moves;
  }
  return some ? Activity::StandsStill : Activity::HasNoPlace;
}

bool WorkDistributor::has_kernel(AppId app) const {
  return (running_apps() >> app & 1U) != 0 ||
         std::any_of(submitted_.begin(), submitted_.end(), [&](const Submitted& submitted) {
           return submitted.context->app() == app && submitted.arrival <= parts_.now();
         });
}

bool WorkDistributor::places_are_settled() const {
  if (may_place_) return false;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i)
    if (parts_.has_ended_blocks(i)) return false;
  return true;
}

std::uint64_t WorkDistributor::block_moves(AppId app) const {
  std::uint64_t moves = 0;
  for (const RunningKernel& kernel : running_)
    if (kernel.app == app)
      moves += kernel.arrival + kernel.blocks_dispatched + kernel.blocks_done + kernel.blocks_waiting;
  return moves;
}

bool WorkDistributor::something_to_come(AppId app) const {
  return std::any_of(submitted_.begin(), submitted_.end(),
                     [app](const Submitted& submitted) { return submitted.context->app() == app; }) ||
         std::any_of(running_.begin(), running_.end(), [app](const RunningKernel& kernel) {
           return kernel.app == app &&
                  policy::resident_blocks(kernel) + kernel.blocks_done < kernel.blocks_total;
         });
}

bool WorkDistributor::something_to_come_from_others(std::uint32_t apps) const {
  return std::any_of(submitted_.begin(), submitted_.end(), [&](const Submitted& submitted) {
    return (apps >> submitted.context->app() & 1U) == 0 && submitted.arrival > parts_.now();
  });
}

void WorkDistributor::report_standstill(AppId app, Cycle since, const Mechanisms& mechanisms) const {
  const auto kernel = std::find_if(running_.begin(), running_.end(), [app](const RunningKernel& of) {
    return of.app == app && policy::resident_blocks(of) != 0;
  });
  GPUMUX_CHECK(kernel != running_.end());
  const std::uint64_t resident = policy::resident_blocks(*kernel);
  const std::uint64_t without_place = kernel->blocks_total - kernel->blocks_done - resident;
  const std::string why =
      without_place == 0
          ? "all its warps wait at barriers, or read the same in loops that change nothing"
          : fmt::format("its {} resident blocks wait for {} others, for which policy {} has no room on {}",
                        resident, without_place, mechanisms.choice(), config_.name);
  const std::string waits = wait_report();
  throw SimulationFault(fmt::format(
      "error: app {}: kernel {}: it cannot go on, since cycle {} at the latest: {}\n{}{}",
      slots_[kernel->slot].context->name(), kernel->name, since, why, whereabouts(kernel->slot), waits));
}

}  // namespace gpumux::machine
