// Block schedulers: the order in which SMs get blocks, and the number of blocks, by hand and in the machine.
#include "policy/block_scheduler.hpp"

#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"
#include "policy/block_schedulers/saturation.hpp"
#include "policy/fake_control.hpp"

namespace gpumux {
namespace {

using arch::KernelSlot;
using Order = std::vector<SmId>;

Order order(policy::BlockScheduler& scheduler, std::uint32_t sms) {
  Order order;
  scheduler.order(sms, order);
  return order;
}

TEST(BlockScheduler, RoundRobinBeginsBehindTheSmThatTookTheLastBlock) {
  const auto max = policy::create_block_scheduler("");
  EXPECT_EQ(order(*max, 4), (Order{0, 1, 2, 3}));
  max->placed(0, 0);
  max->placed(1, 0);
  EXPECT_EQ(order(*max, 4), (Order{2, 3, 0, 1}));
  max->placed(3, 0);
  EXPECT_EQ(order(*max, 4), (Order{0, 1, 2, 3}));
}

TEST(BlockScheduler, LimitPassesOverKernelsThatHaveTheirNumber) {
  policy::FakeControl control(1);
  const auto limit = policy::create_block_scheduler("limit:2");
  const std::vector<KernelSlot> both = {3, 5};
  const arch::SmProbes& sm = static_cast<const policy::Control&>(control).sm(0);
  EXPECT_EQ(limit->choose(0, sm, both), std::optional<KernelSlot>(3));
  control.resident[{0, 3}] = 2;
  EXPECT_EQ(limit->choose(0, sm, both), std::optional<KernelSlot>(5));
  control.resident[{0, 5}] = 2;
  EXPECT_EQ(limit->choose(0, sm, both), std::nullopt);
}

std::string error_of(const std::string& policy) {
  try {
    (void)policy::parse_choice(policy);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(BlockScheduler, BadOnesAreErrorsOfOneLine) {
  EXPECT_EQ(error_of("even,blocks=limti:3"),
            "error: unknown block scheduler 'limti'; did you mean 'limit'?; known: dyncta, lcs, limit, max, "
            "packed, perf-sat");
  for (const char* argument : {"", ":", ":0", ":256", ":x", ":3.5", ":-1"})
    EXPECT_NE(error_of(std::string("even,blocks=limit") + argument).find("a number of blocks from 1 to 255"),
              std::string::npos)
        << argument;
  EXPECT_EQ(error_of("even,blocks=max:3"), "error: blocks=max:3: max takes no argument");
}

TEST(BlockScheduler, TheUsualOneIsNoChoice) {
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("even,blocks=max")), "even");
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("even, warps=lrr ,blocks=limit:4,memory=smil,k0=3")),
            "even,memory=smil,k0=3,blocks=limit:4,warps=lrr");
}

TEST(BlockScheduler, LevelsAloneAreOfTheUsualPolicy) {
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("blocks=limit:4")), "leftover,blocks=limit:4");
  EXPECT_EQ(policy::canonical_text(policy::parse_choice(" warps=swl:8,blocks=perf-sat")),
            "leftover,blocks=perf-sat,warps=swl:8");
  EXPECT_EQ(error_of("warps=swl"),
            "error: warps=swl: a number of warps from 1 to 256 must follow, as in swl:8");
  EXPECT_NE(error_of("warps=swl:0").find("from 1 to 256"), std::string::npos);
  EXPECT_EQ(error_of("warps=gto:4"), "error: warps=gto:4: gto takes no argument");
  EXPECT_EQ(error_of("blocks"), "error: policy setting 'blocks' must be key=value");
}

TEST(BlockScheduler, ArgumentsOfThrottlesAreChecked) {
  EXPECT_EQ(error_of("blocks=dyncta:window=512/idle=4/low=16/high=64"), "none");
  EXPECT_NE(error_of("blocks=dyncta:window=5").find("window=5 must be a whole number from 100"),
            std::string::npos);
  EXPECT_NE(error_of("blocks=dyncta:low=9/high=4").find("low=9 must not be above high=4"), std::string::npos);
  EXPECT_NE(error_of("blocks=dyncta:hihg=4").find("did you mean 'high'?"), std::string::npos);
  EXPECT_NE(error_of("blocks=dyncta:4").find("'4' must be key=value"), std::string::npos);
  EXPECT_EQ(error_of("blocks=lcs:round=down"), "none");
  EXPECT_NE(error_of("blocks=lcs:round=off").find("round 'off'"), std::string::npos);
  EXPECT_NE(error_of("blocks=perf-sat:3").find("'3' must be key=value"), std::string::npos);
  EXPECT_EQ(error_of("blocks=perf-sat:look=10/changes=0"), "none");
  EXPECT_NE(error_of("blocks=perf-sat:look=0").find("look=0 must be a whole number from 1"),
            std::string::npos);
  EXPECT_NE(error_of("blocks=lcs:formula=both").find("formula 'both'"), std::string::npos);
  EXPECT_NE(error_of("blocks=dyncta:start=full").find("start 'full'"), std::string::npos);
}

