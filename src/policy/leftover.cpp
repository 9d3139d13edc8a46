// The left-over policy of GPUs with concurrent kernels: the oldest kernel gets as many blocks as fit on every
// SM, and later kernels get what remains. In the strict form, no block of a later kernel is dispatched before
// the last block of the kernel before it. Source: dai18 section 1; awatramani17 sections 2.2.2, 5.3.1 (5.5.1:
// the strict form).
#include "base/error.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

class Leftover final : public Policy {
 public:
  explicit Leftover(bool strict) : strict_(strict) {}

  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(kernel.slot, kUnlimited);
    }
    order(control);
  }
  void kernel_fully_dispatched(Control& control, const RunningKernel&) override { order(control); }
  // In the strict form, the dispatch of a kernel's last block admits the next kernel.
  [[nodiscard]] Needs needs(const View& view) const override {
    return {.dispatch_ends = strict_ && view.kernels().size() > 1, .kernel_ends = false};
  }

 private:
  // Sets the dispatch order: an SM takes a block of the oldest kernel whose block fits.
  void order(Control& control) const {
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) {
      if (kernel.blocks_dispatched == kernel.blocks_total) continue;
      order.push_back(kernel.slot);
      if (strict_) break;
    }
    control.set_dispatch_order(order);
  }

  bool strict_;
};

std::unique_ptr<Policy> create_leftover(const Settings& settings) {
  const auto mode = settings.find("mode");
  const std::string value = mode == settings.end() ? "resource" : mode->second;
  if (value != "resource" && value != "sequential") {
    throw UserError("policy leftover: mode='" + value + "' must be resource or sequential");
  }
  return std::make_unique<Leftover>(value == "sequential");
}

const bool registered_leftover = register_policy(
    {"leftover",
     "oldest kernel first, later ones take the resources that remain (dai18, awatramani17)",
     {{"mode",
       "resource (default): later kernels use whatever is free; sequential: only after the older "
       "kernel's last block was dispatched"}},
     create_leftover});

}  // namespace
}  // namespace gpumux::policy
