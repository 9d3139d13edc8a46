// Timing and cache behaviour of a partition, request by request. All clocks are equal, so that times can be
// counted by hand. A one-flit request sent at t is at the ejection port at t + 8, and its tags are read at t
// + 8 + 19. A one-flit reply takes 8 cycles.
#include <gtest/gtest.h>

#include <map>

#include "l2/stall_time.hpp"
#include "memory/rig.hpp"

namespace gpumux::test {
namespace {

using arch::MachineConfig;
using arch::MemReply;
using arch::MemRequest;
using arch::RequestKind;

constexpr std::uint64_t kL2App = std::uint64_t{1} << kAppLineShift;

MemRequest read(std::uint64_t line, std::uint8_t sectors = 1) {
  MemRequest r;
  r.line = kL2App + line;
  r.sectors = sectors;
  return r;
}
MemRequest write(std::uint64_t line, std::uint8_t sectors, std::uint8_t bytes, bool reply = true) {
  MemRequest r = read(line, sectors);
  r.kind = RequestKind::Write;
  r.data_bytes = bytes;
  r.wants_reply = reply;
  return r;
}
MemRequest atomic(std::uint64_t line, std::uint8_t operations, bool reply = true) {
  MemRequest r = read(line, 1);
  r.kind = RequestKind::Atomic;
  r.operations = operations;
  r.data_bytes = 16;
  r.wants_reply = reply;
  return r;
}

/// One partition that is given requests at chosen times, with as many reply credits as it likes.
struct Bench {
  explicit Bench(const MachineConfig& c) : config(c), map(c.l2), network(c), partition(c, 0, map) {}
  /// The last flit is at the ejection port at `at`.
  void give(Cycle at, MemRequest r, SmId sm = 0) {
    r.time = at;
    r.tag = tag++;
    r.sm = sm;
    const bool data = r.kind == RequestKind::Write || r.kind == RequestKind::Atomic;
    r.flits = network.flits(data ? r.data_bytes : 0) & 0x3fU;
    partition.mailbox().in.push_back(r);
  }
  void run(Cycle until) {
    while (now < until) {
      const Cycle end = std::min(until, now + network.window);
      partition.run(now, end);
      now = end;
      for (const MemReply& reply : partition.mailbox().out) {
        arrival[reply.tag] = reply.time;
        replies.push_back(reply);
        if (return_credits)
          partition.mailbox().credits_in.push_back({reply.time + network.latency, reply.flits, 0, 0});
      }
      partition.mailbox().out.clear();
      for (const auto& credit : partition.mailbox().credits_out) credits.push_back(credit);
      partition.mailbox().credits_out.clear();
    }
  }
  arch::PartitionCounters counters() const { return partition.counters(); }
  MachineConfig config;
  noc::PartitionMap map;
  noc::Network network;
  l2::Partition partition;
  bool return_credits = true;
  Cycle now = 0;
  std::uint32_t tag = 0;
  std::map<std::uint32_t, Cycle> arrival;
  std::vector<MemReply> replies;
  std::vector<arch::Credit> credits;
};

TEST(L2Timing, HitFromBothSides) {
  Bench b(plain_config());
  b.partition.preload_line(kL2App + 5, 0);
  b.give(100, read(5));
  // In the output queue at 120, one data flit with header makes two flits: the last leaves at 121.
  b.run(128);
  EXPECT_EQ(b.replies.size(), 1U);
  EXPECT_EQ(b.arrival[0], 100U + 20 + 1 + 8);
  EXPECT_EQ(b.replies[0].sectors, 1);
  EXPECT_EQ(b.replies[0].flits, 2);
  ASSERT_EQ(b.credits.size(), 1U);
  EXPECT_EQ(b.credits[0].time, 108U);
  EXPECT_EQ(b.credits[0].flits, 1);
  EXPECT_EQ(b.counters().l2_accesses, 1U);
  EXPECT_EQ(b.counters().l2_misses, 0U);
  Bench early(plain_config());
  early.partition.preload_line(kL2App + 5, 0);
  early.give(100, read(5));
  early.run(119);
  EXPECT_TRUE(early.replies.empty());
  EXPECT_FALSE(early.partition.idle());
}

TEST(L2Timing, WholeLineHoldsTheDataPort) {
  Bench b(plain_config());
  b.partition.preload_line(kL2App + 5, 0);
  b.partition.preload_line(kL2App + 6, 0);
  b.give(100, read(5, 15));
  b.give(101, read(6, 1), 1);
  b.run(200);
  EXPECT_EQ(b.arrival[0], 100U + 20 + 3 + 4 + 8);  // three more beats of 32 B; five flits
  // The second waits for the port until 123, its reply for the injection port until 128.
  EXPECT_EQ(b.arrival[1], 128U + 1 + 8);
}

TEST(L2Timing, MissAddsTheDram) {
  MachineConfig c = plain_config();
  c.dram.fixed_latency = 100;
  c.dram.burst_bytes = 64;
  c.dram.CCDL = 2;
  Bench b(c);
  b.give(100, read(5, 15));
  b.run(400);
  // Tags at 119; DRAM from 120: activate, RCD 12, two bursts 132 and 134, CL 12, data until 148; 100 more;
  // the fill port 4 beats until 252; five flits.
  EXPECT_EQ(b.arrival[0], 252U + 4 + 8);
  EXPECT_EQ(b.counters().l2_misses, 1U);
  EXPECT_EQ(b.counters().dram_reads, 2U);
  b.give(400, read(5, 15));  // now a hit
  b.run(500);
  EXPECT_EQ(b.arrival[1], 400U + 20 + 3 + 4 + 8);
}

TEST(L2Timing, RequestsMergeInOneFetch) {
  Bench b(plain_config());
  for (SmId sm = 0; sm < 4; ++sm) b.give(100 + sm, read(5, 15), sm);
  b.run(400);
  EXPECT_EQ(b.replies.size(), 4U);
  EXPECT_EQ(b.counters().dram_reads, 4U);  // one line of 32 B bursts
  EXPECT_EQ(b.counters().l2_misses, 4U);
  // One per cycle from the fill on, then five flits each: in order.
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(b.arrival[i], b.arrival[i - 1] + 5);
}

TEST(L2Timing, FullMergeListStallsTheHead) {
  MachineConfig c = plain_config();
  c.l2.mshr_merges = 2;
  Bench b(c);
  for (SmId sm = 0; sm < 3; ++sm) b.give(100 + sm, read(5, 15), sm);
  b.run(400);
  EXPECT_EQ(b.replies.size(), 3U);
  // Tags of the third at 121; the fill ends at f, where the first waiter leaves; the third then hits. The
  // line arrives: DRAM 120, column commands 132 135 138 141, data 154, fill until 158.
  EXPECT_EQ(b.counters().l2_reservation_failures, 158U - 121);
  EXPECT_EQ(b.counters().l2_misses, 2U);
}

TEST(L2Timing, NoFreeMshrStallsTheHead) {
  MachineConfig c = plain_config();
  c.l2.mshr_entries = 1;
  Bench b(c);
  b.give(100, read(5, 15));
  b.give(101, read(900, 15));
  b.run(600);
  EXPECT_EQ(b.replies.size(), 2U);
  EXPECT_EQ(b.counters().l2_reservation_failures, 158U - 120);  // free when the waiter leaves, at the fill
}

TEST(L2Timing, ReservedLinesAreNoVictims) {
  MachineConfig c = plain_config();
  c.l2.slice_bytes = 256;
  c.l2.ways = 2;  // one set
  Bench b(c);
  for (std::uint32_t i = 0; i < 3; ++i) b.give(100 + i, read(10 * i, 15));
  b.run(600);
  EXPECT_EQ(b.replies.size(), 3U);
  EXPECT_GT(b.counters().l2_reservation_failures, 0U);
}

TEST(L2Timing, StallsForReplyCreditsAreCounted) {
  MachineConfig c = plain_config();
  c.l2.output_queue = 2;
  Bench b(c);
  b.return_credits = false;
  for (std::uint64_t i = 0; i < 20; ++i) {
    b.partition.preload_line(kL2App + i, 0);
    b.give(100 + i, read(i, 15));
  }
  b.run(1000);
  // 29 credits carry five packets of five flits, two more wait in the queue, the rest behind.
  EXPECT_EQ(b.replies.size(), 5U);
  EXPECT_EQ(b.counters().replies, 7U);
  EXPECT_NE(b.partition.describe_waits().find("wait for credits"), std::string::npos);
  const std::uint64_t stalled = b.counters().stall_network;
  EXPECT_GT(stalled, 700U);
  b.run(1100);
  EXPECT_EQ(b.counters().stall_network, stalled + 100);
  // The sixth reply lacks credits before the queue behind it is full.
  EXPECT_GT(b.counters().network_full_cycles, stalled + 100);
  EXPECT_LT(b.counters().network_full_cycles, 1000U);
  b.partition.mailbox().credits_in.push_back({1105, 25, 0, 0});
  b.return_credits = true;
  b.run(1600);
  EXPECT_EQ(b.replies.size(), 20U);
  EXPECT_TRUE(b.partition.idle());
}

TEST(L2Timing, AFullDramQueueIsCounted) {
  MachineConfig c = plain_config();
  c.dram.queue = 1;
  Bench b(c);
  b.give(100, read(0, 15));
  b.give(100, read(1, 15), 1);
  b.run(400);
  // The second miss is ready at 120; the queue's place is free after the last of the bursts at 132 135 138
  // 141.
  EXPECT_EQ(b.counters().stall_controller, 141U - 120);
  EXPECT_EQ(b.counters().controller_full_cycles, 141U - 120) << "an L2 as fast as the core";
  EXPECT_EQ(b.counters().network_full_cycles, 0U);
}

TEST(L2Timing, AFullDramQueueStallsAPartitionOnceACycle) {
  // Both slices wait, at half the core's clock: each counts L2 cycles, the partition core cycles.
  MachineConfig c = plain_config();
  c.dram.queue = 1;
  c.l2.slices_per_partition = 2;
  c.clocks.l2 = c.clocks.core / 2;
  Bench b(c);
  for (std::uint64_t i = 0; i < 12; ++i) b.give(100, read(i, 15), static_cast<SmId>(i));
  b.run(2000);
  ASSERT_TRUE(b.partition.idle());
  const arch::PartitionCounters counters = b.counters();
  EXPECT_GT(counters.controller_full_cycles, counters.stall_controller) << "an L2 cycle is two core cycles";
  EXPECT_LT(counters.controller_full_cycles, 2 * counters.stall_controller) << "and both wait at times";
}

TEST(StallTime, IsThatOfAllSlicesTogether) {
  l2::StallTime time(3);
  time.count(10);
  EXPECT_EQ(time.cycles(), 0U);
  time.begin(0, 12);  // ahead
  time.begin(1, 20);
  time.end(0, 15);
  EXPECT_EQ(time.cycles(), 3U);
  time.count(18);
  EXPECT_EQ(time.cycles(), 3U) << "the other begins at 20";
  time.begin(2, 22);
  time.end(1, 24);
  EXPECT_EQ(time.cycles(), 7U) << "20 to 23, once";
  time.count(30);
  EXPECT_EQ(time.cycles(), 13U) << "while it goes on";
  time.count(27);
  EXPECT_EQ(time.cycles(), 13U) << "a time that has passed";
  time.set(2, 22, 31);
  EXPECT_EQ(time.cycles(), 13U) << "nothing has changed";
  time.set(2, 25, 31);  // another reply is first; what it waited before 31 was in the other's shadow
  EXPECT_EQ(time.cycles(), 14U);
  time.set(2, kNever, 33);
  EXPECT_EQ(time.cycles(), 16U);
  time.begin(0, 40);
  time.end(0, 40);
  time.count(50);
  EXPECT_EQ(time.cycles(), 16U);
}

TEST(L2Timing, RequestsAreServedByTimeThenSm) {
  MachineConfig c = plain_config();
  Bench b(c);
  for (std::uint64_t i = 0; i < 4; ++i) b.partition.preload_line(kL2App + i, 0);
  b.give(110, read(0), 3);  // tag 0
  b.give(105, read(1), 7);  // tag 1
  b.give(105, read(2), 2);  // tag 2
  b.give(105, read(3), 2);  // tag 3
  b.run(300);
  ASSERT_EQ(b.replies.size(), 4U);
  std::vector<std::uint32_t> order;
  for (const MemReply& reply : b.replies) order.push_back(reply.tag);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 3, 1, 0}));
}

