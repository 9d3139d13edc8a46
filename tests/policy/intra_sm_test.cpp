// Policies that share every SM, on the machine: limits hold at all times, every kernel makes progress, and
// results are independent of threads and windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "experiment/profile.hpp"
#include "experiment/result_json.hpp"
#include "experiment/run.hpp"

namespace gpumux {
namespace {

using policy::KernelSlot;

experiment::RunSpec run_of(const std::string& policy, const std::vector<std::string>& apps,
                           Cycle cycles = 12'000) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  for (const std::string& app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.cache_folder = testing::TempDir() + "/gpumux_profiles_of_tests";
  return spec;
}

const std::vector<std::string> kPair = {"add", "stream"};
const std::vector<std::string> kTrio = {"add", "stream", "kmeans:points=4096,features=2,clusters=2"};
/// Short profiles, so that runs are short too.
const std::vector<std::string> kPolicies = {"smk-p", "smk-pw:profile_cycles=3000",
                                            "ws-static:profile_cycles=2000", "ws:warmup=1000,window=500",
                                            "interleaved"};

/// Remembers the limits that pass through it.
class WatchedControl final : public policy::ForwardingControl {
 public:
  using ForwardingControl::ForwardingControl;
  using ForwardingControl::sm;
  std::map<std::pair<SmId, KernelSlot>, std::uint32_t> limits;

  [[nodiscard]] arch::SmControl& sm(std::uint32_t index) override {
    watched_ = std::make_unique<WatchedSm>(ForwardingControl::sm(index), *this, static_cast<SmId>(index));
    return *watched_;
  }

 private:
  class WatchedSm final : public arch::ForwardingSm {
   public:
    WatchedSm(arch::SmControl& inside, WatchedControl& of, SmId id)
        : ForwardingSm(inside), of_(of), id_(id) {}
    void limit_blocks(KernelSlot kernel, std::uint32_t blocks) override {
      of_.limits[{id_, kernel}] = blocks;
      ForwardingSm::limit_blocks(kernel, blocks);
    }

   private:
    WatchedControl& of_;
    SmId id_;
  };
  std::unique_ptr<WatchedSm> watched_;  // the last one asked for
};

struct Watched {
  std::uint64_t looks = 0;       // with several kernels
  std::uint64_t over_limit = 0;  // an SM held more than its limit, and not from before
};

/// Looks every few cycles whether the policy inside keeps its limits.
class Watching final : public policy::Policy {
 public:
  Watching(std::unique_ptr<policy::Policy> inside, Watched& seen) : inside_(std::move(inside)), seen_(seen) {}
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    for (auto& [place, resident] : before_)
      if (place.second == kernel.slot) resident = 0;
    inside_->kernel_arrived(watched(control), kernel);
  }
  void kernel_ended(policy::Control& control, const policy::RunningKernel& kernel) override {
    inside_->kernel_ended(watched(control), kernel);
  }
  void alarm(policy::Control& control) override { inside_->alarm(watched(control)); }
  [[nodiscard]] policy::Needs needs(const policy::View& view) const override {
    policy::Needs needs = inside_->needs(view);
    needs.epoch = 16;
    return needs;
  }
  void epoch_ended(policy::Control& control) override {
    if (!control_) return;
    for (std::uint32_t s = 0; s < control.config().sms; ++s) {
      const auto sm = static_cast<SmId>(s);
      const arch::SmProbes& probes = static_cast<const policy::Control&>(control).sm(s);
      for (const policy::RunningKernel& kernel : control.kernels()) {
        const std::uint32_t resident = probes.resident_blocks(kernel.slot);
        std::uint32_t& before = before_[{sm, kernel.slot}];
        if (resident > std::max(before, control_->limits[{sm, kernel.slot}])) ++seen_.over_limit;
        before = resident;
      }
    }
    if (control.kernels().size() > 1) ++seen_.looks;
  }

 private:
  policy::Control& watched(policy::Control& control) {
    if (!control_) control_ = std::make_unique<WatchedControl>(control);
    return *control_;
  }
  std::unique_ptr<policy::Policy> inside_;
  Watched& seen_;
  std::unique_ptr<WatchedControl> control_;
  std::map<std::pair<SmId, KernelSlot>, std::uint32_t> before_;
};

/// Writes down when it is called.
class Waking final : public policy::Policy {
 public:
  explicit Waking(std::vector<Cycle>& calls) : calls_(calls) {}
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
    control.set_dispatch_order({kernel.slot});
    control.set_alarm(5000);
    control.set_alarm(1001);  // instead
  }
  void alarm(policy::Control& control) override {
    calls_.push_back(control.now());
    control.set_alarm(calls_.size() < 3 ? control.now() : calls_.size() < 5 ? control.now() + 100 : kNever);
  }

