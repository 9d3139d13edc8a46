// A policy that stops and drops blocks at random.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/hash.hpp"
#include "policy/policy.hpp"

namespace gpumux::test {

/// A policy that serves all kernels and, at random times, stops or drops a random block on a random SM, at
/// most `most` times.
class Restless final : public policy::Policy {
 public:
  struct Seen {
    std::uint64_t asked = 0, left = 0;
  };
  /// `pause`: mean number of cycles between two of these actions. `drops`: number of drops in eight actions.
  Restless(std::uint64_t seed, std::uint32_t most, std::uint32_t pause, std::uint32_t drops, Seen& seen)
      : random_(seed), most_(most), pause_(pause), drops_(drops), seen_(seen) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override {
    return {.block_stops = true, .block_drops = drops_ > 0};
  }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    order_.push_back(kernel.slot);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
    control.set_dispatch_order(order_);
    control.set_alarm(control.now() + 1 + random_.below(2 * pause_));
  }
  void kernel_ended(policy::Control&, const policy::RunningKernel& kernel) override {
    std::erase(order_, kernel.slot);
  }
  void alarm(policy::Control& control) override {
    if (seen_.asked - begun_ >= most_) return;
    const std::uint32_t sm = random_.below(control.config().sms);
    const std::vector<arch::ResidentBlock> blocks =
        static_cast<const policy::Control&>(control).sm(sm).blocks();
    if (!blocks.empty()) {
      const arch::ResidentBlock& block = blocks[random_.below(static_cast<std::uint32_t>(blocks.size()))];
      if (random_.below(8) < drops_) {
        control.sm(sm).drop_block(block.residency);
      } else {
        control.sm(sm).stop_block(block.residency, {});
      }
      ++seen_.asked;
    }
    control.set_alarm(control.now() + 1 + random_.below(2 * pause_));
  }
  void block_left(policy::Control&, const policy::RunningKernel& kernel, SmId) override {
    ++seen_.left;
    EXPECT_GT(kernel.blocks_waiting, 0U);
  }

 private:
  Random random_;
  std::uint32_t most_;
  std::uint32_t pause_;
  std::uint32_t drops_;
  Seen& seen_;
  std::uint64_t begun_ = seen_.asked;
  std::vector<arch::KernelSlot> order_;
};

}  // namespace gpumux::test
