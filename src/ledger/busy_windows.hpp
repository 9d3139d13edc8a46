// For each window of time, how long a place has served each application.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::ledger {

class BusyWindows {
 public:
  static constexpr Cycle kWindow = 4096;  // core cycles

  /// Adds a service of `cycles` for `app` that ends at `until` (core cycles).
  void add(AppId app, Cycle until, std::uint64_t cycles) {
    std::vector<std::uint32_t>& of = apps_[app];
    if (of.size() <= until / kWindow) of.resize(until / kWindow + 1);
    while (cycles != 0 && until != 0) {
      const std::uint64_t in_window = std::min(cycles, until % kWindow == 0 ? kWindow : until % kWindow);
      until -= in_window;
      of[until / kWindow] += static_cast<std::uint32_t>(in_window);
      cycles -= in_window;
    }
  }
  [[nodiscard]] const std::vector<std::uint32_t>& of(AppId app) const { return apps_[app]; }

 private:
  std::array<std::vector<std::uint32_t>, kMaxApps> apps_;
};

/// Combines several places that work in parallel: for each window, the service time of the busiest place. The
/// sum is a lower bound for the time that an application needs when it has the places to itself.
class Busiest {
 public:
  void add(const std::vector<std::uint32_t>& windows) {
    if (most_.size() < windows.size()) most_.resize(windows.size());
    for (std::size_t i = 0; i < windows.size(); ++i) most_[i] = windows[i] > most_[i] ? windows[i] : most_[i];
  }
  [[nodiscard]] std::uint64_t cycles() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t of : most_) sum += of;
    return sum;
  }

 private:
  std::vector<std::uint32_t> most_;
};

}  // namespace gpumux::ledger
