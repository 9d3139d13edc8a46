// Division of L1's ways: lookahead and shadow tags by hand, replacement in the cache.
#include "sm/way_partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sm/l1.hpp"

namespace gpumux::sm {
namespace {

WayHits hits_of(std::initializer_list<std::vector<std::uint32_t>> apps) {
  WayHits hits;
  std::copy(apps.begin(), apps.end(), hits.begin());
  return hits;
}

TEST(Lookahead, GivesWaysWhereTheyBringMost) {
  // Application 0 hits with its first three ways, 1 needs one.
  const auto granted = divide_ways(hits_of({{100, 90, 80, 0, 0, 0}, {50, 5, 1, 0, 0, 0}}), 6, 0b11);
  // Each one; then 90 and 80 against 5: 0 has three. Of the last two 1 takes those that bring 5 and 1.
  EXPECT_EQ(granted[0], 3U);
  EXPECT_EQ(granted[1], 3U);
}

TEST(Lookahead, LooksBeyondAWayThatBringsNothing) {
  // 1 gains only with its fourth way: 90 hits for three ways, 30 a way, against 20.
  const auto granted = divide_ways(hits_of({{100, 20, 20, 20, 0, 0}, {10, 0, 0, 90, 0, 0}}), 6, 0b11);
  EXPECT_EQ(granted[1], 4U);
  EXPECT_EQ(granted[0], 2U);
}

TEST(Lookahead, SplitsEvenlyWhenNothingIsKnownAndKeepsOneEach) {
  const auto even = divide_ways({}, 6, 0b101);
  EXPECT_EQ(even[0], 3U);
  EXPECT_EQ(even[1], 0U);
  EXPECT_EQ(even[2], 3U);
  const auto hungry = divide_ways(hits_of({{9, 9, 9, 9, 9, 9}, {}, {}}), 6, 0b111);
  EXPECT_EQ(hungry[0], 4U);
  EXPECT_EQ(hungry[1], 1U);
  EXPECT_EQ(hungry[2], 1U);
}

TEST(Lookahead, GivesAwayAllWaysWhateverTheHits) {
  std::mt19937 engine(7);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int i = 0; i < 300; ++i) {
    WayHits hits;
    const std::uint32_t ways = 1 + random() % 12;
    for (auto& of : hits)
      for (std::uint32_t w = 0; w < ways; ++w) of.push_back(random() % 3 == 0 ? random() % 1000 : 0);
    std::uint32_t sharers = 0;
    while (sharers == 0) sharers = random() & 0xffffU & ((1U << ways) - 1);
    const auto granted = divide_ways(hits, ways, sharers);
    std::uint32_t sum = 0;
    for (std::uint32_t app = 0; app < kMaxApps; ++app) {
      sum += granted[app];
      EXPECT_EQ(granted[app] > 0, (sharers >> app & 1U) != 0);
    }
    EXPECT_EQ(sum, ways);
  }
}

TEST(ShadowTags, TellThePlaceInOrderOfUse) {
  ShadowTags tags(2, 3);
  EXPECT_EQ(tags.access(0, 10), 3U);
  EXPECT_EQ(tags.access(0, 11), 3U);
  EXPECT_EQ(tags.access(0, 10), 1U);
  EXPECT_EQ(tags.access(0, 10), 0U);
  EXPECT_EQ(tags.access(1, 10), 3U) << "another set";
  EXPECT_EQ(tags.access(0, 12), 3U);
  EXPECT_EQ(tags.access(0, 13), 3U);  // 11 goes
  EXPECT_EQ(tags.access(0, 11), 3U);  // 10 goes
  EXPECT_EQ(tags.access(0, 12), 2U);
  tags.remove(0, 13);
  EXPECT_EQ(tags.access(0, 13), 3U);
  EXPECT_EQ(tags.access(0, 11), 2U);
}

TEST(WayPartition, CountsHalveAndNewcomersBeginEven) {
  WayPartition partition;
  partition.begin(1, 4, 1000);
  EXPECT_EQ(partition.next(), 1000U);
  auto granted = partition.share(0b11, 4);
  EXPECT_EQ(granted[0], 2U);
  for (int i = 0; i < 8; ++i)
    for (std::uint64_t line = 0; line < 3; ++line) partition.loaded(0, 0, line);  // hits in its third way
  granted = partition.update(1000, 4);
  EXPECT_EQ(partition.next(), 2000U);
  EXPECT_EQ(granted[0], 3U);
  EXPECT_EQ(granted[1], 1U);
  granted = partition.update(2000, 4);
  EXPECT_EQ(granted[0], 3U) << "half of it is still there";
  for (int i = 0; i < 5; ++i) granted = partition.update(partition.next(), 4);
  EXPECT_EQ(granted[0], 2U) << "all forgotten";
  for (int i = 0; i < 8; ++i)
    for (std::uint64_t line = 0; line < 3; ++line) partition.loaded(0, 0, line);
  granted = partition.share(0b111, 4);
  EXPECT_EQ(granted[2], 1U);
  EXPECT_LE(granted[0], 2U) << "with a newcomer all begin anew";
}

TEST(WayPartition, IntervalsThatWentByCountAsIfEachHadBeenSeen) {
  const auto granted_after = [](Cycle interval, Cycle now, std::initializer_list<Cycle> updates) {
    WayPartition partition;
    partition.begin(1, 4, interval);
    static_cast<void>(partition.share(0b11, 4));
    for (int i = 0; i < 8; ++i)
      for (std::uint64_t line = 0; line < 3; ++line) partition.loaded(0, 0, line);  // 7 hits in the third way
    for (const Cycle update : updates) static_cast<void>(partition.update(update, 4));
    const std::uint32_t first = partition.update(now, 4)[0];
    EXPECT_GT(partition.next(), now);
    EXPECT_LE(partition.next(), now + interval);
    return first;
  };
  EXPECT_EQ(granted_after(1000, 3500, {}), granted_after(1000, 3500, {1000, 2000}));
  EXPECT_EQ(granted_after(1000, 3500, {}), 3U);
  EXPECT_EQ(granted_after(1000, 10'500, {}), 2U) << "all forgotten";
  EXPECT_EQ(granted_after(100, 1'000'000'000'000, {}), 2U) << "at once, however many";
}

TEST(WayPartition, AFlushLeavesNoTagsToHit) {
  const auto granted = [](bool flush) {
    WayPartition partition;
    partition.begin(1, 4, 1000);
    static_cast<void>(partition.share(0b11, 4));
    for (std::uint64_t line = 0; line < 3; ++line) partition.loaded(0, 0, line);
    if (flush) partition.flushed();
    for (std::uint64_t line = 0; line < 3; ++line) partition.loaded(0, 0, line);
    return partition.update(1000, 4)[0];
  };
  EXPECT_EQ(granted(false), 3U);
  EXPECT_EQ(granted(true), 2U);
}

TEST(WayPartition, AStoreThatUpdatesALineIsAUseButNoHit) {
  WayPartition partition;
  partition.begin(1, 4, 1000);
  static_cast<void>(partition.share(0b11, 4));
  for (std::uint64_t line = 0; line < 4; ++line) partition.loaded(0, 0, line);
  partition.stored(0, 0, 0);   // the oldest so far
  partition.stored(0, 0, 77);  // not there, and does not come
  partition.loaded(0, 0, 2);   // behind 0 and 3: a hit in the third way
  EXPECT_EQ(partition.update(1000, 4)[0], 3U);
}

TEST(WayPartition, AnotherNumberOfWaysIsDividedByTheSameCounts) {
  WayPartition partition;
  partition.begin(1, 8, 1000);
  static_cast<void>(partition.share(0b11, 8));
  for (int i = 0; i < 8; ++i)
    for (std::uint64_t line = 0; line < 6; ++line) partition.loaded(0, 0, line);  // hits in its sixth way
  EXPECT_EQ(partition.update(1000, 8)[0], 6U);
  const auto fewer = partition.share(0b11, 4);
  EXPECT_EQ(fewer[0] + fewer[1], 4U);
  EXPECT_EQ(partition.share(0b11, 8)[0], 6U);
}

// --- replacement
// ----------------------------------------------------------------------------------------------

arch::L1Config one_set(std::uint32_t ways, arch::Allocate allocate = arch::Allocate::OnMiss) {
  arch::L1Config config;
  config.ways = ways;
  config.bytes = ways * kLineBytes;
  config.index = arch::L1Index::Linear;
  config.allocate = allocate;
  return config;
}
std::array<std::uint32_t, kMaxApps> grants(std::uint32_t a, std::uint32_t b) {
  std::array<std::uint32_t, kMaxApps> granted{};
  granted[0] = a;
  granted[1] = b;
  return granted;
}
/// Loads the line and fills it at once when it misses. True: a hit.
bool touch(L1& l1, std::uint64_t line, AppId app) {
  const L1Access access = l1.load(line, 0xf, true, app);
  if (access.result == L1Result::Hit) return true;
  EXPECT_EQ(access.result, L1Result::Miss);
  l1.wait(access.mshr, 0, access.missing);
  l1.fill(access.mshr, 0xf, [](std::uint32_t) {});
  return false;
}

TEST(DividedWays, EachKeepsItsShare) {
  for (const arch::Allocate allocate : {arch::Allocate::OnMiss, arch::Allocate::OnFill}) {
    L1 l1(one_set(4, allocate));
    l1.divide_ways(grants(3, 1));
    for (std::uint64_t line : {1, 2, 3}) touch(l1, line, 0);
    for (std::uint64_t line = 100; line < 120; ++line) touch(l1, line, 1);  // a stream
    for (std::uint64_t line : {1, 2, 3})
      EXPECT_TRUE(touch(l1, line, 0)) << static_cast<int>(allocate) << line;
    EXPECT_TRUE(touch(l1, 119, 1));
    EXPECT_FALSE(touch(l1, 118, 1));
  }
}

TEST(DividedWays, WhoHasFewerTakesTheOldestOfAnother) {
  L1 l1(one_set(4));
  l1.divide_ways(grants(2, 2));
  for (std::uint64_t line : {1, 2, 3, 4}) touch(l1, line, 0);  // alone it may use all
  touch(l1, 100, 1);
  touch(l1, 101, 1);
  EXPECT_TRUE(touch(l1, 3, 0));
  EXPECT_TRUE(touch(l1, 4, 0));
  touch(l1, 102, 1);  // its own oldest
  EXPECT_TRUE(touch(l1, 3, 0));
  EXPECT_TRUE(touch(l1, 4, 0));
  EXPECT_FALSE(touch(l1, 100, 1));
}

TEST(LimitedWays, WhoHasItsWaysReplacesItsOwnOthersTheOldest) {
  L1 l1(one_set(4));
  l1.begin_way_limits();
  l1.limit_ways(1, 2);
  for (std::uint64_t line : {1, 2, 3, 4}) touch(l1, line, 0);
  touch(l1, 100, 1);  // takes the place of 1
  touch(l1, 101, 1);  // and of 2
  touch(l1, 102, 1);  // has two: takes that of 100
  EXPECT_TRUE(touch(l1, 3, 0));
  EXPECT_TRUE(touch(l1, 4, 0));
  EXPECT_TRUE(touch(l1, 102, 1));
  EXPECT_TRUE(touch(l1, 101, 1));
  touch(l1, 5, 0);  // no limit: the oldest of all, 3
  EXPECT_TRUE(touch(l1, 101, 1));
  EXPECT_FALSE(touch(l1, 3, 0));  // it takes the place of 4, the oldest then
  l1.limit_ways(1, 0);
  touch(l1, 103, 1);  // the oldest of all, 102
  EXPECT_TRUE(touch(l1, 101, 1));
  EXPECT_TRUE(touch(l1, 5, 0));
  EXPECT_TRUE(touch(l1, 3, 0));
}

TEST(LimitedWays, WithoutALimitReplacementIsAsItWas) {
  L1 plain(one_set(4)), limited(one_set(4));
  limited.begin_way_limits();
  std::uint64_t line = 1;
  for (std::uint32_t i = 0; i < 500; ++i) {
    line = line * 29 % 61;
    const auto app = static_cast<AppId>(i % 3);
    EXPECT_EQ(touch(plain, line % 7, app), touch(limited, line % 7, app)) << i;
  }
}

TEST(DividedWays, AShareThatIsAllReservedIsAReservationFailure) {
  L1 l1(one_set(4));
  l1.divide_ways(grants(3, 1));
  for (std::uint64_t line : {1, 2, 3}) touch(l1, line, 0);
  const L1Access first = l1.load(100, 0xf, true, 1);
  EXPECT_EQ(first.result, L1Result::Miss);
  l1.wait(first.mshr, 0, 0xf);
  EXPECT_EQ(l1.load(101, 0xf, true, 1).result, L1Result::FailLine) << "though other lines could be evicted";
  l1.fill(first.mshr, 0xf, [](std::uint32_t) {});
  EXPECT_EQ(l1.load(101, 0xf, true, 1).result, L1Result::Miss);
}

TEST(DividedMshrs, EachHasItsShare) {
  arch::L1Config config = one_set(16);
  config.mshr_entries = 4;
  L1 l1(config);
  l1.divide_mshrs(2);
  EXPECT_EQ(l1.load(1, 0xf, true, 0).result, L1Result::Miss);
  const L1Access second = l1.load(2, 0xf, true, 0);
  l1.wait(second.mshr, 0, 0xf);
  EXPECT_EQ(l1.load(3, 0xf, true, 0).result, L1Result::FailMshr);
  EXPECT_EQ(l1.load(2, 0xf, true, 0).result, L1Result::Merged);
  EXPECT_EQ(l1.load(4, 0xf, true, 1).result, L1Result::Miss);
  l1.fill(second.mshr, 0xf, [](std::uint32_t) {});
  EXPECT_EQ(l1.load(3, 0xf, true, 0).result, L1Result::Miss);
}

}  // namespace
}  // namespace gpumux::sm
