// The interleaved kernel scheduler of awatramani17: the division of SMs, worked out by hand and on the
// machine.
#include "policy/interleaved.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "experiment/run.hpp"
#include "fake_control.hpp"
#include "policy/observer.hpp"

namespace gpumux {
namespace {

using policy::Crowded;
using policy::KernelSlot;
using policy::Sharer;
using policy::SmAmounts;
using Blocks = std::vector<std::uint32_t>;

/// The M2090's SM: 32768 registers, 48 KB, 1536 threads, 8 blocks, 48 warps.
constexpr SmAmounts kSm = {32768, 49152, 1536, 8, 48};

Sharer sharer(std::uint64_t registers, std::uint64_t threads, std::uint32_t most) {
  return {{registers, 0, threads, 1, threads / 32}, most};
}
const Sharer kSmall = sharer(2048, 128, 8);  // eight fit
const Sharer kLarge = sharer(4096, 512, 3);  // three fit

TEST(Interleaved, EqualNumbersAsFarAsTheyGo) {
  EXPECT_EQ(policy::in_equal_numbers(kSm, {kSmall, kSmall}), (Blocks{4, 4}));
  EXPECT_EQ(policy::in_equal_numbers(kSm, {kSmall, kSmall, kSmall}), (Blocks{3, 3, 2}));
  // 2 and 2 have 1280 threads; 3 of the large ones would have 1792.
  EXPECT_EQ(policy::in_equal_numbers(kSm, {kLarge, kSmall}), (Blocks{2, 4}));
  EXPECT_EQ(policy::in_equal_numbers(kSm, {sharer(2048, 128, 1), kSmall}), (Blocks{1, 7}));
  EXPECT_EQ(policy::in_equal_numbers(kSm, {kLarge, kLarge, kLarge, kSmall}), std::nullopt);
}

TEST(Interleaved, OptimaComeDownByOneFactor) {
  EXPECT_EQ(policy::brought_down(kSm, {kSmall, kSmall}, {3, 5}, Crowded::Scale), (Blocks{3, 5}))
      << "they fit";
  EXPECT_EQ(policy::brought_down(kSm, {kSmall, kSmall}, {8, 6}, Crowded::Scale), (Blocks{5, 3}))
      << "5/8 of each, rounded down";
}

TEST(Interleaved, OfSeveralFactorsTheGreatestThatFits) {
  EXPECT_EQ(policy::brought_down(kSm, {kSmall, kSmall}, {8, 2}, Crowded::Scale), (Blocks{7, 1}));
  EXPECT_EQ(policy::brought_down(kSm, {kSmall, kSmall}, {8, 8}, Crowded::Scale), (Blocks{4, 4}));
  EXPECT_EQ(policy::brought_down(kSm, {kLarge, kSmall}, {3, 6}, Crowded::Scale), (Blocks{2, 4}));
  EXPECT_EQ(policy::brought_down(kSm, {kLarge, kLarge, kLarge, kSmall}, {1, 1, 1, 1}, Crowded::Scale),
            std::nullopt);
}

TEST(Interleaved, OrTheLaterOnesHaveFewer) {
  EXPECT_EQ(policy::brought_down(kSm, {kSmall, kSmall}, {6, 6}, Crowded::Age), (Blocks{6, 2}));
  EXPECT_EQ(policy::brought_down(kSm, {kSmall, kSmall}, {8, 6}, Crowded::Age), (Blocks{7, 1}));
}

TEST(Interleaved, TheOptimumIsWhereOneMoreGainsLess) {
  EXPECT_EQ(policy::optimal_blocks({10, 20, 25, 25.4, 30}, 0.02), 3U) << "a later gain does not count";
  EXPECT_EQ(policy::optimal_blocks({10, 20, 25, 25.4, 30}, 0.01), 5U);
  EXPECT_EQ(policy::optimal_blocks({10, 9, 20}, 0.02), 1U);
  EXPECT_EQ(policy::optimal_blocks({10}, 0.02), 1U);
  EXPECT_EQ(policy::optimal_blocks({0, 0, 10, 10}, 0.02), 3U) << "nothing is known of one and two";
}

std::unique_ptr<policy::Policy> make(const std::string& text) {
  return policy::create(policy::parse_choice(text));
}
constexpr workload::BlockResources kBlock = {128, 16, 0};  // eight fit

TEST(Interleaved, LimitsFollowArrivalsLastBlocksAndEnds) {
  policy::FakeControl control(2);
  const auto policy = make("interleaved");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  EXPECT_GE(control.limit(1, a), 8U) << "alone";
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.limit(0, a), 4U);
  EXPECT_EQ(control.limit(1, b), 4U);
  control.kernel(a).blocks_dispatched = 1000;
  control.fully_dispatched(*policy, a);
  EXPECT_GE(control.limit(0, b), 8U) << "what is left of the first makes place bit by bit";
  const KernelSlot c = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.limit(0, b), 4U);
  EXPECT_EQ(control.limit(0, c), 4U);
  control.end(*policy, a);
  control.end(*policy, b);
  EXPECT_GE(control.limit(0, c), 8U);
}

