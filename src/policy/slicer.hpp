// What the static and the dynamic Warped-Slicer have in common: from scalability curves to blocks per SM.
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
    /// A kernel that would lose more than this share of its performance alone makes all fall back to spatial
    /// sharing.
    std::optional<double> fallback;
  };
  [[nodiscard]] static Options read(const SettingReader& read);
  [[nodiscard]] static std::vector<std::pair<std::string, std::string>> settings();

  Slicer(std::string policy, Options options) : policy_(std::move(policy)), options_(options) {}

  /// Kernels in order of their applications, at least two. Throws UserError when they do not fit an SM
  /// together.
  void divide(Control& control, const std::vector<RunningKernel>& kernels,
              const std::vector<ScalabilityCurve>& curves);
  /// No partition is in use: one kernel has the machine, none runs, or they are being profiled.
  void stop(const Control& control) { log_.use(control.now(), {}); }
  void report(const Probes& control, Report& to) const;

 private:
  std::string policy_;
  Options options_;
  PartitionLog log_;
  std::uint64_t fallbacks_ = 0;
};

/// One kernel per SM: the SMs in as equal parts as they divide into, the first kernels getting more; with
/// more kernels than SMs the last ones get none.
void divide_sms(Control& control, const std::vector<RunningKernel>& kernels);

}  // namespace gpumux::policy
