// Even intra-SM sharing: every kernel may use an equal part of each SM's registers, shared memory, threads
// and block slots. With `shares`, the part is in proportion to the share of the kernel's application. Source:
// the even split that intra-SM proposals compare with (dai18 section 1, wang17 section 2.3).
#include <fmt/core.h>

#include "base/error.hpp"
#include "policy/settings.hpp"
#include "policy/sm_share.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint32_t kMostShare = 1000;

class Even final : public Policy {
 public:
  explicit Even(std::vector<std::uint32_t> shares) : shares_(std::move(shares)) {}

  void check(const arch::MachineConfig&, std::size_t apps) const override {
    if (!shares_.empty() && shares_.size() != apps)
      throw UserError(fmt::format("policy even: shares= has {} numbers, and there are {} applications",
                                  shares_.size(), apps));
  }
  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }

 private:
  [[nodiscard]] std::uint64_t share(AppId app) const { return shares_.empty() ? 1 : shares_[app]; }

  void divide(Control& control) const {
    std::uint64_t all = 0;
    for (const RunningKernel& kernel : control.kernels()) all += share(kernel.app);
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) {
      const std::uint32_t limit = blocks_in_share(control.config().sm, kernel, share(kernel.app), all);
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
        control.sm(sm).limit_blocks(kernel.slot, limit);
      }
      order.push_back(kernel.slot);
    }
    control.set_dispatch_order(order);
  }

  std::vector<std::uint32_t> shares_;  // by application; empty: equal shares
};

const bool registered_even = register_policy(
    {"even",
     "every SM's registers, shared memory, threads and block slots divided evenly among kernels",
     {{"shares", "parts of the applications, in their order, 1 to 1000 each: 3/1 [equal ones]"}},
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("even", settings);
       return std::make_unique<Even>(read.parts("shares", kMostShare));
     }});

}  // namespace
}  // namespace gpumux::policy
