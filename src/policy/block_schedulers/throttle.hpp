// Common part of block schedulers that determine how many blocks of a kernel an SM should hold.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "policy/block_schedulers/round_robin.hpp"

namespace gpumux::policy {

/// Round robin over the SMs with a limit of blocks for each SM and kernel, which may change during the run.
/// An SM above its limit gets no new block until enough blocks have ended.
class Throttle : public RoundRobin {
 public:
  [[nodiscard]] std::optional<KernelSlot> choose(SmId id, const arch::SmProbes& sm,
                                                 std::span<const KernelSlot> kernels) override {
    for (const KernelSlot kernel : kernels) {
      const Share* share = find(id, kernel);
      if (share == nullptr || sm.resident_blocks(kernel) < share->blocks) return kernel;
    }
    return std::nullopt;
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    ended_.erase(kernel.slot);
    std::erase_if(shares_, [&](const auto& entry) {  // entries of kernels that have ended
      return entry.second.app == kernel.app &&
             std::none_of(control.kernels().begin(), control.kernels().end(),
                          [&](const RunningKernel& other) { return other.slot == entry.first.second; });
    });
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      Share share;
      share.app = kernel.app;
      share.most = room_for(control, static_cast<SmId>(sm), kernel);
      share.blocks = first_blocks(share.most);
      shares_[{static_cast<SmId>(sm), kernel.slot}] = share;
    }
  }
  void placed(SmId sm, KernelSlot kernel) override {
    RoundRobin::placed(sm, kernel);
    if (Share* share = find(sm, kernel); share != nullptr) share->used = true;
  }
  /// Reports for each application the mean limit, and the mean number of blocks that fit, over the SMs that
  /// had its blocks.
  [[nodiscard]] Report report(const Probes&) const override;

 protected:
  struct Share {
    AppId app = 0;
    std::uint32_t most = 1;    // blocks that the SM has room for, within the policy's limit
    std::uint32_t blocks = 1;  // blocks that the SM may hold
    bool used = false;         // the SM has had a block
  };
  /// Blocks of the kernel that fit the SM, within the policy's present limit; if the policy's limit is 0,
  /// without a limit.
  [[nodiscard]] static std::uint32_t room_for(const Control& control, SmId sm, const RunningKernel& kernel) {
    const std::uint32_t limit = control.sm(sm).block_limit(kernel.slot);
    return limit == 0 ? kernel.max_blocks_per_sm : std::min(limit, kernel.max_blocks_per_sm);
  }
  /// The limit that a kernel starts with, if `most` blocks fit.
  [[nodiscard]] virtual std::uint32_t first_blocks(std::uint32_t most) const = 0;
  [[nodiscard]] Share* find(SmId sm, KernelSlot kernel) {
    const auto at = shares_.find({sm, kernel});
    return at == shares_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] Share& share(SmId sm, KernelSlot kernel) { return shares_.at({sm, kernel}); }
  struct EndedBlock {
    std::uint64_t instructions = 0;  // warp instructions of the block; 0: it did not complete
    Cycle cycles = 0;                // cycles that the block was on SMs
  };
  /// The block that the present call of block_ended() is about. Requires a call at every end of a block of
  /// the kernel.
  [[nodiscard]] EndedBlock ended_block(const RunningKernel& kernel) {
    EndedBlock& before = ended_[kernel.slot];
    const EndedBlock all{kernel.done_instructions, kernel.done_cycles};
    const EndedBlock last{all.instructions - before.instructions, all.cycles - before.cycles};
    before = all;
    return last;
  }

 private:
  std::map<std::pair<SmId, KernelSlot>, Share> shares_;
  std::map<KernelSlot, EndedBlock> ended_;  // sums over the kernel's blocks so far
};

}  // namespace gpumux::policy
