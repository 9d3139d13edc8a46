// Measures the progress of applications, in the last epoch and since their arrival: thread instructions per
// cycle in which they had a kernel.
#pragma once

#include <array>
#include <cstdint>

#include "policy/control.hpp"

namespace gpumux::policy {

class Progress {
 public:
  /// Call at kernel_arrived(), when the kernel is in control.kernels().
  void kernel_arrived(const Probes& control, AppId app);
  /// Call at kernel_ended(), when the kernel is no longer in control.kernels().
  void kernel_ended(const Probes& control, AppId app);
  /// Ends an epoch, to which epoch_ipc() then refers.
  void epoch_ended(const Probes& control);
  /// Thread instructions per busy cycle in the last epoch; 0 if the application had no kernel.
  [[nodiscard]] double epoch_ipc(AppId app) const { return apps_[app].epoch_ipc; }
  [[nodiscard]] double history_ipc(AppId app) const { return apps_[app].history_ipc; }
  /// True if the application had a kernel during the last epoch.
  [[nodiscard]] bool was_busy(AppId app) const { return apps_[app].epoch_busy > 0; }

 private:
  struct App {
    std::uint32_t kernels = 0;
    Cycle busy_since = 0;   // since when it has kernels
    Cycle busy = 0;         // busy cycles before busy_since
    Cycle busy_before = 0;  // busy cycles at the start of the epoch
    std::uint64_t instructions_before = 0;
    Cycle epoch_busy = 0;
    double epoch_ipc = 0;
    double history_ipc = 0;
  };
  std::array<App, kMaxApps> apps_{};
};

}  // namespace gpumux::policy
