// The ledger of interference at a partition: known waits, each with one culprit. Clocks and times are those
// of l2_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "dram/channel.hpp"
#include "ledger/busy_windows.hpp"
#include "ledger/serving_line.hpp"
#include "ledger/shadow_tags.hpp"
#include "memory/rig.hpp"

namespace gpumux::test {
namespace {

using arch::MemRequest;
using arch::PairCounters;
using arch::RequestKind;
using ledger::ServingLine;
using ledger::ShadowTags;

// --- a place that serves one after the other ---------------------------------------------------------------

struct Line {
  ServingLine line;
  std::array<std::uint64_t, 4> waits{};  // for each
  void pass(AppId app, std::uint64_t arrived, std::uint64_t until) {
    std::array<PairCounters, kMaxApps> due{};
    line.pass(app, arrived, until, {due.data(), &PairCounters::lsu_cycles});
    for (std::size_t culprit = 0; culprit < waits.size(); ++culprit) waits[culprit] = due[culprit].lsu_cycles;
  }
};
using Waits = std::array<std::uint64_t, 4>;

TEST(ServingLine, ChargesWhatOthersWereServedSinceTheArrival) {
  Line q;
  q.pass(0, 10, 20);
  EXPECT_EQ(q.waits, Waits({}));
  q.pass(1, 12, 25);  // 8 behind 0, then it is served for 5
  EXPECT_EQ(q.waits, Waits({8, 0, 0, 0}));
  // Behind 0 for 7 and its own for 5; alone it would have begun at 17, behind its own from 12 on.
  q.pass(1, 13, 26);
  EXPECT_EQ(q.waits, Waits({8, 0, 0, 0}));
  q.pass(0, 22, 30);
  EXPECT_EQ(q.waits, Waits({0, 4, 0, 0}));
  q.pass(2, 40, 41);  // nobody is there
  EXPECT_EQ(q.waits, Waits({}));
  q.pass(3, 35, 50);  // it came before the last, was served behind it
  EXPECT_EQ(q.waits, Waits({0, 0, 1, 0}));
}

TEST(ServingLine, AWaitThatOneAloneHasTooIsNotCharged) {
  Line q;
  for (std::uint64_t i = 0; i < 5; ++i) q.pass(0, 0, 10 * i + 10);
  EXPECT_EQ(q.waits, Waits({}));
  q.pass(1, 45, 60);  // 5 behind 0
  EXPECT_EQ(q.waits, Waits({5, 0, 0, 0}));
  q.pass(0, 20, 70);  // alone from 50 on, and so 10 for the other
  EXPECT_EQ(q.waits, Waits({0, 10, 0, 0}));
  q.pass(0, 62, 80);  // behind its own, which would have ended at 60, had nobody held it up
  EXPECT_EQ(q.waits, Waits({0, 8, 0, 0}));
}

TEST(ServingLine, WhatItsServiceWaitedForOthersDelaysItsNextForThem) {
  Line q;
  std::array<PairCounters, kMaxApps> none{};
  // 10, of which 8 are due to 3; alone, the next one would begin at 2, and the one after it at 4.
  q.line.pass(0, 0, 10, {none.data(), &PairCounters::lsu_cycles}, 8, 3);
  EXPECT_EQ(none[3].lsu_cycles, 0U) << "where it waited itself, others count";
  q.pass(0, 0, 12);
  EXPECT_EQ(q.waits, Waits({0, 0, 0, 8}));
  q.pass(0, 0, 13);
  EXPECT_EQ(q.waits, Waits({0, 0, 0, 8}));
}

TEST(Busiest, IsTheMostOfEachWindow) {
  constexpr Cycle kWindow = ledger::BusyWindows::kWindow;
  ledger::BusyWindows one, other;
  one.add(0, 1000, 100);
  one.add(0, 1200, 50);
  one.add(0, kWindow + 50, 80);  // 30 of them before the window's end
  one.add(0, 2 * kWindow + 100, 7);
  other.add(0, 1300, 60);
  other.add(0, 2 * kWindow + 200, 9);
  other.add(1, 3000, 1000);
  ledger::Busiest busiest;
  busiest.add(one.of(0));
  busiest.add(other.of(0));
  EXPECT_EQ(busiest.cycles(), 180U + 50 + 9);
}

TEST(ServingLine, ForgetsWhatLiesFarBack) {
  Line q;
  for (std::uint64_t t = 0; t < 1000; ++t) q.pass(t % 2, t, t + 1);
  q.pass(2, 0, 1001);
  EXPECT_EQ(q.waits[0] + q.waits[1], ServingLine::kKept);
}

// The definition, without sums: all that were served are looked at each time.
struct PlainLine {
  struct Served {
    AppId app;
    std::uint64_t begin, end;
  };
  std::vector<Served> all;
  std::array<std::uint64_t, 4> alone_until{};
  std::array<AppId, 4> culprit{};
  std::uint64_t until = 0;
  Waits pass(AppId app, std::uint64_t arrived, std::uint64_t end) {
    Waits waits{};
    const std::uint64_t begin = std::max(arrived, until), alone = std::max(arrived, alone_until[app]);
    alone_until[app] = alone + std::max(end, begin) - begin;
    if (begin > alone) {
      Waits served{};
      for (auto each = all.rbegin(); each != all.rend(); ++each) {
        if (each->end <= arrived) continue;
        served[each->app] += each->end - std::max(each->begin, arrived);
        if (each->app != app) culprit[app] = each->app;
      }
      const std::uint64_t busy = std::accumulate(served.begin(), served.end(), std::uint64_t{0});
      const std::uint64_t waited = std::min(begin - alone, busy), others = busy - served[app];
      for (AppId other = 0; other < 4 && others != 0; ++other)
        if (other != app) waits[other] = waited * served[other] / others;
      if (others == 0) waits[culprit[app]] += waited;
    }
    if (end > begin) all.push_back({app, begin, until = end});
    return waits;
  }
};

TEST(ServingLine, SumsUpWhatAWalkOverAllFinds) {
  std::mt19937 random(1);
  Line q;
  PlainLine plain;
  std::uint64_t now = 0, until = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Bursts and pauses of at most 200 entries, so that none is forgotten; arrivals out of order.
    now += random() % 8 == 0 ? 1 + random() % 60 : random() % 4;
    const auto app = static_cast<AppId>(random() % 3 + random() % 2);
    const std::uint64_t arrived = now - std::min<std::uint64_t>(now, random() % 40);
    if (until > now + 100) now = until + random() % 50;
    if (random() % 16 == 0) {
      until = std::max<std::uint64_t>(until, now + random() % 20);
      q.line.closed_until(until);
      plain.until = until;
    }
    until = std::max(until, arrived) + random() % 5;
    q.pass(app, arrived, until);
    ASSERT_EQ(q.waits, plain.pass(app, arrived, until)) << i;
    if (plain.all.size() > 400) plain.all.erase(plain.all.begin(), plain.all.begin() + 200);
  }
}

// --- the tags that each would have alone ---

TEST(ShadowTags, AreEachOnesOwn) {
  ShadowTags tags(2, 2);
  EXPECT_FALSE(tags.has(0, 1, 7, 1));
  tags.use(0, 1, 7, 1);
  EXPECT_TRUE(tags.has(0, 1, 7, 1));
  EXPECT_FALSE(tags.has(0, 1, 7, 3)) << "the second sector has not been here";
  EXPECT_FALSE(tags.has(1, 1, 7, 1));
  EXPECT_FALSE(tags.has(0, 0, 7, 1));
  tags.use(0, 1, 8, 1);
  for (std::uint64_t line = 20; line < 40; ++line) tags.use(1, 1, line, 1);
  EXPECT_TRUE(tags.has(0, 1, 7, 1)) << "others do not evict";
  tags.use(0, 1, 7, 2);  // 8 is the oldest now
  tags.use(0, 1, 9, 1);
  EXPECT_TRUE(tags.has(0, 1, 7, 3));
  EXPECT_FALSE(tags.has(0, 1, 8, 1));
}

TEST(ShadowTags, RememberWhoEvicted) {
  ShadowTags tags(2, 2);
  AppId holder = ShadowTags::kNobody;
  const auto held = [&holder] { return holder; };
  tags.use(0, 1, 7, 1);
  EXPECT_EQ(tags.evictor(0, 1, 7, 1), ShadowTags::kNobody);
  tags.evicted(0, 1, 7, 3, held);
  EXPECT_EQ(tags.evictor(0, 1, 7, 1), 3);
  EXPECT_EQ(tags.evictor(0, 1, 7, 3), ShadowTags::kNobody) << "the second sector has not been here";
  EXPECT_EQ(tags.evictor(1, 1, 7, 1), ShadowTags::kNobody);
  EXPECT_EQ(tags.use(0, 1, 7, 1), 3);
  EXPECT_EQ(tags.evictor(0, 1, 7, 1), 3) << "who waits for its data waits for the same reason";
  tags.evicted(0, 1, 7, 0, held);
  EXPECT_EQ(tags.evictor(0, 1, 7, 1), ShadowTags::kNobody) << "nobody else was in the set";
  holder = 5;
  tags.evicted(0, 1, 7, 0, held);
  EXPECT_EQ(tags.evictor(0, 1, 7, 1), 5) << "who held the way that the line lacked";
  tags.evicted(0, 1, 9, 3, held);
  EXPECT_EQ(tags.evictor(0, 1, 9, 1), ShadowTags::kNobody) << "it would not be here";
}

TEST(ShadowTags, WhoHoldsMostWaysBesideTheVictim) {
  ledger::Holders holders;
  for (const AppId app : std::array<AppId, 8>{2, 2, 2, 1, 4, 4, 3, 3}) holders.add(app);
  EXPECT_EQ(holders.most_beside(2), 3) << "as many as 4 has: the first";
  EXPECT_EQ(holders.most_beside(3), 2);
  EXPECT_EQ(ledger::Holders().most_beside(0), ShadowTags::kNobody);
}

// --- DRAM

/// As in dram_timing_test.cpp: a line is one burst of two clocks.
struct Channels {
  Channels() {
    config.bus_bytes = 16;
    config.burst_bytes = 128;
    config.bank_groups = 1;
    config.CCDL = 2;
    channel.emplace(config);
    channel->keep_ledger();
  }
  void push(dram::Tick at, AppId app, std::uint32_t bank, std::uint64_t row, std::uint32_t nth,
            bool charged = false) {
    dram::Channel::Completion completion;
    while (channel->next() < at)
      if (channel->step(completion)) channel->release_return(completion.end);
    const dram::AddressMap map(config);
    for (std::uint64_t line = 0;; ++line) {
      const auto place = map.locate(line);
      if (place.bank != bank || place.row != row || nth-- != 0) continue;
      channel->push({.local_line = line, .sectors = 15, .app = app, .charged = charged}, at);
      return;
    }
  }
  PairCounters pair(AppId victim, AppId culprit) {
    dram::Channel::Completion completion;
    while (channel->next() != dram::kNoTick)
      if (channel->step(completion)) channel->release_return(completion.end);
    PairCounters counters;
    channel->count(victim, culprit, counters);
    return counters;
  }
  arch::DramConfig config;
  std::optional<dram::Channel> channel;
};

TEST(ChannelLedger, TheBusIsWaitedForBehindOthersBursts) {
  Channels q;
  q.push(0, 0, 0, 0, 0);  // opens the row: 12 clocks
  for (std::uint32_t i = 1; i < 4; ++i) q.push(20, 0, 0, 0, i);
  q.push(20, 1, 0, 0, 4);
  EXPECT_EQ(q.pair(1, 0).dram_bus_clocks, 3U * 2);
  EXPECT_EQ(q.pair(1, 0).dram_bank_clocks, 0U);
  EXPECT_EQ(q.pair(0, 1).dram_bus_clocks, 0U);
  EXPECT_EQ(q.pair(0, 0).dram_bus_clocks, 0U) << "its own are no interference";
}

TEST(ChannelLedger, ABankIsHeldUntilAnothersRowIsOpen) {
  Channels q;
  q.push(0, 0, 0, 0, 0);
  q.push(3, 1, 0, 1, 0);  // RC 40: activated at 40, where 0 has held the bank since 0
  EXPECT_EQ(q.pair(1, 0).dram_bank_clocks, 37U);
  EXPECT_EQ(q.pair(1, 0).dram_row_clocks, 0U) << "it had no row open there";
  EXPECT_EQ(q.pair(0, 1).dram_bank_clocks, 0U);
}

TEST(ChannelLedger, ARowThatAnotherHasClosedIsOpenedAgain) {
  Channels q;
  q.push(0, 1, 0, 1, 0);
  q.push(100, 0, 0, 0, 0);  // RP 12: activated at 112
  q.push(200, 1, 0, 1, 1);  // activated at 212: RCD 12 for a row that it had
  EXPECT_EQ(q.pair(1, 0).dram_bank_clocks, 12U);
  EXPECT_EQ(q.pair(1, 0).dram_row_clocks, 12U);
  EXPECT_EQ(q.pair(0, 1).dram_bank_clocks, 12U);
  EXPECT_EQ(q.pair(0, 1).dram_row_clocks, 0U);
}

TEST(ChannelLedger, WhatIsChargedElsewhereIsNotChargedTwice) {
  Channels q;
  q.push(0, 0, 0, 0, 0);
  q.push(3, 1, 0, 1, 0, true);
  q.push(3, 1, 0, 0, 1, true);
  EXPECT_EQ(q.pair(1, 0).dram_bank_clocks + q.pair(1, 0).dram_bus_clocks, 0U);
}

// --- a slice

struct Slices {
  explicit Slices(const arch::MachineConfig& c = plain_config())
      : config(c), map(c.l2), network(c), partition(c, 0, map) {
    partition.keep_ledger();
  }
  void write(Cycle at, AppId app, std::uint64_t line) { read(at, app, line, 15, RequestKind::Write); }
  void read(Cycle at, AppId app, std::uint64_t line, std::uint8_t sectors = 15,
            RequestKind kind = RequestKind::Read) {
    MemRequest r;
    r.kind = kind;
    r.line = (std::uint64_t{app} + 1U) << kAppLineShift | line;
    r.app = app;
    r.sectors = sectors;
    r.time = at;
    r.tag = tag++;
    r.flits = network.flits(0) & 0x3fU;
    partition.mailbox().in.push_back(r);
  }
  void run(Cycle until) {
    for (; now < until; now += network.window) {
      partition.run(now, now + network.window);
      partition.mailbox().credits_in.clear();
      for (const arch::MemReply& reply : partition.mailbox().out)
        partition.mailbox().credits_in.push_back({reply.time, reply.flits, 0, 0});
      partition.mailbox().out.clear();
    }
  }
  [[nodiscard]] PairCounters pair(AppId victim, AppId culprit) const {
    return partition.counters(victim, culprit);
  }
  arch::MachineConfig config;
  noc::PartitionMap map;
  noc::Network network;
  l2::Partition partition;
  Cycle now = 0;
  std::uint32_t tag = 0;
};

TEST(SliceLedger, TagsServeOnePerCycle) {
  Slices q;
  for (std::uint64_t line = 0; line < 5; ++line) q.read(100, 0, line);
  q.read(100, 1, 9);  // its turn comes five cycles after that of the first
  q.run(2000);
  EXPECT_EQ(q.pair(1, 0).l2_queue_cycles, 5U);
  EXPECT_EQ(q.pair(0, 1).l2_queue_cycles, 0U);
  EXPECT_EQ(q.pair(0, 0).l2_queue_cycles, 0U);
}

TEST(SliceLedger, ALineThatAnotherHasEvictedIsItsFault) {
  arch::MachineConfig config = plain_config();
  config.l2.slice_bytes = 4 * 128;  // one set of four lines
  config.l2.ways = 4;
  Slices q(config);
  q.read(0, 1, 0);
  q.run(1000);
  for (std::uint64_t line = 0; line < 4; ++line) q.read(1000 + 200 * line, 0, line);
  q.run(3000);
  EXPECT_EQ(q.pair(1, 0).l2_evictions, 1U);
  EXPECT_EQ(q.pair(1, 0).l2_extra_misses, 0U);
  q.read(3000, 1, 0);
  q.run(4000);
  EXPECT_EQ(q.pair(1, 0).l2_extra_misses, 1U);
  EXPECT_GT(q.pair(1, 0).l2_line_cycles, 0U);
  EXPECT_EQ(q.pair(1, 0).dram_bank_clocks, 0U) << "its time is charged once";
  EXPECT_EQ(q.pair(0, 1).l2_extra_misses, 0U);
}

/// Four lines in turn fill a set. One of another costs not one of them, but each: every miss evicts the next
/// one.
TEST(SliceLedger, LinesThatItHasEvictedForLackOfTheWayThatAnotherHoldsAreThatOnesFault) {
  arch::MachineConfig config = plain_config();
  config.l2.slice_bytes = 4 * 128;
  config.l2.ways = 4;
  Slices q(config);
  for (std::uint64_t line = 0; line < 4; ++line) q.read(200 * line, 1, line);
  q.read(1000, 0, 9);
  for (std::uint64_t line = 0; line < 4; ++line) q.read(2000 + 200 * line, 1, line);
  q.run(4000);
  EXPECT_EQ(q.pair(1, 0).l2_evictions, 1U);
  EXPECT_EQ(q.pair(1, 1).l2_evictions, 3U) << "and the fourth took the way of the other";
  EXPECT_EQ(q.pair(1, 0).l2_extra_misses, 4U);
  for (std::uint64_t line = 0; line < 4; ++line) q.read(4000 + 200 * line, 1, line);
  q.run(6000);
  EXPECT_EQ(q.pair(1, 0).l2_extra_misses, 4U) << "all are back";
}

TEST(SliceLedger, ALineThatItWouldHaveEvictedItselfIsItsOwnFault) {
  arch::MachineConfig config = plain_config();
  config.l2.slice_bytes = 4 * 128;
  config.l2.ways = 4;
  Slices q(config);
  q.read(0, 1, 0);
  q.run(1000);
  for (std::uint64_t line = 0; line < 4; ++line) q.read(1000 + 200 * line, 0, line);
  for (std::uint64_t line = 1; line < 5; ++line) q.read(2000 + 200 * line, 1, line);
  q.run(4000);
  q.read(4000, 1, 0);
  q.run(5000);
  EXPECT_EQ(q.pair(1, 0).l2_extra_misses, 0U);
  EXPECT_EQ(q.pair(1, 0).l2_line_cycles, 0U);
}

TEST(SliceLedger, RegistersAreHeldByPart) {
  arch::MachineConfig config = plain_config();
  config.l2.mshr_entries = 4;
  config.dram.fixed_latency = 500;
  Slices q(config);
  for (std::uint64_t line = 0; line < 3; ++line) q.read(0, 0, line);
  q.read(0, 1, 0);
  q.read(100, 1, 1);  // finds all four taken, three of them by 0
  q.run(3000);
  // Until the first of 0's data is there, and three of four were 0's all the while.
  const std::uint64_t stall = q.partition.counters().l2_reservation_failures;
  EXPECT_GT(stall, 300U);
  EXPECT_EQ(q.pair(1, 0).l2_entry_cycles, stall * 3 / 4);
  EXPECT_EQ(q.pair(0, 1).l2_entry_cycles, 0U);
  // Busy for 1 is its own part, and both of its accesses.
  ledger::Busiest busiest;
  q.partition.add_busy_windows(1, busiest);
  EXPECT_EQ(busiest.cycles(), stall - stall * 3 / 4 + 2);
}

TEST(SliceLedger, WhatAnExtraMissHoldsIsItsCulprits) {
  arch::MachineConfig config = plain_config();
  config.l2.slice_bytes = 4 * 128;  // one set of four lines
  config.l2.ways = 4;
  config.l2.mshr_entries = 1;
  config.dram.fixed_latency = 500;
  Slices q(config);
  for (std::uint64_t line = 0; line < 4; ++line) q.read(1000 * line, 1, line);
  q.read(5000, 0, 9);
  q.run(7000);
  q.read(7100, 1, 0);  // 0 has evicted it
  q.run(7150);
  q.read(7200, 1, 20);  // the only MSHR is taken
  q.run(9000);
  EXPECT_EQ(q.pair(1, 0).l2_extra_misses, 1U);
  const std::uint64_t stall = q.pair(1, 0).l2_entry_cycles;
  EXPECT_GT(stall, 400U);
  q.read(9100, 1, 21);  // which nobody has evicted
  q.run(9150);
  q.read(9200, 1, 22);
  q.run(11000);
  EXPECT_EQ(q.pair(1, 0).l2_entry_cycles, stall);
}

TEST(SliceLedger, NobodyWaitsForAWrite) {
  Slices reads, writes;
  for (std::uint64_t line = 0; line < 5; ++line) {
    reads.read(100, 0, line);
    writes.read(100, 0, line);
  }
  reads.read(100, 1, 9);
  writes.write(100, 1, 9);
  reads.run(1000);
  writes.run(1000);
  EXPECT_GT(reads.pair(1, 0).l2_queue_cycles, 0U);
  EXPECT_EQ(writes.pair(1, 0).l2_queue_cycles, 0U);
  // But those behind it wait for it.
  writes.write(2000, 1, 10);
  writes.read(2000, 0, 0);
  writes.run(3000);
  EXPECT_EQ(writes.pair(0, 1).l2_queue_cycles, 1U);
}

TEST(SliceLedger, AFullMissQueueIsDueToThoseInIt) {
  // The miss queue has two entries, both of 0; a third of 0's waits for its place, and 1's behind it.
  arch::MachineConfig config = plain_config();
  config.l2.miss_queue = 2;
  config.dram.queue = 1;
  Slices q(config);
  for (std::uint64_t line = 0; line < 6; ++line) q.read(0, 0, line);
  q.read(0, 1, 0);
  q.run(3000);
  EXPECT_EQ(q.pair(0, 1).l2_entry_cycles + q.pair(0, 1).l2_queue_cycles, 0U) << "1 was last";
  // 1 is served last: it waits while 0's are at the head, and while the miss queue has 0's alone.
  const std::uint64_t stall = q.partition.counters().l2_reservation_failures;
  EXPECT_EQ(q.partition.tag_waits(1), q.pair(1, 0).l2_queue_cycles);
  EXPECT_EQ(q.partition.tag_waits(1) + q.pair(1, 0).l2_entry_cycles, stall + 6);
}

TEST(SliceLedger, OfItsBusiestSliceAnApplicationHasWhatWasItsOwn) {
  Slices q;
  for (std::uint64_t line = 0; line < 5; ++line) q.read(100, 0, line);
  q.read(100, 1, 9);
  q.read(5000, 1, 10);  // in the next window
  q.run(6000);
  ledger::Busiest of_0, of_1;
  q.partition.add_busy_windows(0, of_0);
  q.partition.add_busy_windows(1, of_1);
  EXPECT_EQ(of_0.cycles(), 5U);
  EXPECT_EQ(of_1.cycles(), 2U);
}

TEST(SliceLedger, OneAloneHasNothingInIt) {
  Slices q;
  for (std::uint64_t i = 0; i < 400; ++i) q.read(i, 0, i * 37 % 900);
  q.run(20'000);
  for (AppId victim = 0; victim < 2; ++victim)
    for (AppId culprit = 0; culprit < 2; ++culprit) {
      const PairCounters pair = q.pair(victim, culprit);
#define GPUMUX_FIELD(field, unit, description) EXPECT_EQ(pair.field, 0U) << #field;
      GPUMUX_LEDGER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    }
}

}  // namespace
}  // namespace gpumux::test
