// Common part of concurrency controls that set the limit of warps of SMs by memory congestion: intervals,
// metrics, limits, and the report. Source: kayiran14 sections 4.1, 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/concurrency_control.hpp"
#include "policy/concurrency_controls/congestion.hpp"
#include "policy/concurrency_controls/mean_over_time.hpp"

namespace gpumux::policy {

/// Base of CM-CPU and CM-BAL. An interval ends with the window that contains its last cycle. Counts over a
/// few cycles more or fewer are scaled to the nominal length.
class WarpLimiter : public ConcurrencyControl {
 public:
  /// `name`: as users type it. `start`: warps of an SM that may issue at first; 0: all that the SM holds.
  WarpLimiter(std::string name, const CongestionSettings& settings, std::uint32_t start)
      : name_(std::move(name)), settings_(settings), start_(start) {}

  void check(const arch::MachineConfig& config) const override;
  [[nodiscard]] Needs needs(const View&) const override {
    return {.epoch = settings_.interval, .kernel_ends = false};
  }
  void kernel_arrived(Control& control, const RunningKernel&) override { begin(control); }
  void epoch_ended(Control& control) override;
  /// Reports, over the intervals at whose end a kernel ran: the limit as mean over SMs, by SM, and over time;
  /// the means of the metrics; the number of changes. Also the bits of storage that the mechanism needs.
  [[nodiscard]] Report report(const Probes& probes) const override;

 protected:
  /// The largest limit in warps: warps of an SM or, if each scheduler has its own limit, of a scheduler.
  [[nodiscard]] static std::uint32_t most_warps(const arch::MachineConfig& config);
  [[nodiscard]] const CongestionSettings& settings() const { return settings_; }
  [[nodiscard]] std::uint32_t limit(std::uint32_t sm) const { return limits_[sm]; }
  void set_limit(Control& control, std::uint32_t sm, std::uint32_t warps);
  /// A count over the interval, scaled to the nominal length of an interval.
  [[nodiscard]] std::uint64_t scaled(std::uint64_t count) const {
    return count * settings_.interval / cycles_;
  }
  /// Actual length, in cycles, of the interval that has ended.
  [[nodiscard]] Cycle interval_cycles() const { return cycles_; }

  /// Called before the first interval. Returns the limit that SMs start with, at most `start`.
  [[nodiscard]] virtual std::uint32_t first_limit(const arch::MachineConfig&, std::uint32_t start) {
    return start;
  }
  /// Called when an interval has ended. `change`: what the metrics ask for.
  virtual void interval_ended(Control& control, Change change) = 0;
  /// Bits of storage per SM.
  [[nodiscard]] virtual std::uint32_t storage_bits(const arch::MachineConfig& config) const;
  virtual void add_to_report(Report&) const {}

 private:
  void begin(Control& control);
  [[nodiscard]] Change measure(const Control& control);
  void record(const Control& control);

  std::string name_;
  CongestionSettings settings_;
  std::uint32_t start_;
  std::vector<std::uint32_t> limits_;  // by SM; empty: not started
  struct Before {
    std::uint64_t controller = 0, network = 0;
  };
  std::vector<Before> before_;  // by partition
  std::optional<CongestionCounters> counters_;
  Cycle last_ = 0;    // end of the last interval
  Cycle cycles_ = 1;  // of the interval that ends now

  static constexpr std::size_t kMostPoints = 256;  // of the curve of the mean over SMs
  static constexpr std::size_t kMostPointsOfSm = 64;
  std::uint64_t intervals_ = 0, decreases_ = 0, increases_ = 0;
  double recorded_cycles_ = 0, controller_sum_ = 0, network_sum_ = 0;
  std::uint32_t least_ = 0;
  std::vector<double> limit_sums_;  // by SM: warps x cycles
  MeanOverTime mean_{kMostPoints};
  std::vector<MeanOverTime> of_sms_;
  bool sms_differ_ = false;
};

}  // namespace gpumux::policy
