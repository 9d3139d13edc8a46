// Load/store unit and L1 together, on an SM: latencies, merging, reservation failures, stores, atomics,
// shared and constant memory.
#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

using workload::Transaction;

// In all of these the first instruction issues in cycle 1 and is in the LSU in cycle 2; a miss leaves in
// cycle 3 and its data are back 10 + 100 cycles later, in cycle 113.
constexpr Cycle kMissReturn = 113;

TEST(Load, MissReturnsAfterNetworkAndMemory) {
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.global(0, 1000).run(1);
  Bench bench(plain_machine());
  bench.start(program, {code});
  bench.window(10);
  bench.window(20);
  while (bench.now < 110) bench.window(bench.now + 10);
  bench.window(kMissReturn);
  EXPECT_EQ(bench.counters().warp_instructions, 1U);
  bench.window(kMissReturn + 1);
  EXPECT_EQ(bench.counters().warp_instructions, 2U);
  bench.finish();
  ASSERT_EQ(bench.sent.size(), 1U);
  EXPECT_EQ(bench.sent[0].time, 13U);
  EXPECT_EQ(bench.sent[0].line, 1000U);
  EXPECT_EQ(bench.sent[0].sectors, 0xf);
  EXPECT_EQ(bench.sent[0].kind, arch::RequestKind::Read);
}

TEST(Load, HitIsReadyItsLatencyAfterTheAccess) {
  Program program;
  program.add(load(1));
  program.add(load(2));
  program.add(alu(3, {2}));
  program.add(alu(1, {1}));
  WarpCode code;
  code.global(0, 1000).run(3).global(1, 1000).run(2);
  // Data in 113, alu 113, jump back costs 4: issue in 117, access 118, dependent 118 + 30.
  EXPECT_EQ(time_of(plain_machine(), program, {code}), 148U);
  arch::MachineConfig config = plain_machine();
  config.l1.latency = 77;
  EXPECT_EQ(time_of(config, program, {code}), 118U + 77U);
}

TEST(Load, DependentOfTwoLoadsWaitsForTheLater) {
  Program program;
  program.add(load(1));
  program.add(load(2));
  program.add(alu(3, {1, 2}));
  WarpCode code;
  code.global(0, 1).global(1, 2).run(2);
  EXPECT_EQ(time_of(plain_machine(), program, {code}), kMissReturn + 1);
}

TEST(Load, AllTransactionsMustReturn) {
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.access(0, Where::Global,
              {Transaction::make(1, 1, 8), Transaction::make(2, 1, 8), Transaction::make(3, 1, 8),
               Transaction::make(4, 1, 8)})
      .run(1);
  // One access a cycle: the fourth leaves three cycles later.
  EXPECT_EQ(time_of(plain_machine(), program, {code}), kMissReturn + 3);
}

TEST(Load, MissesOfALineMerge) {
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.global(0, 1000, 1).run(1);
  Bench bench(plain_machine());
  bench.start(program, {code, code, code});
  bench.finish();
  EXPECT_EQ(bench.sent.size(), 1U);
  EXPECT_EQ(bench.counters().l1_accesses, 3U);
  EXPECT_EQ(bench.counters().l1_misses, 3U);
  EXPECT_EQ(bench.counters().l1_hits_pending, 2U);
  EXPECT_EQ(bench.counters().requests_sent, 1U);
}

