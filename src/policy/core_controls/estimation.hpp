// ONAC's estimates. Source: awatramani17 sections 4.4.2.1 to 4.4.2.3.
#pragma once

#include "policy/core_controls/core_search.hpp"

namespace gpumux::policy {

/// Samples all cores, then one, then where the line through the last two samples (the first time: through the
/// origin and one core) meets what is fast enough, until a sample is. Where an
/// estimate does not go on, `step` cores more follow, which the thesis does not treat; one that comes to all
/// cores is not sampled.
class CoreEstimation final : public CoreSearch {
 public:
  /// `threshold`: what share of the IPC of all cores may be lost, from 0 to below 1; `step`: from 1 on.
  CoreEstimation(std::uint32_t all, double threshold, std::uint32_t step = 1)
      : CoreSearch(all), all_(all), threshold_(threshold), step_(step) {}

 private:
  struct Record {
    std::uint32_t cores = 0;
    double ipc = 0;
  };
  void sampled(double ipc) override;

  std::uint32_t all_;
  double threshold_;
  std::uint32_t step_;  // cores
  double enough_ = 0;   // IPC
  Record before_;
};

}  // namespace gpumux::policy
