// Exact cycles of a core, worked out by hand. An instruction that enters in cycle c issues in cycle c + 1 at
// the earliest. An instruction that completes in cycle c retires in cycle c. Cycles count from 0, so a run
// whose last cycle is c takes c + 1 cycles.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/cpu/fixed_memory.hpp"

namespace gpumux::cpu::test {
namespace {

constexpr std::uint64_t kBase = 0x10000000;
constexpr std::uint64_t line(std::uint64_t index) { return kBase + index * kLineBytes; }
constexpr std::uint8_t kA = 40;
constexpr std::uint8_t kB = 41;

TEST(Core, IndependentInstructionsGoThreeAbreast) {
  for (const unsigned n : {1U, 2U, 3U, 4U, 6U, 7U, 300U, 301U, 1000U}) {
    // The last enters in (n - 1) / 3, issues one later, and retires one after that.
    EXPECT_EQ(cycles_of(std::vector<Record>(n)), (n - 1) / 3 + 3) << n;
  }
  CpuConfig config;
  config.width = 5;
  EXPECT_EQ(cycles_of(std::vector<Record>(1000), config), 199U + 3);
}

TEST(Core, ADependentChainGoesOneAtATime) {
  for (const unsigned n : {1U, 2U, 3U, 100U, 500U}) {
    EXPECT_EQ(cycles_of(std::vector<Record>(n, alu(kA, kA))), n + 2);
  }
}

TEST(Core, TwoSourcesWaitForTheLaterOne) {
  std::vector<Record> records(5, alu(kA, kA));  // complete in 2 ... 6
  records.push_back(alu(kB));
  Record both = alu(0, kA);
  both.source_registers[3] = kB;
  records.push_back(both);  // issues in 6, retires in 7
  EXPECT_EQ(cycles_of(records), 8U);
  both.source_registers = {kB, kB, kB, kA};
  records.back() = both;
  EXPECT_EQ(cycles_of(records), 8U);
}

TEST(Core, AWriterInBetweenIsTheOneThatCounts) {
  // The load's kA is never waited for but in order: kA is written again at once.
  const std::vector<Record> records = {load(line(0), kA), alu(kA), alu(kB, kA)};
  Core core = make_core(records);
  FixedMemory memory;
  memory.run(core, 200);
  // The load issues in 1, leaves L2 in 11, has its data in 111; all retire with it.
  EXPECT_EQ(memory.seen.at(0).cycle, 11U);
  EXPECT_EQ(cycles_of(records), 112U);
}

TEST(Core, LoadsThatDependOnEachOther) {
  for (const unsigned n : {1U, 2U, 10U, 100U}) {
    // The first misses, with data in 111; the others hit L1, 2 cycles each.
    EXPECT_EQ(cycles_of(std::vector<Record>(n, load(kBase, kA, kA))), 112 + 2 * (n - 1)) << n;
  }
  // Five lines of one L1 set, which has four: only L2 has them the next time, 10 cycles away.
  std::vector<Record> records;
  for (unsigned i = 0; i < 50; ++i) records.push_back(load(line(i % 5 * 64), kA, kA));
  EXPECT_EQ(cycles_of(records), 1U + 5 * 110 + 45 * 10 + 1);
  // As many as fit: L1 has them.
  records.clear();
  for (unsigned i = 0; i < 40; ++i) records.push_back(load(line(i % 4 * 64), kA, kA));
  EXPECT_EQ(cycles_of(records), 1U + 4 * 110 + 36 * 2 + 1);
  // Lines that are always new, a memory of 37 cycles.
  records.clear();
  for (unsigned i = 0; i < 20; ++i) records.push_back(load(line(i), kA, kA));
  EXPECT_EQ(cycles_of(records, {}, {37, 1}), 1U + 20 * 47 + 1);
}

TEST(Core, LatenciesAreThoseOfTheConfiguration) {
  CpuConfig config;
  config.l1.latency = 3;
  config.l2.latency = 17;
  std::vector<Record> records;
  for (unsigned i = 0; i < 50; ++i) records.push_back(load(line(i % 5 * 64), kA, kA));
  for (unsigned i = 0; i < 10; ++i) records.push_back(load(line(0), kA, kA));  // the first is in L2 alone
  EXPECT_EQ(cycles_of(records, config), 1U + 5 * 120 + 46 * 20 + 9 * 3 + 1);
}

TEST(Core, OneMemoryOperandPerCycle) {
  std::vector<Record> records(1, load(kBase, kA));
  records.resize(102, load(kBase, 0, kA));  // 101 that wait for the first: issue in 111 ... 211
  EXPECT_EQ(cycles_of(records), 211U + 2 + 1);
  // With two others for each, three per cycle: the window's 126 behind the load issue 3 a cycle.
  records.resize(1);
  for (unsigned i = 0; i < 42; ++i) {
    records.push_back(alu(0, kA));
    records.push_back(alu(0, kA));
    records.push_back(load(kBase, 0, kA));
  }
  EXPECT_EQ(cycles_of(records), 111U + 41 + 2 + 1);
}

TEST(Core, TheOldestGoesFirst) {
  // All wait for the first load: three older ones keep the memory instruction behind them from its turn.
  std::vector<Record> records = {load(kBase, kA), alu(0, kA),          alu(0, kA),
                                 alu(0, kA),      load(kBase, kB, kA), alu(0, kB)};
  EXPECT_EQ(cycles_of(records), 111U + 1 + 2 + 1 + 1);
  records.erase(records.begin() + 1);
  EXPECT_EQ(cycles_of(records), 111U + 0 + 2 + 1 + 1);
}

TEST(Core, TheWindowBoundsWhatIsOutstanding) {
  // A miss every k instructions: 128 / k of them are in the window.
  for (const unsigned k : {8U, 16U, 32U, 64U, 128U}) {
    std::vector<Record> records;
    for (unsigned i = 0; i < 4096; ++i) records.push_back(i % k == 0 ? load(line(i)) : alu());
    Core core = make_core(records);
    FixedMemory memory{1000, 1};
    std::uint32_t most = 0;
    while (core.counters().instructions < 3000) {
      memory.run(core, core.done() + 1);
      most = std::max(most, core.outstanding());
    }
    EXPECT_EQ(most, 128 / k) << k;
  }
  CpuConfig config;
  config.window = 100;
  Core core = make_core({});
  std::vector<Record> records(300);
  records[0] = load(line(0));
  records[99] = load(line(1));
  records[100] = load(line(2));
  Core small = make_core(records, config);
  FixedMemory memory{1000, 1};
  memory.run(small, 1000);
  EXPECT_EQ(memory.seen.size(), 2U);
  EXPECT_EQ(small.counters().instructions, 0U);
  // 34 cycles enter three each, the last one alone; from then on the window is full.
  EXPECT_EQ(small.counters().stalled_by_load, 1000U - 34);
}

TEST(Core, StallsAreCountedByTheirCause) {
  std::vector<Record> records(128);
  records[0] = load(line(0));
  Core core = make_core(records);
  FixedMemory memory{1000, 1};
  const Counters end = memory.until_retired(core, 128);
  // Full at the end of cycle 42; data in 1011, in which three retire and three enter.
  EXPECT_EQ(end.stalled_by_load, 1011U - 43);
  EXPECT_EQ(end.stalled_by_rest + end.stalled_by_mshrs + end.stalled_by_outbox, 0U);
  EXPECT_EQ(end.memory_latency, 1000U);
  EXPECT_EQ(end.replies, 1U);
  // A chain of 128 behind: each waits for its turn. It is full from cycle 64 on, when one leaves per cycle
  // and one enters.
  Core chain = make_core(std::vector<Record>(1000, alu(kA, kA)));
  const Counters rest = memory.until_retired(chain, 500);
  EXPECT_EQ(rest.stalled_by_rest, 0U);
}

TEST(Core, MissesOfOneLineShareAnMshr) {
  std::vector<Record> records;
  for (unsigned i = 0; i < 20; ++i) records.push_back(load(kBase + 4 * i));
  Core core = make_core(records);
  FixedMemory memory;
  const Counters end = memory.until_retired(core, 20);
  EXPECT_EQ(memory.seen.size(), 1U);
  EXPECT_EQ(end.l1_accesses, 20U);
  EXPECT_EQ(end.l1_misses, 1U);
  EXPECT_EQ(end.l1_merges, 19U);
  EXPECT_EQ(end.l2_misses, 1U);
  EXPECT_EQ(end.cycles, 111U + 6 + 1);  // all have their data in 111; three retire per cycle
}

TEST(Core, ALoadThatJoinsALineAboutToComeStillLooksItUp) {
  // Data of line 0 in 111. Behind a chain of n another load of it issues in n + 1, and a load that needs it
  // when its lookup has ended, too.
  for (const auto& [chain, data] :
       {std::pair{50U, 111U}, {108U, 111U}, {109U, 112U}, {110U, 113U}, {111U, 114U}}) {
    std::vector<Record> records(1, load(line(0)));
    records.resize(1 + chain, alu(kA, kA));
    records.push_back(load(line(0), kB, kA));
    records.push_back(load(line(1), 0, kB));
    Core core = make_core(records);
    FixedMemory memory;
    memory.run(core, 200);
    ASSERT_EQ(memory.seen.size(), 2U);
    EXPECT_EQ(memory.seen[1].cycle, data + 10) << chain;
    EXPECT_EQ(core.counters().l1_merges, chain < 110 ? 1U : 0U);
  }
}

TEST(Core, MshrsBoundTheLinesUnderWay) {
  std::vector<Record> records;
  for (unsigned i = 0; i < 40; ++i) records.push_back(load(line(i)));
  Core core = make_core(records);
  FixedMemory memory;
  memory.run(core, 100);
  EXPECT_EQ(memory.seen.size(), 16U);
  EXPECT_EQ(core.mshrs_in_use(), 16U);
  EXPECT_EQ(core.outstanding(), 16U);
  const Counters end = memory.until_retired(core, 40);
  // Load i issues in i + 1, of the first 16; the others 110 cycles after the one 16 before: in the cycle of
  // its data.
  EXPECT_EQ(memory.seen.at(15).cycle, 16U + 10);
  EXPECT_EQ(memory.seen.at(16).cycle, 111U + 10);
  EXPECT_EQ(memory.seen.at(39).cycle, 228U + 10);
  EXPECT_EQ(end.cycles, 338U + 1);
  CpuConfig config;
  config.mshrs = 4;
  Core narrow = make_core(records, config);
  FixedMemory other;
  other.run(narrow, 100);
  EXPECT_EQ(other.seen.size(), 4U);
}

TEST(Core, AHitPassesWhatWaitsForAnMshr) {
  CpuConfig config;
  config.mshrs = 1;
  // Line 0 is fetched; with it there, line 1 takes the MSHR, line 2 waits, and line 0 hits.
  const std::vector<Record> records = {load(line(0), kA), load(line(1), 0, kA), load(line(2), 0, kA),
                                       load(line(0), kB, kA), alu(0, kB)};
  Core core = make_core(records, config);
  FixedMemory memory;
  memory.run(core, 400);
  EXPECT_EQ(memory.seen.at(0).cycle, 11U);
  EXPECT_EQ(memory.seen.at(1).cycle, 121U);
  EXPECT_EQ(memory.seen.at(2).cycle, 221U + 10);
  EXPECT_EQ(core.counters().l1_accesses, 4U);
  EXPECT_EQ(core.counters().l1_misses, 3U);
}

TEST(Core, StallsForMshrsAndForTheOutbox) {
  CpuConfig config;
  config.mshrs = 1;
  std::vector<Record> records(129);
  records[0] = load(line(0));
  records[1] = load(line(1));
  Core core = make_core(records, config);
  FixedMemory memory;
  const Counters end = memory.until_retired(core, 129);
  // Line 1 gets the MSHR in 111, the cycle in which load 0 retires: no stall for MSHRs, as it was not the
  // oldest.
  EXPECT_EQ(end.stalled_by_mshrs, 0U);
  EXPECT_EQ(end.stalled_by_load, (111U - 43) + (221 - 112));
  // A core whose requests nobody takes.
  CpuConfig one;
  one.outbox = 1;
  for (unsigned i = 0; i < 3; ++i) records[i] = i == 0 ? alu() : store(line(i));
  Core blocked = make_core(records, one);
  blocked.run(500, 500);
  EXPECT_EQ(blocked.counters().instructions, 2U);
  EXPECT_EQ(blocked.outstanding(), 1U);
  EXPECT_EQ(blocked.counters().stalled_by_outbox, 500U - 44);
  ASSERT_NE(blocked.front(), nullptr);
  blocked.take(510);
  blocked.run(600, 600);
  ASSERT_NE(blocked.front(), nullptr);
  EXPECT_EQ(blocked.front()->cycle, 510U + 10);  // it issues in the cycle in which the place is free
}

TEST(Core, StoresRetireWithoutTheirLine) {
  std::vector<Record> records;
  for (unsigned i = 0; i < 16; ++i) records.push_back(store(line(i)));
  // One issues per cycle, and is complete in the next.
  EXPECT_EQ(cycles_of(records), 16U + 1 + 1);
  Core core = make_core(records);
  FixedMemory memory;
  const Counters end = memory.until_retired(core, 16);
  EXPECT_EQ(end.stores, 16U);
  EXPECT_EQ(end.l2_misses, 16U);
  ASSERT_EQ(memory.seen.size(), 16U);
  for (unsigned i = 0; i < 16; ++i) {
    EXPECT_EQ(memory.seen[i].cycle, 1U + i + 10);
    EXPECT_FALSE(memory.seen[i].write);
  }
}

TEST(Core, ALoadHasItsDataFromAStoreInTheWindow) {
  // The store issues in 1; the load, which waits for it, in 2, with data in 4.
  EXPECT_EQ(cycles_of({store(line(0)), load(line(0))}), 5U);
  EXPECT_EQ(cycles_of({store(line(0)), load(line(0) + 7)}), 5U);
  Core core = make_core({store(line(0)), load(line(0))});
  FixedMemory memory;
  memory.run(core, 500);
  EXPECT_EQ(core.counters().forwarded_loads, 1U);
  EXPECT_EQ(core.counters().l1_accesses, 1U);
  // The next word comes with the line, which the store has asked for.
  EXPECT_EQ(cycles_of({store(line(0)), load(line(0) + 8)}), 112U);
  CpuConfig config;
  config.forward_stores = false;
  EXPECT_EQ(cycles_of({store(line(0)), load(line(0))}, config), 112U);
  // The store waits for a load of its own: so does what reads it. Of two stores, the younger counts.
  EXPECT_EQ(cycles_of({load(line(1), kA), store(line(0), kA), load(line(0))}), 111U + 1 + 2 + 1);
  EXPECT_EQ(cycles_of({load(line(1), kA), store(line(0), kA), store(line(0)), load(line(0), kB),
                       load(line(5), 0, kB)}),
            3U + 2 + 110 + 1);
  // One that has retired gives no more: its line is under way.
  std::vector<Record> records = {store(line(0))};
  records.resize(40, alu(kA, kA));
  records.push_back(load(line(0), 0, kA));
  Core later = make_core(records);
  FixedMemory other;
  EXPECT_EQ(other.until_retired(later, records.size()).cycles, 112U);
  EXPECT_EQ(later.counters().forwarded_loads, 0U);
}

TEST(Core, OperandsOfAnInstructionGoOneAfterTheOther) {
  // Loads in 1 and 2, their data in 111 and 112; the store issues then, and is complete in 113.
  Record record = load(line(0));
  record.source_memory[2] = line(1);
  record.destination_memory[1] = line(2);
  EXPECT_EQ(cycles_of({record}), 114U);
  record.destination_memory[0] = line(3);
  EXPECT_EQ(cycles_of({record}), 115U);
  Core core = make_core({record});
  FixedMemory memory;
  memory.run(core, 400);
  EXPECT_EQ(core.counters().loads, 2U);
  EXPECT_EQ(core.counters().stores, 2U);
  ASSERT_EQ(memory.seen.size(), 4U);
  const Cycle expected[] = {11, 12, 122, 123};
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(memory.seen[i].cycle, expected[i]);
  EXPECT_EQ(memory.seen[2].line, line(3) % (1ULL << 32U) / kLineBytes);
}

TEST(Core, SpecialRegisters) {
  // The instruction pointer is predicted.
  std::vector<Record> records(30, alu(kInstructionPointer, kInstructionPointer));
  for (Record& record : records) record.is_branch = 1;
  EXPECT_EQ(cycles_of(records), 9U + 3);
  Core core = make_core(records);
  FixedMemory memory;
  EXPECT_EQ(memory.until_retired(core, 30).branches, 30U);
  // Flags are registers as others.
  EXPECT_EQ(cycles_of(std::vector<Record>(30, alu(kFlags, kFlags))), 32U);
  // Changes of the stack pointer by a constant are known; by a register they are not.
  EXPECT_EQ(cycles_of(std::vector<Record>(30, alu(kStackPointer, kStackPointer))), 9U + 3);
  Record variable = alu(kStackPointer, kStackPointer);
  variable.source_registers[1] = kB;
  EXPECT_EQ(cycles_of(std::vector<Record>(30, variable)), 32U);
  CpuConfig config;
  config.fold_stack_pointer = false;
  EXPECT_EQ(cycles_of(std::vector<Record>(30, alu(kStackPointer, kStackPointer)), config), 32U);
}

TEST(Core, WhatFollowsAMispredictedBranchEntersLater) {
  CpuConfig config;
  config.predictor_bits = 4;
  const auto branch = [](bool taken, std::uint8_t from = 0) {
    Record record = alu(0, from);
    record.ip = 16;
    record.is_branch = 1;
    record.branch_taken = taken ? 1 : 0;
    return record;
  };
  // Taken, as the counters expect at first: nothing happens.
  EXPECT_EQ(cycles_of(std::vector<Record>(30, branch(true)), config), 9U + 3);
  // Not taken: it enters in 0, is complete in 2, and what follows enters in 12.
  EXPECT_EQ(cycles_of({alu(), branch(false), alu()}, config), 12U + 3);
  EXPECT_EQ(cycles_of({alu(), branch(false), alu()}), 0U + 3);
  config.redirect = 0;
  EXPECT_EQ(cycles_of({branch(false), alu()}, config), 2U + 3);
  config.redirect = 7;
  // It waits for data that come in 111: complete in 112.
  Core core = make_core({load(line(0), kA), branch(false, kA), alu()}, config);
  FixedMemory memory;
  const Counters end = memory.until_retired(core, 3);
  EXPECT_EQ(end.cycles, 112U + 7 + 3);
  EXPECT_EQ(end.mispredictions, 1U);
  EXPECT_EQ(end.stalled_by_branches, 112U + 7 - 1);
  // One that is never taken is learnt at once, as its history stays what it is.
  Core learnt = make_core(std::vector<Record>(100, branch(false)), config);
  EXPECT_EQ(memory.until_retired(learnt, 100).mispredictions, 1U);
  // Taken every other time: the history tells.
  std::vector<Record> alternating;
  for (unsigned i = 0; i < 400; ++i) alternating.push_back(branch(i % 2 == 0));
  Core told = make_core(alternating, config);
  EXPECT_LE(memory.until_retired(told, 400).mispredictions, 6U);
}

/// Lines of one set of L2: 8 fill it, and of L1's set of 4, which it shares.
constexpr std::uint64_t in_set(std::uint64_t index) { return line(index * 256); }

TEST(Core, ADirtyLineIsWrittenBackOnce) {
  std::vector<Record> records = {store(in_set(0))};
  for (unsigned i = 1; i <= 20; ++i) records.push_back(load(in_set(i), kA, kA));
  Core core = make_core(records);
  FixedMemory memory;
  const Counters end = memory.until_retired(core, records.size());
  std::vector<Request> writes;
  for (const Request& request : memory.seen) {
    if (request.write) writes.push_back(request);
  }
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].line, in_set(0) / kLineBytes);
  EXPECT_EQ(end.l1_writebacks, 1U);
  EXPECT_EQ(end.l2_writebacks, 1U);
  // It leaves L1 with the fill of line 4, which makes it L2's youngest; 8 fills later it leaves L2. The store
  // issues in 1, load i in 1 + 110 (i - 1) + 1, as the port's second, with data 110 later.
  EXPECT_EQ(writes[0].cycle, 2U + 110 * 12);
  // Read again, it is clean.
  records.push_back(load(in_set(0), kA, kA));
  for (unsigned i = 1; i <= 20; ++i) records.push_back(load(in_set(i), kA, kA));
  Core again = make_core(records);
  FixedMemory other;
  EXPECT_EQ(other.until_retired(again, records.size()).l2_writebacks, 1U);
}