TEST(Load, SectoredLineRequestsOnlyWhatIsMissing) {
  arch::MachineConfig config = plain_machine();
  config.l1.sectored = true;
  for (const arch::Allocate allocate : {arch::Allocate::OnMiss, arch::Allocate::OnFill}) {
    config.l1.allocate = allocate;
    Program program;
    for (std::uint16_t i = 0; i < 4; ++i) program.add(load(i));
    program.add(alu(8, {0, 1, 2}));
    WarpCode code;
    code.global(0, 7, 0x3).global(1, 7, 0x6).global(2, 7, 0x1).run(4).global(3, 7, 0xf);
    Bench bench(config);
    bench.start(program, {code});
    bench.finish();
    ASSERT_EQ(bench.sent.size(), 3U) << static_cast<int>(allocate);
    EXPECT_EQ(bench.sent[0].sectors, 0x3);
    EXPECT_EQ(bench.sent[1].sectors, 0x4);
    EXPECT_EQ(bench.sent[2].sectors, 0x8);
    EXPECT_EQ(bench.counters().l1_accesses, 2U + 2U + 1U + 4U);
    EXPECT_EQ(bench.counters().l1_misses, 2U + 2U + 1U + 1U);
    EXPECT_EQ(bench.counters().l1_hits_pending, 1U + 1U);
  }
}

TEST(Load, PartsOfAReplyAddUp) {
  arch::MachineConfig config = plain_machine();
  config.l1.sectored = true;
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.global(0, 7, 0x5).run(1);
  Bench bench(config);
  bench.answer = false;
  bench.start(program, {code});
  bench.window(10);
  ASSERT_EQ(bench.sent.size(), 1U);
  MemReply reply;
  reply.tag = bench.sent[0].tag;
  reply.time = 40;
  reply.sectors = 1;
  bench.sm.mailbox().in.push_back(reply);
  reply.time = 60;
  reply.sectors = 4;
  bench.sm.mailbox().in.push_back(reply);
  while (bench.now < 60) bench.window(bench.now + 10);
  EXPECT_EQ(bench.counters().warp_instructions, 1U);
  bench.window(61);
  EXPECT_EQ(bench.counters().warp_instructions, 2U);
}

TEST(Load, BypassAndGlobalSwitch) {
  Program program;
  program.add(load(1, isa::kBypassL1));
  program.add(load(2));
  program.add(alu(3, {1}));
  WarpCode code;
  code.global(0, 5, 1).global(0, 5, 1).global(1, 5, 1).access(1, Where::Local, {Transaction::make(6, 1, 32)});
  for (const bool caches_global : {true, false}) {
    arch::MachineConfig config = plain_machine();
    config.l1.caches_global = caches_global;
    Bench bench(config);
    bench.start(program, {code});
    bench.finish();
    ASSERT_EQ(bench.sent.size(), 4U);
    EXPECT_EQ(bench.sent[0].sectors, 1);
    EXPECT_EQ(bench.sent[2].sectors, caches_global ? 0xf : 1);
    EXPECT_EQ(bench.sent[3].sectors, 0xf);  // local memory is cached in any case
  }
}

// Reservation failures: the first load takes the resource in cycle 2, the second fails in cycle 3.
arch::KernelCounters two_loads(const arch::MachineConfig& config, std::uint64_t first, std::uint64_t second,
                               Cycle window = 5) {
  Program program;
  program.add(load(1));
  program.add(load(2));
  WarpCode code;
  code.global(0, first).global(1, second);
  Bench bench(config);
  bench.start(program, {code});
  bench.finish(window);
  return bench.counters();
}

TEST(ReservationFailure, EachCauseIsCountedEachCycle) {
  constexpr std::uint64_t kStalled = kMissReturn - 3;
  for (const Cycle window : {Cycle{1}, Cycle{5}, Cycle{10}}) {
    arch::MachineConfig config = plain_machine();
    arch::KernelCounters counters = two_loads(config, 1, 2, window);
    EXPECT_EQ(counters.lsu_stall_cycles, 0U);

    config.l1.mshr_entries = 1;
    counters = two_loads(config, 1, 2, window);
    EXPECT_EQ(counters.rsfail_mshr, kStalled);
    EXPECT_EQ(counters.lsu_stall_cycles, kStalled);
    EXPECT_EQ(counters.reservation_failures(), kStalled);
    EXPECT_EQ(counters.l1_accesses, 2U);

    config = plain_machine();
    config.l1.mshr_merges = 1;
    counters = two_loads(config, 1, 1, window);
    EXPECT_EQ(counters.rsfail_merge, kStalled);
    EXPECT_EQ(counters.lsu_stall_cycles, kStalled);
    EXPECT_EQ(counters.l1_misses, 1U);  // the retry hits

    config = plain_machine();
    config.l1.bytes = 128;
    config.l1.ways = 1;
    counters = two_loads(config, 1, 2, window);
    EXPECT_EQ(counters.rsfail_line, kStalled);
    EXPECT_EQ(counters.lsu_stall_cycles, kStalled);
    config.l1.allocate = arch::Allocate::OnFill;
    EXPECT_EQ(two_loads(config, 1, 2, window).lsu_stall_cycles, 0U);
  }
}

