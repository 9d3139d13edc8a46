// The sharing baselines against hand-worked cases.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "fake_control.hpp"

namespace gpumux::policy {
namespace {

constexpr workload::BlockResources kSharedBlock{256, 16, 0};  // 6 fit on the default SM: 1536 threads

std::unique_ptr<Policy> make_policy(const char* text) { return create(parse_choice(text)); }

TEST(Sequential, ServesOneKernelInOrderOfArrival) {
  FakeControl control(4);
  const auto policy = make_policy("sequential");
  const KernelSlot a = control.arrive(*policy, kSharedBlock, 100);
  const KernelSlot b = control.arrive(*policy, kSharedBlock, 100);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{a});
  EXPECT_EQ(control.sms_serving(a), 4U);
  EXPECT_EQ(control.sms_serving(b), 0U);
  control.end(*policy, a);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{b});
  EXPECT_EQ(control.sms_serving(b), 4U);
}

TEST(Leftover, GivesTheOldestKernelTheFirstChoice) {
  FakeControl control(2);
  const auto policy = make_policy("leftover");
  const KernelSlot a = control.arrive(*policy, kSharedBlock, 100);
  const KernelSlot b = control.arrive(*policy, kSharedBlock, 100);
  EXPECT_EQ(control.order, (std::vector<KernelSlot>{a, b}));
  EXPECT_EQ(control.limit(0, b), kUnlimited);
}

TEST(Leftover, SequentialModeHoldsTheSecondKernelBackUntilTheFirstIsDispatched) {
  FakeControl control(2);
  const auto policy = make_policy("leftover:mode=sequential");
  const KernelSlot a = control.arrive(*policy, kSharedBlock, 100);
  const KernelSlot b = control.arrive(*policy, kSharedBlock, 100);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{a});
  control.kernel(a).blocks_dispatched = 100;
  control.fully_dispatched(*policy, a);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{b});
}

TEST(Spatial, SplitsTheSmsEvenlyOldestFirstWhereItDoesNotDivide) {
  FakeControl control(16);
  const auto policy = make_policy("spatial");
  const KernelSlot a = control.arrive(*policy, kSharedBlock, 10000);
  EXPECT_EQ(control.sms_serving(a), 16U);
  const KernelSlot b = control.arrive(*policy, kSharedBlock, 10000);
  EXPECT_EQ(control.sms_serving(a), 8U);
  EXPECT_EQ(control.sms_serving(b), 8U);
  const KernelSlot c = control.arrive(*policy, kSharedBlock, 10000);
  EXPECT_EQ(control.sms_serving(a), 6U);
  EXPECT_EQ(control.sms_serving(b), 5U);
  EXPECT_EQ(control.sms_serving(c), 5U);
  for (std::uint32_t sm = 0; sm < 16; ++sm) {
    const int owners = (control.limit(sm, a) > 0) + (control.limit(sm, b) > 0) + (control.limit(sm, c) > 0);
    EXPECT_EQ(owners, 1) << "SM " << sm;
  }
  control.end(*policy, b);
  EXPECT_EQ(control.sms_serving(a), 8U);
  EXPECT_EQ(control.sms_serving(c), 8U);
}

TEST(Spatial, AKernelThatNeedsFewerSmsGivesTheRestAway) {
  FakeControl control(16);
  const auto policy = make_policy("spatial");
  const KernelSlot small = control.arrive(*policy, kSharedBlock, 13);  // 6 blocks per SM: needs 3 SMs
  const KernelSlot large = control.arrive(*policy, kSharedBlock, 10000);
  EXPECT_EQ(control.sms_serving(small), 3U);
  EXPECT_EQ(control.sms_serving(large), 13U);
  // At the end of its grid it needs one SM alone.
  control.kernel(small).blocks_done = 8;
  control.block_ended(*policy, small);
  EXPECT_EQ(control.sms_serving(small), 1U);
  EXPECT_EQ(control.sms_serving(large), 15U);
}

TEST(Spatial, OfDai18IsAPlainDivision) {
  FakeControl control(16);
  const auto policy = make_policy("spatial:surplus=keep");
  const KernelSlot small = control.arrive(*policy, kSharedBlock, 13);
  EXPECT_EQ(control.sms_serving(small), 16U);
  const KernelSlot large = control.arrive(*policy, kSharedBlock, 10000);
  EXPECT_EQ(control.sms_serving(small), 8U);
  EXPECT_EQ(control.sms_serving(large), 8U);
  control.kernel(small).blocks_done = 12;
  control.block_ended(*policy, small);
  EXPECT_EQ(control.sms_serving(small), 8U);
  EXPECT_FALSE(policy->needs(control).block_ends);
}

