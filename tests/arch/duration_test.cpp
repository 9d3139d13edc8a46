#include "arch/duration.hpp"

#include <gtest/gtest.h>

namespace gpumux::arch {
namespace {

TEST(Duration, CyclesOfTheMachinesClock) {
  arch::MachineConfig config;
  config.clocks.core = 1400;
  EXPECT_EQ((Duration{15, "us"}.cycles(config)), 21000U);
  EXPECT_EQ((Duration{1, "ms"}.cycles(config)), 1400000U);
  EXPECT_EQ((Duration{10, "ns"}.cycles(config)), 14U);
  EXPECT_EQ((Duration{21000, ""}.cycles(config)), 21000U);
  EXPECT_EQ((Duration{0.1, "ns"}.cycles(config)), 1U);
}

TEST(Duration, TextsOfTimes) {
  const auto text = [](const char* of) {
    const auto parsed = parse_duration(of);
    return parsed ? std::to_string(parsed->amount) + parsed->unit : "none";
  };
  EXPECT_EQ(text("15us"), "15.000000us");
  EXPECT_EQ(text("0.2ms"), "0.200000ms");
  EXPECT_EQ(text("1s"), "1.000000s");
  EXPECT_EQ(text("21000"), "21000.000000");
  EXPECT_EQ(text("1e3ns"), "1000.000000ns");
  for (const char* wrong :
       {"", "us", "0", "0us", "-1us", "15 us", "15min", "1001s", "2e12", "nanus", "15usus"})
    EXPECT_EQ(text(wrong), "none") << wrong;
}

}  // namespace
}  // namespace gpumux::arch
