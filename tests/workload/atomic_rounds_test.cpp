// Rounds of atomic operations, by hand.
#include "workload/atomic_rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace gpumux::workload::test {
namespace {

AtomicRounds rounds(const std::function<Address(std::uint32_t)>& address, LaneMask lanes = kAllLanes) {
  std::array<Address, kWarpSize> addresses{};
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) addresses[lane] = address(lane);
  return {addresses.data(), lanes};
}

TEST(AtomicRounds, DifferentAddressesOfASectorAreOneRound) {
  const AtomicRounds of = rounds([](std::uint32_t lane) { return 0x1000 + 4 * lane; });
  EXPECT_EQ(of.of_line(0x1000 / kLineBytes), 4U);  // four sectors
  EXPECT_EQ(of.of_line(0x1000 / kLineBytes + 1), 0U);
}

TEST(AtomicRounds, OneAddressTakesARoundPerLane) {
  EXPECT_EQ(rounds([](std::uint32_t) { return 0x1000; }).of_line(0x20), 32U);
  EXPECT_EQ(rounds([](std::uint32_t) { return 0x1000; }, 0xf0f0).of_line(0x20), 8U);
}

// Two sectors: in one, three lanes have the same address and five others different ones; in the other, two
// and two.
TEST(AtomicRounds, ASectorTakesAsManyAsItsMostWantedAddress) {
  const AtomicRounds of = rounds(
      [](std::uint32_t lane) -> Address {
        if (lane < 8) return 0x2000 + 4 * std::max(lane, 2U);
        return 0x2020 + 4 * (lane % 2);
      },
      0xfff);
  EXPECT_EQ(of.of_line(0x40), 3U + 2U);
}

TEST(AtomicRounds, LinesAreCountedApart) {
  const AtomicRounds of =
      rounds([](std::uint32_t lane) -> Address { return 0x1000 + kLineBytes * (lane / 8); });
  for (std::uint64_t line = 0x20; line < 0x24; ++line) EXPECT_EQ(of.of_line(line), 8U);
}

}  // namespace
}  // namespace gpumux::workload::test
