// ONAC's estimates. Source: awatramani17 sections 4.4.2.1 to 4.4.2.3.
#pragma once

#include "policy/core_controls/core_search.hpp"

namespace gpumux::policy {

/// Samples all cores, then one core. Each next number of cores is where the line through the last two samples
/// (at first: through the origin and the sample of one core) reaches the required IPC. The search ends at the
/// first sample that reaches it. If the line leads to no larger number, `step` more cores are sampled, a case
/// that the thesis does not treat. A result of all cores is not sampled again.
class CoreEstimation final : public CoreSearch {
 public:
  /// `threshold`: the fraction of the IPC of all cores that may be lost, from 0 to below 1. `step`: at least
  /// 1.
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
  double enough_ = 0;   // required IPC
  Record before_;
};

}  // namespace gpumux::policy
