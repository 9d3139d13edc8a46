#include "policy/slicer_samples.hpp"

#include <algorithm>

namespace gpumux::policy {

SamplePlan plan_all_points(std::uint32_t sms, const std::vector<std::uint32_t>& most) {
  std::vector<SamplePoint> points;
  for (std::size_t kernel = 0; kernel < most.size(); ++kernel)
    for (std::uint32_t blocks = 1; blocks <= most[kernel]; ++blocks) points.push_back({kernel, blocks});
  SamplePlan plan((points.size() + sms - 1) / sms);
  for (std::size_t i = 0; i < points.size(); ++i) plan[i % plan.size()].push_back(points[i]);
  for (std::vector<SamplePoint>& round : plan) {
    for (std::size_t kernel = 0; kernel < most.size() && round.size() < sms; ++kernel) {
      const bool has_one = std::any_of(round.begin(), round.end(),
                                       [kernel](const SamplePoint& point) { return point.kernel == kernel; });
      if (!has_one) round.push_back({kernel, most[kernel]});
    }
    const std::size_t own = round.size();
    const std::size_t spare = sms - own;
    for (std::size_t n = 0; n < spare; ++n) round.push_back(round[(2 * n + 1) * own / (2 * spare)]);
  }
  return plan;
}

SamplePlan plan_one_round(std::uint32_t sms, const std::vector<std::uint32_t>& most) {
  const auto kernels = static_cast<std::uint32_t>(most.size());
  if (kernels == 0) return {};
  SamplePlan plan(1);
  for (std::uint32_t kernel = 0; kernel < kernels; ++kernel) {
    const std::uint32_t part = sms / kernels + (kernel < sms % kernels ? 1 : 0);
    const std::uint32_t last = most[kernel];
    for (std::uint32_t n = 0; n < part; ++n) {
      std::uint32_t blocks = 1 + n % last;
      if (part == 1) {
        blocks = last;
      } else if (part < last) {
        // n-th of part - 1 steps from 1 to last, rounded to nearest.
        blocks = 1 + (2 * n * (last - 1) + part - 1) / (2 * (part - 1));
      }
      plan[0].push_back({kernel, blocks});
    }
  }
  return plan;
}

double scaled_ipc(const Sample& sample, double average_blocks, double weight) {
  const double surplus = average_blocks / sample.point.blocks - 1;
  return std::max(0.0, sample.ipc * (1 + weight * sample.memory_stall * surplus));
}

void SampledCurve::add(std::uint32_t blocks, double ipc) {
  const auto at = std::lower_bound(points_.begin(), points_.end(), blocks,
                                   [](const Point& point, std::uint32_t b) { return point.blocks < b; });
  if (at == points_.end() || at->blocks != blocks) {
    points_.insert(at, {blocks, ipc, 1});
  } else {
    at->sum += ipc;
    ++at->count;
  }
}

ScalabilityCurve SampledCurve::curve(std::uint32_t most) const {
  ScalabilityCurve curve;
  std::size_t next = 0;  // the first sample that is not before the point
  for (std::uint32_t blocks = 1; blocks <= std::max(most, 1U); ++blocks) {
    while (next < points_.size() && points_[next].blocks < blocks) ++next;
    if (points_.empty()) {
      curve.push_back(blocks);
    } else if (next == points_.size()) {
      curve.push_back(points_.back().mean());
    } else {
      const double from = next == 0 ? 0 : points_[next - 1].blocks;
      const double low = next == 0 ? 0 : points_[next - 1].mean();
      const double part = (blocks - from) / (points_[next].blocks - from);
      curve.push_back(low + part * (points_[next].mean() - low));
    }
  }
  return curve;
}

}  // namespace gpumux::policy