TEST(Core, AStoreToALineUnderWayMakesItDirty) {
  std::vector<Record> records = {load(in_set(0)), store(in_set(0) + 64)};
  for (unsigned i = 1; i <= 20; ++i) records.push_back(load(in_set(i), kA, kA));
  Core core = make_core(records);
  FixedMemory memory;
  EXPECT_EQ(memory.until_retired(core, records.size()).l2_writebacks, 1U);
  EXPECT_EQ(memory.seen.at(0).write, false);
}

TEST(Core, AVictimOfL1ThatL2HasLostIsPutBack) {
  // Line 0 stays in L1, as it is used again and again, while eight others push it out of L2.
  std::vector<Record> records = {store(in_set(0))};
  for (unsigned i = 1; i <= 9; ++i) {
    records.push_back(load(in_set(i), kA, kA));
    records.push_back(store(in_set(0) + 8 * i, kA));
  }
  Core core = make_core(records);
  FixedMemory memory;
  Counters end = memory.until_retired(core, records.size());
  EXPECT_EQ(end.l2_writebacks, 0U);
  EXPECT_EQ(end.l1_writebacks, 0U);
  // Now it leaves L1, L2 takes it, and it hits there.
  for (unsigned i = 10; i <= 13; ++i) records.push_back(load(in_set(i), kA, kA));
  records.push_back(load(in_set(0), kA, kA));
  Core other = make_core(records);
  FixedMemory memory2;
  end = memory2.until_retired(other, records.size());
  EXPECT_EQ(end.l1_writebacks, 1U);
  EXPECT_EQ(end.l2_misses, 14U);
  EXPECT_EQ(end.l2_writebacks, 0U);
}