TEST(Spatial, AnApplicationThatLaunchesAgainAtOnceFindsItsSmsAgain) {
  FakeControl control(16);
  const auto policy = make_policy("spatial");
  const KernelSlot first = control.arrive(*policy, kSharedBlock, 10000, 0);
  const KernelSlot other = control.arrive(*policy, kSharedBlock, 10000, 1);
  for (std::uint32_t sm = 8; sm < 16; ++sm) control.resident[{static_cast<SmId>(sm), other}] = 6;
  EXPECT_EQ(control.limit(0, first), kUnlimited);
  control.end(*policy, first);
  EXPECT_EQ(control.sms_serving(other), 16U);
  const KernelSlot again = control.arrive(*policy, kSharedBlock, 10000, 0);
  for (std::uint32_t sm = 0; sm < 16; ++sm) {
    EXPECT_EQ(control.limit(sm, again) > 0, sm < 8) << "SM " << sm << ": the other one has no block there";
    EXPECT_EQ(control.limit(sm, other) > 0, sm >= 8) << "SM " << sm;
  }
}

TEST(Spatial, GivesEachApplicationItsOwnSms) {
  FakeControl control(16);
  const auto policy = make_policy("spatial:sms=11/4");
  const KernelSlot first = control.arrive(*policy, kSharedBlock, 1, 0);
  EXPECT_EQ(control.sms_serving(first), 11U) << "it is alone, and the others' SMs stay empty";
  const KernelSlot other = control.arrive(*policy, kSharedBlock, 10000, 1);
  const KernelSlot second = control.arrive(*policy, kSharedBlock, 10000, 0);  // of the first application
  EXPECT_EQ(control.sms_serving(first), 6U);
  EXPECT_EQ(control.sms_serving(second), 5U);
  EXPECT_EQ(control.sms_serving(other), 4U);
  for (std::uint32_t sm = 0; sm < 16; ++sm) {
    const auto serves = [&](KernelSlot slot) { return control.limit(sm, slot) > 0 ? 1 : 0; };
    EXPECT_LE(serves(first) + serves(second) + serves(other), 1) << "SM " << sm;
  }
  EXPECT_NO_THROW(policy->check(control.config_, 2));
  EXPECT_THROW(policy->check(control.config_, 3), UserError);
  EXPECT_THROW(make_policy("spatial:sms=12/5")->check(control.config_, 2), UserError);
  for (const char* bad :
       {"spatial:sms=0/4", "spatial:sms=", "spatial:sms=3/", "spatial:sms=8/8,surplus=keep"})
    EXPECT_THROW(make_policy(bad), UserError) << bad;
}

TEST(Even, DividesByShares) {
  FakeControl control(2);  // 1536 threads, 8 blocks, 32768 registers
  const auto policy = make_policy("even:shares=3/1");
  const KernelSlot a = control.arrive(*policy, kSharedBlock, 100, 0);
  EXPECT_EQ(control.limit(0, a), 6U);
  const KernelSlot b = control.arrive(*policy, kSharedBlock, 100, 1);
  EXPECT_EQ(control.limit(0, a), 4U);  // 1152 threads
  EXPECT_EQ(control.limit(1, b), 1U);  // 384 threads
  EXPECT_THROW(policy->check(control.config_, 3), UserError);
}

TEST(Even, HalvesEachSm) {
  FakeControl control(2);  // 1536 threads, 8 blocks, 32768 registers, 48 KB
  const auto policy = make_policy("even");
  const KernelSlot a = control.arrive(*policy, kSharedBlock, 100);
  EXPECT_EQ(control.limit(0, a), 6U);
  const KernelSlot b = control.arrive(*policy, {128, 16, 16384}, 100);  // half of 48 KB holds one
  EXPECT_EQ(control.limit(0, a), 3U);
  EXPECT_EQ(control.limit(1, b), 1U);
  control.end(*policy, a);
  EXPECT_EQ(control.limit(0, b), 3U);
}

/// The SM of dai18.
FakeControl dai18(std::uint32_t sms) {
  FakeControl control(sms);
  arch::SmConfig& sm = control.config_.sm;
  sm.max_threads = 3072;
  sm.max_warps = 96;
  sm.max_blocks = 16;
  sm.registers = 65536;
  sm.register_allocation_unit = 256;
  sm.shared_bytes = 98304;
  return control;
}
constexpr workload::BlockResources kBpBlock{256, 12, 1090};
constexpr workload::BlockResources kSvBlock{192, 16, 0};

