// Lazy block scheduling: when the first block of a kernel on an SM ends, the SM's issued instructions divided
// by those of the block give the number of blocks. Source: Lee et al., HPCA 2014, as awatramani17 (sections
// 3.6.3, 4.3.4.2, 4.4.5.1) describes it. The two printed formulas differ; the ratio matches the idea.
#include <set>

#include "policy/block_schedulers/throttle.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {
namespace {

class Lcs final : public Throttle {
 public:
  /// The two formulas that awatramani17 prints. Ratio: work of all blocks over work of one (section 4.4.5.1).
  /// Inverse: blocks that fit times work of one, over work of all blocks (section 4.3.4.2).
  enum class Formula : std::uint8_t { Ratio, Inverse };
  Lcs(Formula formula, bool rounds_up) : formula_(formula), rounds_up_(rounds_up) {}
  [[nodiscard]] Needs needs(const View&) const override { return {.block_ends = !undecided_.empty()}; }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    Throttle::kernel_arrived(control, kernel);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      const auto id = static_cast<SmId>(sm);
      undecided_.insert({id, kernel.slot});
      // The policy's limit is not applied here, because it may rise later.
      share(id, kernel.slot).most = share(id, kernel.slot).blocks = kernel.max_blocks_per_sm;
    }
  }
  void kernel_ended(Control&, const RunningKernel& kernel) override {
    std::erase_if(undecided_, [&](const auto& at) { return at.second == kernel.slot; });
  }
  void block_ended(Control& control, const RunningKernel& kernel, SmId sm) override {
    const std::uint64_t of_block = ended_block(kernel).instructions;
    if (of_block == 0 || undecided_.erase({sm, kernel.slot}) == 0) return;
    const std::uint64_t of_all =
        static_cast<const Control&>(control).sm(sm).counters(kernel.slot).warp_instructions;
    const bool ratio = formula_ == Formula::Ratio;
    const std::uint64_t over = ratio ? of_all : kernel.max_blocks_per_sm * of_block;
    const std::uint64_t under = std::max<std::uint64_t>(ratio ? of_block : of_all, 1);
    const std::uint64_t blocks = (over + (rounds_up_ ? under - 1 : 0)) / under;
    Share& of = share(sm, kernel.slot);
    of.blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, kernel.max_blocks_per_sm));
    if (undecided_.empty()) control.set_alarm(control.now() + 1);  // needs() has changed
  }

 private:
  [[nodiscard]] std::uint32_t first_blocks(std::uint32_t most) const override { return most; }

  Formula formula_;
  bool rounds_up_;
  std::set<std::pair<SmId, KernelSlot>> undecided_;
};

std::unique_ptr<BlockScheduler> create_lcs(const std::string& argument) {
  LevelArguments read("blocks", "lcs", argument);
  const bool inverse = read.choice("formula", "ratio", {"ratio", "inverse"}) == "inverse";
  const bool up = read.choice("round", inverse ? "down" : "up", {"up", "down"}) == "up";
  read.done();
  return std::make_unique<Lcs>(inverse ? Lcs::Formula::Inverse : Lcs::Formula::Ratio, up);
}

const bool registered_lcs = register_block_scheduler(
    {"lcs", "as many blocks as an SM has done the work of when its first one ends (lazy block scheduling)",
     "round=up or round=down [up; of formula=inverse down]; formula=ratio: work of all over work of the "
     "one, or formula=inverse: what fits times work of the one over work of all, which awatramani17 "
     "prints once [ratio]",
     create_lcs, "round=down"});

}  // namespace
}  // namespace gpumux::policy
