// Blocks that are stopped, moved and dropped at random times. Programs' results are right, nothing is lost,
// and a run is the same with any number of threads and any windows.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "policy/observer.hpp"
#include "tests/figures.hpp"
#include "tests/restless.hpp"
#include "tests/small_apps.hpp"

namespace gpumux {
namespace {

using test::Restless;

experiment::RunSpec spec_of(const std::string& app, const char* machine) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine, {"sms=3"});
  spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice("leftover");
  spec.verify = true;
  return spec;
}

experiment::RunResult run(const experiment::RunSpec& spec, std::uint64_t seed, std::uint32_t most,
                          std::uint32_t pause, std::uint32_t drops, Restless::Seen& seen) {
  return experiment::simulate_under(spec, std::make_unique<Restless>(seed, most, pause, drops, seen));
}

constexpr std::uint64_t kLeft = 800;  // by application

class BlockLife : public testing::TestWithParam<const char*> {};

// With 27 applications, more than twenty thousand blocks leave.
TEST_P(BlockLife, ResultsAreRightThoughBlocksStopMoveAndBeginAnew) {
  constexpr const char* kMachines[] = {"dai18-maxwell", "v100", "awatramani17-m2090", "chimera15-fermi30"};
  constexpr const char* kLevels[] = {"leftover", "leftover,memory=dmil", "leftover,warps=tlgto",
                                     "leftover,memory=ucp,warps=lrr", "leftover,memory=qbmi,warps=tlrr"};
  Restless::Seen seen;
  for (std::uint64_t seed = 0; seen.left < kLeft && seed < 100; ++seed) {
    experiment::RunSpec spec = spec_of(GetParam(), kMachines[seed % 4]);
    spec.policy = policy::parse_choice(kLevels[seed % 5]);
    const auto pause = static_cast<std::uint32_t>(10 + seed % 3 * 40);
    const experiment::RunResult result =
        run(spec, seed, 120, pause, static_cast<std::uint32_t>(seed % 7), seen);
    ASSERT_EQ(result.apps[0].completions, 1U) << "seed " << seed;
  }
  EXPECT_GE(seen.left, kLeft);
}

INSTANTIATE_TEST_SUITE_P(Apps, BlockLife, testing::ValuesIn(test::kSmallApps), test::app_test_name);

TEST(BlockLives, ARunIsTheSameHoweverItIsSimulated) {
  for (const std::uint32_t drops : {0U, 4U}) {
    experiment::RunSpec spec = spec_of("hotspot:size=61,steps=5", "dai18-maxwell");
    spec.apps.push_back(experiment::builtin_app("lud:size=64"));
    const auto figures_of = [&] {
      Restless::Seen seen;
      const std::string figures = gpumux::figures(run(spec, 7, 400, 30, drops, seen));
      EXPECT_GT(seen.left, 100U);
      return figures;
    };
    const std::string first = figures_of();
    spec.threads = 3;
    EXPECT_EQ(first, figures_of()) << "three threads";
    spec.no_skip = true;
    EXPECT_EQ(first, figures_of()) << "window by window";
    spec.threads = 1;
    spec.series = 500;
    EXPECT_EQ(first, figures_of()) << "sampled";
  }
}

// What a stopped block has issued it does not issue again; what a dropped one has issued, it does.
TEST(BlockLives, StoppedBlocksIssueEachInstructionOnce) {
  const experiment::RunSpec spec = spec_of("hotspot:size=61,steps=5", "dai18-maxwell");
  const experiment::RunResult calm = experiment::simulate(spec);
  Restless::Seen seen;
  const experiment::RunResult stopped = run(spec, 3, 300, 30, 0, seen);
  EXPECT_GT(seen.left, 100U);
  EXPECT_EQ(stopped.gpu.warp_instructions, calm.gpu.warp_instructions);
  EXPECT_EQ(stopped.gpu.barriers, calm.gpu.barriers);
  EXPECT_EQ(stopped.gpu.memory_instructions, calm.gpu.memory_instructions);
  EXPECT_EQ(stopped.gpu.blocks_completed, calm.gpu.blocks_completed);
  EXPECT_GT(stopped.cycles, calm.cycles);
  seen = {};
  const experiment::RunResult dropped = run(spec, 3, 100, 30, 8, seen);
  EXPECT_GT(seen.left, 50U);
  EXPECT_GT(dropped.gpu.warp_instructions, calm.gpu.warp_instructions);
  EXPECT_EQ(dropped.gpu.blocks_completed, calm.gpu.blocks_completed);
}

