// SMK-P: every SM's blocks divided among kernels by dominant resource fairness.
// Source: dai18 sections 1 and 4; wang17 section 2.3.
#include "policy/dominant_resource.hpp"
#include "policy/smk.hpp"

namespace gpumux::policy {

void SmkPartition::divide(Control& control) {
  const std::vector<RunningKernel> kernels = by_application(control.kernels());
  Partition partition;
  if (kernels.size() == 1) {
    give_everything(control, kernels.front());
  } else if (!kernels.empty()) {
    const auto blocks =
        dominant_resource_fairness(sm_capacity(control.config().sm), sharers(control.config(), kernels));
    if (!blocks) throw_too_many(name_, kernels);
    set_partition(control, kernels, *blocks);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      partition.parts.push_back({kernels[i].app, kernels[i].name, (*blocks)[i], 0});
  }
  log_.use(control.now(), std::move(partition));
  divided(control, kernels);
}

Report SmkPartition::report(const Probes& control) const {
  Report report;
  log_.report(control.now(), report);
  return report;
}

namespace {

const bool registered_smk_p = register_policy(
    {"smk-p",
     "blocks of every SM divided by dominant resource fairness (SMK-P of dai18)",
     {},
     [](const Settings&) -> std::unique_ptr<Policy> { return std::make_unique<SmkPartition>("smk-p"); }});

}  // namespace
}  // namespace gpumux::policy