TEST(Interleaved, KeepsTheRestUntilTheEndWhenToldSo) {
  policy::FakeControl control(1);
  const auto policy = make("interleaved:rest=keep,limits=3/2");
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  control.kernel(a).blocks_dispatched = 1000;
  control.fully_dispatched(*policy, a);
  EXPECT_EQ(control.limit(0, a), 3U);
  EXPECT_EQ(control.limit(0, b), 2U);
  control.end(*policy, a);
  EXPECT_GE(control.limit(0, b), 8U);
}

TEST(Interleaved, YoungerKernelsHaveFewerWhenToldSo) {
  policy::FakeControl control(1);
  const auto policy = make("interleaved:limits=6/6,crowded=age");
  const KernelSlot old = control.arrive(*policy, kBlock, 1000, AppId{1});
  const KernelSlot young = control.arrive(*policy, kBlock, 1000, AppId{0});
  EXPECT_EQ(control.limit(0, old), 6U);
  EXPECT_EQ(control.limit(0, young), 2U);
}

TEST(Interleaved, GivenNumbersHoldForSmallGrids) {
  policy::FakeControl control(4);
  const auto given = make("interleaved:limits=4/4");
  const KernelSlot a = control.arrive(*given, kBlock, 4);
  (void)control.arrive(*given, kBlock, 1000);
  EXPECT_EQ(control.limit(0, a), 4U) << "one for each SM would do";
}

TEST(Interleaved, AloneAKernelHasItsOptimum) {
  policy::FakeControl control(1);
  const auto policy = make("interleaved:split=optimum");
  policy::AppProfile saturates;
  saturates.whole.points = {{1, 10}, {1, 20}, {1, 20.1}, {1, 20.2}, {1, 20}, {1, 20}, {1, 20}, {1, 20}};
  policy::AppProfile grows;
  for (int t = 1; t <= 8; ++t) grows.whole.points.push_back({1.0, 10.0 * t});
  policy->use_profiles({saturates, grows});
  const KernelSlot a = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.limit(0, a), 2U);
  const auto patient = make("interleaved:split=optimum,gain=0.1");
  patient->use_profiles({saturates, grows});
  policy::FakeControl other(1);
  EXPECT_EQ(other.limit(0, other.arrive(*patient, kBlock, 1000)), 4U);
  const KernelSlot b = control.arrive(*policy, kBlock, 1000);
  EXPECT_EQ(control.limit(0, a), 1U) << "7/8 of each";
  EXPECT_EQ(control.limit(0, b), 7U);
  control.end(*policy, a);
  EXPECT_EQ(control.limit(0, b), 8U);
}

