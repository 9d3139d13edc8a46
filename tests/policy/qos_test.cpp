// Quotas, priorities, and the reassignment of blocks and of SMs between kernels, by hand. And the policies
// that use these.
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.hpp"
#include "fake_control.hpp"
#include "policy/qos/adjustment.hpp"
#include "policy/qos/hill_climbing.hpp"
#include "policy/qos/quotas.hpp"
#include "policy/qos/symmetric.hpp"

namespace gpumux::policy {
namespace {

// --- quotas ---------------------------------------------------------------------------------------------

TEST(Quotas, WhoIsBehindCatchesUp) {
  EXPECT_DOUBLE_EQ(catch_up(125, 100, 4), 1.25);  // the example of wang17 section 3.4.2
  EXPECT_DOUBLE_EQ(catch_up(100, 125, 4), 1);
  EXPECT_DOUBLE_EQ(catch_up(100, 10, 4), 4);
  EXPECT_DOUBLE_EQ(catch_up(100, 0, 4), 1) << "it has not begun";
}

TEST(Quotas, OthersFollowWhatThoseWithGoalsReach) {
  EXPECT_DOUBLE_EQ(others_factor({}), 1);
  EXPECT_DOUBLE_EQ(others_factor({{100, 1, 90}}), 0.9);
  EXPECT_DOUBLE_EQ(others_factor({{100, 1.25, 100}}), 0.8);
  EXPECT_DOUBLE_EQ(others_factor({{100, 1, 120}, {50, 1, 45}}), 1.08);
  EXPECT_DOUBLE_EQ(others_factor({{100, 1, 300}}), 2) << "no more";
  EXPECT_DOUBLE_EQ(others_factor({{100, 1, 0}}), 0.5) << "and no less";
}

TEST(Quotas, AreInstructionsInAnEpoch) {
  EXPECT_EQ(quota(12.5, 10'000, 1, 1'000'000), 125'000U);
  EXPECT_EQ(quota(0, 10'000, 64, 1'000'000), 64U);
  EXPECT_EQ(quota(1e9, 10'000, 1, 1'000'000), 1'000'000U);
}

TEST(Quotas, AddUpOverSms) {
  EXPECT_EQ(divide_quota(100, {1, 1, 1}), (std::vector<std::uint64_t>{34, 33, 33}));
  EXPECT_EQ(divide_quota(100, {4, 0, 2}), (std::vector<std::uint64_t>{67, 0, 33}));
  EXPECT_EQ(divide_quota(100, {0, 0}), (std::vector<std::uint64_t>{0, 0}));
  for (std::uint64_t all : {1ULL, 7ULL, 999'983ULL, 20'480'000ULL}) {
    const std::vector<std::uint64_t> parts = divide_quota(all, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5});
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}), all);
  }
}

// --- first places ---------------------------------------------------------------------------------------

QosSharer sharer(std::uint32_t threads, std::uint64_t registers, bool has_goal, std::uint32_t most = 32) {
  return {{{registers, 0, threads, 1, threads / 32}, most}, threads, has_goal};
}
const SmAmounts kQosSm = {65536, 98304, 2048, 32, 64};

TEST(Symmetric, OthersDivideTheSms) {
  const auto on = [](std::uint32_t sm, const std::vector<QosSharer>& kernels) {
    return kernels_on(sm, 16, kernels);
  };
  // The paper's example: one with a goal on 16 SMs, two others on 8 each.
  const std::vector<QosSharer> one = {sharer(256, 0, true), sharer(256, 0, false), sharer(256, 0, false)};
  EXPECT_EQ(on(0, one), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(on(7, one), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(on(8, one), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(on(15, one), (std::vector<std::size_t>{0, 2}));
  const std::vector<QosSharer> two = {sharer(256, 0, true), sharer(256, 0, true), sharer(256, 0, false)};
  for (const std::uint32_t sm : {0U, 9U, 15U}) EXPECT_EQ(on(sm, two), (std::vector<std::size_t>{0, 1, 2}));
  // Nobody is left out where there are more than SMs.
  const std::vector<QosSharer> many(5, sharer(256, 0, false));
  std::vector<std::size_t> all;
  for (std::uint32_t sm = 0; sm < 2; ++sm)
    for (const std::size_t kernel : kernels_on(sm, 2, many)) all.push_back(kernel);
  EXPECT_EQ(all, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Symmetric, AllHaveAsManyThreads) {
  EXPECT_EQ(symmetric_blocks(kQosSm, {sharer(256, 0, true), sharer(128, 0, false)}),
            (std::vector<std::uint32_t>{4, 8}));
  EXPECT_EQ(symmetric_blocks(kQosSm, {sharer(384, 0, true), sharer(1024, 0, false)}),
            (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(symmetric_blocks(kQosSm, {sharer(256, 0, true), sharer(256, 0, false), sharer(256, 0, false)}),
            (std::vector<std::uint32_t>{2, 2, 2}));
  // 4 x 10240 + 4 x 8192 registers are 8192 too many: the first takes most of them.
  EXPECT_EQ(symmetric_blocks(kQosSm, {sharer(256, 10240, true), sharer(256, 8192, false)}),
            (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(symmetric_blocks(kQosSm, {sharer(256, 0, true, 2), sharer(256, 0, false)}),
            (std::vector<std::uint32_t>{2, 4}))
      << "a small grid";
  EXPECT_EQ(symmetric_blocks(kQosSm, {sharer(1024, 40000, true), sharer(1024, 40000, false)}), std::nullopt);
}

// --- blocks that change hands ----------------------------------------------------------------------------

Tenant tenant(std::uint32_t threads, std::uint32_t blocks, double goal, double history) {
  Tenant tenant;
  tenant.demand = {0, 0, threads, 1, threads / 32};
  tenant.blocks = blocks;
  tenant.everywhere = 16 * blocks;
  tenant.has_goal = goal > 0;
  tenant.goal = goal;
  tenant.history = history;
  tenant.has_more = true;
  return tenant;
}

TEST(Growth, WhoIsBehindAndUsesItsBlocksGetsOneMore) {
  std::vector<Tenant> tenants = {tenant(256, 4, 100, 90), tenant(256, 4, 0, 50)};
  auto growth = next_growth(kQosSm, tenants);
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->kernel, 0U);
  EXPECT_EQ(growth->victim, 1U);
  EXPECT_EQ(growth->blocks, 1U);
  tenants[1].blocks = 3;  // there is room
  growth = next_growth(kQosSm, tenants);
  ASSERT_TRUE(growth);
  EXPECT_FALSE(growth->victim);
  tenants[0].idle = 2;
  EXPECT_FALSE(next_growth(kQosSm, tenants)) << "it has idle blocks";
  tenants[0].idle = 1;
  EXPECT_TRUE(next_growth(kQosSm, tenants));
  tenants[0].history = 100;
  EXPECT_FALSE(next_growth(kQosSm, tenants)) << "it has reached its goal";
  tenants[0].history = 90;
  tenants[0].has_more = false;
  EXPECT_FALSE(next_growth(kQosSm, tenants));
}

TEST(Growth, SeveralBlocksMakePlaceForALargeOne) {
  const auto growth = next_growth(kQosSm, {tenant(1024, 1, 100, 90), tenant(128, 8, 0, 50)});
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->blocks, 8U);
  std::vector<Tenant> last = {tenant(1024, 1, 100, 90), tenant(128, 8, 0, 50)};
  last[1].everywhere = 8;
  EXPECT_FALSE(next_growth(kQosSm, last)) << "it would have none left";
}

TEST(Growth, VictimsAreTriedInTheirOrder) {
  // Three with goals: the second is far above its goal, the third has idle blocks.
  std::vector<Tenant> tenants = {tenant(256, 2, 100, 90), tenant(256, 3, 100, 120), tenant(256, 3, 100, 50)};
  tenants[2].idle = 2;
  EXPECT_EQ(next_growth(kQosSm, tenants)->victim, 2U);
  tenants[2].idle = 1;
  EXPECT_EQ(next_growth(kQosSm, tenants)->victim, 1U) << "120 x 47/48 is above 100";
  tenants[1].history = 102;
  EXPECT_FALSE(next_growth(kQosSm, tenants)) << "102 x 47/48 is not";
  tenants[1].history = 120;
  tenants.push_back(tenant(256, 0, 0, 1));
  EXPECT_EQ(next_growth(kQosSm, tenants)->victim, 1U) << "it has no block here";
  tenants[1].blocks = 2;
  tenants[3].blocks = 1;
  tenants[3].everywhere = 5;
  EXPECT_EQ(next_growth(kQosSm, tenants)->victim, 3U) << "one without a goal comes first";
}

TEST(Growth, ACooperativeGridGivesNone) {
  std::vector<Tenant> tenants = {tenant(256, 4, 100, 90), tenant(256, 4, 0, 50)};
  tenants[1].everywhere = 100;
  ASSERT_TRUE(next_growth(kQosSm, tenants));
  EXPECT_EQ(next_growth(kQosSm, tenants)->victim, 1U);
  tenants[1].gives = false;
  EXPECT_FALSE(next_growth(kQosSm, tenants));
}

// --- SMs that change hands -------------------------------------------------------------------------------

constexpr ClimbingRules kOneStays = {1, false};

TEST(HillClimbing, WhoMissesItsGoalGetsAnSm) {
  EXPECT_EQ(climb({{8, 100, 90}, {4, {}, 50}, {5, {}, 50}}, {}), (SmMove{2, 0, 1}));
  EXPECT_EQ(climb({{15, 100, 90}, {1, {}, 50}}, {}), (SmMove{1, 0, 1}));
  EXPECT_FALSE(climb({{15, 100, 90}, {1, {}, 50}}, kOneStays)) << "the last SM stays";
  EXPECT_FALSE(climb({{16, 100, 90}, {0, {}, 0}}, {}));
  // From one with a goal only what it can spare: 130 x 7/8 is above 100, 110 x 7/8 is not.
  EXPECT_EQ(climb({{8, 100, 90}, {8, 100, 130}}, {}), (SmMove{1, 0, 1}));
  EXPECT_FALSE(climb({{8, 100, 90}, {8, 100, 110}}, {}));
  EXPECT_FALSE(climb({{15, 100, 90}, {1, 100, 300}}, {})) << "who has a goal keeps one";
}

TEST(HillClimbing, WhoHasToSpareGivesOne) {
  EXPECT_EQ(climb({{8, 100, 120}, {4, {}, 1}, {3, {}, 1}}, kOneStays), (SmMove{0, 2, 1}));
  EXPECT_EQ(climb({{16, 100, 120}, {0, {}, 0}}, {}), (SmMove{0, 1, 1}));
  EXPECT_FALSE(climb({{8, 100, 110}, {8, {}, 1}}, {}));
  EXPECT_FALSE(climb({{8, 100, 200}, {8, 100, 200}}, {})) << "nobody wants it";
  EXPECT_FALSE(climb({}, {}));
}

TEST(HillClimbing, TheModelSaysHowMany) {
  constexpr ClimbingRules kModel = {0, true};
  // 100 of 60 with 6 SMs: 10 of them.
  EXPECT_EQ(climb({{6, 100, 60}, {10, {}, 1}}, kModel), (SmMove{1, 0, 4}));
  EXPECT_EQ(climb({{6, 100, 60}, {2, {}, 1}, {1, {}, 1}}, kModel), (SmMove{1, 0, 2}))
      << "no more than there are";
  EXPECT_EQ(climb({{6, 100, 60}, {4, {}, 1}}, {2, true}), (SmMove{1, 0, 2}));
  EXPECT_EQ(climb({{6, 100, 0}, {10, {}, 1}}, kModel), (SmMove{1, 0, 10})) << "no work done: all of them";
  EXPECT_EQ(climb({{6, 100, 99.9}, {10, {}, 1}}, kModel), (SmMove{1, 0, 1}));
  // 200 of 10 SMs: five are enough for 100.
  EXPECT_EQ(climb({{10, 100, 200}, {6, {}, 1}}, kModel), (SmMove{0, 1, 5}));
  // What the one lacks, or the other has to spare: 1 of 5.
  EXPECT_EQ(climb({{10, 100, 200}, {6, 100, 90}}, kModel), (SmMove{0, 1, 1}));
}

// --- the policies ----------------------------------------------------------------------------------------

constexpr workload::BlockResources kQosBlock = {256, 16, 0};

struct Sharing {
  explicit Sharing(const std::string& text,
                   const std::vector<std::optional<double>>& goals = {100.0, std::nullopt})
      : control(4), policy(create(parse_choice(text))) {
    control.config_.sm = arch::load_machine("wang17-16sm").sm;
    policy->use_goals(goals);
    for (std::size_t app = 0; app < goals.size(); ++app) control.arrive(*policy, kQosBlock, 1000);
    for (std::size_t app = 0; app < goals.size(); ++app)
      for (std::uint32_t sm = 0; sm < 4; ++sm)
        control.resident[{static_cast<SmId>(sm), static_cast<KernelSlot>(app)}] =
            control.limit(sm, static_cast<KernelSlot>(app));
  }
  /// The epoch ends, in which applications have executed so many instructions, and in which so much of their
  /// budgets was left on each SM.
  void epoch(const std::vector<std::uint64_t>& instructions, const std::vector<std::int64_t>& left = {}) {
    control.time += 10'000;
    for (std::size_t app = 0; app < instructions.size(); ++app)
      control.app_instructions[static_cast<AppId>(app)] += instructions[app];
    for (std::size_t app = 0; app < left.size(); ++app)
      for (std::uint32_t sm = 0; sm < 4; ++sm)
        control.budgets[{static_cast<SmId>(sm), static_cast<KernelSlot>(app)}].left = left[app];
    policy->epoch_ended(control);
  }
  [[nodiscard]] std::int64_t left(KernelSlot kernel) const {
    std::int64_t all = 0;
    for (std::uint32_t sm = 0; sm < 4; ++sm) all += control.budgets.at({static_cast<SmId>(sm), kernel}).left;
    return all;
  }
  [[nodiscard]] const arch::IssueBudget& budget(KernelSlot kernel) const {
    return control.budgets.at({SmId{0}, kernel}).budget;
  }
  FakeControl control;
  std::unique_ptr<Policy> policy;
};

using Refill = arch::IssueBudget::Refill;

TEST(Qos, QuotasBeginWithTheGoalAndAreSmallForOthers) {
  Sharing run("qos-naive");
  EXPECT_EQ(run.left(0), 1'000'000);
  EXPECT_EQ(run.left(1), 10'000) << "an IPC of 1";
  EXPECT_EQ(run.budget(0).unit, arch::IssueBudget::Unit::ThreadInstructionsDone);
  EXPECT_EQ(run.budget(0).all_spent, Refill::Never);
  EXPECT_EQ(run.budget(1).all_spent, Refill::KeepDebt);
  for (std::uint32_t sm = 0; sm < 4; ++sm) {
    EXPECT_EQ(run.control.limit(sm, 0), 4U);
    EXPECT_EQ(run.control.limit(sm, 1), 4U);
  }
}

TEST(Qos, NaiveForgetsWhatWas) {
  Sharing run("qos-naive");
  run.epoch({800'000, 50'000}, {50'000, -30});
  EXPECT_EQ(run.left(0), 1'000'000);
  EXPECT_EQ(run.left(1), 40'000) << "an IPC of 5, less a fifth";
  EXPECT_FALSE(run.budget(0).yields || run.budget(1).yields);
}

TEST(Qos, HistoryGivesMoreToWhoIsBehind) {
  Sharing run("qos-history");
  run.epoch({800'000, 50'000}, {50'000, -30});
  EXPECT_EQ(run.left(0), 1'250'000);
  run.epoch({1'000'000, 40'000}, {0, 0});  // 90 of 100 on average
  EXPECT_EQ(run.left(0), 1'111'111);
  EXPECT_EQ(run.left(1), 32'000) << "100 of 1.25 x 100";
  run.epoch({1'300'000, 40'000}, {0, 0});
  EXPECT_EQ(run.left(0), 1'000'000);
  EXPECT_EQ(run.left(1), 46'800) << "130 of 1.11 x 100";
}

TEST(Qos, RolloverKeepsWhatAGoalHasNotUsed) {
  for (const char* name : {"qos-rollover", "qos-rollover-time"}) {
    Sharing run(name);
    run.epoch({800'000, 50'000}, {50'000, 70});
    EXPECT_EQ(run.left(0), 1'250'000 + 4 * 50'000);
    EXPECT_EQ(run.left(1), 40'000) << "that of others is dropped";
    run.epoch({1'450'000, 40'000}, {-20, 0});
    EXPECT_EQ(run.left(0), 1'000'000) << "and so are debts";
    EXPECT_EQ(run.budget(1).yields, std::string(name) == "qos-rollover-time");
    EXPECT_FALSE(run.budget(0).yields);
  }
  Sharing keeps("qos-rollover:debt=keep,history=off");
  keeps.epoch({800'000, 50'000}, {-20, 0});
  EXPECT_EQ(keeps.left(0), 1'000'000 - 80);
}

TEST(Qos, WhatIsOwedCountsForTheOthersQuotas) {
  for (const bool owed : {false, true}) {
    Sharing run(owed ? "qos-rollover:others=owed" : "qos-rollover");
    run.epoch({800'000, 50'000}, {50'000, 70});
    EXPECT_EQ(run.left(1), 40'000) << "80 of 100: nothing was owed yet";
    run.epoch({1'000'000, 40'000}, {0, 0});
    // 100 of 125, or of those and of the 20 that were left of the first epoch.
    EXPECT_EQ(run.left(1), owed ? 27'586 : 32'000);
  }
}

TEST(Qos, RolloverKeepsItForTheNextKernel) {
  for (const bool rolls : {true, false}) {
    Sharing run(rolls ? "qos-rollover:history=off" : "qos-history:history=off");
    run.epoch({1'000'000, 50'000}, {0, 0});
    for (std::uint32_t sm = 0; sm < 4; ++sm)
      run.control.budgets[{static_cast<SmId>(sm), KernelSlot{0}}].left = sm == 0 ? -50 : 100;
    run.control.time += 2'500;
    run.control.end(*run.policy, 0);
    const KernelSlot again = run.control.arrive(*run.policy, kQosBlock, 1000, AppId{0});
    EXPECT_EQ(run.left(again), 750'000 + (rolls ? 300 : 0)) << "three quarters of the epoch are left";
    run.control.resident.clear();
    for (std::uint32_t sm = 0; sm < 4; ++sm) run.control.budgets[{static_cast<SmId>(sm), again}].left = 0;
    run.epoch({1'000'000, 50'000}, {0, 0});
    EXPECT_EQ(run.left(again), 1'000'000) << "once";
  }
}

TEST(Qos, ElasticEpochsBelongToEachSm) {
  Sharing run("qos-elastic");
  EXPECT_EQ(run.budget(0).all_spent, Refill::KeepDebt);
  EXPECT_EQ(run.budget(1).all_spent, Refill::KeepDebt);
  EXPECT_EQ(run.budget(0).at_epoch, Refill::Anew);
  EXPECT_TRUE(run.budget(0).restarts_epoch);
  // An SM whose epoch began at 4000 goes on with it: what is left stays, the amounts are new.
  for (KernelSlot kernel : {KernelSlot{0}, KernelSlot{1}})
    run.control.budgets[{SmId{0}, kernel}].next_epoch = 14'000;
  run.epoch({800'000, 50'000}, {777, 7});
  EXPECT_EQ(run.budget(0).first_epoch, 4'000U);
  EXPECT_EQ(run.budget(0).amount, 312'500U);
  EXPECT_EQ((run.control.budgets.at({SmId{0}, KernelSlot{0}}).left), 777);
  Sharing gpu("qos-elastic:timer=gpu");
  gpu.epoch({800'000, 50'000}, {777, 7});
  EXPECT_EQ(gpu.left(0), 1'250'000);
  EXPECT_EQ(gpu.budget(0).at_epoch, Refill::Never);
}

TEST(Qos, QuotasGoWhereBlocksAre) {
  Sharing run("qos-naive:adjust=off");
  run.control.resident[{SmId{2}, KernelSlot{0}}] = 0;
  run.epoch({1'000'000, 50'000});
  EXPECT_EQ(run.left(0), 1'000'000);
  EXPECT_EQ((run.control.budgets.at({SmId{2}, KernelSlot{0}}).left), 0) << "spent, not unlimited";
  EXPECT_EQ((run.control.budgets.at({SmId{1}, KernelSlot{0}}).left), 333'333);
}

TEST(Qos, ABlockChangesHandsWhereAGoalIsMissed) {
  Sharing run("qos-rollover");
  for (std::uint32_t sm = 0; sm < 4; ++sm)
    for (std::uint32_t i = 0; i < 8; ++i)
      run.control.blocks_on[static_cast<SmId>(sm)].push_back(
          {.kernel = static_cast<KernelSlot>(i / 4), .residency = sm * 8 + i});
  run.epoch({800'000, 50'000});
  ASSERT_EQ(run.control.stopped.size(), 1U) << "one at a time";
  const SmId sm = run.control.stopped[0].first;
  EXPECT_EQ(run.control.limit(sm, 0), 5U);
  EXPECT_EQ(run.control.limit(sm, 1), 3U);
  run.epoch({800'000, 50'000});
  EXPECT_EQ(run.control.stopped.size(), 1U) << "it has not left";
  run.control.blocks_on[sm].clear();
  run.epoch({800'000, 50'000});
  EXPECT_EQ(run.control.stopped.size(), 2U);
  EXPECT_NE(run.control.stopped[1].first, sm) << "another SM's turn";

  Sharing off("qos-rollover:adjust=off");
  off.control.blocks_on[SmId{0}] = {{.kernel = 0, .residency = 1}, {.kernel = 1, .residency = 2}};
  off.epoch({800'000, 50'000});
  EXPECT_TRUE(off.control.stopped.empty());
}

TEST(Qos, BlocksOfACooperativeGridStay) {
  for (const bool cooperative : {false, true}) {
    FakeControl control(4);
    const auto policy = create(parse_choice("qos-rollover"));
    const KernelSlot first = control.arrive(*policy, kQosBlock, 32, {}, cooperative);
    for (std::uint32_t sm = 0; sm < 4; ++sm)
      for (std::uint32_t i = 0; i < 8; ++i)
        control.blocks_on[static_cast<SmId>(sm)].push_back({.kernel = first, .residency = sm * 8 + i});
    control.arrive(*policy, kQosBlock, 1000);
    EXPECT_LT(control.limit(3, first), 8U);
    EXPECT_EQ(control.stopped.empty(), cooperative);
  }
}

TEST(Qos, AKernelThatComesAgainFindsItsPlace) {
  Sharing run("qos-rollover");
  for (std::uint32_t i = 0; i < 8; ++i)
    run.control.blocks_on[SmId{0}].push_back({.kernel = static_cast<KernelSlot>(i / 4), .residency = i});
  run.epoch({800'000, 50'000});
  EXPECT_EQ(run.control.limit(0, 0), 5U);
  run.control.end(*run.policy, 0);
  EXPECT_EQ(run.control.limit(0, 1), 3U) << "the other keeps its place meanwhile";
  const KernelSlot again = run.control.arrive(*run.policy, kQosBlock, 1000, AppId{0});
  EXPECT_EQ(run.control.limit(0, again), 5U);
  // For good: the other gets all.
  run.control.end(*run.policy, again);
  run.epoch({0, 50'000});
  run.epoch({0, 50'000});
  EXPECT_EQ(run.control.limit(0, 1), 8U);
}

TEST(Qos, SettingsAreChecked) {
  for (const char* text :
       {"qos-naive:history=on", "qos-rollover:epoch=10", "qos-rollover:debt=some", "qos-elastic:timer=warp",
        "qos-history:most_catch_up=0", "spart:epoch=0", "spart:least=65", "spart:step=two"})
    EXPECT_THROW((void)create(parse_choice(text)), UserError) << text;
}

TEST(Spart, MovesSmsTowardsTheGoal) {
  for (const bool one_stays : {false, true}) {
    Sharing run(one_stays ? "spart:least=1" : "spart");
    EXPECT_EQ(run.control.sms_serving(0), 2U);
    EXPECT_EQ(run.control.sms_serving(1), 2U);
    run.control.resident.clear();   // SMs change hands at once
    run.epoch({500'000, 500'000});  // the first epoch is not whole: applications have just come
    run.epoch({500'000, 500'000});
    EXPECT_EQ(run.control.sms_serving(0), 3U);
    EXPECT_EQ(run.control.sms_serving(1), 1U);
    run.epoch({900'000, 250'000});  // not counted: an SM has moved
    run.epoch({900'000, 250'000});
    EXPECT_EQ(run.control.sms_serving(0), one_stays ? 3U : 4U);
    EXPECT_EQ(run.control.sms_serving(1), one_stays ? 1U : 0U);
    run.epoch({1'600'000, 0});
    run.epoch({1'600'000, 0});
    EXPECT_EQ(run.control.sms_serving(0), one_stays ? 2U : 3U) << "160 x 2/3, or 3/4, is above 100";
  }
}

TEST(Spart, TheModelMovesSeveralSms) {
  Sharing run("spart:step=model");
  run.control.resident.clear();
  run.epoch({500'000, 500'000});
  run.epoch({520'000, 500'000});
  EXPECT_EQ(run.control.sms_serving(0), 4U) << "52 of 100 with two";
  EXPECT_EQ(run.control.sms_serving(1), 0U);
}

}  // namespace
}  // namespace gpumux::policy
