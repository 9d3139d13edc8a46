// Smart Even with preemption: SMs are divided evenly among the kernels, those that need fewer take fewer, and
// an SM that changes hands is taken from its blocks by context switch, draining, flushing, or what costs
// least of these. Source: chimera15 sections 3 and 4.
#include "policy/preemption/kernel_scheduler.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

class SmartEven final : public Policy {
 public:
  explicit SmartEven(PreemptionSettings settings) : scheduler_(std::move(settings)) {}

  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    scheduler_.kernel_ended(control, kernel);
    divide(control);
  }
  void block_ended(Control& control, const RunningKernel& kernel, SmId sm) override {
    scheduler_.block_gone(control, sm);
    if (kernel.blocks_done < kernel.blocks_total && needed_sms(kernel) < scheduler_.sms_of(kernel.slot))
      divide(control);
  }
  void block_left(Control& control, const RunningKernel&, SmId sm) override {
    scheduler_.block_gone(control, sm);
  }
  [[nodiscard]] Needs needs(const View& view) const override { return scheduler_.needs(view); }
  [[nodiscard]] Report report(const Probes& control) const override {
    Report report;
    scheduler_.report(control, report);
    return report;
  }

 private:
  void divide(Control& control) {
    scheduler_.assign(control, divide_sms(control.kernels(), control.config().sms, true));
  }

  KernelScheduler scheduler_;
};

const bool registered = register_policy(
    {"smart-even", "SMs divided evenly among kernels, and taken from them by preemption (chimera15)",
     with_preemption_settings({}, "drain"), [](const Settings& settings) -> std::unique_ptr<Policy> {
       return std::make_unique<SmartEven>(
           preemption_settings(SettingReader("smart-even", settings), "drain"));
     }});

}  // namespace
}  // namespace gpumux::policy
