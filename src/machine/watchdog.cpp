#include "machine/watchdog.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::machine {

void Watchdog::watch(Cycle now) {
  if (now < next_) return;
  constexpr Cycle kCyclesBetweenChecks = 1 << 15;
  next_ = now + std::min(kCyclesBetweenChecks, config_.watchdog_cycles / 8);
  if (config_.runtime.max_kernel_cycles != 0)
    next_ = std::min(next_, now + config_.runtime.max_kernel_cycles / 8);
  for (const policy::RunningKernel& kernel : work_.kernels()) work_.check_length(kernel, now);
  const std::uint64_t progress = parts_.progress();
  if (progress != progress_ || work_.kernels().empty()) {
    progress_ = progress;
    progress_cycle_ = now;
  } else if (now - progress_cycle_ > config_.watchdog_cycles) {
    throw SimulationFault(fmt::format("error: watchdog: no progress since cycle {} (now {})\n{}",
                                      progress_cycle_, now, work_.wait_report()));
  }
}

}  // namespace gpumux::machine
