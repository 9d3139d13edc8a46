// What concurrency controls have in common that change the limit of warps of SMs by how congested memory is:
// intervals, metrics, limits, and what a run's result says of them. Source: kayiran14 sections 4.1, 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/concurrency_control.hpp"
#include "policy/concurrency_controls/congestion.hpp"
#include "policy/concurrency_controls/mean_over_time.hpp"

namespace gpumux::policy {

/// An interval ends with the window in which its last cycle falls; what was counted over a few cycles more or
/// less is scaled to its length.
class WarpLimiter : public ConcurrencyControl {
 public:
  /// `name`: that users type. `start`: warps of an SM that may issue at first; 0: as many as it holds.
  WarpLimiter(std::string name, const CongestionSettings& settings, std::uint32_t start)
      : name_(std::move(name)), settings_(settings), start_(start) {}

  void check(const arch::MachineConfig& config) const override;
  [[nodiscard]] Needs needs(const View&) const override {
    return {.epoch = settings_.interval, .kernel_ends = false};
  }
  void kernel_arrived(Control& control, const RunningKernel&) override { begin(control); }
  void epoch_ended(Control& control) override;
  /// Of the intervals at whose end a kernel ran: the mean limit of the SMs, that of each, and over time;
  /// means of the metrics; changes; and the bits of storage that the mechanism has.
  [[nodiscard]] Report report(const Probes& probes) const override;

 protected:
  /// Warps that may issue at most: those of an SM, or of a scheduler where the limit is each scheduler's own.
  [[nodiscard]] static std::uint32_t most_warps(const arch::MachineConfig& config);
  [[nodiscard]] const CongestionSettings& settings() const { return settings_; }
  [[nodiscard]] std::uint32_t limit(std::uint32_t sm) const { return limits_[sm]; }
  void set_limit(Control& control, std::uint32_t sm, std::uint32_t warps);
  /// What was counted over the interval, as over one of its nominal length.
  [[nodiscard]] std::uint64_t scaled(std::uint64_t count) const {
    return count * settings_.interval / cycles_;
  }
  /// Of the interval that has ended, as it was.
  [[nodiscard]] Cycle interval_cycles() const { return cycles_; }

  /// Before the first interval: limits of SMs are to begin with, at most `start`.
  [[nodiscard]] virtual std::uint32_t first_limit(const arch::MachineConfig&, std::uint32_t start) {
    return start;
  }
  /// An interval has ended, of which the metrics ask for this.
  virtual void interval_ended(Control& control, Change change) = 0;
  /// Of an SM.
  [[nodiscard]] virtual std::uint32_t storage_bits(const arch::MachineConfig& config) const;
  virtual void add_to_report(Report&) const {}

 private:
  void begin(Control& control);
  [[nodiscard]] Change measure(const Control& control);
  void record(const Control& control);

  std::string name_;
  CongestionSettings settings_;
  std::uint32_t start_;
  std::vector<std::uint32_t> limits_;  // by SM; empty: not begun
  struct Before {
    std::uint64_t controller = 0, network = 0;
  };
  std::vector<Before> before_;  // by partition
  std::optional<CongestionCounters> counters_;
  Cycle last_ = 0;    // end of the last interval
  Cycle cycles_ = 1;  // of the one that ends now

  static constexpr std::size_t kMostPoints = 256;  // of the mean over SMs
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
