// Seq-Det's search: one core fewer in each sample. Source: awatramani17 section 4.4, after Song et al.
#pragma once

#include <algorithm>

#include "policy/core_controls/core_search.hpp"

namespace gpumux::policy {

/// Removes cores while the IPC is within the threshold of the IPC of all cores, or of the highest sample so
/// far. At the first IPC below the threshold, adds one core again and ends.
class CoreDescent final : public CoreSearch {
 public:
  /// `threshold`: the fraction of the IPC that may be lost, from 0 to below 1. `of_best`: relative to the
  /// highest sample.
  CoreDescent(std::uint32_t all, double threshold, bool of_best)
      : CoreSearch(all), all_(all), threshold_(threshold), of_best_(of_best) {}

 private:
  void sampled(double ipc) override {
    if (samples() == 1 || of_best_) reference_ = std::max(reference_, ipc);
    if (ipc < (1 - threshold_) * reference_) return end(std::min(cores() + 1, all_));
    if (cores() == 1) return end(1);
    next(cores() - 1);
  }

  std::uint32_t all_;
  double threshold_;
  bool of_best_;
  double reference_ = 0;  // IPC
};

}  // namespace gpumux::policy
