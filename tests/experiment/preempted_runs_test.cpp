// Whole runs in which blocks are preempted, killed or kept apart: results are right, and guarantees hold.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <map>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/result_json.hpp"
#include "experiment/run.hpp"
#include "tests/figures.hpp"
#include "tests/sanitized.hpp"
#include "tests/small_apps.hpp"

namespace gpumux::experiment {
namespace {

RunSpec preempted_spec(const std::vector<std::string>& apps, const std::string& policy,
                       const char* machine = "dai18-maxwell", const char* sms = "sms=3") {
  RunSpec spec;
  spec.machine = arch::load_machine(machine, {sms});
  for (const std::string& app : apps) spec.apps.push_back(builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.verify = true;
  spec.audit = true;
  return spec;
}

std::map<std::string, double> numbers(const RunResult& result) {
  std::map<std::string, double> numbers;
  for (const policy::Report::Number& number : result.policy_report.numbers)
    if (!number.app) numbers[number.name] = number.value;
  return numbers;
}

double preempted_blocks(const RunResult& result) {
  const std::map<std::string, double> all = numbers(result);
  return all.at("preempted_blocks_switched") + all.at("preempted_blocks_drained") +
         all.at("preempted_blocks_flushed");
}

// --- every technique, with results verified ------------------------------------------------------------

constexpr double kPreempted = test::kSanitized ? 20 : 400;  // blocks, by application

class Preempted : public testing::TestWithParam<const char*> {};

// Over all applications, more than ten thousand blocks are preempted.
TEST_P(Preempted, ResultsAreRightUnderEveryTechnique) {
  constexpr const char* kMachines[] = {"dai18-maxwell", "v100", "awatramani17-m2090", "chimera15-fermi30"};
  constexpr const char* kHow[] = {"switch,context=traffic",
                                  "flush",
                                  "chimera,limit=3us,context=traffic",
                                  "switch,context=halt",
                                  "drain",
                                  "chimera,limit=1us,context=halt",
                                  "ideal",
                                  "chimera"};
  // Instrumented builds run each application under half of the techniques, the first four or the last four.
  constexpr std::uint64_t kRuns = test::kSanitized ? 4 : std::size(kHow);
  const std::uint64_t first = test::kSanitized ? std::string_view(GetParam()).size() % 2 * kRuns : 0;
  double preempted = 0;
  for (std::uint64_t runs = first; (preempted < kPreempted || runs < first + kRuns) && runs < 200; ++runs) {
    const std::string policy =
        fmt::format("time-slice:slice={},preempt={}", 300 + runs % 5 * 200, kHow[runs % 8]);
    RunSpec spec = preempted_spec({GetParam(), "add:loops=4,blocks=30"}, policy, kMachines[runs % 4]);
    spec.seed = runs + 1;
    const RunResult result = simulate(spec);
    ASSERT_GE(result.apps[0].completions, 1U) << policy;
    preempted += preempted_blocks(result);
  }
  EXPECT_GE(preempted, kPreempted);
}

INSTANTIATE_TEST_SUITE_P(Apps, Preempted, testing::ValuesIn(test::kSmallApps), test::app_test_name);

TEST(PreemptedRun, IsTheSameHoweverItIsSimulated) {
  for (const char* technique : {"switch,context=traffic", "chimera", "ideal"}) {
    SCOPED_TRACE(technique);
    RunSpec spec = preempted_spec({"hotspot:size=61,steps=5", "lud:size=64"},
                                  fmt::format("time-slice:slice=700,preempt={}", technique));
    const std::string first = figures(simulate(spec));
    spec.threads = 3;
    EXPECT_EQ(first, figures(simulate(spec))) << "three threads";
    spec.no_skip = true;
    EXPECT_EQ(first, figures(simulate(spec))) << "window by window";
  }
}

// Contexts take longer to come back here than the estimate and the slice.
TEST(PreemptedRun, ASliceIsNoShorterThanAContextsWayBack) {
  RunSpec spec =
      preempted_spec({"leukocyte:width=96,height=56,cells=1,iterations=3,frames=1", "add:loops=4,blocks=30"},
                     "time-slice:slice=500,preempt=switch,context=traffic");
  EXPECT_GE(simulate(spec).apps[0].completions, 1U);
}

TEST(PreemptedRun, EightApplicationsShareUnderEveryPolicyThatPreempts) {
  const std::vector<std::string> apps = {
      "add:loops=2,blocks=40",         "hotspot:size=61,steps=5", "lud:size=64",    "stream:blocks=40",
      "kmeans:points=1000,features=9", "backprop:inputs=512",     "bfs:nodes=2000", "sgemm:m=128,n=64,k=16"};
  for (const char* policy :
       {"fcfs", "smart-even:preempt=switch", "smart-even:preempt=drain", "smart-even:preempt=flush",
        "smart-even:preempt=chimera,limit=15us", "time-slice:slice=2us", "mps:20/10/10/20/10/10/10/10"}) {
    SCOPED_TRACE(policy);
    const RunResult result = simulate(preempted_spec(apps, policy, "dai18-maxwell", "sms=10"));
    for (const AppResult& app : result.apps) EXPECT_GE(app.completions, 1U) << app.app;
  }
  const RunResult mig = simulate(
      preempted_spec({apps.begin(), apps.begin() + 7}, "mig:1/1/1/1/1/1/1", "dai18-maxwell", "sms=14"));
  for (const AppResult& app : mig.apps) EXPECT_GE(app.completions, 1U) << app.app;
}

// --- contexts through memory -----------------------------------------------------------------------------

TEST(ContextTraffic, IsFeltByOthersAndAHaltIsNot) {
  // Two take turns; what moves their contexts is among the requests that partitions have taken.
  const auto bytes = [](const char* context) {
    RunSpec spec = preempted_spec({"hotspot:size=128,steps=4", "add:loops=40,blocks=60"},
                                  fmt::format("time-slice:slice=2000,preempt=switch,context={}", context));
    spec.cycles = 100'000;
    return simulate(spec).partitions.requests;
  };
  RunSpec calm =
      preempted_spec({"hotspot:size=128,steps=4", "add:loops=40,blocks=60"}, "time-slice:slice=2000");
  EXPECT_EQ(calm.machine.runtime.context_moves, arch::ContextMoves::Traffic);
  EXPECT_EQ(arch::load_machine("chimera15-fermi30").runtime.context_moves, arch::ContextMoves::Halt);
  EXPECT_GT(bytes("traffic"), bytes("halt"));
  EXPECT_EQ(bytes("machine"), bytes("traffic"));
}

// --- instances ---------------------------------------------------------------------------------------------

/// All that a run says of its first application.
std::string first_app(const std::vector<std::string>& apps, const std::string& policy, const char* machine,
                      const char* sms) {
  RunSpec spec = preempted_spec(apps, policy, machine, sms);
  spec.cycles = 60'000;
  const RunResult result = simulate(spec);
  return result_document(result, {}, {}).at("apps").at(0).dump();
}

TEST(Mig, OthersDoNotInterfere) {
  for (const auto& where : {std::pair{"dai18-maxwell", "sms=16"},
                            {"chimera15-fermi30", "sms=30"},
                            {"v100", "sms=14"},
                            {"awatramani17-m2090", "sms=14"}}) {
    const char* const machine = where.first;
    const char* const sms = where.second;
    SCOPED_TRACE(machine);
    const char* victim = "kmeans:points=4000,features=9";
    const auto beside = [&](const char* other, const char* policy) {
      return first_app({victim, other}, policy, machine, sms);
    };
    const std::string calm = beside("add:loops=2,blocks=1", "mig:4/3");
    EXPECT_EQ(calm, beside("stream:words=8,blocks=6400", "mig:4/3"));
    EXPECT_EQ(calm, beside("bfs:nodes=20000", "mig:4/3"));
    EXPECT_NE(beside("add:loops=2,blocks=1", "mps:57/43"), beside("stream:words=8,blocks=6400", "mps:57/43"));
  }
}

TEST(Mig, ShapesThatAMachineHasNotAreRefused) {
  const arch::MachineConfig maxwell = arch::load_machine("dai18-maxwell");
  const auto check = [&](const char* text, std::size_t apps) {
    policy::check_choice(policy::parse_choice(text), maxwell, apps);
  };
  EXPECT_NO_THROW(check("mig:4/3", 2));
  EXPECT_NO_THROW(check("mig:2/2/2/1", 4));
  EXPECT_NO_THROW(check("mig:7", 1));
  for (const auto& [text, apps] : {std::pair{"mig:4/3", 3},
                                   {"mig:4", 2},
                                   {"mig:4/4", 2},
                                   {"mig:5/2", 2},
                                   {"mig:3/3/1", 3},
                                   {"mig:8", 1},
                                   {"mig:0/3", 2}})
    EXPECT_THROW(check(text, static_cast<std::size_t>(apps)), UserError) << text;
  const arch::MachineConfig fermi = arch::load_machine("chimera15-fermi30");  // six partitions
  EXPECT_THROW(policy::check_choice(policy::parse_choice("mig:1/2"), fermi, 2), UserError);
}

// --- deadlines that kill -----------------------------------------------------------------------------------

TEST(Killed, ARunThatIsLateMakesPlaceForTheNext) {
  // Alone, a run takes far longer than its deadline: each is killed, and none completes.
  RunSpec spec =
      preempted_spec({"add:loops=1000,blocks=120,every=20000,deadline=10000,late=kill", "hotspot:size=61"},
                     "smart-even:preempt=drain");
  spec.cycles = 100'000;
  const RunResult result = simulate(spec);
  const RequestResult& requests = *result.apps[0].requests;
  EXPECT_EQ(requests.arrived, 6U);  // the last at the end
  EXPECT_EQ(requests.killed, 5U);
  EXPECT_EQ(requests.missed, 5U);
  EXPECT_EQ(requests.done(), 0U);
  EXPECT_EQ(result.apps[0].completions, 0U);
  EXPECT_GT(result.apps[0].counters.warp_instructions, 0U);
  EXPECT_GT(result.apps[1].completions, 0U);
  // It leaves the machine as it found it: all that was lent comes home (audit), on any number of threads.
  const std::string first = figures(result);
  spec.threads = 3;
  EXPECT_EQ(first, figures(simulate(spec)));
  spec.no_skip = true;
  EXPECT_EQ(first, figures(simulate(spec)));
}

TEST(Killed, OneThatHasNotBegunByItsDeadlineNeverDoes) {
  // First come, first served, behind a kernel that runs on and on.
  RunSpec spec = preempted_spec(
      {"add:loops=1000,blocks=240", "stream:blocks=4,at=5000,every=20000,deadline=10000,late=kill"}, "fcfs");
  spec.cycles = 60'000;
  const RunResult result = simulate(spec);
  const RequestResult& requests = *result.apps[1].requests;
  EXPECT_EQ(requests.arrived, 3U);
  EXPECT_EQ(requests.killed, 3U);
  EXPECT_EQ(result.apps[1].counters.blocks_completed, 0U);
}

TEST(Killed, WithoutALimitItHasHadItsTime) {
  RunSpec spec =
      preempted_spec({"add:loops=1000,blocks=120,deadline=10000,late=kill", "hotspot:size=61"}, "even");
  const RunResult result = simulate(spec);
  EXPECT_EQ(result.apps[0].completions, 0U);
  EXPECT_GE(result.apps[1].completions, 1U);
}

// A killed kernel ends before its streams have told; the next one is launched at that cycle, for this machine
// has no launch latency. Within searches for the number of cores, too.
TEST(Killed, AKernelEndsAtOnceHoweverItIsSimulated) {
  for (const auto& [policy, deadline] : {std::pair{"leftover", 55}, {"leftover,cores=onac", 58}}) {
    RunSpec spec = preempted_spec(
        {fmt::format("stream:blocks=4000,deadline={}us,late=kill", deadline), "add:blocks=700"}, policy,
        "awatramani17-onac32", "sms=8");
    spec.verify = false;
    const RunResult result = simulate(spec);
    EXPECT_GT(*result.apps[0].requests->killed, 0U);
    const std::string first = figures(result);
    spec.no_skip = true;
    EXPECT_EQ(first, figures(simulate(spec))) << policy;
    if (test::kSanitized) return;
  }
}

// --- runs to a number of instructions ----------------------------------------------------------------------

TEST(Instructions, AnApplicationCountsAsEndedOnceItHasExecutedThem) {
  RunSpec spec = preempted_spec({"add:loops=1000,blocks=120", "stream:blocks=4"}, "even");
  const RunResult whole = simulate(spec);
  EXPECT_FALSE(whole.apps[0].active_instructions);
  spec.instructions = whole.apps[0].counters.thread_instructions / 4;
  const RunResult part = simulate(spec);
  EXPECT_LT(part.cycles, whole.cycles / 2);
  EXPECT_EQ(part.cycles % kInstructionCheck, 0U);
  ASSERT_TRUE(part.apps[0].active_instructions);
  EXPECT_GE(*part.apps[0].active_instructions, spec.instructions);
  EXPECT_EQ(part.apps[0].active_cycles, part.cycles);
  // The other has ended before, and goes on; what counts is its first run.
  EXPECT_GE(part.apps[1].completions, 1U);
  EXPECT_EQ(part.apps[1].active_cycles, part.apps[1].first_completion);
  EXPECT_LT(*part.apps[1].active_instructions, part.apps[1].counters.thread_instructions);
  EXPECT_DOUBLE_EQ(part.apps[1].ipc(), static_cast<double>(*part.apps[1].active_instructions) /
                                           static_cast<double>(part.apps[1].first_completion));
  spec.threads = 3;
  EXPECT_EQ(figures(simulate(spec)), figures(part));
  spec.cycles = 5000;  // a limit holds, too
  EXPECT_EQ(simulate(spec).cycles, 5000U);
}

TEST(Instructions, BaselinesStopLikewise) {
  RunSpec spec = preempted_spec({"add:loops=1000,blocks=120"}, "leftover");
  const double whole = isolated_ipcs(spec, "").at(0);
  spec.instructions = 100'000;
  const RunResult alone = simulate(spec);
  EXPECT_DOUBLE_EQ(isolated_ipcs(spec, "").at(0), alone.apps[0].ipc());
  EXPECT_NE(alone.apps[0].ipc(), whole);
}

}  // namespace
}  // namespace gpumux::experiment
