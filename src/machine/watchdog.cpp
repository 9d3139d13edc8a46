#include "machine/watchdog.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.hpp"

namespace gpumux::machine {

void Watchdog::watch(Cycle now) {
  if (now < next_) return;
  constexpr Cycle kCyclesBetweenChecks = 1 << 15;
  next_ = now + std::min(kCyclesBetweenChecks, config_.watchdog_cycles / 8);
  if (config_.runtime.max_kernel_cycles != 0)
    next_ = std::min(next_, now + config_.runtime.max_kernel_cycles / 8);
  for (const policy::RunningKernel& kernel : work_.kernels()) work_.check_length(kernel, now);
  watch_standstill(now);
  if (work_.grid_waits()) work_.look_again();  // may place the grid, or refuse it
  const std::uint64_t progress = parts_.progress();
  if (progress != progress_ || work_.kernels().empty()) {
    progress_ = progress;
    progress_cycle_ = now;
  } else if (now - progress_cycle_ > config_.watchdog_cycles) {
    throw SimulationFault(fmt::format("error: watchdog: no progress since cycle {} (now {})\n{}",
                                      progress_cycle_, now, work_.wait_report()));
  }
}

/// Throws SimulationFault if an application's blocks provably wait for each other and nothing can help them.
/// A block or kernel of the application that is not on the machine yet may still help. Such a block or kernel
/// may be placed when a kernel of another application ends, or when a mechanism gives the application more
/// room; mechanisms get time for that.
void Watchdog::watch_standstill(Cycle now) {
  using Activity = WorkDistributor::Activity;
  const std::uint32_t apps = work_.running_apps();
  if ((apps & to_end_) == 0 || !work_.places_are_settled()) return;
  std::uint32_t still = 0;
  bool some_moves = false;
  Cycle all_since = 0;
  for (std::uint32_t app = 0; app < kMaxApps; ++app) {
    Standstill& of = standstills_[app];
    const Activity activity =
        (apps >> app & 1U) != 0 ? work_.activity(static_cast<AppId>(app)) : Activity::Moves;
    if (activity == Activity::Moves) {
      some_moves = some_moves || (apps >> app & 1U) != 0;
      of.since = kNever;
      continue;
    }
    if (activity == Activity::StandsStill) still |= std::uint32_t{1} << app;
    const std::uint64_t moves = work_.block_moves(static_cast<AppId>(app));
    if (of.since == kNever || of.moves != moves) of = {now, moves};
    all_since = std::max(all_since, of.since);
  }
  const bool nobody_moves =
      !some_moves && !work_.something_to_come_from_others(apps) && !work_.takes_kernel_next(mechanisms_);
  const bool had_time = now - all_since > mechanisms_.patience();
  for (std::uint32_t left = still & to_end_; left != 0; left &= left - 1) {
    const auto app = static_cast<AppId>(std::countr_zero(left));
    const bool all_is_there = !work_.something_to_come(app);
    if (all_is_there ||
        (nobody_moves && (had_time || (mechanisms_.none_to_come() && work_.is_settled(mechanisms_)))))
      work_.report_standstill(app, standstills_[app].since, mechanisms_);
  }
}

}  // namespace gpumux::machine
