// The dynamic Warped-Slicer's profile: which SM samples which kernel with how many blocks, and the curves
// that follow from the samples.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/water_filling.hpp"

namespace gpumux::policy {

/// A sample point: the SM runs this many blocks of one kernel, and no other kernel.
struct SamplePoint {
  std::size_t kernel = 0;
  std::uint32_t blocks = 0;
  bool operator==(const SamplePoint&) const = default;
};
/// The sample point of each SM, for each round. Kernel i has the points 1..most[i].
using SamplePlan = std::vector<std::vector<SamplePoint>>;

/// A plan with as many rounds as it takes to sample all points of all kernels.
/// Each round has points from the whole range of each kernel, so that all rounds load L2 and memory alike. A
/// kernel with fewer points than rounds repeats its last point if an SM is spare. From round to round, an SM
/// stays with its kernel if possible and gets one more block, so that nothing has to drain. Spare SMs repeat
/// points of their round, evenly. Source: dai18 section 2.5; the order is ours.
[[nodiscard]] SamplePlan plan_all_points(std::uint32_t sms, const std::vector<std::uint32_t>& most);
/// A plan with one round: equal parts of the SMs per kernel, with points spread evenly from 1 to most[i]. A
/// part with more SMs than points repeats points. With more kernels than SMs, the last kernels have none.
[[nodiscard]] SamplePlan plan_one_round(std::uint32_t sms, const std::vector<std::uint32_t>& most);

/// A measurement on one SM.
struct Sample {
  SamplePoint point;
  double ipc = 0;           // thread instructions per cycle
  double memory_stall = 0;  // share of scheduler cycles stalled on memory, 0..1
};

/// IPC that the kernel would reach if all SMs ran as many blocks as this one: ipc x (1 + weight x
/// memory_stall x (average / blocks - 1)), at least 0. An SM with fewer blocks than the average gets less
/// than an equal part of L2 and memory. Source: the scaling and weight factors that dai18 section 2.5 names;
/// formula of Warped-Slicer.
[[nodiscard]] double scaled_ipc(const Sample& sample, double average_blocks, double weight);

/// Collects the scaled samples of one kernel.
class SampledCurve {
 public:
  void add(std::uint32_t blocks, double ipc);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  /// The curve with points 1..most. Samples of the same point are averaged, and points between samples are
  /// interpolated linearly. Points before the first sample are on the line from 0; points after the last
  /// sample equal it. Without any sample, the curve is proportional to the blocks.
  [[nodiscard]] ScalabilityCurve curve(std::uint32_t most) const;

 private:
  struct Point {
    std::uint32_t blocks;
    double sum;
    std::uint32_t count;
    [[nodiscard]] double mean() const { return sum / count; }
  };
  std::vector<Point> points_;  // in order of blocks
};

}  // namespace gpumux::policy
