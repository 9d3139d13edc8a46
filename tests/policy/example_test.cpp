// The example of docs/adding-a-policy.md works as the page says.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "fake_control.hpp"

namespace gpumux::policy {
namespace {

TEST(ReserveExample, KeepsSmsForTheOldestKernel) {
  FakeControl control(16);
  const auto policy = create(parse_choice("reserve:sms=3"));
  const KernelSlot a = control.arrive(*policy, {256, 16, 0}, 100);
  EXPECT_EQ(control.sms_serving(a), 16U);
  const KernelSlot b = control.arrive(*policy, {256, 16, 0}, 100);
  EXPECT_EQ(control.sms_serving(a), 3U);
  EXPECT_EQ(control.sms_serving(b), 13U);
  control.end(*policy, a);
  EXPECT_EQ(control.sms_serving(b), 16U);
  EXPECT_THROW((void)parse_choice("reserve:sms=none"), UserError);
}

}  // namespace
}  // namespace gpumux::policy
