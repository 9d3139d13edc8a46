// DYNCTA: an SM gets more blocks while it is idle or hardly waits for memory, and fewer while it waits much.
// Source: Kayiran et al., PACT 2013 (also of the thresholds), as awatramani17 (section 4.3.4.2) and kayiran14
// (section 3.1) use it. An SM above its number takes no new block, and the warps of its newest blocks
// issue nothing.
#include <fmt/core.h>

#include "base/error.hpp"
#include "policy/block_schedulers/throttle.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {
namespace {

struct DynctaSettings {
  Cycle window = 2048;
  std::uint64_t idle = 16;
  std::uint64_t low = 128;
  std::uint64_t high = 384;
  bool pauses = true;        // false: blocks above the number run on
  bool starts_full = false;  // true: starts with all blocks that fit; false: with half
};

class Dyncta final : public Throttle {
 public:
  explicit Dyncta(DynctaSettings settings) : settings_(settings) {}
  [[nodiscard]] Needs needs(const View&) const override {
    return {.epoch = settings_.window, .kernel_ends = false};
  }
  void epoch_ended(Control& control) override {
    const std::uint32_t schedulers = control.config().sm.schedulers;
    before_.resize(control.config().sms);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      const arch::SmProbes& probes = static_cast<const Control&>(control).sm(sm);
      const arch::SchedulerCounters now = probes.scheduler_counters();
      const arch::SchedulerCounters& before = before_[sm];
      // Cycles of an SM are the mean over its schedulers.
      const std::uint64_t idle =
          (now.idle + now.synchronisation - before.idle - before.synchronisation) / schedulers;
      const std::uint64_t memory = (now.scoreboard_memory - before.scoreboard_memory) / schedulers;
      before_[sm] = now;
      for (const RunningKernel& kernel : control.kernels()) {
        if (probes.resident_blocks(kernel.slot) == 0) continue;
        Share& of = share(static_cast<SmId>(sm), kernel.slot);
        of.most = room_for(control, static_cast<SmId>(sm), kernel);
        if (idle > settings_.idle || memory < settings_.low) {
          of.blocks = std::min(of.blocks + 1, of.most);
        } else if (memory > settings_.high) {
          of.blocks = std::max(of.blocks - 1, 1U);
        }
        if (settings_.pauses) pause(control, static_cast<SmId>(sm), kernel, of.blocks);
      }
    }
  }

 private:
  /// Stops the warps of all but the oldest `blocks` blocks. When one of these ends, the next oldest goes on.
  static void pause(Control& control, SmId sm, const RunningKernel& kernel, std::uint32_t blocks) {
    const bool above = static_cast<const Control&>(control).sm(sm).resident_blocks(kernel.slot) > blocks;
    control.sm(sm).limit_warps(kernel.slot, above ? blocks * kernel.resources.warps() : 0);
  }
  [[nodiscard]] std::uint32_t first_blocks(std::uint32_t most) const override {
    return settings_.starts_full ? most : std::max(most / 2, 1U);
  }

  DynctaSettings settings_;
  std::vector<arch::SchedulerCounters> before_;
};

std::unique_ptr<BlockScheduler> create_dyncta(const std::string& argument) {
  LevelArguments read("blocks", "dyncta", argument);
  DynctaSettings settings;
  settings.window = read.whole("window", settings.window, 100, 1'000'000);
  settings.idle = read.whole("idle", settings.idle, 0, 1'000'000);
  settings.low = read.whole("low", settings.low, 0, 1'000'000);
  settings.high = read.whole("high", settings.high, 0, 1'000'000);
  settings.starts_full = read.choice("start", "half", {"half", "all"}) == "all";
  settings.pauses = read.choice("pause", "on", {"on", "off"}) == "on";
  read.done();
  if (settings.low > settings.high)
    throw UserError(
        fmt::format("blocks=dyncta: low={} must not be above high={}", settings.low, settings.high));
  return std::make_unique<Dyncta>(settings);
}

const bool registered_dyncta = register_block_scheduler(
    {"dyncta", "more blocks while an SM is idle, fewer while it waits for memory (DYNCTA)",
     "window=2048/idle=16/low=128/high=384: core cycles of a window; of these, idle ones above which an "
     "SM gets one block more, and ones in which it waits for memory below which it gets one more, above "
     "which one fewer; start=half or start=all: of what fits, what it begins with; pause=on: blocks above "
     "the number issue nothing; pause=off: they run on",
     create_dyncta, "window=500"});

}  // namespace
}  // namespace gpumux::policy
