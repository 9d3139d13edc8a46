// How a block scheduler plugs in: in which order SMs are offered the next thread blocks, and of which kernel.
// What an SM may hold of a kernel at most, and which kernels are served at all, is the sharing policy's
// matter. A block scheduler is one file in block_schedulers/ that derives from BlockScheduler and registers
// itself under the name that users type (`blocks=NAME`).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mechanism.hpp"

namespace gpumux::policy {

/// The machine places runtime.blocks_per_cycle blocks a cycle at most, one per SM, as long as some can be
/// placed.
class BlockScheduler : public Mechanism {
 public:
  [[nodiscard]] Needs needs(const View&) const override { return {.kernel_ends = false}; }
  /// The SMs that are offered a block in the next cycle, the first first. `order` is empty and has room.
  virtual void order(std::uint32_t sms, std::vector<SmId>& order) = 0;
  /// Whose block the SM takes: one of `kernels` (in the policy's order, at least one), each of which has a
  /// block left that the SM has room for within the policy's limits; nothing: none now. It is asked again
  /// when a block has ended, a kernel has come or gone, a policy has turned a knob, or one of this
  /// scheduler's moments has passed. Without Needs::block_ends it may depend on this SM's probes
  /// alone, since others may be ahead.
  [[nodiscard]] virtual std::optional<KernelSlot> choose(SmId id, const arch::SmProbes& sm,
                                                         std::span<const KernelSlot> kernels) {
    (void)id;
    (void)sm;
    return kernels.front();
  }
  /// Blocks of a kernel that an SM may ever have. Cooperative grids are placed within it, all blocks at a
  /// time in the order of order(), and choose() is not asked of them.
  [[nodiscard]] virtual std::uint32_t most_blocks() const { return kUnlimited; }
  /// The SM has taken a block.
  virtual void placed(SmId, KernelSlot) {}
};

struct BlockSchedulerInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::string argument;     // what follows "NAME:", with its range; empty: nothing does
  std::unique_ptr<BlockScheduler> (*create)(const std::string& argument);  // throws UserError for a bad one
  std::string example = {};                                                // of what follows "NAME:"
  std::string file = {};  // that registers it, without folders; register_block_scheduler() fills it in
};

/// `path`: of the calling file.
bool register_block_scheduler(BlockSchedulerInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<BlockSchedulerInfo>& block_schedulers();  // sorted by name
/// The one that `blocks=` chooses where it is not given.
inline constexpr std::string_view kUsualBlockScheduler = "max";
/// "max", "limit:4"; empty: the usual one. Throws UserError for unknown names and bad arguments.
[[nodiscard]] std::unique_ptr<BlockScheduler> create_block_scheduler(std::string_view text);
[[nodiscard]] const BlockSchedulerInfo& block_scheduler(std::string_view text);

}  // namespace gpumux::policy