TEST(L2Timing, EjectionPortTakesOneFlitACycle) {
  Bench b(plain_config());
  for (SmId sm = 0; sm < 3; ++sm) b.give(100, write(sm, 15, 128), sm);
  b.run(300);
  ASSERT_EQ(b.credits.size(), 3U);
  EXPECT_EQ(b.credits[0].time, 108U);
  EXPECT_EQ(b.credits[1].time, 113U);
  EXPECT_EQ(b.credits[2].time, 118U);
  EXPECT_EQ(b.credits[1].to, 1);
  EXPECT_EQ(b.credits[1].flits, 5);
}

TEST(L2Write, WholeSectorsNeedNoFetch) {
  MachineConfig c = plain_config();
  c.l2.sectored = true;
  Bench b(c);
  b.give(100, write(5, 3, 64));
  b.run(200);
  EXPECT_EQ(b.arrival[0], 100U + 20 + 1 + 8);  // two beats; an acknowledgement of one flit
  EXPECT_EQ(b.replies[0].sectors, 0);
  EXPECT_EQ(b.counters().dram_reads, 0U);
  EXPECT_EQ(b.counters().l2_accesses, 2U);
  EXPECT_EQ(b.counters().l2_misses, 2U);
  b.give(200, read(5, 3));
  b.run(300);
  EXPECT_EQ(b.counters().dram_reads, 0U);
  b.give(300, read(5, 4));  // the line is there, the sector is not
  b.run(500);
  EXPECT_EQ(b.counters().dram_reads, 1U);
  EXPECT_EQ(b.replies.size(), 3U);
}