// --- Perf-Sat: transitions as section 4.3.2.2 of awatramani17 tells them ---------------------------------

using Search = policy::SaturationSearch;
using State = Search::State;

struct Step {
  std::uint64_t stalls;
  std::uint32_t blocks;  // after it
  State state;
};
void expect_steps(std::uint32_t most, const std::vector<Step>& steps) {
  Search search(most);
  EXPECT_EQ(search.blocks(), (most + 1) / 2);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    search.sample(steps[i].stalls);
    EXPECT_EQ(search.blocks(), steps[i].blocks) << "after sample " << i + 1;
    EXPECT_EQ(search.state(), steps[i].state) << "after sample " << i + 1;
  }
}

// The thesis' example: of 15 blocks 12 are best, sampled with 8, 9, 9, 10, 11, 12, 13 and 13.
TEST(PerfSat, TwelveOfFifteen) {
  expect_steps(15, {{100, 9, State::WeakIncrease},
                    {90, 9, State::WeakIncrease},
                    {91, 10, State::StrongIncrease},
                    {80, 11, State::StrongIncrease},
                    {70, 12, State::StrongIncrease},
                    {60, 13, State::StrongIncrease},
                    {65, 13, State::WeakIncrease},
                    {66, 12, State::Found},
                    {0, 12, State::Found}});
}

TEST(PerfSat, GoesUpToAllAndDownToOne) {
  expect_steps(6, {{100, 4, State::WeakIncrease},
                   {90, 4, State::WeakIncrease},
                   {90, 5, State::StrongIncrease},
                   {80, 6, State::StrongIncrease},
                   {70, 6, State::Found}});
  expect_steps(6, {{100, 4, State::WeakIncrease},
                   {110, 3, State::WeakDecrease},
                   {100, 2, State::StrongDecrease},
                   {90, 1, State::StrongDecrease},
                   {80, 1, State::Found}});
}

TEST(PerfSat, OneDecisionIsNotEnough) {
  // For more, then not: the history is forgotten; then for fewer, of which the second sample says no.
  expect_steps(8, {{100, 5, State::WeakIncrease},
                   {90, 5, State::WeakIncrease},
                   {101, 5, State::WeakIncrease},
                   {102, 4, State::WeakDecrease},
                   {103, 5, State::WeakIncrease}});
}

TEST(PerfSat, WhoTogglesAroundTheMiddleGetsOneMore) {
  expect_steps(8, {{100, 5, State::WeakIncrease},
                   {100, 4, State::WeakDecrease},
                   {100, 5, State::WeakIncrease},
                   {100, 4, State::WeakDecrease},
                   {100, 5, State::Found}});
}

TEST(PerfSat, HowOftenItTogglesIsASetting) {
  Search search(15, 0);
  search.sample(100);
  search.sample(100);
  EXPECT_TRUE(search.found());
  EXPECT_EQ(search.blocks(), 9U);
}

TEST(PerfSat, DoubtsAtTheEndAreLimited) {
  // Beyond the best count a sample is repeated: once for going on, then for the one before.
  expect_steps(12, {{100, 7, State::WeakIncrease},
                    {90, 7, State::WeakIncrease},
                    {90, 8, State::StrongIncrease},
                    {95, 8, State::WeakIncrease},
                    {85, 9, State::StrongIncrease},
                    {86, 9, State::WeakIncrease},
                    {84, 10, State::StrongIncrease},
                    {85, 10, State::WeakIncrease},
                    {83, 11, State::StrongIncrease},
                    {84, 11, State::WeakIncrease},
                    {82, 10, State::Found}});
  expect_steps(12, {{100, 7, State::WeakIncrease},
                    {110, 6, State::WeakDecrease},
                    {100, 5, State::StrongDecrease},
                    {105, 5, State::WeakDecrease},
                    {106, 6, State::Found}});
}

TEST(PerfSat, OneBlockHasNothingToLookFor) {
  Search search(1);
  EXPECT_TRUE(search.found());
  EXPECT_EQ(search.blocks(), 1U);
  expect_steps(2, {{100, 2, State::WeakIncrease}, {90, 2, State::WeakIncrease}, {90, 2, State::Found}});
}

