#include <algorithm>

#include "base/error.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {

// Source: Eyerman and Eeckhout's system-level metrics as dai18 and chimera15 use them. A metric is undefined
// if a term would divide by zero: a normalized IPC if the application made no progress alone, a turnaround
// time also if it made none in the shared run.
Metrics metrics(const std::vector<double>& shared, const std::vector<double>& isolated) {
  GPUMUX_CHECK(shared.size() == isolated.size());
  Metrics result;
  bool normalized = !shared.empty();
  bool turnaround = !shared.empty();
  double speedup = 0;
  double slowdown = 0;
  double least = 0;
  double greatest = 0;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (!(isolated[i] > 0)) {
      result.normalized_ipc.emplace_back();
      normalized = false;
      continue;
    }
    const double value = shared[i] / isolated[i];
    result.normalized_ipc.emplace_back(value);
    speedup += value;
    least = i == 0 ? value : std::min(least, value);
    greatest = i == 0 ? value : std::max(greatest, value);
    if (value > 0) {
      slowdown += 1 / value;
    } else {
      turnaround = false;
    }
  }
  if (!normalized) return result;
  result.weighted_speedup = speedup;
  result.stp = speedup;
  if (turnaround) result.antt = slowdown / static_cast<double>(shared.size());
  if (greatest > 0) result.fairness = least / greatest;
  return result;
}

std::optional<double> Metrics::gpu_speedup() const {
  if (!weighted_speedup || normalized_ipc.empty()) return std::nullopt;
  return *weighted_speedup / static_cast<double>(normalized_ipc.size());
}

std::optional<double> Metrics::overall_speedup() const {
  const std::optional<double> gpu = gpu_speedup();
  if (!gpu || !cpus) return std::nullopt;
  return (1 - alpha) * cpus->weighted_speedup + alpha * *gpu;
}

}  // namespace gpumux::experiment
