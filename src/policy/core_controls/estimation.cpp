#include "policy/core_controls/estimation.hpp"

#include <cmath>

namespace gpumux::policy {

void CoreEstimation::sampled(double ipc) {
  if (samples() == 1) {
    enough_ = (1 - threshold_) * ipc;
    if (all_ == 1) return end(1);
    return next(1);
  }
  const Record now{cores(), ipc};
  if (ipc >= enough_) return end(now.cores);
  const double slope = (now.ipc - before_.ipc) / (now.cores - before_.cores);
  // If the samples do not rise, no number of cores can be estimated from the line.
  std::uint32_t estimate = now.cores + step_;
  if (slope > 0) {
    const double crossing = std::ceil(now.cores + (enough_ - now.ipc) / slope);
    if (crossing >= all_) return end(all_);
    if (crossing > now.cores) estimate = static_cast<std::uint32_t>(crossing);
  }
  before_ = now;
  if (estimate >= all_) return end(all_);
  next(estimate);
}

}  // namespace gpumux::policy
