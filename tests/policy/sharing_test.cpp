// The sharing baselines against hand-worked cases.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "fake_control.hpp"

namespace gpumux::policy {
namespace {

constexpr workload::BlockResources kBlock{256, 16, 0};  // 6 fit on the default SM: 1536 threads

std::unique_ptr<Policy> make(const char* text) { return create(parse_choice(text)); }

TEST(Sequential, ServesOneKernelInOrderOfArrival) {
  FakeControl control(4);
  const auto policy = make("sequential");
  const KernelSlot a = control.arrive(*policy, kBlock, 100);
  const KernelSlot b = control.arrive(*policy, kBlock, 100);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{a});
  EXPECT_EQ(control.sms_serving(a), 4U);
  EXPECT_EQ(control.sms_serving(b), 0U);
  control.end(*policy, a);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{b});
  EXPECT_EQ(control.sms_serving(b), 4U);
}

TEST(Leftover, GivesTheOldestKernelTheFirstChoice) {
  FakeControl control(2);
  const auto policy = make("leftover");
  const KernelSlot a = control.arrive(*policy, kBlock, 100);
  const KernelSlot b = control.arrive(*policy, kBlock, 100);
  EXPECT_EQ(control.order, (std::vector<KernelSlot>{a, b}));
  EXPECT_EQ(control.limit(0, b), kUnlimited);
}

TEST(Leftover, SequentialModeHoldsTheSecondKernelBackUntilTheFirstIsDispatched) {
  FakeControl control(2);
  const auto policy = make("leftover:mode=sequential");
  const KernelSlot a = control.arrive(*policy, kBlock, 100);
  const KernelSlot b = control.arrive(*policy, kBlock, 100);
  EXPECT_EQ(control.order, std::vector<KernelSlot>{a});
  control.kernel(a).blocks_dispatched = 100;
  policy->kernel_fully_dispatched(control, control.kernel(a));
  EXPECT_EQ(control.order, std::vector<KernelSlot>{b});
}

TEST(Spatial, SplitsTheSmsEvenlyOldestFirstWhereItDoesNotDivide) {
  FakeControl control(16);
  const auto policy = make("spatial");
  const KernelSlot a = control.arrive(*policy, kBlock, 10000);
  EXPECT_EQ(control.sms_serving(a), 16U);
  const KernelSlot b = control.arrive(*policy, kBlock, 10000);
  EXPECT_EQ(control.sms_serving(a), 8U);
  EXPECT_EQ(control.sms_serving(b), 8U);
  const KernelSlot c = control.arrive(*policy, kBlock, 10000);
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
  const auto policy = make("spatial");
  const KernelSlot small = control.arrive(*policy, kBlock, 13);  // 6 blocks per SM: needs 3 SMs
  const KernelSlot large = control.arrive(*policy, kBlock, 10000);
  EXPECT_EQ(control.sms_serving(small), 3U);
  EXPECT_EQ(control.sms_serving(large), 13U);
  // At the end of its grid it needs one SM alone.
  control.kernel(small).blocks_done = 8;
  policy->block_ended(control, control.kernel(small), 0);
  EXPECT_EQ(control.sms_serving(small), 1U);
  EXPECT_EQ(control.sms_serving(large), 15U);
}

TEST(Even, HalvesEachSm) {
  FakeControl control(2);  // 1536 threads, 8 blocks, 32768 registers, 48 KB
  const auto policy = make("even");
  const KernelSlot a = control.arrive(*policy, kBlock, 100);
  EXPECT_EQ(control.limit(0, a), 6U);
  const KernelSlot b = control.arrive(*policy, {128, 16, 16384}, 100);  // half of 48 KB holds one
  EXPECT_EQ(control.limit(0, a), 3U);
  EXPECT_EQ(control.limit(1, b), 1U);
  control.end(*policy, a);
  EXPECT_EQ(control.limit(0, b), 3U);
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
