// ONAC's estimates. Source: awatramani17 sections 4.4.2.1 to 4.4.2.3.
#pragma once

#include "policy/core_controls/core_search.hpp"

namespace gpumux::policy {

/// Samples all cores, then one, then where the line through the last two samples (the first time: through the
/// origin and one core) meets what is fast enough, until a sample is. An estimate that does not go on counts
/// as one core more; one that comes to all cores is not sampled.
class CoreEstimation final : public CoreSearch {
 public:
  /// `threshold`: what share of the IPC of all cores may be lost, from 0 to below 1.
  CoreEstimation(std::uint32_t all, double threshold) : CoreSearch(all), all_(all), threshold_(threshold) {}

 private:
  struct Record {
    std::uint32_t cores = 0;
    double ipc = 0;
  };
  void sampled(double ipc) override;

  std::uint32_t all_;
  double threshold_;
  double enough_ = 0;  // IPC
  Record before_;
};

}  // namespace gpumux::policy
