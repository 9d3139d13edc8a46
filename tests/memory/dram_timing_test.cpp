// Timing diagrams of the DRAM channel, worked out by hand, in command clocks.
#include <gtest/gtest.h>

#include <algorithm>

#include "dram/channel.hpp"

namespace gpumux::test {
namespace {

using arch::DramConfig;
using dram::Channel;
using dram::Command;
using dram::CommandKind;
using dram::Tick;

/// The usual GDDR5 (the defaults) with one 128 B burst per line (two clocks at 64 B per clock), no groups.
DramConfig one_burst() {
  DramConfig c;
  c.bus_bytes = 16;
  c.burst_bytes = 128;
  c.bank_groups = 1;
  c.CCDL = 2;
  return c;
}

/// Lines by place; the map is its own subject (dram_property_test.cpp).
std::uint64_t line_at(const DramConfig& c, std::uint32_t bank, std::uint64_t row, std::uint32_t nth = 0) {
  const dram::AddressMap map(c);
  for (std::uint64_t line = 0;; ++line) {
    const auto place = map.locate(line);
    if (place.bank == bank && place.row == row && nth-- == 0) return line;
  }
}

struct Script {
  explicit Script(const DramConfig& config) : c(config), channel(config) { channel.set_trace(&trace); }
  void push(Tick at, std::uint32_t bank, std::uint64_t row, std::uint32_t nth, bool write = false,
            std::uint8_t sectors = 15) {
    while (channel.next() < at) step();
    dram::Request r;
    r.local_line = line_at(c, bank, row, nth);
    r.write = write;
    r.sectors = sectors;
    r.token = token++;
    channel.push(r, at);
  }
  void step() {
    Channel::Completion completion;
    if (channel.step(completion)) {
      ends.push_back(completion.end);
      channel.release_return(completion.end);
    }
  }
  const std::vector<Command>& run() {
    while (channel.next() != dram::kNoTick) step();
    return trace;
  }
  /// Clocks of the commands of a kind.
  std::vector<Tick> ticks(CommandKind kind) const {
    std::vector<Tick> list;
    for (const Command& command : trace) {
      if (command.kind == kind) list.push_back(command.tick);
    }
    return list;
  }
  DramConfig c;
  Channel channel;
  std::vector<Command> trace;
  std::vector<Tick> ends;
  std::uint32_t token = 0;
};

using Ticks = std::vector<Tick>;

TEST(DramTiming, ReadOfAClosedBankThenARowHit) {
  Script s(one_burst());
  s.push(10, 0, 0, 0);
  s.push(10, 0, 0, 1);
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Activate), Ticks({10}));
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({22, 24}));  // RCD 12; CCD 2
  EXPECT_EQ(s.ends, Ticks({36, 38}));                      // CL 12 + two clocks on the bus
}

TEST(DramTiming, ConflictWaitsForRasAndPrecharge) {
  Script s(one_burst());
  s.push(0, 0, 0, 0);
  s.push(0, 0, 1, 0);
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Activate), Ticks({0, 40}));  // RAS 28 + RP 12 = RC 40
  EXPECT_EQ(s.ticks(CommandKind::Precharge), Ticks({28}));
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({12, 52}));
}

TEST(DramTiming, LateConflictPrechargesAtOnce) {
  Script s(one_burst());
  s.push(0, 0, 0, 0);
  s.push(100, 0, 1, 0);
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Precharge), Ticks({100}));
  EXPECT_EQ(s.ticks(CommandKind::Activate), Ticks({0, 112}));  // RP 12
}

TEST(DramTiming, ReadToPrecharge) {
  Script s(one_burst());
  s.push(0, 0, 0, 0);
  s.push(99, 0, 0, 1);  // a hit, read at 99
  s.push(99, 0, 1, 0);  // then the row must go: RTPL 2 after the read
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Read)[1], 99);
  EXPECT_EQ(s.ticks(CommandKind::Precharge), Ticks({101}));
}

TEST(DramTiming, WriteRecoveryBeforePrecharge) {
  Script s(one_burst());
  s.push(0, 0, 0, 0, true);
  s.push(0, 0, 1, 0, true);
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Write)[0], 12);
  // Data from 12 + WL 4 = 16 to 18; WR 12 after it.
  EXPECT_EQ(s.ticks(CommandKind::Precharge), Ticks({30}));
}