 private:
  std::vector<Cycle>& calls_;
};

TEST(Alarm, ComesAtTheFirstWindowFromItsCycleOn) {
  for (const bool no_skip : {false, true}) {
    experiment::RunSpec spec = run_of("leftover", {"add"}, 3000);
    spec.no_skip = no_skip;
    std::vector<Cycle> calls;
    const auto result = experiment::simulate_under(spec, std::make_unique<Waking>(calls));
    // Windows of 8 cycles; an alarm at the present comes at once.
    EXPECT_EQ(calls, (std::vector<Cycle>{1008, 1008, 1008, 1112, 1216}));
    EXPECT_EQ(result.gpu.warp_instructions, experiment::simulate(spec).gpu.warp_instructions);
  }
}

class IntraSm : public testing::TestWithParam<std::string> {};

TEST_P(IntraSm, KeepsItsLimitsAndStarvesNobody) {
  for (const auto& apps : {kPair, kTrio}) {
    const experiment::RunSpec spec = run_of(GetParam(), apps);
    std::unique_ptr<policy::Policy> inside = policy::create(spec.policy);
    const policy::ProfileRequest request = inside->profile_request();
    if (request.depth != policy::ProfileRequest::Depth::None)
      inside->use_profiles(experiment::profiles(spec, request, spec.cache_folder));
    Watched seen;
    const experiment::RunResult result =
        experiment::simulate_under(spec, std::make_unique<Watching>(std::move(inside), seen));
    EXPECT_EQ(seen.over_limit, 0U);
    EXPECT_GT(seen.looks, 500U);
    for (const experiment::AppResult& app : result.apps)
      EXPECT_GT(app.counters.blocks_completed, 0U) << app.app;
  }
}

std::string document(const experiment::RunSpec& spec) {
  experiment::RunResult result = experiment::simulate(spec);
  result.wall_seconds = 0;
  return experiment::result_json(result, {}, {}) + experiment::stats_csv(result);
}

TEST_P(IntraSm, DependsOnNeitherThreadsNorSkipping) {
  for (const char* warps : {"", ",warps=lrr"}) {
    experiment::RunSpec spec = run_of(GetParam() + warps, kTrio, 8000);
    const std::string one = document(spec);
    for (const unsigned threads : {2U, 3U}) {
      spec.threads = threads;
      EXPECT_EQ(document(spec), one) << threads << " threads";
    }
    spec.threads = 1;
    spec.no_skip = true;
    EXPECT_EQ(document(spec), one) << "every window visited";
  }
}

TEST_P(IntraSm, ALoneApplicationHasTheWholeMachine) {
  const auto alone = [](const std::string& policy) {
    return experiment::simulate(run_of(policy, {kTrio[2]}, 8000)).apps[0].counters.warp_instructions;
  };
  EXPECT_EQ(alone(GetParam()), alone("leftover"));
}

