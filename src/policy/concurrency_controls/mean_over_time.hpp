// A value over a run of any length, as means over parts of the run.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// A sequence of at most `most` means, each over the same number of intervals. When one more would be needed,
/// each two are merged into one.
class MeanOverTime {
 public:
  /// `most`: the largest number of means, even.
  explicit MeanOverTime(std::size_t most) : most_(most) {}

  /// Adds the value in an interval of `cycles` cycles that ends at `end`.
  void add(Cycle end, Cycle cycles, double value) {
    if (parts_.empty() || parts_.back().intervals == intervals_) {
      if (parts_.size() == most_) halve();
      parts_.emplace_back();
    }
    Part& part = parts_.back();
    part.end = end;
    part.cycles += static_cast<double>(cycles);
    part.sum += value * static_cast<double>(cycles);
    ++part.intervals;
  }
  /// The end of each part in cycles, and the mean over the part.
  [[nodiscard]] std::vector<std::pair<double, double>> points() const {
    std::vector<std::pair<double, double>> points;
    for (const Part& part : parts_)
      points.emplace_back(static_cast<double>(part.end), part.sum / part.cycles);
    return points;
  }

 private:
  struct Part {
    Cycle end = 0;
    double cycles = 0;
    double sum = 0;
    std::size_t intervals = 0;
  };
  void halve() {
    for (std::size_t i = 0; i < parts_.size() / 2; ++i) {
      const Part &first = parts_[2 * i], &second = parts_[2 * i + 1];
      parts_[i] = {second.end, first.cycles + second.cycles, first.sum + second.sum,
                   first.intervals + second.intervals};
    }
    parts_.resize(parts_.size() / 2);
    intervals_ *= 2;
  }

  std::size_t most_;
  std::size_t intervals_ = 1;  // intervals per part
  std::vector<Part> parts_;
};

}  // namespace gpumux::policy
