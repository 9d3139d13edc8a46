// The DRAM channel of every preset: timing diagrams worked out from the machine file, the order of the
// scheduler, and bandwidth by access pattern. All requests are for whole lines, which take `bursts` column
// commands in one bank.
#include <cmath>
#include <numeric>

#include "dram/channel.hpp"
#include "micro/assembly.hpp"

namespace gpumux::micro {
namespace {

using dram::Channel;
using dram::Command;
using dram::CommandKind;
using dram::Tick;

class DramChannel : public Preset {
 protected:
  struct Expected {
    Tick tick;
    CommandKind kind;
    std::uint32_t bank;
  };
  const arch::DramConfig& d() const { return config_.dram; }
  [[nodiscard]] Tick bursts() const { return kLineBytes / d().burst_bytes; }
  [[nodiscard]] double clocks_per_burst() const {
    return d().burst_bytes / (d().bus_bytes * d().transfers_per_clock);
  }
  /// Clocks until the data of a burst has passed, in whole clocks.
  [[nodiscard]] Tick data() const { return static_cast<Tick>(std::ceil(clocks_per_burst() - 1e-9)); }
  /// Between the column commands of one bank. Every preset's bursts take no longer than CCDL.
  [[nodiscard]] Tick step() const {
    EXPECT_LE(clocks_per_burst(), d().CCDL);
    return d().CCDL;
  }
  [[nodiscard]] std::uint64_t line_at(std::uint32_t bank, std::uint64_t row, std::uint32_t nth = 0) const {
    const dram::AddressMap map(d());
    for (std::uint64_t line = 0;; ++line) {
      const auto place = map.locate(line);
      if (place.bank == bank && place.row == row && nth-- == 0) return line;
    }
  }
  /// Bank 0 is in group 0; this one is in group 1.
  [[nodiscard]] std::uint32_t other_group() const { return d().banks / d().bank_groups; }

