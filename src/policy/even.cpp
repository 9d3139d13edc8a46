// Even intra-SM sharing: every kernel may use an equal part of each SM's registers, shared memory, threads
// and block slots.
// Source: the even split that intra-SM proposals compare with (dai18 section 1, wang17 section 2.3).
#include <algorithm>

#include "machine/config_file.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

class Even final : public Policy {
 public:
  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }
  [[nodiscard]] bool watches_blocks(const Control&) const override { return false; }

 private:
  static void divide(Control& control) {
    const auto kernels = static_cast<std::uint32_t>(control.kernels().size());
    if (kernels == 0) return;
    machine::SmConfig part = control.config().sm;
    part.max_threads /= kernels;
    part.max_warps /= kernels;
    part.max_blocks /= kernels;
    part.registers /= kernels;
    part.shared_bytes /= kernels;
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) {
      const std::uint32_t fit =
          machine::occupancy(part, kernel.resources.threads, kernel.resources.registers_per_thread,
                             kernel.resources.shared_bytes)
              .blocks;
      // A block larger than the part may still run, one at a time, where the others leave room.
      const std::uint32_t limit = std::max(fit, 1U);
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
        control.set_block_limit(static_cast<SmId>(sm), kernel.slot, limit);
      }
      order.push_back(kernel.slot);
    }
    control.set_dispatch_order(order);
  }
};

const bool registered = register_policy(
    {"even",
     "every SM's registers, shared memory, threads and block slots divided evenly among kernels",
     {},
     [](const Settings&) -> std::unique_ptr<Policy> { return std::make_unique<Even>(); }});

}  // namespace
}  // namespace gpumux::policy