TEST(DramTiming, WriteToRead) {
  Script s(one_burst());
  s.push(0, 0, 0, 0, true);
  s.push(0, 0, 0, 1, false);
  s.run();
  // Write at 12, data to 18, CDLR 5.
  EXPECT_EQ(s.ticks(CommandKind::Write), Ticks({12}));
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({23}));
}

TEST(DramTiming, ReadToWrite) {
  Script s(one_burst());
  s.push(0, 0, 0, 0, false);
  s.push(0, 0, 0, 1, true);
  s.run();
  // Read at 12, data 24 to 26, two clocks for the bus to turn, write data at 28, command WL 4 before.
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({12}));
  EXPECT_EQ(s.ticks(CommandKind::Write), Ticks({24}));
}

TEST(DramTiming, BankGroups) {
  DramConfig c = one_burst();
  c.bank_groups = 4;  // banks 0..3 are group 0, 4..7 group 1
  c.CCDL = 5;
  Script same(c);
  same.push(0, 0, 0, 0);
  same.push(0, 0, 0, 1);
  same.run();
  EXPECT_EQ(same.ticks(CommandKind::Read), Ticks({12, 17}));  // CCDL
  Script other(c);
  other.push(0, 0, 0, 0);
  other.push(0, 4, 0, 0);
  other.push(50, 0, 0, 1);
  other.push(50, 4, 0, 1);
  other.run();
  EXPECT_EQ(other.ticks(CommandKind::Activate), Ticks({0, 6}));        // RRD 6
  EXPECT_EQ(other.ticks(CommandKind::Read), Ticks({12, 18, 50, 52}));  // CCD
}

TEST(DramTiming, ActivateWindow) {
  DramConfig c = one_burst();
  c.FAW = 30;
  Script s(c);
  for (std::uint32_t bank = 0; bank < 6; ++bank) s.push(0, bank, 0, 0);
  s.run();
  // Four at RRD 6, the fifth FAW after the first, the sixth FAW after the second.
  EXPECT_EQ(s.ticks(CommandKind::Activate), Ticks({0, 6, 13, 19, 30, 36}));
}

TEST(DramTiming, CommandBusIsSharedUnlessSeparate) {
  DramConfig c = one_burst();
  c.RRD = 12;  // the second activation would be due with the first read
  Script shared(c);
  shared.push(0, 0, 0, 0);
  shared.push(0, 1, 0, 0);
  shared.run();
  EXPECT_EQ(shared.ticks(CommandKind::Read)[0], 12);
  EXPECT_EQ(shared.ticks(CommandKind::Activate), Ticks({0, 13}));
  c.separate_row_bus = true;
  Script separate(c);
  separate.push(0, 0, 0, 0);
  separate.push(0, 1, 0, 0);
  separate.run();
  EXPECT_EQ(separate.ticks(CommandKind::Read)[0], 12);
  EXPECT_EQ(separate.ticks(CommandKind::Activate), Ticks({0, 12}));
}

TEST(DramTiming, RefreshClosesRowsAndTakesRfc) {
  DramConfig c = one_burst();
  c.REFI = 200;
  c.RFC = 50;
  Script s(c);
  s.push(100, 0, 0, 0);
  s.push(199, 0, 0, 1);  // served just before
  s.push(200, 0, 0, 2);  // waits
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({112, 199, 275}));
  EXPECT_EQ(s.ticks(CommandKind::Precharge), Ticks({201}));      // RTPL 2 after the read at 199
  EXPECT_EQ(s.ticks(CommandKind::Refresh), Ticks({213}));        // RP 12
  EXPECT_EQ(s.ticks(CommandKind::Activate), Ticks({100, 263}));  // RFC 50
}

TEST(DramTiming, AnIdleChannelRefreshesToo) {
  DramConfig c = one_burst();
  c.REFI = 200;
  c.RFC = 50;
  Script in_refresh(c);
  in_refresh.push(20 * 200 + 10, 0, 0, 0);
  in_refresh.run();
  EXPECT_EQ(in_refresh.ticks(CommandKind::Activate), Ticks({20 * 200 + 50}));
  Script after(c);
  after.push(20 * 200 + 60, 0, 0, 0);
  after.run();
  EXPECT_EQ(after.ticks(CommandKind::Activate), Ticks({20 * 200 + 60}));
}