/// The most blocks of a kernel on each SM in any window, and the first SMs that got some.
class Census final : public policy::Observer {
 public:
  void block_began(const policy::View&, const policy::RunningKernel& kernel, std::uint64_t,
                   const policy::BlockPlace& place, Cycle) override {
    std::uint32_t& now = now_[{kernel.slot, place.sm}];
    most = std::max(most, ++now);
    if (first.size() < 8) first.push_back(place.sm);
  }
  void block_ended(const policy::View&, const policy::RunningKernel& kernel, const policy::BlockPlace& place,
                   Cycle) override {
    --now_[{kernel.slot, place.sm}];
  }
  std::uint32_t most = 0;
  Order first;

 private:
  std::map<std::pair<KernelSlot, SmId>, std::uint32_t> now_;
};

std::pair<experiment::RunResult, std::shared_ptr<Census>> run(const std::string& policy,
                                                              unsigned threads = 1) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  for (const char* app : {"add:blocks=60", "stream:blocks=60"})
    spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.verify = true;
  spec.threads = threads;
  const auto census = std::make_shared<Census>();
  spec.observers = {census};
  return {experiment::simulate(spec), census};
}

TEST(BlockScheduler, LimitsHoldInTheMachine) {
  const auto many = run("leftover").second;
  EXPECT_GT(many->most, 3U);
  EXPECT_EQ(many->first, (Order{0, 1, 2, 3, 0, 1, 2, 3}));
  for (const unsigned threads : {1U, 3U}) {
    const auto [limited, few] = run("leftover,blocks=limit:3", threads);
    EXPECT_EQ(few->most, 3U);
    EXPECT_GE(limited.apps[1].completions, 1U);
    EXPECT_EQ(limited.cycles, run("leftover,blocks=limit:3").first.cycles);
  }
}

// A stream is worse with more blocks, arithmetic is not; each throttle ends within what fits, the same for
// any number of threads.
TEST(BlockScheduler, ThrottlesFindANumberOfBlocks) {
  for (const char* text :
       {"leftover,blocks=perf-sat", "leftover,blocks=dyncta:window=500", "leftover,blocks=lcs",
        "leftover,blocks=lcs:round=down", "leftover,blocks=perf-sat:look=1000/changes=0",
        "even,blocks=perf-sat", "even,blocks=dyncta", "spatial,blocks=lcs"}) {
    const std::string policy = text;
    const std::string& name = policy;
    const auto [result, census] = run(policy);
    EXPECT_EQ(result.cycles, run(policy, 3).first.cycles) << name;
    EXPECT_GE(result.apps[0].completions, 1U) << name;
    double blocks = 0;
    double most = 0;
    for (const policy::Report::Number& number : result.policy_report.numbers) {
      if (number.name == "throttled_blocks_per_sm") blocks = number.value;
      if (number.name == "throttled_blocks_at_most") most = number.value;
    }
    EXPECT_GE(blocks, 1) << name;
    EXPECT_LE(blocks, most) << name;
    EXPECT_GE(census->most, 1U) << name;
  }
  EXPECT_LE(run("leftover,blocks=perf-sat").second->most, run("leftover").second->most);
}

TEST(BlockScheduler, PerfSatsSettingsAct) {
  const auto samples = [](const std::string& app, const std::string& settings) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine("awatramani17-m2090", {"sms=1"});
    spec.apps = {experiment::builtin_app(app)};
    spec.policy = policy::parse_choice("blocks=perf-sat" + settings);
    const experiment::RunResult result = experiment::simulate(spec);
    for (const policy::Report::Number& number : result.policy_report.numbers)
      if (number.name == "perf_sat_samples_per_sm") return number.value;
    return -1.0;
  };
  const char* const turns = "add:blocks=300";
  EXPECT_LT(samples(turns, ":changes=0"), samples(turns, ""));
  EXPECT_LT(samples("stream:blocks=300", ":look=20000"), samples("stream:blocks=300", ""));
}

// A limit of the policy that falls and rises again: each goes with it.
TEST(BlockScheduler, ThrottlesFollowThePolicysLimit) {
  for (const char* name : {"perf-sat", "dyncta:window=500", "lcs"}) {
    policy::FakeControl control(1);
    const auto policy = policy::create(policy::parse_choice("leftover"));
    const auto blocks = policy::create_block_scheduler(name);
    const KernelSlot kernel = control.arrive(*policy, {256, 16, 0}, 1000);
    const std::uint32_t fits = control.kernel(kernel).max_blocks_per_sm;
    control.sm(0).limit_blocks(kernel, 1);
    blocks->kernel_arrived(control, control.kernel(kernel));
    control.sm(0).limit_blocks(kernel, fits);
    for (int i = 0; i < 10; ++i) {
      control.time += 500;
      blocks->epoch_ended(control);  // nothing waits for memory: DYNCTA gives one more each time
      blocks->alarm(control);
      control.resident[{0, kernel}] = 1;
    }
    const std::vector<KernelSlot> one = {kernel};
    const arch::SmProbes& sm = static_cast<const policy::Control&>(control).sm(0);
    EXPECT_EQ(blocks->choose(0, sm, one), std::optional<KernelSlot>(kernel)) << name;
  }
}

