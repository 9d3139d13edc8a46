// Memory schemes on the whole machine: limits hold, every application makes progress, and results do not
// depend on the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"

namespace gpumux {
namespace {

experiment::RunSpec run_of(const std::vector<std::string>& apps, const std::string& policy,
                           Cycle cycles = 8000, const std::vector<std::string>& set = {"sms=3"}) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", set);
  for (const std::string& app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.audit = true;
  return spec;
}

/// Everything that a run counts; without what only runs with a scheme have.
std::string scheme_figures(const experiment::RunSpec& spec, bool with_scheme = true) {
  experiment::RunResult result = experiment::simulate(spec);
  result.wall_seconds = 0;
  result.policy.clear();
  if (!with_scheme)
    for (experiment::AppResult& app : result.apps) app.memory.reset();
  return experiment::result_json(result, std::vector<double>(result.apps.size(), 1.0), {});
}

// Small ones: what takes time is to make their inputs.
const std::vector<std::string> kPair = {"hotspot:size=256", "kmeans:points=8192"};
const std::vector<std::string> kThree = {"backprop:inputs=8192", "bfs:nodes=8192", "kmeans:points=8192"};

/// With limits, where they are given.
std::string over(const std::string& partition, const std::string& scheme) {
  return partition + "-" + scheme + (scheme == "smil" ? ":k0=3,k1=1" : "");
}

class Schemes : public testing::TestWithParam<const char*> {};

TEST_P(Schemes, ThreadsSkippingAndRepetitionDoNotMatter) {
  experiment::RunSpec spec = run_of(kPair, over("even", GetParam()), 6011);
  const std::string one = scheme_figures(spec);
  spec.threads = 2;
  EXPECT_EQ(one, scheme_figures(spec));
  spec.threads = 3;
  spec.no_skip = true;
  EXPECT_EQ(one, scheme_figures(spec));
}

TEST_P(Schemes, EveryoneGoesOnOverAnyPartitionAndScheduler) {
  for (const char* policy : {"leftover", "spatial", "even"}) {
    const std::string text = over(policy, GetParam()) + ",warps=lrr";
    const experiment::RunResult result = experiment::simulate(run_of(kThree, text, 12'000, {"sms=3"}));
    for (const experiment::AppResult& app : result.apps) {
      // Left-over lets nobody in while the first fills the machine.
      if (std::string(policy) == "leftover" && &app != result.apps.data()) continue;
      EXPECT_GT(app.counters.memory_instructions, 0U) << text << " " << app.app;
    }
  }
}

TEST_P(Schemes, AreOfNoConsequenceForOneApplicationThatNothingLimits) {
  const std::string name = GetParam();
  if (name.find("dmil") != std::string::npos) return;  // that limits even one
  EXPECT_EQ(scheme_figures(run_of({kPair[1]}, "even"), false),
            scheme_figures(run_of({kPair[1]}, "even-" + name), false));
}

INSTANTIATE_TEST_SUITE_P(All, Schemes,
                         testing::Values("rbmi", "qbmi", "smil", "dmil", "dmil-global", "qbmi-dmil", "ucp",
                                         "mshr"),
                         [](const testing::TestParamInfo<const char*>& scheme) {
                           std::string name = scheme.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(StaticLimits, NoLimitIsNoChange) {
  EXPECT_EQ(scheme_figures(run_of(kPair, "even"), false),
            scheme_figures(run_of(kPair, "even-smil:k0=inf,k1=inf"), false));
}

TEST(StaticLimits, AreNeverExceeded) {
  std::mt19937 random(5);
  const std::vector<std::string> apps = {"hotspot:size=256", "kmeans:points=8192", "backprop:inputs=8192",
                                         "bfs:nodes=8192"};
  for (int i = 0; i < 6; ++i) {
    std::vector<std::string> chosen = {apps[random() % apps.size()], apps[random() % apps.size()]};
    std::array<std::uint32_t, 2> limit{};
    std::string policy = "even-smil:stores=";
    policy += random() % 2 == 0 ? "performed" : "accepted";
    for (std::uint32_t k = 0; k < 2; ++k) {
      limit[k] = static_cast<std::uint32_t>(1 + random() % 24);
      policy += fmt::format(",k{}={}", k, limit[k]);
    }
    const experiment::RunResult result =
        experiment::simulate(run_of(chosen, policy, 5000, {"sms=2", "l1.miss_queue=4"}));
    for (std::uint32_t k = 0; k < 2; ++k) {
      EXPECT_GT(result.apps[k].counters.memory_instructions, 0U) << policy << " " << chosen[k];
      EXPECT_LE(result.apps[k].memory->peak_in_flight, limit[k]) << policy;
    }
  }
}

TEST(DynamicLimits, LowerTheFailuresOfWhoeverFails) {
  const experiment::RunResult plain = experiment::simulate(run_of(kPair, "even", 20'000));
  const experiment::RunResult limited = experiment::simulate(run_of(kPair, "even-dmil", 20'000));
  const auto rate = [](const experiment::AppResult& app) {
    return static_cast<double>(app.counters.reservation_failures()) /
           static_cast<double>(app.counters.l1_accesses);
  };
  EXPECT_LT(rate(limited.apps[1]), rate(plain.apps[1]));
  EXPECT_GT(limited.apps[1].memory->limit_updates, 0U);
  EXPECT_FALSE(plain.apps[1].memory);
}

TEST(DynamicLimits, GlobalOnesAreTheSameEverywhere) {
  const experiment::RunResult result =
      experiment::simulate(run_of(kPair, "even-dmil-global:interval=64", 10'003, {"sms=4"}));
  for (const experiment::AppResult& app : result.apps) {
    EXPECT_GT(app.memory->limit_updates, 0U);
    for (const std::uint32_t limit : app.memory->limits) EXPECT_EQ(limit, app.memory->limits[0]);
  }
}

TEST(Ways, AreAllGivenAwayAndFollowTheHits) {
  const experiment::RunResult result = experiment::simulate(run_of(kPair, "even-ucp:interval=1000", 20'000));
  for (std::size_t sm = 0; sm < 3; ++sm) {
    EXPECT_EQ(result.apps[0].memory->ways[sm] + result.apps[1].memory->ways[sm], 6U);
    EXPECT_GE(result.apps[0].memory->ways[sm], 1U);
    EXPECT_GE(result.apps[1].memory->ways[sm], 1U);
  }
}

// v100 also flushes L1 when a kernel begins, and divides it from shared memory as the kernels need.
TEST(Ways, WorkOnASectoredCache) {
  for (const char* allocate : {"on-miss", "on-fill"}) {
    experiment::RunSpec spec = run_of(kPair, "even-ucp:interval=1000", 6000);
    spec.machine = arch::load_machine("v100", {"sms=2", std::string("l1.allocate=") + allocate});
    const std::string one = scheme_figures(spec);
    spec.threads = 2;
    spec.no_skip = true;
    EXPECT_EQ(one, scheme_figures(spec)) << allocate;
  }
}

TEST(DividedL1, IsOfNoConsequenceForApplicationsThatHaveSmsOfTheirOwn) {
  const std::string plain = scheme_figures(run_of(kPair, "spatial"), false);
  for (const char* policy : {"spatial-ucp", "spatial-mshr"})
    EXPECT_EQ(plain, scheme_figures(run_of(kPair, policy), false)) << policy;
}

TEST(MemorySchemes, AnImpossibleOneIsTheUsersError) {
  EXPECT_THROW((void)experiment::simulate(run_of(kPair, "even-smil:k2=3")), UserError);
  EXPECT_THROW((void)experiment::simulate(run_of(kThree, "even-ucp", 1000, {"l1.ways=2"})), UserError);
}

// A run that ends by itself ends drained: whatever was in flight has come back.
TEST(MemorySchemes, LeaveNothingBehind) {
  for (const char* scheme : {"qbmi-dmil:interval=64", "smil:k0=1,k1=1", "ucp", "mshr"}) {
    experiment::RunSpec spec =
        run_of({"pathfinder:columns=2048", "bfs:nodes=2048"}, std::string("even-") + scheme, 0);
    spec.verify = true;
    const experiment::RunResult result = experiment::simulate(spec);
    for (const experiment::AppResult& app : result.apps) EXPECT_GE(app.completions, 1U);
  }
}

}  // namespace
}  // namespace gpumux