  /// Requests, all there at clock 0.
  struct Script {
    explicit Script(const arch::DramConfig& config, bool reads_by_sector = false)
        : channel(config, reads_by_sector) {
      channel.set_trace(&trace);
    }
    void push(std::uint64_t line, bool write = false, Tick at = 0, std::uint8_t sectors = 0xf) {
      while (channel.next() < at) step();
      dram::Request r;
      r.local_line = line;
      r.write = write;
      r.sectors = sectors;
      r.token = token++;
      channel.push(r, at);
    }
    void step() {
      Channel::Completion completion;
      if (!channel.step(completion)) return;
      ends.push_back({completion.token, completion.end});
      if (release) channel.release_return(completion.end);
    }
    void run() {
      while (channel.next() != dram::kNoTick) step();
    }
    Channel channel;
    std::vector<Command> trace;
    std::vector<std::pair<std::uint32_t, Tick>> ends;
    std::uint32_t token = 0;
    bool release = true;
  };
  void expect(const Script& script, const std::vector<Expected>& expected) {
    ASSERT_EQ(script.trace.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(script.trace[i].tick, expected[i].tick) << "command " << i;
      EXPECT_EQ(static_cast<int>(script.trace[i].kind), static_cast<int>(expected[i].kind))
          << "command " << i;
      EXPECT_EQ(script.trace[i].bank, expected[i].bank) << "command " << i;
    }
  }
  /// A line's column commands from `first` on; returns the last one's clock.
  Tick columns(std::vector<Expected>& list, CommandKind kind, std::uint32_t bank, Tick first) const {
    for (Tick i = 0; i < bursts(); ++i) list.push_back({first + i * step(), kind, bank});
    return first + (bursts() - 1) * step();
  }
};

TEST_P(DramChannel, RowHitsFollowEachOther) {
  Script s(d());
  for (std::uint32_t n = 0; n < 3; ++n) s.push(line_at(0, 0, n));
  s.run();
  std::vector<Expected> expected = {{0, CommandKind::Activate, 0}};
  Tick at = d().RCD;
  for (std::uint32_t n = 0; n < 3; ++n) {
    const Tick last = columns(expected, CommandKind::Read, 0, at);
    ASSERT_EQ(s.ends.size(), 3U);
    EXPECT_EQ(s.ends[n].second, last + d().CL + data());
    at = last + step();
  }
  expect(s, expected);
}

TEST_P(DramChannel, ReadsOfTwoRowsOfABank) {
  Script s(d());
  s.push(line_at(0, 0));
  s.push(line_at(0, 1));
  s.run();
  std::vector<Expected> expected = {{0, CommandKind::Activate, 0}};
  const Tick last = columns(expected, CommandKind::Read, 0, d().RCD);
  const Tick precharge = std::max<Tick>(d().RAS, last + d().RTPL);
  const Tick activate = std::max<Tick>(d().RC, precharge + d().RP);
  expected.push_back({precharge, CommandKind::Precharge, 0});
  expected.push_back({activate, CommandKind::Activate, 0});
  columns(expected, CommandKind::Read, 0, activate + d().RCD);
  expect(s, expected);
}

TEST_P(DramChannel, LateReadToPrecharge) {
  // A row hit long after the activation, then another row: RTPL alone keeps the row open.
  Script s(d());
  s.push(line_at(0, 0));
  s.push(line_at(0, 0, 1), false, 500);
  s.push(line_at(0, 1), false, 500);
  s.run();
  std::vector<Expected> expected = {{0, CommandKind::Activate, 0}};
  columns(expected, CommandKind::Read, 0, d().RCD);
  const Tick last = columns(expected, CommandKind::Read, 0, 500);
  const Tick precharge = last + d().RTPL;
  expected.push_back({precharge, CommandKind::Precharge, 0});
  expected.push_back({precharge + d().RP, CommandKind::Activate, 0});
  columns(expected, CommandKind::Read, 0, precharge + d().RP + d().RCD);
  expect(s, expected);
}

TEST_P(DramChannel, RasKeepsARowOpenAndRcTheBankBusy) {
  // One burst alone, so that RAS and RC bind and not the columns: by sectors where bursts are small.
  arch::DramConfig c = d();
  c.burst_bytes = 128;
  c.bus_bytes = 32;  // one line per column
  c.transfers_per_clock = 2;
  Script s(c);
  s.push(line_at(0, 0));
  s.push(line_at(0, 1));
  s.run();
  const Tick precharge = std::max<Tick>(c.RAS, c.RCD + c.RTPL);
  expect(s, {{0, CommandKind::Activate, 0},
             {c.RCD, CommandKind::Read, 0},
             {precharge, CommandKind::Precharge, 0},
             {std::max<Tick>(c.RC, precharge + c.RP), CommandKind::Activate, 0},
             {std::max<Tick>(c.RC, precharge + c.RP) + c.RCD, CommandKind::Read, 0}});
  // RC alone: a precharge that is done long before.
  c.RC = c.RAS + c.RP + 17;
  Script longer(c);
  longer.push(line_at(0, 0));
  longer.push(line_at(0, 1));
  longer.run();
  EXPECT_EQ(longer.trace[3].tick, c.RC);
}

TEST_P(DramChannel, WriteRecovery) {
  Script s(d());
  s.push(line_at(0, 0), true);
  s.push(line_at(0, 1), true);
  s.run();
  std::vector<Expected> expected = {{0, CommandKind::Activate, 0}};
  const Tick last = columns(expected, CommandKind::Write, 0, d().RCD);
  const Tick precharge = std::max<Tick>(d().RAS, last + d().WL + data() + d().WR);
  const Tick activate = std::max<Tick>(d().RC, precharge + d().RP);
  expected.push_back({precharge, CommandKind::Precharge, 0});
  expected.push_back({activate, CommandKind::Activate, 0});
  columns(expected, CommandKind::Write, 0, activate + d().RCD);
  expect(s, expected);
}

TEST_P(DramChannel, TurnaroundsOfTheBus) {
  // Write, then read: CDLR after the last write data. Read, then write: write data two clocks after read
  // data.
  Script write_first(d());
  write_first.push(line_at(0, 0), true);
  write_first.push(line_at(0, 0, 1), false);
  write_first.run();
  std::vector<Expected> expected = {{0, CommandKind::Activate, 0}};
  Tick last = columns(expected, CommandKind::Write, 0, d().RCD);
  columns(expected, CommandKind::Read, 0, last + d().WL + data() + d().CDLR);
  expect(write_first, expected);

  Script read_first(d());
  read_first.push(line_at(0, 0), false);
  read_first.push(line_at(0, 0, 1), true);
  read_first.run();
  expected = {{0, CommandKind::Activate, 0}};
  last = columns(expected, CommandKind::Read, 0, d().RCD);
  columns(expected, CommandKind::Write, 0, last + d().CL + data() + 2 - d().WL);
  expect(read_first, expected);
}

TEST_P(DramChannel, ActivationsOfTwoBanksAndTheirColumns) {
  // Two lines in banks of different groups: RRD between the activations; the columns of each where they do
  // not meet on the data bus.
  Script s(d());
  s.push(line_at(0, 0));
  s.push(line_at(other_group(), 0));
  s.run();
  std::vector<Tick> activates;
  for (const Command& c : s.trace)
    if (c.kind == CommandKind::Activate) activates.push_back(c.tick);
  EXPECT_EQ(activates, (std::vector<Tick>{0, d().RRD}));
}

TEST_P(DramChannel, ColumnsOfTwoGroupsNeedTheBusOrCcdAlone) {
  // Rows of two banks in different groups are open; then a line of each at once. The oldest that is ready
  // goes: the first bank's next burst is CCDL away, so the other's fits between, CCD or a burst's data later.
  // In the last case CCD is longer than a burst.
  const auto longer = static_cast<std::uint32_t>(data() + 2);
  for (const auto& [ccd, ccdl] :
       {std::pair(d().CCD, d().CCDL), std::pair(d().CCD, d().CCDL + 8), std::pair(longer, d().CCDL + 8)}) {
    arch::DramConfig c = d();
    c.CCD = ccd;
    c.CCDL = ccdl;
    Script s(c);
    s.push(line_at(0, 0));
    s.push(line_at(other_group(), 0));
    s.push(line_at(0, 0, 1), false, 500);
    s.push(line_at(other_group(), 0, 1), false, 500);
    s.run();
    std::vector<Tick> first, second;
    for (const Command& command : s.trace) {
      if (command.tick < 500) continue;
      (command.bank == 0 ? first : second).push_back(command.tick);
    }
    ASSERT_EQ(first.size(), static_cast<std::size_t>(bursts()));
    ASSERT_EQ(second.size(), static_cast<std::size_t>(bursts()));
    EXPECT_EQ(first[0], 500);
    // Its data may wait for the bus by less than a clock, so commands follow in whole clocks of the data.
    const Tick apart = std::max<Tick>(ccd, static_cast<Tick>(clocks_per_burst()));
    if (apart < Tick{ccdl}) {
      EXPECT_EQ(second[0], 500 + apart);
    } else {
      EXPECT_GT(second[0], first[1]);  // the older one is ready as soon
    }
    if (ccdl > d().CCDL) {
      for (Tick i = 1; i < bursts(); ++i) {
        EXPECT_EQ(first[static_cast<std::size_t>(i)], 500 + i * ccdl);
        EXPECT_EQ(second[static_cast<std::size_t>(i)], second[0] + i * ccdl);
      }
    }
  }
}

TEST_P(DramChannel, TheSchedulerServesOpenRowsFirstThenTheOldest) {
  // Row 0 of bank 0 is open. Then, in order of age: (1) row 1 of bank 0, (2) row 0 of bank 0, (3) a closed
  // bank of another group. (2) goes first for its row is open; (3)'s activation goes beside its columns; bank
  // 0 is precharged for (1) when no request wants its row.
  Script s(d());
  s.push(line_at(0, 0));
  s.push(line_at(0, 1), false, 500);
  s.push(line_at(0, 0, 1), false, 500);
  s.push(line_at(other_group(), 0), false, 500);
  s.run();
  std::vector<std::uint32_t> order;
  for (const auto& [token, end] : s.ends) order.push_back(token);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 2, 3, 1}));
  const auto find = [&](CommandKind kind, std::uint32_t bank, int nth) {
    for (const Command& c : s.trace)
      if (c.tick >= 500 && c.kind == kind && c.bank == bank && nth-- == 0) return c.tick;
    return Tick{-1};
  };
  EXPECT_EQ(find(CommandKind::Read, 0, 0), 500);
  // One command a clock, unless rows have a bus of their own.
  const Tick activate = d().separate_row_bus ? 500 : 501;
  EXPECT_EQ(find(CommandKind::Activate, other_group(), 0), activate);
  const Tick last_hit = find(CommandKind::Read, 0, static_cast<int>(bursts()) - 1);
  EXPECT_EQ(last_hit, 500 + (bursts() - 1) * step());
  const Tick precharge = find(CommandKind::Precharge, 0, 0);
  EXPECT_EQ(precharge, last_hit + d().RTPL);
  EXPECT_EQ(find(CommandKind::Activate, 0, 0), precharge + d().RP);
}