TEST(ReservationFailure, MissQueue) {
  arch::MachineConfig config = plain_machine();
  config.l1.miss_queue = 1;
  config.l1.banks = 4;
  Program program;
  program.add(load(1));
  WarpCode code;
  code.access(0, Where::Global,
              {Transaction::make(1, 1, 8), Transaction::make(2, 1, 8), Transaction::make(3, 1, 8)});
  Bench bench(config);
  bench.start(program, {code});
  bench.finish();
  // One packet leaves each cycle, so the second and third line wait a cycle each.
  EXPECT_EQ(bench.counters().rsfail_miss_queue, 2U);
  EXPECT_EQ(bench.counters().lsu_stall_cycles, 2U);
}

TEST(ReservationFailure, NetworkWithoutCreditsBacksUp) {
  arch::MachineConfig config = plain_machine();
  config.l1.miss_queue = 2;
  Program program;
  program.add(store());
  WarpCode code;
  for (std::uint64_t i = 0; i < 60; ++i) code.global(0, i, 1);
  Bench bench(config);
  bench.answer = false;  // no credits
  bench.start(program, {code});
  bench.window(10);
  while (bench.now < 500) bench.window(bench.now + 10);
  std::uint32_t flits = 0;
  for (const MemRequest& request : bench.sent) flits += request.flits;
  EXPECT_LE(flits, bench.network.request_credits);
  EXPECT_GT(flits + 2, bench.network.request_credits);
  EXPECT_EQ(bench.wake, kNever);
  EXPECT_GT(bench.counters().rsfail_miss_queue, 300U);
  EXPECT_NE(bench.sm.describe_waits().find("miss queue"), std::string::npos);
}

TEST(Mshr, ExhaustionSerialisesMisses) {
  // Eight lines, two MSHRs: four round trips.
  arch::MachineConfig config = plain_machine();
  config.l1.mshr_entries = 2;
  Program program;
  for (std::uint16_t i = 0; i < 8; ++i) program.add(load(i));
  program.add(alu(20, {7}));
  WarpCode code;
  for (std::uint32_t i = 0; i < 8; ++i) code.global(i, i);
  code.run(8);
  // Loads 0, 1 are back in 113, 114; each later pair is accessed then, leaves a cycle later, and so on.
  EXPECT_EQ(time_of(config, program, {code}), 114U + 3U * 111U);
}

TEST(Store, EvictsOrUpdatesAndIsAcknowledged) {
  Program program;
  program.add(load(1));
  program.add(store());
  program.add(alu(1, {1}));
  program.add(load(2));
  WarpCode code;
  code.global(0, 9).run(2).global(1, 9, 0x3).global(3, 9);
  for (const bool through : {false, true}) {
    arch::MachineConfig config = plain_machine();
    config.l1.write = through ? arch::L1Write::Through : arch::L1Write::Evict;
    Bench bench(config);
    bench.start(program, {code});
    bench.finish();
    ASSERT_EQ(bench.sent.size(), through ? 2U : 3U);
    EXPECT_EQ(bench.sent[1].kind, arch::RequestKind::Write);
    EXPECT_EQ(bench.sent[1].data_bytes, 64);
    EXPECT_EQ(bench.sent[1].flits, 3);  // 8 + 64 bytes in flits of 32
    EXPECT_TRUE(bench.sent[1].wants_reply);
    EXPECT_EQ(bench.counters().l1_misses, through ? 1U : 2U);
  }
}