TEST(L2Write, PartOfASectorFetchesIt) {
  MachineConfig c = plain_config();
  c.l2.sectored = true;
  Bench b(c);
  b.give(100, write(5, 3, 40));
  b.run(400);
  EXPECT_EQ(b.arrival[0], 100U + 20 + 1 + 8);  // does not wait for the fetch
  EXPECT_EQ(b.counters().dram_reads, 2U);
  b.give(400, read(5, 3));
  b.run(600);
  EXPECT_EQ(b.counters().dram_reads, 2U);
  EXPECT_EQ(b.counters().l2_misses, 2U);
}

TEST(L2Write, LinesAreWholeWithoutSectors) {
  Bench b(plain_config());
  b.give(100, write(5, 15, 128, false));
  b.give(110, write(6, 1, 32, false));  // one sector of a line: the line is fetched
  b.run(400);
  EXPECT_TRUE(b.replies.empty());
  EXPECT_EQ(b.counters().dram_reads, 4U);
  EXPECT_TRUE(b.partition.idle());
}

TEST(L2Write, DirtyVictimsGoToDram) {
  for (const arch::Allocate allocate : {arch::Allocate::OnMiss, arch::Allocate::OnFill}) {
    SCOPED_TRACE(static_cast<int>(allocate));
    MachineConfig c = plain_config();
    c.l2.slice_bytes = 256;
    c.l2.ways = 2;  // one set
    c.l2.sectored = true;
    c.l2.allocate = allocate;
    Bench b(c);
    b.give(100, write(0, 5, 64));
    b.give(101, read(1, 15));
    b.run(400);
    b.give(400, read(0, 1));  // now line 1 is the least recently used
    b.give(401, read(2, 15));
    b.run(600);
    EXPECT_EQ(b.counters().l2_writebacks, 0U);
    b.give(600, read(3, 15));  // line 0 must go: two sectors
    b.run(900);
    EXPECT_EQ(b.counters().l2_writebacks, 2U);
    EXPECT_EQ(b.counters().dram_writes, 2U);
    EXPECT_EQ(b.replies.size(), 5U);
    EXPECT_TRUE(b.partition.idle());
  }
}

