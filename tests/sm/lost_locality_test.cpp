// Cache-conscious warp scheduling: scores, and which warps may load, by hand.
#include "sm/lost_locality.hpp"

#include <gtest/gtest.h>

namespace gpumux::sm {
namespace {

/// Four warps of two schedulers: slot s is warp s / 2 of scheduler s % 2. The most that scores may add up to
/// is 400.
struct Locality {
  Locality() { of.choose(running, 0); }
  /// The warp has lost a line, found it lost, and gets a score.
  bool loses(std::uint32_t slot, std::uint64_t instructions, Cycle now) {
    of.loaded(5, {static_cast<std::uint16_t>(slot), 0});
    of.evicted(5, 40);
    const bool lost = misses(slot, 40, instructions, now);
    of.choose(running, now);
    return lost;
  }
  /// As the load/store unit does.
  bool misses(std::uint32_t slot, std::uint64_t line, std::uint64_t instructions, Cycle now,
              std::uint32_t generation = 0) {
    const LostLocality::Loader loader{static_cast<std::uint16_t>(slot), generation};
    if (!of.has_lost(loader, line)) return false;
    of.missed(loader, line, 0, instructions, now);
    return true;
  }
  /// Of each warp whether it may load: "1011".
  std::string may(Cycle now) {
    of.choose(running, now);
    std::string text;
    for (std::uint32_t slot = 0; slot < 4; ++slot)
      text += (of.held()[slot % 2] >> (slot / 2) & 1U) != 0 ? '0' : '1';
    return text;
  }
  std::vector<std::uint16_t> running = {0, 1, 2, 3};
  LostLocality of{arch::CcwsConfig{.on = true}, 4, 2, 8};
};

TEST(LostLocality, WhoHasLostNothingHoldsNobodyBack) {
  Locality l;
  EXPECT_EQ(l.may(0), "1111");
  EXPECT_EQ(l.of.next(), kNever);
  EXPECT_FALSE(l.misses(0, 40, 10, 0));
  l.of.loaded(5, {1, 0});
  l.of.evicted(5, 40);
  EXPECT_FALSE(l.misses(0, 40, 10, 0)) << "another warp's line";
  EXPECT_FALSE(l.of.stale());
  EXPECT_TRUE(l.misses(1, 40, 10, 0));
  EXPECT_TRUE(l.of.stale());
  EXPECT_FALSE(l.misses(1, 40, 10, 0)) << "it is no victim any more";
}

TEST(LostLocality, AScoreHoldsOthersUntilItHasFallen) {
  Locality l;
  EXPECT_TRUE(l.loses(1, 10, 1000));
  EXPECT_EQ(l.of.score(1, 1000), 320U) << "1 x 8 x 400 / 10";
  EXPECT_EQ(l.may(1000), "0100") << "320 and 100 are more than 400";
  EXPECT_EQ(l.of.next(), 1020U);
  EXPECT_EQ(l.may(1019), "0100");
  EXPECT_EQ(l.may(1020), "1100") << "the oldest first";
  EXPECT_EQ(l.of.next(), 1120U);
  EXPECT_EQ(l.may(1120), "1110");
  EXPECT_EQ(l.of.next(), 1220U);
  EXPECT_EQ(l.may(1220), "1111");
  EXPECT_EQ(l.of.next(), kNever);
}

TEST(LostLocality, SeveralScoresFallTogether) {
  Locality l;
  EXPECT_TRUE(l.loses(1, 16, 0));  // 200
  EXPECT_TRUE(l.loses(2, 40, 0));  // 2 x 8 x 400 / 40 = 160
  EXPECT_EQ(l.may(0), "0110") << "360 of 400";
  EXPECT_EQ(l.of.next(), 30U) << "200 + 160 + 100 - 2 x 30";
  EXPECT_EQ(l.may(29), "0110");
  EXPECT_EQ(l.may(30), "1110");
  EXPECT_EQ(l.of.next(), 60U) << "2 is at the base then, and might have to give its place to an older one";
  EXPECT_EQ(l.may(60), "1110");
  EXPECT_EQ(l.of.next(), 100U) << "and 1, which leaves room for all";
  EXPECT_EQ(l.may(99), "1110");
  EXPECT_EQ(l.may(100), "1111");
}

TEST(LostLocality, WhoseScoreIsAboveAllMayAlways) {
  Locality l;
  EXPECT_TRUE(l.loses(3, 1, 0));  // 3200
  EXPECT_EQ(l.may(0), "0001");
  EXPECT_EQ(l.of.next(), 2900U);
  EXPECT_TRUE(l.loses(3, 1'000'000, 10)) << "by then it has issued much";
  EXPECT_EQ(l.may(10), "1111");
}

// An older warp that is held comes before one that has fallen to the base beside it.
TEST(LostLocality, TheOlderOneOfEqualScoresMay) {
  Locality l;
  EXPECT_TRUE(l.loses(1, 29, 0));  // 1 x 8 x 400 / 29 = 110
  EXPECT_TRUE(l.loses(2, 29, 0));  // 220
  EXPECT_EQ(l.may(0), "0110") << "330 of 400";
  EXPECT_EQ(l.of.next(), 10U) << "from then on 0 is as good as 1";
  EXPECT_EQ(l.may(10), "1010") << "210 + 100";
}

TEST(LostLocality, AWarpRemembersItsLastVictims) {
  Locality l;
  for (std::uint64_t line = 0; line <= 16; line += 2) {  // nine of one set
    l.of.loaded(0, {2, 0});
    l.of.evicted(0, line);
  }
  EXPECT_FALSE(l.misses(2, 0, 10, 0));
  EXPECT_TRUE(l.misses(2, 2, 10, 0));
  l.of.loaded(1, {2, 0});
  l.of.came(2, 1);  // another warp
  l.of.evicted(1, 99);
  EXPECT_FALSE(l.misses(2, 4, 10, 0, 1));
  EXPECT_FALSE(l.misses(2, 99, 10, 0, 1));
  EXPECT_EQ(l.of.score(2, 0), 100U);
  // What the former warp still has in flight is nobody's.
  l.of.loaded(1, {2, 0});
  l.of.evicted(1, 77);
  EXPECT_FALSE(l.misses(2, 77, 10, 0, 0));
  EXPECT_FALSE(l.misses(2, 77, 10, 0, 1));
  l.of.loaded(1, {2, 1});
  l.of.evicted(1, 77);
  EXPECT_FALSE(l.misses(2, 77, 10, 0, 0));
  EXPECT_TRUE(l.misses(2, 77, 10, 0, 1));
}

}  // namespace
}  // namespace gpumux::sm