/// Stops one block at a cycle, and has it go on elsewhere alone.
class MoveOne final : public policy::Policy {
 public:
  MoveOne(Cycle at, bool drop) : at_(at), drop_(drop) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override {
    return {.block_stops = true, .block_drops = drop_};
  }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    control.sm(0).limit_blocks(kernel.slot, 1);
    control.set_dispatch_order({kernel.slot});
    control.set_alarm(at_);
  }
  void alarm(policy::Control& control) override {
    const auto blocks = static_cast<const policy::Control&>(control).sm(0).blocks();
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].kernel, control.kernels()[0].slot);
    EXPECT_EQ(blocks[0].residency, 0U);
    EXPECT_FALSE(blocks[0].stops);
    EXPECT_EQ(blocks[0].may_restart, drop_);  // it adds in registers, and stores at its end
    if (drop_) {
      control.sm(0).drop_block(0);
    } else {
      control.sm(0).stop_block(0, {});
    }
    EXPECT_TRUE(static_cast<const policy::Control&>(control).sm(0).blocks()[0].stops);
    control.sm(0).limit_blocks(control.kernels()[0].slot, 0);
    control.sm(1).limit_blocks(control.kernels()[0].slot, 1);
  }

 private:
  Cycle at_;
  bool drop_;
};

/// Where blocks were, and when.
class Places final : public policy::Observer {
 public:
  struct Stay {
    std::uint64_t block;
    SmId sm;
    Cycle begin, end;
    bool ended;
  };
  explicit Places(std::vector<Stay>& stays) : stays_(stays) {}
  void block_began(const policy::View&, const policy::RunningKernel&, std::uint64_t index,
                   const policy::BlockPlace& place, Cycle begin) override {
    stays_.push_back({index, place.sm, begin, kNever, false});
  }
  void block_left(const policy::View&, const policy::RunningKernel&, const policy::BlockPlace& place,
                  Cycle end) override {
    close(place, end, false);
  }
  void block_ended(const policy::View&, const policy::RunningKernel&, const policy::BlockPlace& place,
                   Cycle end) override {
    close(place, end, true);
  }

 private:
  void close(const policy::BlockPlace& place, Cycle end, bool ended) {
    for (Stay& stay : stays_) {
      if (stay.sm != place.sm || stay.end != kNever) continue;
      stay.end = end;
      stay.ended = ended;
    }
  }
  std::vector<Stay>& stays_;
};

TEST(BlockLives, AStoppedBlockGoesOnWhereItStoodAndADroppedOneBeginsAnew) {
  experiment::RunSpec spec = spec_of("add:blocks=1,loops=200", "dai18-maxwell");
  std::vector<Places::Stay> stays;
  spec.observers.push_back(std::make_shared<Places>(stays));
  const auto length = [&](Cycle at, bool drop) {
    stays.clear();
    const experiment::RunResult result =
        experiment::simulate_under(spec, std::make_unique<MoveOne>(at, drop));
    EXPECT_EQ(result.apps[0].completions, 1U);
    EXPECT_EQ(result.gpu.blocks_completed, 1U);
    return result.cycles;
  };
  const Cycle alone = length(kNever, false);
  ASSERT_EQ(stays.size(), 1U);
  const Cycle began = stays[0].begin;
  const Cycle half = (began + alone) / 2 / 8 * 8;

  const Cycle stopped = length(half, false);
  ASSERT_EQ(stays.size(), 2U);
  EXPECT_EQ(stays[0].sm, 0U);
  EXPECT_FALSE(stays[0].ended);
  EXPECT_GE(stays[0].end, half);
  EXPECT_EQ(stays[1].sm, 1U);
  EXPECT_EQ(stays[1].block, 0U);
  EXPECT_TRUE(stays[1].ended);
  EXPECT_GE(stays[1].begin, stays[0].end);
  // It has to be launched once more, and another SM's caches are cold.
  EXPECT_GT(stopped, alone);
  EXPECT_LT(stopped, alone + (alone - half) / 2);

  const Cycle dropped = length(half, true);
  ASSERT_EQ(stays.size(), 2U);
  EXPECT_EQ(stays[0].end, half);
  EXPECT_GT(dropped, alone + (half - began) / 2);
}

}  // namespace
}  // namespace gpumux
