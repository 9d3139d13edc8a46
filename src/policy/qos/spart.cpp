// Spart: goals by the number of SMs alone. At first, SMs are divided evenly. After each epoch, an application
// that misses its goal gets more SMs, and an application that would keep its goal with fewer gives some up,
// by the linear model. Applications without a goal get the remaining SMs, which may be none. Source: wang17
// sections 2.3 and 5, after Aguilera et al., ASP-DAC 2014 (whose abstract gives best-effort applications the
// remaining SMs).
#include <algorithm>
#include <array>

#include "policy/preemption/preemptive_policy.hpp"
#include "policy/qos/hill_climbing.hpp"
#include "policy/qos/progress.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

class Spart final : public PreemptivePolicy {
 public:
  Spart(Cycle epoch, ClimbingRules rules, PreemptionSettings settings)
      : PreemptivePolicy(std::move(settings)), epoch_(epoch), rules_(rules) {}

  void use_goals(const std::vector<std::optional<double>>& ipcs) override {
    for (std::size_t app = 0; app < ipcs.size(); ++app) goals_[app] = ipcs[app];
  }
  [[nodiscard]] Needs needs(const View& view) const override {
    Needs needs = PreemptivePolicy::needs(view);
    needs.epoch = epoch_;
    return needs;
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    progress_.kernel_arrived(control, kernel.app);
    if (std::find(present_.begin(), present_.end(), kernel.app) == present_.end()) {
      present_.push_back(kernel.app);
      begin_evenly(control);
    }
    share(control);
  }
  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    progress_.kernel_ended(control, kernel.app);
    PreemptivePolicy::kernel_ended(control, kernel);
  }
  void epoch_ended(Control& control) override {
    progress_.epoch_ended(control);
    ++epochs_;
    // An application without a kernel for an epoch has left. Otherwise, its next kernel comes soon.
    if (std::erase_if(present_, [&](AppId app) { return !progress_.was_busy(app); }) > 0) {
      begin_evenly(control);
      share(control);
      return;
    }
    // An epoch counts only if all SMs were with their applications from its start.
    const bool settled = !moved_ && !scheduler_.under_way();
    moved_ = scheduler_.under_way();
    if (!settled) return;
    std::vector<Climber> climbers;
    for (const AppId app : present_) climbers.push_back({sms_[app], goals_[app], progress_.epoch_ipc(app)});
    const auto move = climb(climbers, rules_);
    if (!move) return;
    sms_[present_[move->from]] -= move->count;
    sms_[present_[move->to]] += move->count;
    moves_ += move->count;
    moved_ = true;
    share(control);
  }
  [[nodiscard]] Report report(const Probes& control) const override {
    Report report = PreemptivePolicy::report(control);
    report.numbers.push_back({"epochs", static_cast<double>(epochs_), {}});
    report.numbers.push_back({"moved_sms", static_cast<double>(moves_), {}});
    for (const AppId app : present_)
      report.numbers.push_back({"last_sms", static_cast<double>(sms_[app]), app});
    return report;
  }

 private:
  void begin_evenly(const Control& control) {
    std::uint32_t left = control.config().sms;
    for (std::size_t i = 0; i < present_.size(); ++i) {
      const auto open = static_cast<std::uint32_t>(present_.size() - i);
      sms_[present_[i]] = (left + open - 1) / open;
      left -= sms_[present_[i]];
    }
    moved_ = true;
  }
  /// Divides the SMs of each application among its kernels.
  void divide(Control& control) override {
    std::vector<std::uint32_t> shares(control.kernels().size(), 0);
    for (const AppId app : present_) {
      std::vector<RunningKernel> own;
      std::vector<std::size_t> at;
      for (std::size_t i = 0; i < control.kernels().size(); ++i) {
        if (control.kernels()[i].app != app) continue;
        own.push_back(control.kernels()[i]);
        at.push_back(i);
      }
      if (own.empty()) continue;
      const std::vector<std::uint32_t> of_own = divide_sms(own, sms_[app], false);
      for (std::size_t k = 0; k < at.size(); ++k) shares[at[k]] = of_own[k];
    }
    scheduler_.assign(control, shares);
  }

  Cycle epoch_;
  ClimbingRules rules_;
  std::array<std::optional<double>, kMaxApps> goals_{};  // by application
  std::array<std::uint32_t, kMaxApps> sms_{};
  std::vector<AppId> present_;
  Progress progress_;
  bool moved_ = true;  // SMs moved in this epoch, or an SM is changing hands
  std::uint64_t epochs_ = 0, moves_ = 0;
};

const bool registered_spart = register_policy(
    {"spart", "SMs to applications by hill climbing to their goals (Spart of wang17)",
     with_preemption_settings(
         {{"epoch", "core cycles that each division is measured, 100 to 1000000 [10000]"},
          {"least", "SMs that an application without a goal keeps, 0 to 64 [0]"},
          {"step",
           "SMs that change hands at once: one, or as many as the linear model says: one or model [one]"}},
         "switch"),
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("spart", settings);
       const ClimbingRules rules{static_cast<std::uint32_t>(read.whole("least", 0, 0, 64)),
                                 read.choice("step", "one", {"one", "model"}) == "model"};
       return std::make_unique<Spart>(read.whole("epoch", 10'000, 100, 1'000'000), rules,
                                      preemption_settings(read, "switch"));
     }});

}  // namespace
}  // namespace gpumux::policy