TEST(Core, LinesBeginWhereTheCallerSays) {
  const std::vector<Record> records = {load(0x7fff00000080), load(0x550000000100), load(0x7fff00000000)};
  Core core(CpuConfig{}, std::make_unique<Script>(records), 1000);
  FixedMemory memory;
  memory.run(core, 300);
  ASSERT_EQ(memory.seen.size(), 3U);
  EXPECT_EQ(memory.seen[0].line, 1001U);
  EXPECT_EQ(memory.seen[1].line, 1000U + (1U << 25U) + 2);
  EXPECT_EQ(memory.seen[2].line, 1000U);
}

TEST(Core, ATraceOfTooManyRegionsIsRefused) {
  std::vector<Record> records;
  for (std::uint64_t i = 1; i <= 256; ++i) records.push_back(load(i << 32U));
  Core core = make_core(records);
  FixedMemory memory;
  (void)memory.until_retired(core, 256);
  records.push_back(load(std::uint64_t{257} << 32U));
  Core other = make_core(records);
  EXPECT_THROW((void)memory.until_retired(other, 257), UserError);
}

TEST(Core, WatchedCountersAreThoseOfTheCycle) {
  std::vector<Record> records(128);
  records[4] = load(line(0));
  Core core = make_core(records);
  FixedMemory memory;
  const Counters four = memory.until_retired(core, 4);  // retires in 3, with the load entered in 1
  EXPECT_EQ(four.cycles, 4U);
  EXPECT_EQ(four.instructions, 4U);
  EXPECT_EQ(four.stalled_by_load, 0U);
  EXPECT_GT(core.counters().cycles, four.cycles);
  // Three retire in cycle 2 + i: a watch for 5 of a wide stream is met by 6.
  Core wide = make_core({});
  const Counters five = memory.until_retired(wide, 5);
  EXPECT_EQ(five.instructions, 6U);
  EXPECT_EQ(five.cycles, 4U);
  EXPECT_EQ((core.counters() - four).instructions, core.counters().instructions - 4);
}

