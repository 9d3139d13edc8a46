// The load/store unit alone, with a listener that records all notifications, and a memory whose answers the
// test gives.
#include "sm/load_store_unit.hpp"

#include "sm/harness.hpp"
#include "sm/lsu.hpp"

namespace gpumux::sm::testing {
namespace {

using workload::Transaction;

/// What the unit has told, and when.
struct Heard {
  struct Performed {
    std::uint32_t warp;
    Cycle ready, now;
    bool operator==(const Performed&) const = default;
  };
  void performed(const MemoryOp& op, Cycle ready, Cycle now) { done.push_back({op.warp, ready, now}); }
  void room(std::uint32_t /*slot*/, Cycle now) { rooms.push_back(now); }
  void fetched(const Request& request, Cycle now) { lines.push_back({request.line, now}); }
  void context_moved(std::uint32_t move, Cycle now) { moved.push_back({move, now}); }
  void accessed(const MemoryOp& /*op*/, bool last, Cycle now) { accesses.push_back({now, last}); }
  void failed(AppId app, Cycle cycles) { failures[app] += cycles; }
  void prefetch_warp(std::uint32_t /*slot*/) const {}
  void prefetch_records(std::uint32_t /*slot*/) const {}

  std::vector<Performed> done;
  std::vector<Cycle> rooms;
  std::vector<std::pair<std::uint64_t, Cycle>> lines;
  std::vector<std::pair<std::uint32_t, Cycle>> moved;
  std::vector<std::pair<Cycle, bool>> accesses;
  std::array<Cycle, kMaxApps> failures{};
};

/// The unit of a machine. An instruction that issues in t accesses in t + 1, a miss leaves in t + 2, and is
/// at its partition 10 cycles later.
struct LsuUnderTest {
  explicit LsuUnderTest(arch::MachineConfig machine = plain_machine())
      : config(std::move(machine)),
        map(config.l2),
        unit(config, 0, map, mailbox, counters.data(), heard),
        load_inst(timed(load(1))),
        store_inst(timed(store())) {}
  static TimedInst timed(const StaticInst& from) {
    TimedInst inst;
    inst.flags = from.flags;
    inst.unit = from.unit;
    inst.num_dst = from.num_dst;
    inst.access_bytes = 4;
    return inst;
  }
  void issue(const TimedInst& inst, Where where, std::vector<Transaction> lines, Cycle at,
             std::uint32_t slot = 0, std::uint16_t passes = 0, AppId app = 0, std::uint32_t delay = 0) {
    workload::MemHeader header;
    header.where = where;
    header.transactions = static_cast<std::uint16_t>(lines.size());
    header.shared_passes = passes;
    std::vector<std::uint64_t> words;
    words.reserve(lines.size());
    for (const Transaction& line : lines) words.push_back(line.word);
    Warp warp;
    warp.kernel = app;
    unit.issue(warp, slot, app, inst, {0, kAllLanes}, header, words.data(), at, delay);
  }
  void load_line(std::uint64_t line, Cycle at, std::uint32_t slot = 0, AppId app = 0) {
    issue(load_inst, Where::Global, {Transaction::make(line, 0xf, 32)}, at, slot, 0, app);
  }
  /// The cycles up to `end`.
  void run(Cycle end) {
    unit.take(now, kNever);
    for (; now < end; ++now) {
      while (unit.next_reply() <= now) unit.reply(now);
      if (unit.next_send() <= now) unit.send(now);
      if (unit.next_access() <= now) unit.access(now);
    }
  }
  /// The n-th packet's answer arrives at `time`.
  void answer(std::size_t n, Cycle time, std::uint32_t sectors = 0) {
    MemReply reply;
    reply.time = time;
    reply.tag = mailbox.out[n].tag;
    reply.kind = mailbox.out[n].kind;
    reply.sectors = static_cast<std::uint8_t>(sectors & 0xfU) & 0xfU;
    reply.flits = 1;
    mailbox.in.push_back(reply);
  }