TEST_P(DramChannel, InOrderServesTheOldestAlone) {
  config_.dram.scheduler = arch::DramOrder::Fcfs;
  Script s(d());
  s.push(line_at(0, 0));
  s.push(line_at(0, 1), false, 500);
  s.push(line_at(0, 0, 1), false, 500);
  s.push(line_at(other_group(), 0), false, 500);
  s.run();
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(s.ends[i].first, i);
}

TEST_P(DramChannel, TheQueueHoldsItsSize) {
  // A read takes a place for each of its sectors where the L2 fetches sectors, and the last may find places
  // for some of them alone; what the L2 evicts of a line takes one.
  const bool sectored = config_.l2.sectored;
  struct Case {
    bool write;
    std::uint8_t sectors;
    std::uint32_t places;
  };
  for (const Case& each : {Case{false, 0xf, sectored ? 4U : 1U}, Case{false, 0x6, sectored ? 2U : 1U},
                           Case{false, 0x8, 1}, Case{true, 0xf, 1}}) {
    Script s(d(), sectored);
    const std::uint32_t most = (d().queue + each.places - 1) / each.places;
    for (std::uint32_t n = 0; n < most; ++n) {
      ASSERT_FALSE(s.channel.full());
      s.push(line_at(0, 0, n % 8), each.write, 0, each.sectors);
    }
    EXPECT_TRUE(s.channel.full());
  }
}

