// Goals of applications: their text form, their conversion to IPC, and their outcome.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/result_json.hpp"
#include "experiment/run.hpp"
#include "tests/figures.hpp"

namespace gpumux::experiment {
namespace {

TEST(Goal, IsAShareAnIpcATimeOrARate) {
  EXPECT_EQ(parse_goal("80%")->kind, GoalSpec::Kind::Share);
  EXPECT_DOUBLE_EQ(parse_goal("80%")->amount, 0.8);
  EXPECT_EQ(parse_goal("ipc:300")->kind, GoalSpec::Kind::Ipc);
  EXPECT_DOUBLE_EQ(parse_goal("ipc:300")->amount, 300);
  EXPECT_EQ(parse_goal("1.2ms")->kind, GoalSpec::Kind::Time);
  EXPECT_EQ(parse_goal("60fps")->kind, GoalSpec::Kind::Rate);
  EXPECT_DOUBLE_EQ(parse_goal("60fps")->amount, 60);
  for (const char* text : {"", "%", "0%", "-5%", "1001%", "ipc:", "ipc:0", "ipc:x", "fps", "0fps", "1.2",
                           "80", "1.2min", "nan%", "inffps", "80%%"})
    EXPECT_FALSE(parse_goal(text)) << text;
}

TEST(Goal, IsASettingOfAnApplication) {
  const auto [text, arrivals] = split_arrivals("hotspot:size=64,goal=80%");
  EXPECT_EQ(text, "hotspot:size=64");
  EXPECT_EQ(arrivals.goal->text, "80%");
  EXPECT_FALSE(arrivals.requests());
  EXPECT_EQ(arrivals.identity(), "") << "alone the application is the same";
  try {
    (void)split_arrivals("hotspot:goal=fast");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "error: goal=fast must be 80% (of its IPC alone, up to 1000%), ipc:300, 1.2ms (for a run) or 60fps "
        "(runs per second)");
  }
}

// wang17 section 3.2: IPC = instructions / (frequency x time of the kernel), which is what copies leave.
TEST(Goal, BecomesAnIpc) {
  const Alone alone{200, 0.75, 1e6};  // a run: 5000 cycles, 1250 of them copies
  const double mhz = 1000;
  const auto target = [&](const char* text) { return goal_target(*parse_goal(text), alone, mhz, 2048); };
  EXPECT_DOUBLE_EQ(target("80%").ipc, 160);  // 6250 cycles
  EXPECT_DOUBLE_EQ(target("80%").kernel_ipc, 1e6 / 5000);
  EXPECT_DOUBLE_EQ(target("ipc:100").ipc, 100);
  EXPECT_DOUBLE_EQ(target("ipc:100").kernel_ipc, 1e6 / 8750);
  EXPECT_DOUBLE_EQ(target("8us").ipc, 125);
  EXPECT_DOUBLE_EQ(target("8us").kernel_ipc, 1e6 / 6750);
  EXPECT_DOUBLE_EQ(target("100000fps").ipc, 100);  // each 10 us
  EXPECT_DOUBLE_EQ(target("1us").kernel_ipc, 2048) << "copies take longer: all that the machine can";
  EXPECT_DOUBLE_EQ(target("100%").kernel_ipc, 1e6 / 3750) << "as alone";
}

TEST(Goal, WhatBecameOfItIsInItsUnit) {
  const Alone alone{200, 1, 1e6};
  const auto result = [&](const char* text, double ipc) {
    const GoalSpec goal = *parse_goal(text);
    return goal_result(goal, goal_target(goal, alone, 1000, 2048), ipc, 1000);
  };
  EXPECT_TRUE(result("80%", 160).reached());
  EXPECT_FALSE(result("80%", 159.9).reached());
  EXPECT_DOUBLE_EQ(result("80%", 150).achieved, 0.75);
  EXPECT_FALSE(result("80%", 150).impossible());
  EXPECT_TRUE(result("ipc:201", 150).impossible());
  EXPECT_DOUBLE_EQ(result("8us", 100).achieved, 0.01) << "ms";
  EXPECT_FALSE(result("8us", 100).reached());
  EXPECT_TRUE(result("8us", 125).reached());
  EXPECT_DOUBLE_EQ(result("100000fps", 150).achieved, 150'000);
  EXPECT_EQ(goal_amount(*parse_goal("8us"), 0.01), "0.01 ms");
  EXPECT_EQ(goal_amount(*parse_goal("80%"), 0.75), "75.0%");
}

// --- whole runs -------------------------------------------------------------------------------------------

RunSpec spec_of(const std::vector<std::string>& apps, const std::string& policy, Cycle cycles = 150'000) {
  RunSpec spec;
  spec.machine = arch::load_machine("wang17-16sm", {"sms=4"});
  for (const std::string& app : apps) spec.apps.push_back(builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.audit = true;
  return spec;
}

constexpr const char* kCompute = "cutcp:regions_x=4,regions_y=4,regions_z=4";
constexpr const char* kMemory = "stencil:nx=130,ny=66,nz=18,steps=2";

std::string with_goal(const char* app, const char* goal) { return std::string(app) + ",goal=" + goal; }

TEST(Goals, AreKeptBesideAnother) {
  // What the other leaves over is not enough without a policy that knows goals.
  const GoalResult without =
      *simulate(spec_of({kMemory, with_goal(kCompute, "80%")}, "spatial")).apps[1].goal;
  EXPECT_FALSE(without.reached());
  for (const char* policy : {"qos-rollover", "qos-rollover-time", "spart"}) {
    SCOPED_TRACE(policy);
    const RunResult result = simulate(spec_of({kMemory, with_goal(kCompute, "80%")}, policy, 400'000));
    EXPECT_TRUE(result.apps[1].goal->reached()) << result.apps[1].goal->achieved;
    EXPECT_FALSE(result.apps[0].goal);
    EXPECT_GT(result.apps[0].counters.thread_instructions, 0U);
  }
}

TEST(Goals, LeaveTheRestToOthers) {
  const auto run = [](const char* goal) {
    return simulate(spec_of({with_goal(kCompute, goal), kMemory}, "qos-rollover", 400'000));
  };
  const RunResult low = run("30%");
  const RunResult high = run("90%");
  EXPECT_TRUE(low.apps[0].goal->reached());
  EXPECT_LT(low.apps[0].goal->achieved, 0.6);
  EXPECT_GT(low.apps[1].ipc(), high.apps[1].ipc());
}

TEST(Goals, AnImpossibleOneIsRunAndMissed) {
  const RunResult result = simulate(spec_of({with_goal(kCompute, "ipc:100000"), kMemory}, "qos-rollover"));
  EXPECT_FALSE(result.apps[0].goal->reached());
  EXPECT_TRUE(result.apps[0].goal->impossible());
  EXPECT_GT(result.apps[0].goal->ipc, 0);
}

TEST(Goals, AreTheSameHoweverTheyAreSimulated) {
  for (const char* policy :
       {"qos-naive", "qos-history", "qos-elastic", "qos-rollover", "qos-rollover-time", "spart",
        "qos-elastic:timer=gpu,pending=sm", "qos-rollover:debt=keep,preempt=ideal"}) {
    SCOPED_TRACE(policy);
    RunSpec spec = spec_of({with_goal(kMemory, "70%"), kCompute, with_goal(kCompute, "40%")}, policy, 24'000);
    const std::string first = figures(simulate(spec));
    spec.threads = 3;
    EXPECT_EQ(first, figures(simulate(spec))) << "three threads";
    spec.no_skip = true;
    EXPECT_EQ(first, figures(simulate(spec))) << "window by window";
  }
}

TEST(Goals, ResultsOfAllAreRight) {
  for (const char* policy :
       {"qos-naive", "qos-history", "qos-elastic", "qos-rollover", "qos-rollover-time", "spart"}) {
    SCOPED_TRACE(policy);
    RunSpec spec = spec_of({"hotspot:size=61,steps=5,goal=60%", "lud:size=64,goal=30%", "bfs:nodes=2000",
                            "kmeans:points=1000,features=9"},
                           policy, 0);
    spec.verify = true;
    for (const AppResult& app : simulate(spec).apps) EXPECT_GE(app.completions, 1U) << app.app;
  }
}

TEST(Goals, AreInTheResult) {
  const RunResult result = simulate(spec_of({with_goal(kCompute, "50%"), kMemory}, "even", 40'000));
  const auto goal = result_document(result, {}, {}).at("apps").at(0).at("goal");
  EXPECT_EQ(goal.at("goal"), "50%");
  EXPECT_EQ(goal.at("reached").get<bool>(), result.apps[0].goal->reached());
  EXPECT_DOUBLE_EQ(goal.at("overshoot").get<double>(),
                   goal.at("achieved_ipc").get<double>() / goal.at("ipc").get<double>() - 1);
}

// A run with copies: the kernels have to be faster than the goal says of the whole.
TEST(Goals, CopiesCountAsTimeInWhichNoKernelRuns) {
  RunSpec spec = spec_of({"add:loops=20,blocks=64"}, "leftover", 0);
  const Alone plain = run_alone(spec, "");
  spec.machine = arch::load_machine("wang17-16sm", {"sms=4", "runtime.copy_bytes_per_second=12e9"});
  const Alone copies = run_alone(spec, "");
  EXPECT_GT(plain.kernel_share, 0.9);
  EXPECT_LT(copies.kernel_share, plain.kernel_share - 0.1);
  EXPECT_DOUBLE_EQ(copies.instructions, plain.instructions);
}

}  // namespace
}  // namespace gpumux::experiment
