// The examples of docs/adding-a-memory-scheme.md and docs/issue-budgets.md work as the pages say.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "policy/memory_scheme.hpp"

namespace gpumux {
namespace {

experiment::RunResult run_example(const std::string& policy) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=2"});
  for (const char* app : {"add", "stream"}) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = 20'000;
  return experiment::simulate(spec);
}

TEST(Examples, SameLimitHoldsAllApplications) {
  const auto limited = run_example("even,memory=same-limit,limit=2");
  for (const auto& app : limited.apps) {
    ASSERT_TRUE(app.memory.has_value());
    EXPECT_LE(app.memory->peak_in_flight, 2U);
  }
  EXPECT_GT(run_example("even,memory=same-limit").apps[1].memory->peak_in_flight, 2U);
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("even-same-limit:limit=8")),
            "even,memory=same-limit");
}

TEST(Examples, TrickleKeepsTheSecondApplicationToItsBudget) {
  const auto result = run_example("trickle:instructions=640,period=500");
  EXPECT_GT(result.apps[1].counters.thread_instructions, 0U);
  // Each of the two SMs: 40 periods of 640, and the lanes of one instruction more.
  EXPECT_LE(result.apps[1].counters.thread_instructions, 2U * (40 * 640 + 32));
  EXPECT_GT(run_example("leftover").apps[1].counters.thread_instructions +
                run_example("even").apps[1].counters.thread_instructions,
            result.apps[1].counters.thread_instructions);
}

}  // namespace
}  // namespace gpumux