TEST_P(DramChannel, APlaceOfTheQueueIsFreeWithTheColumnCommand) {
  // Of a sector where the L2 fetches sectors, else the line's last.
  const bool sectored = config_.l2.sectored;
  const Tick columns = sectored ? std::max<Tick>(1, kSectorBytes / d().burst_bytes) : bursts();
  arch::DramConfig c = d();
  c.queue = sectored ? 4 : 1;
  for (const bool write : {false, true}) {
    if (write) c.queue = 1;
    Script s(c, sectored);
    s.push(line_at(0, 0), write);
    while (s.channel.full()) s.step();
    EXPECT_EQ(s.channel.last(), d().RCD + ((write ? bursts() : columns) - 1) * step());
  }
  // Two lines and one place more than the first takes: the second's sectors wait for theirs until all of the
  // first are through, and nothing else is taken before.
  c.queue = sectored ? 5 : 2;
  Script s(c, sectored);
  s.push(line_at(0, 0));
  EXPECT_FALSE(s.channel.full());
  s.push(line_at(0, 0, 1));
  while (s.channel.full()) s.step();
  EXPECT_EQ(s.channel.last(), d().RCD + (bursts() - 1) * step());
}

TEST_P(DramChannel, TheReturnQueueHoldsItsSize) {
  // Reads begin until the places for returned data are taken, in whole lines.
  Script reads(d());
  reads.release = false;
  std::uint32_t line = 0;
  while (reads.channel.next() != dram::kNoTick || line == 0) {
    while (!reads.channel.full() && line < d().return_queue + 50)
      reads.push(line++, false, reads.channel.last() + 1);
    reads.step();
  }
  EXPECT_EQ(reads.ends.size(), d().return_queue);
  const Tick released = reads.channel.last() + 100;
  reads.channel.release_return(released);
  reads.step();
  EXPECT_EQ(reads.channel.last(), released);
}

