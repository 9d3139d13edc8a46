// reserve: the oldest kernel has the first `sms` SMs for itself, all later kernels share the others.
// The worked example of docs/adding-a-policy.md; moved to src/policy/ it would be complete.
#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

class Reserve final : public Policy {
 public:
  explicit Reserve(std::uint32_t sms) : reserved_(sms) {}

  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }

 private:
  void divide(Control& control) const {
    const std::vector<RunningKernel>& kernels = control.kernels();  // in order of arrival
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : kernels) {
      const bool oldest = order.empty();
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
        const bool mine = kernels.size() == 1 || (sm < reserved_) == oldest;
        control.sm(sm).limit_blocks(kernel.slot, mine ? kUnlimited : 0);
      }
      order.push_back(kernel.slot);
    }
    control.set_dispatch_order(order);
  }

  std::uint32_t reserved_;
};

std::unique_ptr<Policy> create_reserve(const Settings& settings) {
  const auto sms = settings.find("sms");
  const std::string text = sms == settings.end() ? "4" : sms->second;
  const std::optional<std::uint64_t> value = parse_uint(text);
  if (!value || *value == 0 || *value > 1024) {
    throw UserError("policy reserve: sms='" + text + "' must be an integer from 1 to 1024");
  }
  return std::make_unique<Reserve>(static_cast<std::uint32_t>(*value));
}

const bool registered_reserve =
    register_policy({"reserve",
                     "the oldest kernel has some SMs for itself (worked example)",
                     {{"sms", "SMs reserved for the oldest kernel, 1 to 1024, default 4"}},
                     create_reserve});

}  // namespace
}  // namespace gpumux::policy
