// What applications have reached, in the epoch that has passed and since they came: thread instructions per
// cycle in which they had a kernel.
#pragma once

#include <array>
#include <cstdint>

#include "policy/control.hpp"

namespace gpumux::policy {

class Progress {
 public:
  /// To be called at kernel_arrived(), with the kernel in control.kernels(),
  void kernel_arrived(const Probes& control, AppId app);
  /// and at kernel_ended(), without it.
  void kernel_ended(const Probes& control, AppId app);
  /// An epoch ends now: epoch_ipc() is its.
  void epoch_ended(const Probes& control);
  /// 0 where it had no kernel.
  [[nodiscard]] double epoch_ipc(AppId app) const { return apps_[app].epoch_ipc; }
  [[nodiscard]] double history_ipc(AppId app) const { return apps_[app].history_ipc; }
  /// It had a kernel at some time of the epoch.
  [[nodiscard]] bool was_busy(AppId app) const { return apps_[app].epoch_busy > 0; }

 private:
  struct App {
    std::uint32_t kernels = 0;
    Cycle busy_since = 0;   // while it has kernels
    Cycle busy = 0;         // before that
    Cycle busy_before = 0;  // when the epoch began
    std::uint64_t instructions_before = 0;
    Cycle epoch_busy = 0;
    double epoch_ipc = 0;
    double history_ipc = 0;
  };
  std::array<App, kMaxApps> apps_{};
};

}  // namespace gpumux::policy
