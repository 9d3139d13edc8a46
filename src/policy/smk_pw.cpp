// SMK-(P+W): SMK-P, with a quota of warp instructions per kernel on every SM. The quota is in proportion to
// the kernel's isolated IPC; a kernel that has used its quota waits until all have. Source: dai18 section 4.
// The formula of the quotas is ours, so that all make the same progress relative to running alone: quota =
// isolated IPC per SM x period / kernels, at least 1. With quota=equal, all have the quota of the mean IPC.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/issue_quotas.hpp"
#include "policy/settings.hpp"
#include "policy/smk.hpp"

namespace gpumux::policy {

std::vector<std::uint32_t> issue_quotas(const std::vector<double>& warp_ipc, Cycle period) {
  std::vector<std::uint32_t> quotas;
  for (const double ipc : warp_ipc) {
    const double share = std::round(ipc * static_cast<double>(period) / static_cast<double>(warp_ipc.size()));
    quotas.push_back(static_cast<std::uint32_t>(std::clamp(share, 1.0, 1e9)));
  }
  return quotas;
}

namespace {

class SmkQuotas final : public SmkPartition {
 public:
  SmkQuotas(ProfileRequest request, Cycle period, bool equal)
      : SmkPartition("smk-pw"), request_(std::move(request)), period_(period), equal_(equal) {}

  [[nodiscard]] ProfileRequest profile_request() const override { return request_; }
  void use_profiles(const std::vector<AppProfile>& profiles) override { profiles_ = profiles; }

  [[nodiscard]] Report report(const Probes& control) const override {
    Report report = SmkPartition::report(control);
    for (const auto& [app, quota] : reported_) report.numbers.push_back({"issue_quota", quota, app});
    return report;
  }

 private:
  // Sets the quotas. A single kernel gets none, because it would get the next set at the moment it used up
  // one.
  void divided(Control& control, const std::vector<RunningKernel>& kernels) override {
    std::vector<double> ipc;
    for (const RunningKernel& kernel : kernels)
      ipc.push_back(profiles_.at(kernel.app).of(kernel.name).points.back().warp_ipc);
    if (equal_) {
      const double sum = std::accumulate(ipc.begin(), ipc.end(), 0.0);
      std::fill(ipc.begin(), ipc.end(), sum / static_cast<double>(ipc.size()));
    }
    const std::vector<std::uint32_t> quotas = issue_quotas(ipc, period_);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const arch::IssueBudget budget{.amount = kernels.size() > 1 ? quotas[i] : 0,
                                     .all_spent = arch::IssueBudget::Refill::Anew};
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
        control.sm(sm).set_issue_budget(kernels[i].slot, budget);
    }
    // The report has the quotas of the first division among the most kernels.
    if (kernels.size() <= std::max<std::size_t>(most_kernels_, 1)) return;
    most_kernels_ = kernels.size();
    reported_.clear();
    for (std::size_t i = 0; i < kernels.size(); ++i) reported_.emplace(kernels[i].app, quotas[i]);
  }

  ProfileRequest request_;
  Cycle period_;
  bool equal_;
  std::vector<AppProfile> profiles_;
  std::size_t most_kernels_ = 0;
  std::map<AppId, double> reported_;
};

std::unique_ptr<Policy> create_smk_pw(const Settings& settings) {
  const SettingReader read("smk-pw", settings);
  const Cycle period = read.whole("period", 1000, 1, 1'000'000);
  const bool equal = read.choice("quota", "alone", {"alone", "equal"}) == "equal";
  return std::make_unique<SmkQuotas>(profile_request(read, ProfileRequest::Depth::WholeSm), period, equal);
}

const bool registered_smk_pw = register_policy(
    {"smk-pw", "smk-p and quotas of warp instructions from isolated profiles (SMK-(P+W) of dai18)",
     with_profile_settings({{"period",
                             "core cycles that the quotas of a set take at the speeds alone, one kernel "
                             "after the other, 1 to 1000000 "
                             "[1000]"},
                            {"quota",
                             "alone: each kernel's in proportion to its speed alone; equal: the same number "
                             "of warp instructions for each [alone]"}}),
     create_smk_pw});

}  // namespace
}  // namespace gpumux::policy
