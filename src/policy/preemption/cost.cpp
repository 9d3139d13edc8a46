#include "policy/preemption/cost.hpp"

#include <algorithm>
#include <cmath>

#include "policy/sm_share.hpp"

namespace gpumux::policy {

std::uint64_t context_bytes(const arch::SmConfig& sm, const workload::BlockResources& block) {
  constexpr std::uint64_t kRegisterBytes = 4;
  const SmAmounts demand = block_demand(sm, block);
  return demand[0] * kRegisterBytes + demand[1];
}

double context_cycles(const arch::MachineConfig& config, std::uint64_t bytes) {
  const double share = config.dram_peak_bytes_per_second() / (config.clocks.core * 1e6) / config.sms;
  return static_cast<double>(bytes) / share;
}

arch::ContextMove context_move(const arch::MachineConfig& config, const workload::BlockResources& block,
                               arch::ContextMoves how, double halt_cycles) {
  if (how == arch::ContextMoves::Traffic) {
    const std::uint64_t bytes = context_bytes(config.sm, block);
    return {.lines = static_cast<std::uint32_t>((bytes + kLineBytes - 1) / kLineBytes)};
  }
  const auto cycles = static_cast<Cycle>(std::llround(halt_cycles));
  return {.save = cycles, .restore = cycles};
}

double KernelProgress::block_ipc() const {
  return cycles == 0 ? 0 : static_cast<double>(instructions) / static_cast<double>(cycles);
}

double KernelProgress::mean_instructions() const {
  return blocks_done == 0 ? 0 : static_cast<double>(done_instructions) / static_cast<double>(blocks_done);
}

std::vector<BlockCosts> estimate_costs(const KernelProgress& kernel, const std::vector<Candidate>& blocks,
                                       double switch_cycles, DrainOverhead drain, SwitchOverhead switching) {
  std::uint64_t most = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Candidate& candidate : blocks) {
    most = std::max(most, candidate.block.instructions);
    least = std::min(least, candidate.block.instructions);
  }
  const double ipc = kernel.block_ipc();
  const double switched_ipc =
      switching == SwitchOverhead::OfSm ? ipc * static_cast<double>(blocks.size()) : ipc;
  std::vector<BlockCosts> costs;
  for (const Candidate& candidate : blocks) {
    const auto issued = static_cast<double>(candidate.block.instructions);
    BlockCosts& cost = costs.emplace_back();
    // Twice the latency, for saving and restoring.
    cost[static_cast<std::size_t>(Technique::Switch)] = {switch_cycles, switched_ipc * 2 * switch_cycles};
    const double behind =
        static_cast<double>(drain == DrainOverhead::ToMost ? most - candidate.block.instructions
                                                           : candidate.block.instructions - least);
    cost[static_cast<std::size_t>(Technique::Drain)] =
        kernel.blocks_done == 0 || ipc == 0
            ? Cost{kMostCost, kMostCost}
            : Cost{std::max(0.0, kernel.mean_instructions() - issued) / ipc, behind};
    cost[static_cast<std::size_t>(Technique::Flush)] =
        candidate.may_be_flushed ? Cost{0, issued} : Cost{kMostCost, kMostCost};
  }
  return costs;
}

}  // namespace gpumux::policy
