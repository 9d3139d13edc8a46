// Runs launches without a timing model.
#include <algorithm>

#include "emulator/kernel_launch.hpp"
#include "emulator/program.hpp"

namespace gpumux::emulator {

std::uint64_t run_functionally(workload::KernelSource& kernel, std::uint32_t resident, std::uint32_t most) {
  constexpr std::uint32_t kTurn = 256;  // warp instructions
  auto& launch = dynamic_cast<KernelLaunch&>(kernel);
  std::vector<std::unique_ptr<Block>> slots(
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(resident, kernel.blocks())));
  std::uint64_t next = 0;
  std::uint64_t executed = 0;
  std::uint64_t running = 0;
  std::uint64_t waited = 0;  // passes without the end of a block
  while (next < kernel.blocks() || running != 0) {
    if (++waited * kTurn > kBlockPatience && slots.size() < most && next < kernel.blocks()) {
      slots.resize(std::min<std::size_t>(2 * slots.size(), most));
      waited = 0;
    }
    for (std::uint32_t s = 0; s < slots.size(); ++s) {
      std::unique_ptr<Block>& block = slots[s];
      if (block == nullptr) {
        if (next == kernel.blocks()) continue;
        block = launch.begin_untimed(next++, s);
        ++running;
      }
      executed += block->advance(kTurn);
      if (!block->ended()) continue;
      block.reset();
      --running;
      waited = 0;
    }
  }
  return executed;
}

}  // namespace gpumux::emulator
