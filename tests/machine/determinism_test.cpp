// The same input gives the same figures for any number of threads, with and without skipping.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "tests/figures.hpp"

namespace gpumux {
namespace {

experiment::RunSpec pair_spec(const char* policy) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell");
  spec.apps = {experiment::builtin_app("hotspot"), experiment::builtin_app("kmeans")};
  spec.policy = policy::parse_choice(policy);
  spec.cycles = 30'011;  // not a multiple of any window
  return spec;
}

std::string all_figures(const experiment::RunSpec& spec) {
  experiment::RunResult result = experiment::simulate(spec);
  result.wall_seconds = 0;
  return experiment::result_json(result, {1, 1}, {}) + gpumux::figures(result);
}

class Determinism : public testing::TestWithParam<const char*> {};

TEST_P(Determinism, ThreadsDoNotChangeResults) {
  experiment::RunSpec spec = pair_spec(GetParam());
  const std::string one = all_figures(spec);
  EXPECT_EQ(one, all_figures(spec)) << "a second run";
  for (const unsigned threads : {2U, 3U, 4U}) {
    spec.threads = threads;
    EXPECT_EQ(one, all_figures(spec)) << threads << " threads";
  }
}

TEST_P(Determinism, SkippingIsInvisible) {
  experiment::RunSpec spec = pair_spec(GetParam());
  const std::string skipping = all_figures(spec);
  spec.no_skip = true;
  EXPECT_EQ(skipping, all_figures(spec));
}

INSTANTIATE_TEST_SUITE_P(Policies, Determinism,
                         testing::Values("sequential", "leftover", "spatial", "even", "even,warps=lrr"),
                         [](const testing::TestParamInfo<const char*>& policy) {
                           std::string name = policy.param;
                           for (char& c : name) {
                             if (c == ',' || c == '=') c = '_';
                           }
                           return name;
                         });

// Conservation over the whole machine: what SMs count as sent is what partitions count as taken, once all
// has ended; every scheduler cycle has one reason.
TEST(Conservation, CountersAgreeOverLevels) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell");
  spec.apps = {experiment::builtin_app("pathfinder")};
  spec.policy = policy::parse_choice("sequential");
  const experiment::RunResult result = experiment::simulate(spec);
  EXPECT_EQ(result.apps[0].completions, 1U);
  EXPECT_LE(result.partitions.requests, result.gpu.requests_sent);
  EXPECT_GE(result.partitions.requests * 100, result.gpu.requests_sent * 99)
      << "stores of the last blocks alone";
  EXPECT_EQ(result.schedulers.issued, result.gpu.warp_instructions);
  EXPECT_GE(result.gpu.l1_accesses, result.gpu.l1_misses);
}

}  // namespace
}  // namespace gpumux