TEST(L2Write, AWriteToALineOnItsWayMakesItDirty) {
  for (const arch::Allocate allocate : {arch::Allocate::OnMiss, arch::Allocate::OnFill}) {
    SCOPED_TRACE(static_cast<int>(allocate));
    MachineConfig c = plain_config();
    c.l2.slice_bytes = 128;
    c.l2.ways = 1;
    c.l2.allocate = allocate;
    Bench b(c);
    b.give(100, read(0, 15));
    b.give(101, write(0, 1, 4));
    b.run(400);
    b.give(400, read(1, 15));
    b.run(800);
    EXPECT_EQ(b.counters().l2_writebacks, 1U);
    EXPECT_EQ(b.counters().dram_writes, 4U);
    EXPECT_EQ(b.replies.size(), 3U);
  }
}

TEST(L2Atomic, OperationsOnALineAreSerialised) {
  MachineConfig c = plain_config();
  c.l2.atomic_interval = 3;
  c.l2.atomics_per_cycle = 0;
  Bench b(c);
  b.partition.preload_line(kL2App + 5, 0);
  b.partition.preload_line(kL2App + 6, 0);
  b.give(100, atomic(5, 10));
  b.give(101, atomic(5, 4));
  b.give(102, atomic(6, 1));
  b.run(300);
  EXPECT_EQ(b.arrival[0], 119U + 30 + 8);       // tags at 119
  EXPECT_EQ(b.arrival[1], 119U + 30 + 12 + 8);  // after the first
  EXPECT_EQ(b.arrival[2], 121U + 3 + 8);        // another line does not wait
  EXPECT_EQ(b.counters().atomics, 15U);
}