/// How many blocks of its only kernel an SM may hold under the block scheduler, of eight that fit.
std::uint32_t allowed(policy::BlockScheduler& blocks, policy::FakeControl& control, KernelSlot kernel) {
  const std::vector<KernelSlot> one = {kernel};
  for (std::uint32_t held = 0; held < 8; ++held) {
    control.resident[{0, kernel}] = held;
    if (!blocks.choose(0, static_cast<const policy::Control&>(control).sm(0), one)) return held;
  }
  return 8;
}

// The example of card D4: eight fit, and the SM has done the work of three when the first ends.
TEST(BlockScheduler, LcsHasBothFormulasOfTheThesis) {
  for (const auto& [name, expected] : std::map<std::string, std::uint32_t>{
           {"lcs", 3}, {"lcs:formula=inverse", 2}, {"lcs:formula=inverse/round=up", 3}}) {
    policy::FakeControl control(1);
    const auto policy = policy::create(policy::parse_choice("leftover"));
    const auto blocks = policy::create_block_scheduler(name);
    const KernelSlot kernel = control.arrive(*policy, {128, 16, 0}, 1000);
    ASSERT_EQ(control.kernel(kernel).max_blocks_per_sm, 8U);
    blocks->kernel_arrived(control, control.kernel(kernel));
    EXPECT_EQ(allowed(*blocks, control, kernel), 8U);
    control.kernel(kernel).done_instructions = 100;
    control.kernel_counters.warp_instructions = 300;
    blocks->block_ended(control, control.kernel(kernel), 0);
    EXPECT_EQ(allowed(*blocks, control, kernel), expected) << name;
  }
}

TEST(BlockScheduler, DynctaBeginsWithHalfOrAll) {
  for (const auto& [name, expected] :
       std::map<std::string, std::uint32_t>{{"dyncta", 4}, {"dyncta:start=all", 8}}) {
    policy::FakeControl control(1);
    const auto policy = policy::create(policy::parse_choice("leftover"));
    const auto blocks = policy::create_block_scheduler(name);
    const KernelSlot kernel = control.arrive(*policy, {128, 16, 0}, 1000);
    blocks->kernel_arrived(control, control.kernel(kernel));
    EXPECT_EQ(allowed(*blocks, control, kernel), expected) << name;
  }
}

// Blocks of four warps. The SM holds three, and in each window it waits for memory for most cycles.
TEST(BlockScheduler, DynctaPausesTheNewestBlocks) {
  const auto limits = [](const char* name) {
    policy::FakeControl control(1);
    const auto policy = policy::create(policy::parse_choice("leftover"));
    const auto blocks = policy::create_block_scheduler(name);
    const KernelSlot kernel = control.arrive(*policy, {128, 16, 0}, 1000);
    blocks->kernel_arrived(control, control.kernel(kernel));
    control.resident[{0, kernel}] = 3;
    std::vector<std::uint32_t> seen;
    const auto window = [&](std::uint64_t memory) {
      control.time += 2048;
      control.schedulers[0].scoreboard_memory += memory * control.config_.sm.schedulers;
      blocks->epoch_ended(control);
      seen.push_back(control.kernel_warp_limits[{0, kernel}]);
    };
    window(1000);  // 4 to 3 blocks: as many as there are
    window(1000);  // 2
    window(1000);  // 1
    window(200);   // between the thresholds
    window(100);   // 2
    control.resident[{0, kernel}] = 2;
    window(200);  // the paused block goes on when another has ended
    return seen;
  };
  EXPECT_EQ(limits("dyncta"), (std::vector<std::uint32_t>{0, 8, 4, 4, 8, 0}));
  EXPECT_EQ(limits("dyncta:pause=off"), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0}));
}

// The worked example of docs/adding-a-block-scheduler.md.
TEST(BlockScheduler, ThePackedExampleFillsOneSmAfterTheOther) {
  const auto [result, census] = run("leftover,blocks=packed");
  ASSERT_EQ(census->first.size(), 8U);
  EXPECT_EQ(census->first[0], 0U);
  EXPECT_EQ(census->first[1], 0U) << "where one block is placed in a cycle, the first SM gets the next, too";
  EXPECT_EQ(result.apps[0].completions, 1U);
}

}  // namespace
}  // namespace gpumux
