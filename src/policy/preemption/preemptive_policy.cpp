#include "policy/preemption/preemptive_policy.hpp"

#include "policy/sm_division.hpp"

namespace gpumux::policy {

void NeedDrivenPolicy::block_ended(Control& control, const RunningKernel& kernel, SmId sm) {
  block_gone(control, sm);
  if (kernel.blocks_done < kernel.blocks_total && needed_sms(kernel) < scheduler_.sms_of(kernel.slot))
    share(control);
}

}  // namespace gpumux::policy