TEST(Atomic, CarriesOperationsAndWritesItsRegister) {
  Program program;
  program.add(inst(Unit::Memory, LatencyClass::Memory, {1}, {}, isa::kLoad | isa::kAtomic));
  program.add(alu(2, {1}));
  WarpCode code;
  code.global(0, 9, 0x1, 17).run(1);
  Bench bench(plain_machine());
  bench.start(program, {code});
  const Cycle end = bench.finish();
  ASSERT_EQ(bench.sent.size(), 1U);
  EXPECT_EQ(bench.sent[0].kind, arch::RequestKind::Atomic);
  EXPECT_EQ(bench.sent[0].operations, 17);
  EXPECT_EQ(bench.sent[0].data_bytes, 68);
  EXPECT_EQ(bench.counters().atomics, 17U);
  EXPECT_GT(end, 100U);
}

TEST(Shared, PassesAddToLatencyAndOccupyThePipe) {
  Program program;
  program.add(load(1, isa::kShared));
  program.add(alu(2, {1}));
  program.add(load(3, isa::kShared));
  program.add(alu(4, {3}));
  for (std::uint16_t passes = 1; passes <= 32; ++passes) {
    WarpCode code;
    code.shared(0, passes).run(1);
    // Issue 1, access 2, then 24 cycles and one for each further pass.
    EXPECT_EQ(time_of(plain_machine(), program, {code}), 2U + 24U + passes - 1U);
    WarpCode two;
    two.shared(0, passes).shared(2, 1);
    Bench bench(plain_machine());
    bench.start(program, {two});
    bench.finish();
    EXPECT_EQ(bench.counters().shared_accesses, 2U);
    EXPECT_EQ(bench.counters().shared_conflict_cycles, passes - 1U);
  }
  // The second access waits for the passes of the first.
  Program pair;
  pair.add(load(1, isa::kShared));
  pair.add(load(2, isa::kShared));
  pair.add(alu(3, {2}));
  WarpCode code;
  code.shared(0, 8).shared(1, 1).run(2);
  EXPECT_EQ(time_of(plain_machine(), pair, {code}), 2U + 8U + 24U);
}

TEST(Shared, QueueBoundsWhatIsIssuedAhead) {
  arch::MachineConfig config = plain_machine();
  config.sm.memory_queue = 2;
  Program program;
  for (std::uint16_t i = 0; i < 8; ++i) program.add(load(i, isa::kShared));
  WarpCode code;
  for (std::uint32_t i = 0; i < 8; ++i) code.shared(i, 20);
  Bench bench(config);
  bench.start(program, {code});
  bench.window(10);
  // One in the LSU, two in the queue.
  EXPECT_EQ(bench.counters().warp_instructions, 3U);
  EXPECT_GT(bench.sm.scheduler_counters().pipeline_memory, 4U);
  bench.finish();
}

TEST(Memory, IssueWidthIsSharedByTheSchedulers) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 4;
  config.sm.memory_queue = 64;
  Program program;
  program.add(load(1, isa::kShared));
  std::vector<WarpCode> code(4);
  for (WarpCode& warp : code) warp.shared(0, 1);
  for (const std::uint32_t width : {1U, 2U, 4U}) {
    config.sm.memory_issue_width = width;
    Bench bench(config);
    bench.start(program, code);
    bench.window(2);
    EXPECT_EQ(bench.counters().warp_instructions, width);
    bench.finish();
  }
}

TEST(Memory, PredicatedOffTakesItsSlotOnly) {
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.access(0, Where::None, {}, 0, 0).run(1);
  Bench bench(plain_machine());
  bench.start(program, {code});
  EXPECT_EQ(bench.finish(), 2U);
  EXPECT_EQ(bench.counters().warp_instructions, 2U);
  EXPECT_EQ(bench.counters().thread_instructions, 32U);
  EXPECT_EQ(bench.counters().memory_instructions, 0U);
  EXPECT_TRUE(bench.sent.empty());
}

