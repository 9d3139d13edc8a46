#include "policy/memory_sharing.hpp"

namespace gpumux::policy {

void MemorySharing::share(Control& control) {
  std::uint32_t apps = 0;
  for (const RunningKernel& kernel : control.kernels()) apps |= 1U << kernel.app;
  for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) control.sm(sm).set_memory_sharers(apps);
}

void MemorySharing::window_ended(Control& control) {
  const arch::SmProbes& monitor = static_cast<const Control&>(control).sm(scheme_.monitor);
  for (const RunningKernel& kernel : control.kernels()) {
    const std::uint32_t limit = monitor.memory_client(kernel.app).limit;
    if (limit == limits_[kernel.app]) continue;
    limits_[kernel.app] = limit;
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      control.sm(sm).set_memory_limit(kernel.app, limit);
  }
}

}  // namespace gpumux::policy
