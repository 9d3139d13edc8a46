// Who may issue: a policy's permission and the quotas of warp instructions.
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

/// Brings the schedulers' masks up to date.
void Sm::State::allow(KernelSlot kernel, Cycle now) {
  const bool allowed = is_allowed(kernel);
  for (const Warp& warp : warps) {
    if (!warp.resident || warp.kernel != kernel) continue;
    Scheduler& scheduler = schedulers[warp.scheduler];
    const WarpMask bit = WarpMask{1} << warp.local;
    scheduler.allowed = allowed ? scheduler.allowed | bit : scheduler.allowed & ~bit;
  }
  for (std::uint32_t s = 0; s < schedulers_count; ++s) look_again(s, now);
}

bool Sm::may_issue(KernelSlot kernel) const { return state_->may_issue[kernel]; }

void Sm::allow_issue(KernelSlot kernel, bool allowed) {
  State& state = *state_;
  if (state.may_issue[kernel] == allowed) return;
  state.may_issue[kernel] = allowed;
  state.allow(kernel, state.now_);
  state.refill_quotas(state.now_);
}

void Sm::set_issue_quota(KernelSlot kernel, std::uint32_t instructions) {
  State& state = *state_;
  state.quota.set(kernel, instructions);
  state.allow(kernel, state.now_);
  state.refill_quotas(state.now_);
}

/// Schedulers that have not chosen yet in this cycle see the masks that it leaves, so a quota is exact.
void Sm::State::spend_quota(KernelSlot kernel, Cycle now) {
  if (!quota.spend(kernel)) return;
  allow(kernel, now);
  refill_quotas(now);
}

/// The next set, once all kernels have used up theirs. One that cannot issue here, for it has no block or a
/// policy forbids it, is not waited for.
void Sm::State::refill_quotas(Cycle now) {
  if (quota.spent() == 0) return;
  for (std::uint32_t k = quota.limited() & ~quota.spent(); k != 0; k &= k - 1) {
    const auto kernel = static_cast<std::size_t>(std::countr_zero(k));
    if (resident[kernel] > 0 && may_issue[kernel]) return;
  }
  const std::uint32_t waiting = quota.spent();
  quota.refill();
  for (std::uint32_t k = waiting; k != 0; k &= k - 1)
    allow(static_cast<KernelSlot>(std::countr_zero(k)), now);
}

}  // namespace gpumux::sm