TEST(SmkP, DividesAnewWhenAKernelArrivesOrEnds) {
  FakeControl control = dai18(2);
  const auto policy = make_policy("smk-p");
  const KernelSlot bp = control.arrive(*policy, kBpBlock, 1000);
  EXPECT_EQ(control.limit(1, bp), kUnlimited);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);
  EXPECT_EQ(control.limit(0, bp), 6U) << "worked out in partition_test.cpp";
  EXPECT_EQ(control.limit(1, sv), 8U);
  EXPECT_EQ(control.order, (std::vector<KernelSlot>{bp, sv}));
  // A grid of three blocks puts two on an SM at most.
  const KernelSlot small = control.arrive(*policy, kSvBlock, 3);
  EXPECT_EQ(control.limit(0, small), 2U);
  EXPECT_GE(control.limit(0, bp), 5U);
  control.end(*policy, small);
  EXPECT_EQ(control.limit(0, bp), 6U);
  control.end(*policy, bp);
  EXPECT_EQ(control.limit(0, sv), kUnlimited);
  control.end(*policy, sv);
  EXPECT_FALSE(policy->needs(control).block_ends);
}

AppProfile profile(const std::string& kernel, const std::vector<double>& ipc) {
  AppProfile app;
  for (const double value : ipc) app.whole.points.push_back({value / 32, value});
  app.kernels.push_back({kernel, app.whole.points});
  return app;
}
const std::vector<double> kBpCurve = {10, 20, 30, 40, 50, 60, 70, 80, 94, 96, 98, 100};
const std::vector<double> kSvCurve = {3, 6, 9, 10, 9, 8, 7, 6, 6, 6, 6, 6, 6, 6, 6, 6};

TEST(SmkPw, GivesQuotasInProportionToTheSpeedAloneWhileKernelsShare) {
  FakeControl control = dai18(2);
  const auto policy = make_policy("smk-pw");
  EXPECT_EQ(policy->profile_request().depth, ProfileRequest::Depth::WholeSm);
  policy->use_profiles({profile("", {64}), profile("", {9.6})});
  const KernelSlot bp = control.arrive(*policy, kBpBlock, 1000);
  EXPECT_EQ((control.quotas[{0, bp}]), 0U) << "alone";
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);
  EXPECT_EQ((control.quotas[{1, bp}]), 1000U) << "2 x 1000 / 2";
  EXPECT_EQ((control.quotas[{1, sv}]), 150U) << "0.3 x 1000 / 2";
  EXPECT_EQ(control.limit(0, sv), 8U);
  control.end(*policy, bp);
  EXPECT_EQ((control.quotas[{1, sv}]), 0U);
}

TEST(SmkPw, EqualQuotasAreThoseOfTheMeanSpeedAlone) {
  FakeControl control = dai18(2);
  const auto policy = make_policy("smk-pw:quota=equal");
  policy->use_profiles({profile("", {64}), profile("", {9.6})});
  const KernelSlot bp = control.arrive(*policy, kBpBlock, 1000);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);
  EXPECT_EQ((control.quotas[{1, bp}]), 575U) << "(2 + 0.3) / 2 x 1000 / 2";
  EXPECT_EQ((control.quotas[{1, sv}]), 575U);
}

TEST(WsStatic, GoesToTheSweetSpotOfFigure3) {
  FakeControl control = dai18(2);
  const auto policy = make_policy("ws-static");
  EXPECT_EQ(policy->profile_request().depth, ProfileRequest::Depth::Curve);
  EXPECT_EQ(policy->profile_request().cycles, kProfileCycles);
  policy->use_profiles({profile("", kBpCurve), profile("another", kSvCurve)});
  const KernelSlot bp = control.arrive(*policy, kBpBlock, 1000);
  EXPECT_EQ(control.limit(1, bp), kUnlimited);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);  // not reached: its application's curve
  EXPECT_EQ(control.limit(1, bp), 9U);
  EXPECT_EQ(control.limit(1, sv), 4U);
  control.end(*policy, sv);
  EXPECT_EQ(control.limit(1, bp), kUnlimited);
}

TEST(WsStatic, FallsBackToEvenlyDividedSms) {
  FakeControl control = dai18(5);
  const auto policy = make_policy("ws-static:fallback=0.05");
  policy->use_profiles({profile("", kBpCurve), profile("", kSvCurve)});
  const KernelSlot bp = control.arrive(*policy, kBpBlock, 1000);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);
  EXPECT_EQ(control.sms_serving(bp), 3U) << "it would lose 0.06";
  EXPECT_EQ(control.sms_serving(sv), 2U);
  EXPECT_EQ(control.limit(4, bp), 0U);
}

