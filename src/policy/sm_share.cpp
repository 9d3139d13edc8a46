#include "policy/sm_share.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"

namespace gpumux::policy {

SmAmounts sm_capacity(const arch::SmConfig& sm) {
  return {sm.registers, sm.shared_bytes, sm.max_threads, sm.max_blocks, sm.max_warps};
}

SmAmounts block_demand(const arch::SmConfig& sm, const workload::BlockResources& block) {
  const std::uint64_t of_warp =
      round_up(std::uint64_t{block.registers_per_thread} * kWarpSize, sm.register_allocation_unit);
  return {of_warp * block.warps(), round_up(std::uint64_t{block.shared_bytes}, sm.shared_allocation_unit),
          block.threads, 1, block.warps()};
}

bool fit_together(const SmAmounts& capacity, const std::vector<Sharer>& sharers,
                  const std::vector<std::uint32_t>& blocks) {
  for (std::size_t r = 0; r < capacity.size(); ++r) {
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < sharers.size(); ++i) used += sharers[i].demand[r] * blocks[i];
    if (used > capacity[r]) return false;
  }
  return true;
}

std::vector<RunningKernel> by_application(const std::vector<RunningKernel>& kernels) {
  std::vector<RunningKernel> sorted = kernels;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RunningKernel& a, const RunningKernel& b) { return a.app < b.app; });
  return sorted;
}

std::vector<Sharer> sharers(const arch::MachineConfig& config, const std::vector<RunningKernel>& kernels) {
  std::vector<Sharer> all;
  for (const RunningKernel& kernel : kernels) {
    const std::uint64_t per_sm = (kernel.blocks_total + config.sms - 1) / config.sms;
    all.push_back({block_demand(config.sm, kernel.resources),
                   static_cast<std::uint32_t>(std::min<std::uint64_t>(kernel.max_blocks_per_sm, per_sm))});
  }
  return all;
}

void set_partition(Control& control, const std::vector<RunningKernel>& kernels,
                   const std::vector<std::uint32_t>& blocks) {
  for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
    for (std::size_t i = 0; i < kernels.size(); ++i) control.sm(sm).limit_blocks(kernels[i].slot, blocks[i]);
  }
  std::vector<KernelSlot> order;
  for (const RunningKernel& kernel : control.kernels()) order.push_back(kernel.slot);
  control.set_dispatch_order(order);
}

void give_everything(Control& control, const RunningKernel& kernel) {
  set_partition(control, {kernel}, {kUnlimited});
}

std::uint32_t blocks_in_share(const arch::SmConfig& sm, const RunningKernel& kernel, std::uint64_t parts,
                              std::uint64_t all) {
  arch::SmConfig part = sm;
  for (std::uint32_t* amount :
       {&part.max_threads, &part.max_warps, &part.max_blocks, &part.registers, &part.shared_bytes})
    *amount = static_cast<std::uint32_t>(*amount * parts / all);
  return std::max(arch::occupancy(part, kernel.resources.threads, kernel.resources.registers_per_thread,
                                  kernel.resources.shared_bytes)
                      .blocks,
                  1U);
}

void throw_too_many(const std::string& policy, const std::vector<RunningKernel>& kernels) {
  std::string names;
  for (const RunningKernel& kernel : kernels)
    names += fmt::format("{}{} of app {}", names.empty() ? "" : ", ", kernel.name, kernel.app);
  throw UserError(fmt::format(
      "policy {}: one block of each of these kernels does not fit an SM together: {}; choose "
      "other applications, a machine with larger SMs, or a policy that does not share an SM, such "
      "as spatial",
      policy, names));
}

}  // namespace gpumux::policy
