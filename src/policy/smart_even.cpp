// Smart Even with preemption: SMs are divided evenly among kernels, except that a kernel takes no more than
// it needs. An SM that changes hands is taken from its blocks by context switch, draining, flushing, or the
// cheapest of these. Source: chimera15 sections 3 and 4.
#include "policy/preemption/preemptive_policy.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

class SmartEven final : public NeedDrivenPolicy {
 public:
  using NeedDrivenPolicy::NeedDrivenPolicy;

 private:
  void divide(Control& control) override {
    scheduler_.assign(control, divide_sms(control.kernels(), control.config().sms, true));
  }
};

const bool registered_smart_even = register_policy(
    {"smart-even", "SMs divided evenly among kernels, and taken from them by preemption (chimera15)",
     with_preemption_settings({}, "drain"), [](const Settings& settings) -> std::unique_ptr<Policy> {
       return std::make_unique<SmartEven>(
           preemption_settings(SettingReader("smart-even", settings), "drain"));
     }});

}  // namespace
}  // namespace gpumux::policy
