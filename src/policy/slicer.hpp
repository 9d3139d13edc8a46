// The part that the static and the dynamic Warped-Slicer share: from scalability curves to blocks per SM.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/partition_log.hpp"
#include "policy/settings.hpp"
#include "policy/water_filling.hpp"

namespace gpumux::policy {

class Slicer {
 public:
  struct Options {
    Normalize normalize = Normalize::Maximum;
    /// If a kernel would lose more than this fraction of its performance alone, all kernels fall back to
    /// spatial sharing.
    std::optional<double> fallback;
  };
  [[nodiscard]] static Options read(const SettingReader& read);
  [[nodiscard]] static std::vector<std::pair<std::string, std::string>> settings();

  Slicer(std::string policy, Options options) : policy_(std::move(policy)), options_(options) {}

  /// Divides the SMs among at least two kernels, in order of their applications. Throws UserError if one
  /// block of each does not fit an SM.
  void divide(Control& control, const std::vector<RunningKernel>& kernels,
              const std::vector<ScalabilityCurve>& curves);
  /// Records that no partition is in use: one kernel has the machine, none runs, or the kernels are being
  /// profiled.
  void stop(const Control& control) { log_.use(control.now(), {}); }
  void report(const Probes& control, Report& to) const;

 private:
  std::string policy_;
  Options options_;
  PartitionLog log_;
  std::uint64_t fallbacks_ = 0;
};

/// Gives each SM to one kernel. All kernels get the same number of SMs, or the first kernels one more; with
/// more kernels than SMs, the last kernels get none.
void divide_sms(Control& control, const std::vector<RunningKernel>& kernels);

}  // namespace gpumux::policy