TEST(DramTiming, FirstReadyComesBeforeOlder) {
  DramConfig c = one_burst();
  Script s(c);
  s.push(0, 0, 0, 0);
  s.push(50, 0, 1, 0);  // a conflict, older
  s.push(50, 0, 0, 1);  // a hit, younger
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Read)[1], 50);
  EXPECT_EQ(s.ticks(CommandKind::Precharge), Ticks({52}));
  c.scheduler = arch::DramOrder::Fcfs;
  Script in_order(c);
  in_order.push(0, 0, 0, 0);
  in_order.push(50, 0, 1, 0);
  in_order.push(50, 0, 0, 1);
  in_order.run();
  EXPECT_EQ(in_order.ticks(CommandKind::Precharge), Ticks({50, 90}));
  EXPECT_EQ(in_order.ticks(CommandKind::Read), Ticks({12, 74, 114}));
}

TEST(DramTiming, FractionsOfAClockAddUp) {
  DramConfig c;  // dai18: 32 B over 12 B per clock, 8/3 clocks
  c.bus_bytes = 3;
  c.burst_bytes = 32;
  c.bank_groups = 1;
  c.CCDL = 2;
  Script s(c);
  s.push(0, 0, 0, 0);
  s.push(0, 0, 0, 1);
  s.run();
  // Eight bursts take 64/3 clocks of the bus from 24 on; each command goes as soon as its data need wait less
  // than a clock.
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({12, 14, 17, 20, 22, 25, 28, 30}));
  EXPECT_EQ(s.ends, Ticks({35, 46}));  // 24 + 32/3 and 24 + 64/3, rounded up
}

TEST(DramTiming, OneBurstPerTouchedPart) {
  DramConfig c;
  c.burst_bytes = 64;
  Script s(c);
  s.push(0, 0, 0, 0, false, 0b0101);   // both halves
  s.push(60, 0, 0, 1, false, 0b0011);  // one
  s.push(90, 0, 0, 0, false, 0b1000);
  s.run();
  EXPECT_EQ(s.ticks(CommandKind::Read), Ticks({12, 15, 60, 90}));  // CCDL 3
}

TEST(DramTiming, CountersOfTheDiagram) {
  Script s(one_burst());
  s.push(0, 0, 0, 0);
  s.push(0, 0, 0, 1);
  s.push(0, 0, 1, 0, true);
  s.run();
  arch::PartitionCounters whole;
  s.channel.count(whole);
  EXPECT_EQ(whole.dram_busy, 6U);
  arch::MemoryCounters counters;
  s.channel.count(0, counters);
  EXPECT_EQ(counters.dram_reads, 2U);
  EXPECT_EQ(counters.dram_writes, 1U);
  EXPECT_EQ(counters.dram_row_hits, 1U);
  EXPECT_EQ(counters.dram_activates, 2U);
  EXPECT_EQ(counters.dram_bytes, 3U * 128);
  // From clock 0 on all of them could be served.
  std::uint64_t waited = 0;
  for (const CommandKind kind : {CommandKind::Read, CommandKind::Write})
    for (const Tick tick : s.ticks(kind)) waited += static_cast<std::uint64_t>(tick);
  EXPECT_EQ(counters.dram_wait_clocks, waited);
  arch::MemoryCounters other;
  s.channel.count(1, other);
  EXPECT_EQ(
      other.dram_reads + other.dram_writes + other.dram_activates + other.dram_bytes + other.dram_wait_clocks,
      0U);
}

TEST(DramTiming, WriteWatermarks) {
  DramConfig c = one_burst();
  c.write_high_watermark = 3;
  c.write_low_watermark = 1;
  Script s(c);
  // Reads keep coming; writes wait until three are there, then two go, and the last goes with no reads left.
  s.push(0, 0, 0, 0);
  s.push(0, 0, 0, 0, true);
  s.push(1, 0, 0, 1, true);
  s.push(20, 0, 0, 1);
  s.push(60, 0, 0, 2);
  s.push(60, 0, 0, 3);
  s.push(60, 0, 0, 2, true);
  s.run();
  std::string kinds;
  for (const Command& command : s.trace) {
    if (command.kind == CommandKind::Read) kinds += 'r';
    if (command.kind == CommandKind::Write) kinds += 'w';
  }
  // Between the reads at 12, 20 and 60 no read is queued, so writes go ahead at once.
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'w'), 3);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'r'), 4);
}

}  // namespace
}  // namespace gpumux::test