TEST_P(DramChannel, RefreshTakesItsTimeFromAMultipleOfItsInterval) {
  arch::DramConfig c = d();
  c.REFI = 3000;
  c.RFC = 170;
  Script s(c);
  s.push(line_at(0, 0), false, 2000);
  s.push(line_at(0, 0, 1), false, 3000);
  s.run();
  // The open row is closed at 3000, refreshed RP later, and activated RFC after that.
  std::vector<Expected> expected = {{2000, CommandKind::Activate, 0}};
  columns(expected, CommandKind::Read, 0, 2000 + c.RCD);
  expected.push_back({3000, CommandKind::Precharge, 0});
  expected.push_back({3000 + Tick{c.RP}, CommandKind::Refresh, 0});
  expected.push_back({3000 + Tick{c.RP} + c.RFC, CommandKind::Activate, 0});
  columns(expected, CommandKind::Read, 0, 3000 + Tick{c.RP} + c.RFC + c.RCD);
  expect(s, expected);
}

TEST_P(DramChannel, FourActivationsInAWindow) {
  arch::DramConfig c = d();
  c.FAW = 4 * c.RRD + 13;
  Script s(c);
  for (std::uint32_t n = 0; n < 5; ++n)
    s.push(line_at(n % c.bank_groups * other_group() + n / c.bank_groups, 0));
  s.run();
  std::vector<Tick> activates;
  for (const Command& command : s.trace)
    if (command.kind == CommandKind::Activate) activates.push_back(command.tick);
  ASSERT_EQ(activates.size(), 5U);
  EXPECT_GE(activates[4], Tick{c.FAW});
  EXPECT_LE(activates[4], Tick{c.FAW} + 1);  // a column may have the command bus
}

TEST_P(DramChannel, WatermarksGatherWrites) {
  arch::DramConfig c = d();
  c.write_high_watermark = 4;
  c.write_low_watermark = 2;
  Script s(c);
  // Reads come first while fewer than four writes wait, and again when two are left.
  for (std::uint32_t n = 0; n < 3; ++n) s.push(line_at(0, 0, n), true);
  s.push(line_at(0, 0, 3), false);
  s.push(line_at(0, 0, 4), false);
  s.push(line_at(0, 0, 5), true, d().RCD);  // the fourth
  s.run();
  std::vector<CommandKind> kinds;
  for (const Command& command : s.trace) {
    if (command.kind != CommandKind::Read && command.kind != CommandKind::Write) continue;
    if (kinds.empty() || kinds.back() != command.kind) kinds.push_back(command.kind);
  }
  // All writes are there before the first column: two of them go, then the reads, then the rest.
  ASSERT_EQ(kinds, (std::vector<CommandKind>{CommandKind::Write, CommandKind::Read, CommandKind::Write}));
  std::ptrdiff_t before = 0;
  for (const Command& command : s.trace) {
    if (command.kind == CommandKind::Read) break;
    before += command.kind == CommandKind::Write ? 1 : 0;
  }
  EXPECT_EQ(before, 2 * bursts());
}

GPUMUX_ON_EVERY_PRESET(DramChannel);

}  // namespace
}  // namespace gpumux::micro
