// The dynamic Warped-Slicer's profile: which SM samples how many blocks of which kernel, and the curves that
// follow from what the SMs did.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/water_filling.hpp"

namespace gpumux::policy {

/// An SM runs so many blocks of one kernel, and of no other.
struct SamplePoint {
  std::size_t kernel = 0;
  std::uint32_t blocks = 0;
  bool operator==(const SamplePoint&) const = default;
};
/// Point of each SM, in rounds one after the other. most[i]: kernel i has the points 1..most[i].
using SamplePlan = std::vector<std::vector<SamplePoint>>;

/// As many rounds as all points of all kernels need: SMs are shared over time. Each round has points of each
/// kernel from its whole range, so that all rounds load L2 and memory alike (of one with fewer points than
/// there are rounds its last point, where an SM is to spare); from round to round an SM stays with its kernel
/// where it can, and gets one block more, so that nothing has to drain. SMs to spare repeat points of their
/// round, evenly. Source: dai18 section 2.5; the order is ours.
[[nodiscard]] SamplePlan plan_all_points(std::uint32_t sms, const std::vector<std::uint32_t>& most);
/// One round: the SMs in equal parts, each kernel's points spread evenly from 1 to its last one; other points
/// are interpolated. A part larger than the points repeats them. Of more kernels than SMs the last have none.
[[nodiscard]] SamplePlan plan_one_round(std::uint32_t sms, const std::vector<std::uint32_t>& most);

/// What one SM has measured.
struct Sample {
  SamplePoint point;
  double ipc = 0;           // thread instructions per cycle
  double memory_stall = 0;  // share of scheduler cycles stalled on memory, 0..1
};

/// ipc x (1 + weight x memory_stall x (average / blocks - 1)): what a kernel that waits for memory would do
/// if all SMs ran as many blocks as this one. An SM with fewer blocks than the average gets less than an
/// equal part of L2 and memory. Never below 0. Source: the scaling and weight factors that dai18 section 2.5
/// names; formula of Warped-Slicer.
[[nodiscard]] double scaled_ipc(const Sample& sample, double average_blocks, double weight);

/// Collects the scaled samples of one kernel.
class SampledCurve {
 public:
  void add(std::uint32_t blocks, double ipc);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  /// Points 1..most: samples of the same point averaged, points between two samples interpolated linearly,
  /// those before the first sample on the line from 0, those after the last as high as it. Without any
  /// sample: in proportion to the blocks.
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
