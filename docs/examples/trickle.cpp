// trickle: every kernel may have half of the blocks that fit an SM, and applications behind the first may
// issue so many thread instructions per SM and period, and no more. The worked example of
// docs/issue-budgets.md; moved to src/policy/ it would be complete.
#include <algorithm>

#include "policy/settings.hpp"

namespace gpumux::policy {
namespace {

class Trickle final : public Policy {
 public:
  Trickle(std::uint32_t instructions, Cycle period)
      : budget_{.unit = arch::IssueBudget::Unit::ThreadInstructions,
                .amount = instructions,
                .at_epoch = arch::IssueBudget::Refill::KeepDebt,
                .epoch = period} {}

  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    std::vector<KernelSlot> order;
    for (const RunningKernel& running : control.kernels()) order.push_back(running.slot);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(kernel.slot, std::max(1U, kernel.max_blocks_per_sm / 2));
      if (kernel.app != 0) control.sm(sm).set_issue_budget(kernel.slot, budget_);
    }
    control.set_dispatch_order(order);
  }
  // The SMs refill budgets by themselves, so this policy acts at arrivals alone.
  [[nodiscard]] Needs needs(const View&) const override { return {.kernel_ends = false}; }

 private:
  arch::IssueBudget budget_;
};

const bool registered_trickle = register_policy(
    {"trickle",
     "applications behind the first issue a few thread instructions per period (worked example)",
     {{"instructions", "thread instructions per SM and period, 1 to 1000000 [3200]"},
      {"period", "core cycles, 1 to 1000000 [1000]"}},
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("trickle", settings);
       return std::make_unique<Trickle>(
           static_cast<std::uint32_t>(read.whole("instructions", 3200, 1, 1'000'000)),
           read.whole("period", 1000, 1, 1'000'000));
     }});

}  // namespace
}  // namespace gpumux::policy
