// Sequential sharing: one kernel launch at a time, first come, first served, as on GPUs that cannot run
// kernels of several applications at once.
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

class Sequential final : public Policy {
 public:
  void kernel_arrived(Control& control, const RunningKernel&) override { serve_oldest(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { serve_oldest(control); }

 private:
  static void serve_oldest(Control& control) {
    if (control.kernels().empty()) return;
    const KernelSlot oldest = control.kernels().front().slot;
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(oldest, kUnlimited);
    }
    control.set_dispatch_order({oldest});
  }
};

const bool registered_sequential = register_policy(
    {"sequential",
     "one kernel launch at a time in order of arrival",
     {},
     [](const Settings&) -> std::unique_ptr<Policy> { return std::make_unique<Sequential>(); }});
const bool registered_fcfs = register_policy(
    {"fcfs",
     "the same as sequential, under the name of chimera15's baseline",
     {},
     [](const Settings&) -> std::unique_ptr<Policy> { return std::make_unique<Sequential>(); }});

}  // namespace
}  // namespace gpumux::policy
