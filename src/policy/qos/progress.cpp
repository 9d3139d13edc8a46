#include "policy/qos/progress.hpp"

#include <algorithm>

namespace gpumux::policy {

void Progress::kernel_arrived(const Probes& control, AppId app) {
  App& of = apps_[app];
  if (of.kernels++ == 0) of.busy_since = control.now();
}

void Progress::kernel_ended(const Probes& control, AppId app) {
  App& of = apps_[app];
  if (--of.kernels == 0) of.busy += control.now() - of.busy_since;
}

void Progress::epoch_ended(const Probes& control) {
  for (std::size_t app = 0; app < apps_.size(); ++app) {
    App& of = apps_[app];
    const Cycle busy = of.busy + (of.kernels > 0 ? control.now() - of.busy_since : 0);
    if (busy == 0) continue;
    const std::uint64_t instructions = control.app_counters(static_cast<AppId>(app)).useful_instructions();
    of.epoch_busy = busy - of.busy_before;
    // Instructions of dropped blocks no longer count, so the counter can fall.
    const double done =
        std::max(0.0, static_cast<double>(instructions) - static_cast<double>(of.instructions_before));
    of.epoch_ipc = of.epoch_busy == 0 ? 0 : done / static_cast<double>(of.epoch_busy);
    of.history_ipc = static_cast<double>(instructions) / static_cast<double>(busy);
    of.busy_before = busy;
    of.instructions_before = instructions;
  }
}

}  // namespace gpumux::policy