TEST(Interleaved, BadSettingsAreErrorsOfOneLine) {
  const auto error_of = [](const std::string& text, std::size_t apps = 2) -> std::string {
    try {
      policy::check_choice(policy::parse_choice(text), arch::MachineConfig(), apps);
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error_of("interleaved:limits=4/4"), "none");
  EXPECT_EQ(error_of("interleaved:limits=4/4", 3),
            "error: policy interleaved: limits= has 2 numbers, and there are 3 applications");
  EXPECT_EQ(error_of("interleaved:limits=4/4,split=optimum"),
            "error: policy interleaved: split='optimum' must be left out beside limits=");
  EXPECT_EQ(error_of("interleaved:crowded=age"),
            "error: policy interleaved: crowded='age' must be left out where numbers are equal");
  EXPECT_EQ(error_of("interleaved:gain=1"),
            "error: policy interleaved: gain='1' must be left out without split=optimum");
  EXPECT_EQ(
      error_of("interleaved:limits=65/1"),
      "error: policy interleaved: limits='65/1' must be a whole number from 1 to 64 for each application, "
      "such as 3/1");
}

// --- on the machine -------------------------------------------------------------------------------------

/// Whose blocks the first SM got, in their order, and how many of each SMs held at most.
class Dispatches final : public policy::Observer {
 public:
  void block_began(const policy::View&, const policy::RunningKernel& kernel, std::uint64_t,
                   const policy::BlockPlace& place, Cycle) override {
    if (place.sm == 0) of_first.push_back(kernel.app);
    std::uint32_t& now = now_[{place.sm, kernel.app}];
    most[kernel.app] = std::max(most[kernel.app], ++now);
  }
  void block_ended(const policy::View&, const policy::RunningKernel& kernel, const policy::BlockPlace& place,
                   Cycle) override {
    --now_[{place.sm, kernel.app}];
  }
  std::vector<AppId> of_first;
  std::map<AppId, std::uint32_t> most;

 private:
  std::map<std::pair<SmId, AppId>, std::uint32_t> now_;
};

std::pair<experiment::RunResult, std::shared_ptr<Dispatches>> run_interleaved(const std::string& policy,
                                                                              Cycle cycles = 20'000) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("awatramani17-m2090", {"sms=2"});
  spec.machine.runtime.copy_bytes_per_second = 0;  // both arrive together
  for (const char* app : {"awatramani17/add", "awatramani17/stream"})
    spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.audit = true;
  const auto seen = std::make_shared<Dispatches>();
  spec.observers = {seen};
  return {experiment::simulate(spec), seen};
}

TEST(Interleaved, AnSmTakesBlocksInTurnOrOfTheOldestFirst) {
  const auto turns = run_interleaved("interleaved:limits=3/3").second;
  ASSERT_GE(turns->of_first.size(), 6U);
  EXPECT_EQ(std::vector<AppId>(turns->of_first.begin(), turns->of_first.begin() + 6),
            (std::vector<AppId>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(turns->most[0], 3U);
  EXPECT_EQ(turns->most[1], 3U);
  const auto age = run_interleaved("interleaved:limits=3/3,order=age").second;
  EXPECT_EQ(std::vector<AppId>(age->of_first.begin(), age->of_first.begin() + 6),
            (std::vector<AppId>{0, 0, 0, 1, 1, 1}));
}

TEST(Interleaved, OptimaComeFromProfiles) {
  const experiment::RunResult result =
      run_interleaved("interleaved:split=optimum,profile_cycles=20000").first;
  double optimum = 0;
  double blocks = 0;
  for (const policy::Report::Number& number : result.policy_report.numbers) {
    if (number.app != AppId{1}) continue;
    if (number.name == "optimal_blocks_per_sm") optimum = number.value;
    if (number.name == "blocks_per_sm") blocks = number.value;
  }
  ASSERT_EQ(result.policy_report.curves.size(), 2U);
  policy::ScalabilityCurve curve;
  for (const auto& [count, ipc] : result.policy_report.curves[1].points) curve.push_back(ipc);
  EXPECT_EQ(optimum, policy::optimal_blocks(curve, 0.02));
  EXPECT_GE(blocks, 1);
  EXPECT_LE(blocks, optimum);
}

}  // namespace
}  // namespace gpumux