// One round a cycle: ten until 129, though their results take longer; those of another line begin then.
TEST(L2Atomic, ASlicePerformsSoManyRoundsACycle) {
  MachineConfig c = plain_config();
  c.l2.atomic_interval = 3;
  c.l2.atomics_per_cycle = 1;
  Bench b(c);
  b.partition.preload_line(kL2App + 5, 0);
  b.partition.preload_line(kL2App + 6, 0);
  b.give(100, atomic(5, 10));
  b.give(101, atomic(6, 4));
  b.run(300);
  EXPECT_EQ(b.arrival[0], 119U + 30 + 8);
  EXPECT_EQ(b.arrival[1], 129U + 12 + 8);
}

// 32 lanes to different addresses of a line: four rounds, one for each sector, whatever the number of
// operations.
TEST(L2Atomic, TakeRoundsAndCountOperations) {
  MachineConfig c = plain_config();
  c.l2.atomic_interval = 3;
  Bench b(c);
  b.partition.preload_line(kL2App + 5, 0);
  MemRequest request = atomic(5, 32);
  request.rounds = 4;
  b.give(100, request);
  b.run(300);
  EXPECT_EQ(b.arrival[0], 119U + 12 + 8);
  EXPECT_EQ(b.counters().atomics, 32U);
}

TEST(L2Atomic, MissFetchesAndLeavesTheLineDirty) {
  MachineConfig c = plain_config();
  c.l2.slice_bytes = 128;
  c.l2.ways = 1;
  Bench b(c);
  b.give(100, atomic(5, 2, false));
  b.run(300);
  EXPECT_TRUE(b.replies.empty());
  EXPECT_TRUE(b.partition.idle());
  b.give(300, read(6));
  b.run(700);
  EXPECT_EQ(b.counters().l2_writebacks, 1U);
}

TEST(L2Apps, SameOffsetsOfTwoApplicationsAreTwoLines) {
  Bench b(plain_config());
  b.give(100, read(5, 15));
  MemRequest other = read(5, 15);
  other.line = 2 * kL2App + 5;
  other.app = 1;
  b.give(101, other);
  b.run(500);
  EXPECT_EQ(b.counters().l2_misses, 2U);
  EXPECT_EQ(b.counters().dram_reads, 8U);
}

TEST(L2Apps, HighLocalAddressesDoNotAlias) {
  MachineConfig c = plain_config();
  Bench b(c);
  b.give(100, read(5, 15));
  b.give(101, read((std::uint64_t{1} << 32U) + 5, 15));  // bit 32 of the slice's line number
  b.run(500);
  EXPECT_EQ(b.counters().dram_reads, 8U);
}

TEST(L2Preload, KeepsDirtyAndReservedLines) {
  MachineConfig c = plain_config();
  c.l2.slice_bytes = 128;
  c.l2.ways = 1;
  Bench b(c);
  b.give(100, write(5, 15, 128));
  b.run(300);
  b.partition.preload_line(kL2App + 9, 0);
  b.give(300, read(5, 15));
  b.run(500);
  EXPECT_EQ(b.counters().dram_reads, 0U);
}

TEST(L2Config, ImpossibleCachesAreRefused) {
  const auto refused = [](auto change) {
    MachineConfig c = plain_config();
    change(c);
    EXPECT_THROW(l2::Partition(c, 0, noc::PartitionMap(c)), UserError);
  };
  refused([](MachineConfig& c) { c.l2.ways = 0; });
  refused([](MachineConfig& c) { c.l2.slice_bytes = 1000; });
}

}  // namespace
}  // namespace gpumux::test