TEST(Core, SaysWhenItGoesOn) {
  std::vector<Record> records(128);
  records[0] = load(line(0));
  Core core = make_core(records);
  EXPECT_EQ(core.next(), 0U);
  // Nothing is known, and nothing is needed until the request has left: cycle 11.
  EXPECT_EQ(core.run(1000, 0), 11U);
  EXPECT_EQ(core.front(), nullptr);
  EXPECT_EQ(core.run(1000, 12), 12U);
  ASSERT_NE(core.front(), nullptr);
  EXPECT_EQ(core.front()->cycle, 11U);
  const std::uint32_t id = core.front()->id;
  core.take(12);
  EXPECT_EQ(core.run(1000, 100), 100U);
  EXPECT_EQ(core.next(), kNever);
  core.reply(id, 150);
  EXPECT_EQ(core.next(), 150U);
  // All is known: it goes as far as it may.
  EXPECT_EQ(core.run(1000, 100), 1000U);
}

TEST(Core, WhatCannotBeIsAFault) {
  Core core = make_core({load(line(0)), load(line(1))});
  EXPECT_THROW(core.take(0), InternalError);
  EXPECT_THROW(core.reply(0, 100), InternalError);
  core.run(20, 20);
  EXPECT_THROW(core.reply(core.front()->id, 100), InternalError);  // not taken
  const std::uint32_t id = core.front()->id;
  EXPECT_THROW(core.take(19), InternalError);
  core.take(20);
  EXPECT_THROW(core.reply(id, 19), InternalError);
  core.reply(id, 100);
  EXPECT_THROW(core.reply(id, 100), InternalError);
  EXPECT_THROW(core.reply(16, 100), InternalError);
  const std::uint32_t second = core.front()->id;
  core.take(20);
  EXPECT_THROW(core.reply(second, 99), InternalError);
  core.reply(second, 100);
}

