#include "sm/triggers.hpp"

#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

void Triggers::arm(const arch::Trigger& trigger, Cycle now) {
  using When = arch::Trigger::When;
  disarm(trigger.id);
  const Cycle at = trigger.when == When::AtCycle      ? trigger.cycle
                   : trigger.when == When::EachPeriod ? now + trigger.cycle
                                                      : 0;
  armed_.push_back({trigger, at});
  find_next();
}

void Triggers::disarm(std::uint32_t id) {
  std::erase_if(armed_, [id](const Armed& armed) { return armed.trigger.id == id; });
  find_next();
}

void Triggers::begin(arch::KernelSlot kernel) {
  std::erase_if(armed_, [kernel](const Armed& armed) {
    return armed.trigger.when == arch::Trigger::When::AtCount && armed.trigger.kernel == kernel;
  });
  for (Armed& armed : armed_) {
    armed.trigger.forbid &= ~(std::uint32_t{1} << kernel);
    armed.trigger.allow &= ~(std::uint32_t{1} << kernel);
  }
  find_next();
}

void Triggers::find_next() {
  next_ = kNever;
  for (const Armed& armed : armed_) next_ = std::min(next_, armed.at == 0 ? 0 : armed.at - 1);
}

// --- in the SM ------------------------------------------------------------------------------------------

void Sm::arm(const arch::Trigger& trigger) {
  using When = arch::Trigger::When;
  State& state = *state_;
  GPUMUX_CHECK(trigger.when != When::EachPeriod || trigger.cycle > 0);
  const Cycle now = state.known_now();
  if (trigger.when == When::AtCycle && trigger.cycle <= now) {
    state.triggers.disarm(trigger.id);
    state.fire(trigger, now);
  } else {
    state.triggers.arm(trigger, now);
  }
  state.find_rare();
}

void Sm::disarm(std::uint32_t id) {
  state_->triggers.disarm(id);
  state_->find_rare();
}

arch::WarpSamples Sm::warp_samples(KernelSlot kernel) const { return state_->warp_samples[kernel]; }

std::vector<arch::Fired> Sm::take_fired() { return std::exchange(state_->triggers.fired(), {}); }

bool Sm::has_fired() const { return !state_->triggers.fired().empty(); }

/// Fires a trigger, with effect from `cycle` on.
void Sm::State::fire(const arch::Trigger& trigger, Cycle cycle) {
  triggers.fired().push_back({trigger.id, cycle});
  for (std::uint32_t k = trigger.forbid; k != 0; k &= k - 1)
    gate.allow(static_cast<KernelSlot>(std::countr_zero(k)), false);
  for (std::uint32_t k = trigger.allow; k != 0; k &= k - 1)
    gate.allow(static_cast<KernelSlot>(std::countr_zero(k)), true);
  if (const std::uint32_t changed = trigger.forbid | trigger.allow; changed != 0)
    gate_changed(changed, cycle);
}

void Sm::State::run_triggers(Cycle now) {
  lsu.settle(now + 1);  // otherwise, stalls are counted only when they end
  triggers.run(
      now, counters.data(), [&](const arch::Trigger& trigger) { fire(trigger, now + 1); },
      [&] { sample_warps(); });
}

/// Samples the warps that could have issued at the end of the cycle.
void Sm::State::sample_warps() {
  for (std::uint32_t here = table.present(); here != 0; here &= here - 1)
    ++warp_samples[static_cast<std::size_t>(std::countr_zero(here))].samples;
  stage.ready_warps([this](const Warp& warp) { ++warp_samples[warp.kernel].idle_warps; });
}

}  // namespace gpumux::sm