INSTANTIATE_TEST_SUITE_P(Policies, IntraSm, testing::ValuesIn(kPolicies),
                         [](const testing::TestParamInfo<std::string>& test) {
                           std::string name = test.param.substr(0, test.param.find(':'));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

std::optional<double> number(const policy::Report& report, const std::string& name,
                             std::optional<AppId> app = std::nullopt) {
  for (const policy::Report::Number& n : report.numbers)
    if (n.name == name && n.app == app) return n.value;
  return std::nullopt;
}

TEST(SmkQuotas, AreWhatTheProfileSaysAndHoldOnTheMachine) {
  const experiment::RunSpec spec = run_of("smk-pw:profile_cycles=3000,period=500", kPair, 20'000);
  const experiment::RunResult result = experiment::simulate(spec);
  policy::ProfileRequest request;
  request.depth = policy::ProfileRequest::Depth::WholeSm;
  request.cycles = 3000;
  const auto profiles = experiment::profiles(spec, request, "");
  std::vector<double> quotas;
  for (AppId app = 0; app < 2; ++app) {
    const auto quota = number(result.policy_report, "issue_quota", app);
    ASSERT_TRUE(quota);
    quotas.push_back(*quota);
    ASSERT_EQ(profiles[app].kernels.size(), 1U);
    EXPECT_EQ(*quota, std::max(1.0, std::round(profiles[app].kernels[0].points.back().warp_ipc * 250)));
  }
  // Both kernels always have blocks on every SM here, so neither gets ahead by more than a set per SM.
  const double first = static_cast<double>(result.apps[0].counters.warp_instructions) / quotas[0];
  const double second = static_cast<double>(result.apps[1].counters.warp_instructions) / quotas[1];
  EXPECT_NEAR(first, second, 4 + 0.02 * first);
}

TEST(WarpedSlicer, StaticReportsItsCurvesAndItsSweetSpot) {
  const experiment::RunSpec spec = run_of("ws-static:profile_cycles=2000", kPair);
  const experiment::RunResult result = experiment::simulate(spec);
  const policy::Report& report = result.policy_report;
  ASSERT_EQ(report.curves.size(), 2U);
  EXPECT_GT(report.curves[0].points.size(), 2U);
  double sum = 0;
  for (AppId app = 0; app < 2; ++app) {
    EXPECT_GE(number(report, "blocks_per_sm", app).value_or(0), 1);
    sum += number(report, "predicted_normalized_ipc", app).value_or(0);
  }
  EXPECT_DOUBLE_EQ(number(report, "theoretical_weighted_speedup").value_or(0), sum);
  EXPECT_GT(sum, 0.5);
  EXPECT_LE(sum, 2.0);
  // What is written comes back the same.
  const auto json = nlohmann::ordered_json::parse(experiment::result_json(result, {}, {}));
  EXPECT_EQ(json["metrics"]["policy"]["theoretical_weighted_speedup"], sum);
  EXPECT_EQ(json["apps"][1]["policy"]["blocks_per_sm"], *number(report, "blocks_per_sm", AppId{1}));
  EXPECT_EQ(json["metrics"]["policy"]["curves"].size(), 2U);
}

TEST(WarpedSlicer, DynamicProfilesOnceUnlessToldOtherwise) {
  const auto report = [](const char* policy) {
    return experiment::simulate(run_of(policy, kPair, 30'000)).policy_report;
  };
  const policy::Report once = report("ws:warmup=1000,window=500");
  EXPECT_EQ(number(once, "profiles"), 1.0);
  // add and stream have 12 blocks per SM: 24 points on 4 SMs are 6 rounds of 1500 cycles, and patience.
  EXPECT_GE(number(once, "profile_cycles").value_or(0), 1500);
  const policy::Report brief = report("ws:warmup=1000,window=500,rounds=1");
  EXPECT_LT(number(brief, "profile_cycles"), number(once, "profile_cycles"));
  EXPECT_TRUE(number(brief, "theoretical_weighted_speedup"));
  EXPECT_EQ(once.curves.size(), 2U);
}

TEST(WarpedSlicer, SettingsOfTheProfileAct) {
  const auto curve = [](const std::string& more) {
    experiment::RunSpec spec = run_of("ws:warmup=1000,window=500,rounds=1" + more, kPair, 6000);
    const auto one = experiment::simulate(spec).policy_report;
    spec.no_skip = true;
    spec.threads = 2;
    EXPECT_EQ(experiment::simulate(spec).policy_report.curves.at(1).points, one.curves.at(1).points) << more;
    return one.curves.at(1).points;
  };
  const auto usual = curve("");
  EXPECT_NE(curve(",stall=scheduler"), usual);
  EXPECT_NE(curve(",weight=0"), usual);
  EXPECT_NE(curve(",weight=0,warmup=500"), curve(",weight=0"));
  EXPECT_EQ(curve(",weight=1"), usual);
}

TEST(WarpedSlicer, ProfilesEachLaunchWhenToldSo) {
  // kmeans launches one kernel after another, and begins again.
  const auto profiles = [](const std::string& more) {
    const auto run =
        experiment::simulate(run_of("ws:warmup=300,window=200,rounds=1" + more,
                                    {"kmeans:points=4096,features=2,clusters=2", "stream"}, 60'000));
    for (const experiment::AppResult& app : run.apps) EXPECT_GT(app.completions, 0U);
    return number(run.policy_report, "profiles").value_or(0);
  };
  const double never = profiles("");
  EXPECT_GE(never, 2) << "two kernels of kmeans";
  EXPECT_LE(never, 4);
  EXPECT_GT(profiles(",reprofile=always"), 8);
}

TEST(WarpedSlicer, FallsBackToWholeSmsWhenAKernelWouldLoseTooMuch) {
  const auto run = [](const std::string& fallback) {
    return experiment::simulate(run_of("ws-static:profile_cycles=2000,fallback=" + fallback, kPair))
        .policy_report;
  };
  EXPECT_GT(number(run("0"), "spatial_fallbacks").value_or(0), 0);
  EXPECT_EQ(number(run("0"), "blocks_per_sm", AppId{0}), std::nullopt);
  EXPECT_EQ(number(run("1"), "spatial_fallbacks"), 0.0);
}

class ProfileFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/profile_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  void write(const experiment::RunSpec& spec, Cycle cycles) const {
    policy::ProfileRequest request;
    request.depth = policy::ProfileRequest::Depth::Curve;
    request.cycles = cycles;
    write_file_atomically(
        path_, experiment::profile_document(spec, cycles, experiment::profiles(spec, request, "")));
  }
  [[nodiscard]] std::string error(const experiment::RunSpec& spec) const {
    try {
      (void)experiment::simulate(spec);
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  }
  std::string path_;
};

TEST_F(ProfileFile, GivesTheResultThatTheRunsGive) {
  write(run_of("leftover", kPair), 2000);
  for (const std::string policy : {"smk-pw", "ws-static"}) {
    const auto from_file = experiment::simulate(run_of(policy + ":profile=" + path_, kPair));
    const auto from_runs = experiment::simulate(run_of(policy + ":profile_cycles=2000", kPair));
    EXPECT_EQ(experiment::stats_csv(from_file), experiment::stats_csv(from_runs)) << policy;
  }
}

TEST_F(ProfileFile, IsRefusedWhenItIsNotThisRuns) {
  experiment::RunSpec spec = run_of("ws-static:profile=" + path_, kPair);
  EXPECT_NE(error(spec).find(path_), std::string::npos) << "missing: " << error(spec);
  write_file_atomically(path_, "{\"schema\": 3}");
  EXPECT_NE(error(spec).find("is no profile; gpumux profile writes them"), std::string::npos) << error(spec);
  write(run_of("leftover", {"add"}), 1000);
  EXPECT_NE(error(spec).find("has no profile of stream"), std::string::npos) << error(spec);
  spec.machine.l1.latency += 1;
  EXPECT_NE(error(spec).find("is a profile of another machine"), std::string::npos) << error(spec);
}

TEST_F(ProfileFile, PointsAreKeptOneByOneAndShared) {
  const experiment::RunSpec spec = run_of("leftover", {"add"});
  policy::ProfileRequest request;
  request.cycles = 1000;
  request.depth = policy::ProfileRequest::Depth::WholeSm;
  const auto whole = experiment::profiles(spec, request, path_);
  const auto files = [this] {
    const std::filesystem::directory_iterator all(path_ + "/profiles");
    return std::distance(begin(all), end(all));
  };
  EXPECT_EQ(files(), 1);
  request.depth = policy::ProfileRequest::Depth::Curve;
  const auto curve = experiment::profiles(spec, request, path_);
  EXPECT_EQ(files(), static_cast<std::ptrdiff_t>(curve[0].kernels[0].points.size()));
  EXPECT_EQ(curve[0].kernels[0].points.back().warp_ipc, whole[0].kernels[0].points[0].warp_ipc);
  const auto again = experiment::profiles(spec, request, path_);
  for (std::size_t t = 0; t < curve[0].kernels[0].points.size(); ++t)
    EXPECT_EQ(again[0].kernels[0].points[t].thread_ipc, curve[0].kernels[0].points[t].thread_ipc);
  for (const auto& entry : std::filesystem::directory_iterator(path_ + "/profiles"))
    write_file_atomically(entry.path().string(), "{}");
  EXPECT_EQ(experiment::profiles(spec, request, path_)[0].kernels[0].points[0].thread_ipc,
            curve[0].kernels[0].points[0].thread_ipc)
      << "damaged entries are made again";
}

TEST(IntraSmErrors, KernelsThatDoNotFitTogetherAndBadSettings) {
  const auto message = [](const std::string& policy, const std::vector<std::string>& set = {"sms=2"}) {
    try {
      experiment::RunSpec spec = run_of(policy, kTrio, 4000);
      spec.machine = arch::load_machine("dai18-maxwell", set);
      (void)experiment::simulate(spec);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  for (const std::string& policy : kPolicies) {
    EXPECT_NE(message(policy, {"sms=2", "sm.max_blocks=2"}).find("does not fit an SM together"),
              std::string::npos)
        << policy;
  }
  EXPECT_NE(message("smk-pw:period=0").find("must be a whole number from 1 to 1000000"), std::string::npos);
  EXPECT_NE(message("smk-pw:profile=").find("must be the name of a file"), std::string::npos);
  EXPECT_NE(message("ws:weight=-1").find("must be a number from 0 to 100"), std::string::npos);
  EXPECT_NE(message("ws:window=0").find("must be a whole number from 1"), std::string::npos);
  EXPECT_NE(message("ws:rounds=2").find("must be auto or 1"), std::string::npos);
  EXPECT_NE(message("ws:reprofile=often").find("must be never or always"), std::string::npos);
  EXPECT_NE(message("ws-static:normalize=mean").find("must be max or full"), std::string::npos);
  EXPECT_NE(message("ws-static:fallback=2").find("must be a number from 0 to 1"), std::string::npos);
  EXPECT_NE(message("ws-static:profile=x,profile_cycles=5000").find("must be left out"), std::string::npos);
  EXPECT_NE(message("smk-p:period=3").find("unknown setting 'period'"), std::string::npos);
}

}  // namespace
}  // namespace gpumux
