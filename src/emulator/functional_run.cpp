#include "emulator/functional_run.hpp"

#include <algorithm>

#include "emulator/program.hpp"

namespace gpumux::emulator {

namespace {

constexpr std::uint32_t kTurn = 256;  // warp instructions

}  // namespace

FunctionalRun::FunctionalRun(workload::KernelSource& kernel, std::uint32_t resident, std::uint32_t most)
    : kernel_(&dynamic_cast<KernelLaunch&>(kernel)),
      most_(most),
      blocks_(std::max<std::uint64_t>(1, std::min<std::uint64_t>(resident, kernel.blocks()))) {}

bool FunctionalRun::step() {
  if (++waited_ * kTurn > kBlockPatience && blocks_.size() < most_ && next_ < kernel_->blocks()) {
    blocks_.resize(std::min<std::size_t>(2 * blocks_.size(), most_));
    waited_ = 0;
  }
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] == nullptr) {
      if (next_ == kernel_->blocks()) continue;
      blocks_[i] = kernel_->begin_untimed(next_++, i);
      ++running_;
    }
    executed_ += blocks_[i]->advance(kTurn);
    if (!blocks_[i]->ended()) continue;
    blocks_[i].reset();
    --running_;
    waited_ = 0;
  }
  return next_ < kernel_->blocks() || running_ != 0;
}

std::uint64_t run_functionally(workload::KernelSource& kernel, std::uint32_t resident, std::uint32_t most) {
  FunctionalRun run(kernel, resident, most);
  while (run.step()) {
  }
  return run.executed();
}

}  // namespace gpumux::emulator
