// Shares of the SMs as in NVIDIA's Multi-Process Service (active thread percentage): each application uses at
// most a percentage of the SMs, no block is preempted, and all applications share memory. Here each
// percentage stands for SMs that no other application uses, in the order of applications, so percentages add
// up to at most 100.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "policy/settings.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

class Mps final : public Policy {
 public:
  explicit Mps(std::vector<std::uint32_t> percent) : percent_(std::move(percent)) {}

  [[nodiscard]] std::string_view needs_all_sms() const override {
    return percent_.empty() ? "" : "gives SMs to applications";
  }
  void check(const arch::MachineConfig& config, std::size_t apps) const override {
    if (!percent_.empty() && percent_.size() != apps)
      throw UserError(fmt::format("policy mps: shares= has {} percentages, and there are {} applications",
                                  percent_.size(), apps));
    if (apps > config.sms)
      throw UserError(
          fmt::format("policy mps: {} applications, and {} has {} SMs", apps, config.name, config.sms));
    for (std::size_t i = 0; i < percent_.size(); ++i)
      if (static_cast<double>(percent_[i]) * config.sms < 100.0)
        throw UserError(fmt::format(
            "policy mps: {}% of {} SMs are less than one; application {} needs {}% at least", percent_[i],
            config.sms, i + 1, static_cast<unsigned>(std::ceil(100.0 / config.sms))));
  }
  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const override {
    return percent_.empty() || later == grid;
  }
  [[nodiscard]] std::uint32_t most_sms(const arch::MachineConfig& config, AppId app) const override {
    if (percent_.empty()) return config.sms;
    return first_sm(config, app + std::size_t{1}) - first_sm(config, app);
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    (void)kernel;
    serve(control);
  }
  void kernel_ended(Control& control, const RunningKernel&) override { serve(control); }

 private:
  /// The first SM of `app`. Rounded down, so that the applications together never exceed all SMs.
  [[nodiscard]] std::uint32_t first_sm(const arch::MachineConfig& config, std::size_t app) const {
    std::uint32_t percent = 0;
    for (std::size_t i = 0; i < app; ++i) percent += percent_[i];
    return config.sms * percent / 100;
  }
  void serve(Control& control) const {
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) {
      order.push_back(kernel.slot);
      const std::uint32_t first = percent_.empty() ? 0 : first_sm(control.config(), kernel.app);
      const std::uint32_t end =
          percent_.empty() ? control.config().sms : first_sm(control.config(), kernel.app + std::size_t{1});
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
        control.sm(sm).limit_blocks(kernel.slot, sm >= first && sm < end ? kUnlimited : 0);
    }
    control.set_dispatch_order(order);
  }

  std::vector<std::uint32_t> percent_;  // by application; empty: each may use all SMs
};

const bool registered_mps = register_policy(
    {"mps",
     "a percentage of the SMs for each application, without preemption (Multi-Process Service)",
     {{"shares",
       "per cent of each application, in their order, together up to 100: mps:70/30 [each may use all SMs]"}},
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("mps", settings);
       std::vector<std::uint32_t> percent = read.parts("shares", 100);
       std::uint32_t all = 0;
       for (const std::uint32_t part : percent) all += part;
       if (all > 100) read.fail("shares", "no more than 100 per cent together");
       return std::make_unique<Mps>(std::move(percent));
     },
     "shares"});

}  // namespace
}  // namespace gpumux::policy