TEST(Core, ConfigurationsOutOfRangeAreRefused) {
  const auto refused = [](auto change) {
    CpuConfig config;
    change(config);
    EXPECT_THROW(make_core({}, config), UserError);
  };
  refused([](CpuConfig& c) { c.window = 0; });
  refused([](CpuConfig& c) { c.window = 129; });
  refused([](CpuConfig& c) { c.width = 0; });
  refused([](CpuConfig& c) { c.mshrs = 0; });
  refused([](CpuConfig& c) { c.mshrs = 65; });
  refused([](CpuConfig& c) { c.outbox = 0; });
  refused([](CpuConfig& c) { c.predictor_bits = 21; });
  refused([](CpuConfig& c) { c.redirect = 1001; });
  refused([](CpuConfig& c) { c.l1.ways = 0; });
  refused([](CpuConfig& c) { c.l1.bytes = 0; });
  refused([](CpuConfig& c) { c.l1.bytes = 33 * 1024; });
  refused([](CpuConfig& c) { c.l2.ways = 7; });
  refused([](CpuConfig& c) { c.l1.latency = 0; });
  refused([](CpuConfig& c) { c.l2.latency = 62; });
  CpuConfig most;
  most.l2.latency = 61;
  most.mshrs = 64;
  EXPECT_EQ(cycles_of({load(line(0))}, most), 1U + 63 + 100 + 1);
}

}  // namespace
}  // namespace gpumux::cpu::test
