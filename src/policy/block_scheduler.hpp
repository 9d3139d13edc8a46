// Interface of block schedulers: the order in which SMs are offered the next thread blocks, and the kernel
// from which an SM takes its block. The sharing policy decides which kernels are served and how many of their
// blocks an SM may hold. A block scheduler is one file in block_schedulers/ that derives from BlockScheduler
// and registers itself under the name that users type (`blocks=NAME`).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mechanism.hpp"

namespace gpumux::policy {

/// Decides which SM gets the next thread block, and of which kernel. In each cycle, the machine places at
/// most runtime.blocks_per_cycle blocks, at most one per SM, while any block can be placed.
class BlockScheduler : public Mechanism {
 public:
  [[nodiscard]] Needs needs(const View&) const override { return {.kernel_ends = false}; }
  /// The SMs that are offered a block in the next cycle, first offer first. `order` is empty and has room.
  virtual void order(std::uint32_t sms, std::vector<SmId>& order) = 0;
  /// The kernel whose block the SM takes, one of `kernels`; nothing: the SM takes no block now. `kernels` has
  /// at least one entry, in the policy's order; each has a block left for which the SM has room within the
  /// policy's limits.
  /// The machine asks again when a block has ended, a kernel has arrived or ended, a policy has turned a
  /// knob, or a moment of this scheduler has passed. Without Needs::block_ends, the answer may depend only on
  /// the probes of this SM, because other SMs may be ahead in time.
  [[nodiscard]] virtual std::optional<KernelSlot> choose(SmId id, const arch::SmProbes& sm,
                                                         std::span<const KernelSlot> kernels) {
    (void)id;
    (void)sm;
    return kernels.front();
  }
  /// The most blocks of a kernel that an SM may ever hold. Cooperative grids are placed within this number,
  /// all blocks at once, in the order of order(), without calls of choose().
  [[nodiscard]] virtual std::uint32_t most_blocks() const { return kUnlimited; }
  /// The SM has taken a block.
  virtual void placed(SmId, KernelSlot) {}
};

struct BlockSchedulerInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::string argument;     // what follows "NAME:", with its range; empty: no argument
  std::unique_ptr<BlockScheduler> (*create)(const std::string& argument);  // throws UserError if it is bad
  std::string example = {};                                                // an argument, as after "NAME:"
  std::string file = {};  // the registering source, without folders; register_block_scheduler() fills it in
};

/// Adds a block scheduler to the table. `path`: the calling source file.
bool register_block_scheduler(BlockSchedulerInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<BlockSchedulerInfo>& block_schedulers();  // sorted by name
/// The block scheduler in use without `blocks=`.
inline constexpr std::string_view kUsualBlockScheduler = "max";
/// Creates the block scheduler that `text` names, such as "max" or "limit:4"; empty: kUsualBlockScheduler.
/// Throws UserError for unknown names and bad arguments.
[[nodiscard]] std::unique_ptr<BlockScheduler> create_block_scheduler(std::string_view text);
[[nodiscard]] const BlockSchedulerInfo& block_scheduler(std::string_view text);

}  // namespace gpumux::policy