  arch::MachineConfig config;
  noc::PartitionMap map;
  arch::SmMailbox mailbox;
  std::array<arch::KernelCounters, arch::kMaxKernelSlots> counters{};
  Heard heard;
  LoadStoreUnit<Heard> unit;
  TimedInst load_inst, store_inst;
  Cycle now = 0;
};

using Done = std::vector<Heard::Performed>;

TEST(LoadStoreUnitAlone, AMissGoesToMemoryAndAHitTakesItsLatency) {
  LsuUnderTest at;
  at.load_line(1000, 0, 5);
  EXPECT_EQ(at.unit.next_access(), 1U);
  at.run(20);
  ASSERT_EQ(at.mailbox.out.size(), 1U);
  EXPECT_EQ(at.mailbox.out[0].time, 12U);  // leaves in 2
  EXPECT_EQ(at.mailbox.out[0].line, 1000U);
  EXPECT_EQ(at.unit.outstanding(0), 1U);
  EXPECT_EQ(at.unit.last_miss(0), 1U);
  at.answer(0, 50);
  at.run(60);
  EXPECT_EQ(at.heard.done, (Done{{5, 50, 50}}));
  ASSERT_EQ(at.mailbox.credits_out.size(), 1U);
  EXPECT_EQ(at.mailbox.credits_out[0].time, 60U);
  at.load_line(1000, 60, 6);
  at.run(70);
  EXPECT_EQ(at.heard.done.back(), (Heard::Performed{6, 61 + 30, 61}));  // known at the access
  EXPECT_EQ(at.counters[0].l1_accesses, 2U);
  EXPECT_EQ(at.counters[0].l1_misses, 1U);
  EXPECT_EQ(at.unit.leaked(), nullptr);
}

TEST(LoadStoreUnitAlone, NoDataComeBeforeAHitWould) {
  LsuUnderTest at;
  at.load_line(1000, 0);
  at.run(5);
  at.answer(0, 20);
  at.run(25);
  EXPECT_EQ(at.heard.done, (Done{{0, 31, 20}}));
}

TEST(LoadStoreUnitAlone, LinesPassOneByOneAndTheNextInstructionBehindThem) {
  arch::MachineConfig config = plain_machine();
  config.l1.sectored = true;
  LsuUnderTest at(config);
  at.issue(at.load_inst, Where::Global, {Transaction::make(1, 1, 8), Transaction::make(2, 1, 8)}, 0);
  at.load_line(1, 0, 1);  // merges with the first
  at.run(10);
  EXPECT_EQ(at.heard.rooms, (std::vector<Cycle>{1, 3}));  // accesses in 1 and 2, and in 3
  ASSERT_EQ(at.mailbox.out.size(), 3U);                   // the last for three more sectors of line 1
  EXPECT_EQ(at.mailbox.out[1].time, 13U);
  EXPECT_EQ(at.mailbox.out[2].sectors, 0xeU);
  at.answer(1, 20);
  at.answer(0, 40);
  at.answer(2, 45);
  at.run(50);
  EXPECT_EQ(at.heard.done, (Done{{0, 40, 40}, {1, 45, 45}}));
}

TEST(LoadStoreUnitAlone, TheQueueAndTheIssueWidthBound) {
  arch::MachineConfig config = plain_machine();
  config.sm.memory_queue = 2;
  config.sm.memory_issue_width = 1;
  LsuUnderTest at(config);
  EXPECT_TRUE(at.unit.accepts(0));
  at.load_line(1, 0);
  EXPECT_TRUE(at.unit.has_room());
  EXPECT_FALSE(at.unit.accepts(0));
  EXPECT_TRUE(at.unit.accepts(1));
  at.load_line(2, 0);
  EXPECT_FALSE(at.unit.has_room());
  EXPECT_FALSE(at.unit.accepts(1));
  at.run(2);  // the first is at the head
  EXPECT_EQ(at.heard.rooms, (std::vector<Cycle>{1}));
  EXPECT_TRUE(at.unit.accepts(1));
}

TEST(LoadStoreUnitAlone, OperandsThatAreLateHoldIt) {
  LsuUnderTest at;
  at.issue(at.load_inst, Where::Global, {Transaction::make(7, 0xf, 32)}, 3, 0, 0, 0, 4);
  EXPECT_EQ(at.unit.next_access(), 8U);
}

TEST(LoadStoreUnitAlone, SharedMemoryTakesItsPasses) {
  arch::MachineConfig config = plain_machine();
  config.shared.latency = 24;
  LsuUnderTest at(config);
  at.issue(at.load_inst, Where::Shared, {}, 0, 0, 4);
  at.issue(at.load_inst, Where::Shared, {}, 0, 1, 1);
  at.run(10);
  // The second when the pipe is free again, in 5.
  EXPECT_EQ(at.heard.done, (Done{{0, 1 + 24 + 3, 1}, {1, 5 + 24, 5}}));
  EXPECT_EQ(at.counters[0].shared_conflict_cycles, 3U);
}

TEST(LoadStoreUnitAlone, StoresGoToL2WithTheirData) {
  LsuUnderTest at;
  at.issue(at.store_inst, Where::Global, {Transaction::make(9, 0x3, 16)}, 0);
  at.run(10);
  ASSERT_EQ(at.mailbox.out.size(), 1U);
  EXPECT_EQ(at.mailbox.out[0].kind, arch::RequestKind::Write);
  EXPECT_EQ(at.mailbox.out[0].data_bytes, 64U);
  EXPECT_EQ(at.mailbox.out[0].flits, 3U);  // 8 + 64 bytes, 32 a flit
  EXPECT_EQ(at.mailbox.out[0].time, 14U);  // its last flit leaves in 4
  EXPECT_EQ(at.unit.last_miss(0), 1U);     // its block waits for it
  at.answer(0, 30);
  at.run(40);
  EXPECT_EQ(at.heard.done, (Done{{0, 30, 30}}));
}

TEST(LoadStoreUnitAlone, StallsUntilAnMshrIsFree) {
  arch::MachineConfig config = plain_machine();
  config.l1.mshr_entries = 1;
  LsuUnderTest at(config);
  at.load_line(1, 0);
  at.load_line(2, 0, 1);
  at.run(20);
  EXPECT_EQ(at.unit.stalled_by(), Stall::Mshr);  // since 2
  EXPECT_EQ(at.unit.next_access(), kNever);
  at.unit.settle(20);
  EXPECT_EQ(at.counters[0].rsfail_mshr, 18U);
  at.answer(0, 30);
  at.run(40);
  EXPECT_EQ(at.counters[0].rsfail_mshr, 28U);  // taken in 30
  EXPECT_EQ(at.counters[0].lsu_stall_cycles, 28U);
  ASSERT_EQ(at.mailbox.out.size(), 2U);
  EXPECT_EQ(at.mailbox.out[1].time, 41U);
}

TEST(LoadStoreUnitAlone, StallsUntilTheMissQueueMoves) {
  arch::MachineConfig config = plain_machine();
  config.l1.miss_queue = 1;
  config.l1.caches_global = false;  // straight to the queue
  LsuUnderTest at(config);
  at.issue(at.store_inst, Where::Global, {Transaction::make(9, 0xf, 32)}, 0);  // 5 flits: 2 to 6
  for (std::uint32_t slot = 1; slot < 3; ++slot) at.load_line(slot, 0, slot);
  at.run(30);
  // The store leaves in 2, the first load queues in 2 and leaves in 7, when the second can queue; in 8.
  ASSERT_EQ(at.mailbox.out.size(), 3U);
  EXPECT_EQ(at.mailbox.out[0].time, 16U);
  EXPECT_EQ(at.mailbox.out[1].time, 17U);
  EXPECT_EQ(at.mailbox.out[2].time, 18U);
  EXPECT_EQ(at.counters[0].rsfail_miss_queue, 4U);  // 3 to 7
}

TEST(LoadStoreUnitAlone, ConstantMissesMergeAndGoFirst) {
  arch::MachineConfig config = plain_machine();
  config.constant.bytes = 2048;
  config.constant.line_bytes = 64;
  config.constant.latency = 8;
  LsuUnderTest at(config);
  at.issue(at.load_inst, Where::Constant, {Transaction::make(5, 0x3, 32)}, 0, 0);
  at.issue(at.load_inst, Where::Constant, {Transaction::make(5, 0x1, 32)}, 0, 1);
  at.run(10);
  ASSERT_EQ(at.mailbox.out.size(), 1U);  // both in the first 64 bytes of the line
  EXPECT_EQ(at.mailbox.out[0].sectors, 0x3U);
  EXPECT_TRUE(at.heard.done.empty());
  at.answer(0, 40);
  at.run(45);
  EXPECT_EQ(at.heard.done, (Done{{0, 40, 40}, {1, 40, 40}}));
  at.issue(at.load_inst, Where::Constant, {Transaction::make(5, 0x1, 32)}, 45, 2);
  at.run(50);
  EXPECT_EQ(at.heard.done.back(), (Heard::Performed{2, 46 + 8, 46}));
  EXPECT_EQ(at.unit.leaked(), nullptr);
}

TEST(LoadStoreUnitAlone, TextureMissesMergeAndWaitInTheMissQueue) {
  arch::MachineConfig config = plain_machine();
  config.texture.bytes = 4096;
  config.texture.ways = 4;
  config.texture.latency = 50;
  config.l1.miss_queue = 1;
  LsuUnderTest at(config);
  at.issue(at.load_inst, Where::Texture, {Transaction::make(5, 0x1, 32)}, 0, 0);
  at.issue(at.load_inst, Where::Texture, {Transaction::make(5, 0x8, 32)}, 0, 1);
  at.issue(at.load_inst, Where::Texture, {Transaction::make(6, 0x1, 16), Transaction::make(7, 0x1, 16)}, 0,
           2);
  at.run(10);
  ASSERT_EQ(at.mailbox.out.size(), 3U);  // two in one line, and each of the others
  EXPECT_EQ(at.mailbox.out[0].sectors, 0xfU);
  EXPECT_EQ(at.mailbox.out[0].time, 12U);
  EXPECT_EQ(at.counters[0].texture_accesses, 4U);
  EXPECT_EQ(at.counters[0].texture_misses, 4U);
  EXPECT_EQ(at.counters[0].l1_accesses, 0U);
  EXPECT_STREQ(at.unit.leaked(), "an MSHR of the texture cache");
  at.answer(0, 40);
  at.answer(1, 61);
  at.answer(2, 60);
  at.run(70);
  // The first two not before a hit's latency; the last with the later of its lines.
  ASSERT_EQ(at.heard.done.size(), 3U);
  EXPECT_EQ(at.heard.done[0], (Heard::Performed{0, 51, 40}));
  EXPECT_EQ(at.heard.done[1], (Heard::Performed{1, 52, 40}));
  EXPECT_EQ(at.heard.done[2].warp, 2U);
  EXPECT_EQ(at.heard.done[2].now, 61U);
  at.issue(at.load_inst, Where::Texture, {Transaction::make(5, 0x2, 32)}, 70, 3);
  at.run(80);
  EXPECT_EQ(at.heard.done.back(), (Heard::Performed{3, 71 + 50, 71}));
  EXPECT_EQ(at.unit.leaked(), nullptr);
}

TEST(LoadStoreUnitAlone, InstructionMissesPassTheSamePorts) {
  LsuUnderTest at;
  at.unit.fetch(77, 0xf, 2, 0, 3);
  EXPECT_EQ(at.unit.outstanding(2), 1U);
  at.run(20);
  ASSERT_EQ(at.mailbox.out.size(), 1U);
  EXPECT_EQ(at.mailbox.out[0].kind, arch::RequestKind::InstructionFetch);
  EXPECT_EQ(at.mailbox.out[0].time, 14U);  // leaves in 4
  at.answer(0, 30, 0x3);
  at.answer(0, 33, 0xc);
  at.run(40);
  EXPECT_EQ(at.heard.lines, (std::vector<std::pair<std::uint64_t, Cycle>>{{77, 33}}));  // when it is whole
  EXPECT_EQ(at.unit.outstanding(2), 0U);
}

TEST(LoadStoreUnitAlone, ASchemeDividesTheMissQueueAndIsTold) {
  arch::MachineConfig config = plain_machine();
  config.l1.miss_queue = 4;
  LsuUnderTest at(config);
  arch::MemoryScheme scheme;
  scheme.divides_misses = true;
  at.unit.set_scheme(scheme);
  at.unit.share(0b11, 0);  // two places each
  for (std::uint32_t slot = 0; slot < 2; ++slot) at.load_line(100 + slot, 0, slot, 1);
  at.issue(at.store_inst, Where::Global,
           {Transaction::make(9, 0xf, 32), Transaction::make(10, 0xf, 32), Transaction::make(11, 0xf, 32),
            Transaction::make(12, 0xf, 32), Transaction::make(13, 0xf, 32)},
           0, 2);
  at.run(30);
  const std::vector<std::pair<Cycle, bool>> first(at.heard.accesses.begin(), at.heard.accesses.begin() + 5);
  // Loads in 1 and 2, stores in 3, 4, 5: the first has left in 4. It holds the port to 8, two are queued.
  EXPECT_EQ(first,
            (std::vector<std::pair<Cycle, bool>>{{1, true}, {2, true}, {3, false}, {4, false}, {5, false}}));
  ASSERT_EQ(at.heard.accesses.size(), 7U);
  EXPECT_EQ(at.heard.accesses[5], (std::pair<Cycle, bool>{9, false}));  // the second leaves
  EXPECT_EQ(at.heard.accesses[6], (std::pair<Cycle, bool>{14, true}));
  EXPECT_EQ(at.heard.failures[0], 3U + 4U);  // 6 to 9, 10 to 14
}

TEST(LoadStoreUnitAlone, UnifiedL1Grows) {
  arch::MachineConfig config = plain_machine();
  config.l1.unified_bytes = 16384;
  LsuUnderTest at(config);
  EXPECT_EQ(at.unit.l1().bytes(), 16384U);
  at.unit.resize_l1(8192, 0, 0);
  EXPECT_EQ(at.unit.l1().bytes(), 8192U);
}

TEST(LoadStoreUnitAlone, AFlushLosesTheLines) {
  LsuUnderTest at;
  at.load_line(1000, 0);
  at.run(5);
  at.answer(0, 40);
  at.run(45);
  at.unit.flush_l1(45);
  at.load_line(1000, 45);
  at.run(50);
  EXPECT_EQ(at.counters[0].l1_misses, 2U);
}

// --- the ledger of interference

TEST(LoadStoreUnitLedger, WhoIsBehindAnothersInstructionWaitsForIt) {
  LsuUnderTest at;
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  at.unit.keep_ledger(&ledger);
  at.issue(at.load_inst, Where::Global,
           {Transaction::make(1, 1, 8), Transaction::make(2, 1, 8), Transaction::make(3, 1, 8),
            Transaction::make(4, 1, 8)},
           0);
  at.load_line(9, 0, 1, 1);  // its access is in 5, not in 1
  at.run(20);
  EXPECT_EQ(ledger.pairs[1][0].lsu_cycles, 4U);
  EXPECT_EQ(ledger.pairs[0][1].lsu_cycles, 0U);
  EXPECT_EQ(ledger.apps[1].lsu_queue_cycles, 5U);
}

TEST(LoadStoreUnitLedger, RequestsWaitForThePortBehindOthers) {
  LsuUnderTest at;
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  at.unit.keep_ledger(&ledger);
  at.issue(at.store_inst, Where::Global, {Transaction::make(1, 0xf, 32)}, 0);
  at.load_line(9, 0, 1, 1);
  at.run(30);
  ASSERT_EQ(at.mailbox.out.size(), 2U);
  const std::uint32_t flits = at.mailbox.out[0].flits;  // on the port from 2 on; the other could go in 3
  EXPECT_GT(flits, 2U);
  EXPECT_EQ(ledger.pairs[1][0].request_port_cycles, flits - 1);
  EXPECT_EQ(ledger.pairs[0][1].request_port_cycles, 0U);
}

TEST(LoadStoreUnitLedger, WaitsForRoomInTheNetworkAreThoseOfAllInTheQueue) {
  arch::MachineConfig config = plain_machine();
  config.noc.input_buffer_flits = 1;
  config.l2.partitions = 1;
  LsuUnderTest at(config);
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  ledger.here = 3;
  at.unit.keep_ledger(&ledger);
  const std::size_t credits = noc::Network(config).request_credits;
  for (std::uint32_t i = 0; i < credits; ++i) {
    at.load_line(i, at.now, i);
    at.run(at.now + 10);
  }
  ASSERT_EQ(at.mailbox.out.size(), credits);
  const Cycle start = at.now;
  at.load_line(100, start, 1, 1);  // could go in 2 of these cycles, if there were a credit
  at.load_line(101, start, 2, 1);
  at.run(start + 30);
  ASSERT_EQ(at.mailbox.out.size(), credits);
  at.mailbox.credits_in.push_back({start + 40, 1, 0, 0});
  at.run(start + 60);
  ASSERT_EQ(at.mailbox.out.size(), credits + 1);
  EXPECT_EQ(ledger.apps[0].credit_wait_cycles, 0U);
  EXPECT_EQ(ledger.apps[1].credit_wait_cycles, 2U * 38);
}

TEST(LoadStoreUnitLedger, RepliesWaitForThePortBehindOthers) {
  LsuUnderTest at;
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  at.unit.keep_ledger(&ledger);
  at.load_line(1, 0);
  at.load_line(9, 0, 1, 1);
  at.run(20);
  at.answer(0, 50);
  at.answer(1, 50);
  at.run(60);
  EXPECT_EQ(ledger.pairs[1][0].reply_port_cycles, 1U);
  EXPECT_EQ(ledger.pairs[0][1].reply_port_cycles, 0U);
  EXPECT_EQ(ledger.apps[0].request_cycles, 49U);  // from 1
  EXPECT_EQ(ledger.apps[1].request_cycles, 49U);  // from 2
}

TEST(LoadStoreUnitLedger, NobodyWaitsForAStore) {
  LsuUnderTest at;
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  at.unit.keep_ledger(&ledger);
  at.load_line(1, 0);
  at.issue(at.store_inst, Where::Global, {Transaction::make(9, 0xf, 32)}, 0, 1, 0, 1);
  at.run(20);
  ASSERT_EQ(at.mailbox.out.size(), 2U);
  at.answer(0, 50);
  at.answer(1, 50);
  at.run(60);
  EXPECT_EQ(ledger.apps[0].request_cycles, 49U);
  EXPECT_EQ(ledger.apps[1].request_cycles, 0U);
  EXPECT_EQ(ledger.pairs[1][0].reply_port_cycles, 0U);
}

TEST(LoadStoreUnitLedger, ALineThatAnotherHasEvictedIsItsFault) {
  arch::MachineConfig config = plain_machine();
  config.l1.bytes = 4 * 128;  // one set of four lines
  LsuUnderTest at(config);
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  at.unit.keep_ledger(&ledger);
  const auto get = [&](std::uint64_t line, AppId app) {
    const std::size_t before = at.mailbox.out.size();
    at.load_line(line, at.now, 0, app);
    at.run(at.now + 10);
    if (at.mailbox.out.size() > before) at.answer(before, at.now + 40, 0xf);
    at.run(at.now + 100);
  };
  get(1, 1);
  for (std::uint64_t line = 101; line < 105; ++line) get(line, 0);
  EXPECT_EQ(ledger.pairs[1][0].l1_extra_misses, 0U);
  get(1, 1);  // its request waits from 1 to 50 of these cycles
  EXPECT_EQ(ledger.pairs[1][0].l1_extra_misses, 1U);
  EXPECT_EQ(ledger.pairs[1][0].l1_line_cycles, 49U);
  EXPECT_TRUE(at.mailbox.out.back().charged) << "others count nothing for it";
  EXPECT_EQ(ledger.pairs[0][1].l1_extra_misses, 0U);
  for (std::uint64_t line = 2; line < 6; ++line) get(line, 1);
  get(1, 1);
  EXPECT_EQ(ledger.pairs[1][0].l1_extra_misses, 1U) << "it has evicted that line itself";
  // 3, 4, 5, 1 are there, and one of the other's costs each of them.
  get(106, 0);
  for (const std::uint64_t line : {3, 4, 5, 1}) get(line, 1);
  EXPECT_EQ(ledger.pairs[1][0].l1_extra_misses, 5U);
  for (const std::uint64_t line : {3, 4, 5, 1}) get(line, 1);
  EXPECT_EQ(ledger.pairs[1][0].l1_extra_misses, 5U);
}

TEST(LoadStoreUnitLedger, AStallIsOfWhoHoldsTheMshrs) {
  arch::MachineConfig config = plain_machine();
  config.l1.mshr_entries = 2;
  LsuUnderTest at(config);
  SmLedger ledger(at.unit.l1().sets(), at.unit.l1().max_ways());
  at.unit.keep_ledger(&ledger);
  at.load_line(1, 0);
  at.load_line(9, 0, 1, 1);
  at.load_line(10, 0, 2, 1);  // finds both taken in 3, until 53
  at.run(20);
  at.answer(0, 53);
  at.run(60);
  EXPECT_EQ(ledger.pairs[1][0].l1_entry_cycles, 25U) << "half of them";
  EXPECT_EQ(ledger.pairs[0][1].l1_entry_cycles, 0U);
}

}  // namespace
}  // namespace gpumux::sm::testing