TEST(Constant, PerfectAndReal) {
  Program program;
  program.add(load(1, isa::kConstant));
  program.add(alu(2, {1}));
  program.add(load(3, isa::kConstant));
  program.add(alu(4, {3}));
  WarpCode code;
  code.access(0, Where::Constant, {Transaction::make(100, 0x1, 32)}, 3).run(1);
  arch::MachineConfig config = plain_machine();
  EXPECT_EQ(time_of(config, program, {code}), 2U + 8U + 2U);
  config.constant.bytes = 2048;
  code.access(2, Where::Constant, {Transaction::make(100, 0x2, 32)}, 1).run(3);
  Bench bench(config);
  bench.start(program, {code, code});
  const Cycle end = bench.finish();
  ASSERT_EQ(bench.sent.size(), 1U);
  EXPECT_EQ(bench.sent[0].sectors, 0x3);  // half a line
  EXPECT_GT(end, 113U);
  EXPECT_LT(end, 145U);
}

TEST(Unified, CarveOutFollowsTheResidentKernels) {
  // 128 KiB in all. 600 lines read twice: they stay unless shared memory takes 96 KiB.
  arch::MachineConfig config = plain_machine();
  config.sm.shared_bytes = 96 * 1024;
  config.l1.bytes = 32 * 1024;
  config.l1.ways = 64;
  config.l1.unified_bytes = 128 * 1024;
  config.l1.shared_carveouts = {0, 8192, 16384, 32768, 65536, 98304};
  config.l1.mshr_entries = 512;
  Program program;
  for (std::uint16_t i = 0; i < 200; ++i) program.add(load(i));
  WarpCode code;
  for (int pass = 0; pass < 2; ++pass)
    for (std::uint32_t i = 0; i < 600; ++i) code.global(i % 200, i);
  for (const auto& [shared, misses] : {std::pair<std::uint32_t, std::uint64_t>{0, 600}, {40'000, 1200}}) {
    Bench bench(config);
    bench.bind(program, {32, 16, shared});
    bench.launch({code});
    bench.finish();
    EXPECT_EQ(bench.counters().l1_misses, misses) << shared;
    EXPECT_EQ(bench.counters().l1_accesses, 1200U);
  }
}

TEST(Network, RepliesLeaveOneFlitAtATime) {
  // Two partitions answer in the same cycle: the second reply is a cycle later; three flits take three.
  Program program;
  program.add(load(1, isa::kBypassL1));
  program.add(load(2, isa::kBypassL1));
  program.add(alu(3, {1}));
  program.add(alu(4, {2}));
  WarpCode first;
  first.global(0, 0).run(2);
  WarpCode second;
  second.global(1, 2).run(3);
  Bench bench(plain_machine());
  bench.answer = false;
  bench.bind(program, {32, 16, 0});
  bench.launch({first}, 0, 0);
  bench.launch({second}, 0, 1);
  bench.window(10);
  ASSERT_EQ(bench.sent.size(), 2U);
  ASSERT_NE(bench.sent[0].partition, bench.sent[1].partition);
  for (const std::size_t i :
       {std::size_t{1}, std::size_t{0}}) {  // order of arrival in the mailbox does not matter
    MemReply reply;
    reply.tag = bench.sent[i].tag;
    reply.time = 50;
    reply.flits = 3;
    reply.sectors = 0xf;
    bench.sm.mailbox().in.push_back(reply);
  }
  while (bench.now < 100) bench.window(bench.now + 10);
  ASSERT_EQ(bench.ended.size(), 2U);
  const bool lower_first = bench.sent[0].partition < bench.sent[1].partition;
  EXPECT_EQ(bench.ended[0].residency, lower_first ? 0U : 1U);
  EXPECT_EQ(bench.ended[0].time, 50U);
  EXPECT_EQ(bench.ended[1].time, 53U);
}

}  // namespace
}  // namespace gpumux::sm::testing