TEST(Ws, PutsEachSmToAnotherPointUntilTheProfileIsComplete) {
  FakeControl control = dai18(16);
  const auto policy = make_policy("ws:warmup=100,window=50");
  const KernelSlot bp = control.arrive(*policy, kBpBlock, 1000);
  EXPECT_EQ(control.limit(3, bp), kUnlimited);
  EXPECT_EQ(control.alarm_at, kNever);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);
  EXPECT_EQ(control.alarm_at, 100U);
  for (std::uint32_t sm = 0; sm < 16; ++sm) {
    // 12 and 16 points in two rounds: 1, 3, 5... of both, and two to spare.
    const std::uint32_t of_bp = sm < 6 ? 2 * sm + 1 : sm == 14 ? 7 : 0;
    const std::uint32_t of_sv = sm >= 6 && sm < 14 ? 2 * (sm - 6) + 1 : sm == 15 ? 9 : 0;
    EXPECT_EQ(control.limit(sm, bp), of_bp) << "SM " << sm;
    EXPECT_EQ(control.limit(sm, sv), of_sv) << "SM " << sm;
  }
  control.end(*policy, sv);
  EXPECT_EQ(control.alarm_at, 0U) << "it may come back at once";
  policy->alarm(control);
  EXPECT_EQ(control.limit(3, bp), kUnlimited) << "it has not";
  EXPECT_EQ(control.alarm_at, kNever);
}

/// Two kernels on two SMs, each sampled at its most blocks; the second ends at this cycle and stays away.
std::size_t curves_after_the_second_ends_at(Cycle cycle) {
  FakeControl control = dai18(2);
  const auto policy = make_policy("ws:warmup=100,window=50,rounds=1");
  control.arrive(*policy, kBpBlock, 1000);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000);
  control.resident = {{{0, 0}, 12}, {{1, 1}, 16}};
  control.time = std::min<Cycle>(cycle, 100);
  if (cycle >= 100) policy->alarm(control);  // the measurement begins
  control.time = cycle;
  control.resident.clear();
  control.kernel_counters.thread_instructions = 1000;
  control.end(*policy, sv);
  policy->alarm(control);
  EXPECT_EQ(control.limit(1, 0), kUnlimited) << "the other one has the machine";
  return policy->report(control).curves.size();
}

TEST(Ws, OfAProfileThatIsCutShortItKeepsOnlyWhatWasMeasured) {
  EXPECT_EQ(curves_after_the_second_ends_at(60), 0U) << "in the warm-up";
  EXPECT_EQ(curves_after_the_second_ends_at(120), 1U)
      << "of the kernel that ended; the other one can be profiled anew";
}

TEST(Ws, WaitsForTheNextLaunchAsLongAsOneTakes) {
  FakeControl control = dai18(2);
  control.config_.runtime.kernel_launch_latency = 300;
  const auto policy = make_policy("ws:warmup=100,window=50,rounds=1");
  control.arrive(*policy, kBpBlock, 1000, 0);
  const KernelSlot sv = control.arrive(*policy, kSvBlock, 1000, 1);
  control.time = 20;
  control.end(*policy, sv);
  EXPECT_EQ(control.alarm_at, 320U);
  EXPECT_EQ(control.limit(0, 0), 12U) << "the profile is not given up";
  control.time = 320;
  const KernelSlot again = control.arrive(*policy, kSvBlock, 1000, 1);
  EXPECT_EQ(control.limit(1, again), 16U) << "the same point";
  policy->alarm(control);
  EXPECT_EQ(control.alarm_at, 370U) << "the warm-up has passed: the measurement";
}

TEST(Choice, ParsesSettingsAndLevels) {
  const PolicyChoice choice = parse_choice("leftover:mode=sequential,warps=lrr");
  EXPECT_EQ(choice.name, "leftover");
  EXPECT_EQ(choice.settings.at("mode"), "sequential");
  EXPECT_EQ(choice.warps, "lrr");
  EXPECT_EQ(parse_choice("even,warps=gto").warps, "gto");
}

TEST(Choice, RefusesWhatItDoesNotKnow) {
  const auto message = [](const char* text) {
    try {
      (void)parse_choice(text);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message("evn").find("unknown policy 'evn'; did you mean 'even'?"), std::string::npos);
  EXPECT_NE(message("even:share=2").find("unknown setting 'share'"), std::string::npos);
  EXPECT_NE(message("leftover:mode=fast").find("must be resource or sequential"), std::string::npos);
  EXPECT_NE(message("even,warps=fifo").find("unknown warp scheduler 'fifo'"), std::string::npos);
  EXPECT_NE(message("even,quick").find("must be key=value"), std::string::npos);
}

}  // namespace
}  // namespace gpumux::policy
