// Scalability curves of kernels, from profiles of their applications alone, and their report.
#pragma once

#include <map>
#include <vector>

#include "policy/policy.hpp"
#include "policy/scalability_curve.hpp"

namespace gpumux::policy {

class ProfiledCurves {
 public:
  /// Sets the profiles, by AppId.
  void use(const std::vector<AppProfile>& profiles) { profiles_ = profiles; }
  /// The scalability curve of the kernel, in thread instructions per cycle and SM.
  [[nodiscard]] const ScalabilityCurve& of(const RunningKernel& kernel) {
    const auto [curve, is_new] = used_.try_emplace(curve_key(kernel));
    if (is_new) {
      for (const ProfilePoint& point : profiles_.at(kernel.app).of(kernel.name).points)
        curve->second.push_back(point.thread_ipc);
    }
    return curve->second;
  }
  /// Adds the curves that of() has returned to the report, as `ipc_per_sm`.
  void report(Report& to) const {
    for (const auto& [key, curve] : used_) {
      Report::Curve& told = to.curves.emplace_back(Report::Curve{"ipc_per_sm", key.first, key.second, {}});
      for (std::size_t t = 0; t < curve.size(); ++t)
        told.points.emplace_back(static_cast<double>(t + 1), curve[t]);
    }
  }

 private:
  std::vector<AppProfile> profiles_;
  std::map<CurveKey, ScalabilityCurve> used_;
};

}  // namespace gpumux::policy
