// What block schedulers have in common that find out how many blocks of a kernel an SM should hold.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "policy/block_schedulers/round_robin.hpp"

namespace gpumux::policy {

/// Round robin over the SMs, each with a number of blocks of each kernel that may change while it runs. An SM
/// that holds more gets no new one until enough have ended.
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
    std::erase_if(shares_, [&](const auto& entry) {  // of kernels that have ended
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
  /// For each application the means of what its kernels have come to, and of what fits, over the SMs that had
  /// their blocks.
  [[nodiscard]] Report report(const Probes&) const override;

 protected:
  struct Share {
    AppId app = 0;
    std::uint32_t most = 1;    // that the SM has room for, within the policy's limit
    std::uint32_t blocks = 1;  // that it may hold
    bool used = false;         // it has had some
  };
  /// Of the kernel's blocks, within the policy's limit of now; where the policy does not serve it, of all.
  [[nodiscard]] static std::uint32_t room_for(const Control& control, SmId sm, const RunningKernel& kernel) {
    const std::uint32_t limit = control.sm(sm).block_limit(kernel.slot);
    return limit == 0 ? kernel.max_blocks_per_sm : std::min(limit, kernel.max_blocks_per_sm);
  }
  /// With how many a kernel begins, of `most`.
  [[nodiscard]] virtual std::uint32_t first_blocks(std::uint32_t most) const = 0;
  [[nodiscard]] Share* find(SmId sm, KernelSlot kernel) {
    const auto at = shares_.find({sm, kernel});
    return at == shares_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] Share& share(SmId sm, KernelSlot kernel) { return shares_.at({sm, kernel}); }
  struct EndedBlock {
    std::uint64_t instructions = 0;  // warp instructions that it issued; 0: it has not come to its end
    Cycle cycles = 0;                // that it was on SMs
  };
  /// The one that block_ended() is about, if it is called at every end of the kernel's blocks.
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
