// Load-to-use latency of each level by pointer chase. The address of each load is the register that the
// previous load wrote. So the time of the whole chain is the sum of the loads' latencies, which are worked
// out by hand.
#include <map>

#include "dram/address_map.hpp"
#include "micro/assembly.hpp"

namespace gpumux::micro {
namespace {

constexpr std::uint64_t kChaseApp = std::uint64_t{1} << kAppLineShift;

class Chase : public Preset {
 protected:
  /// A chain of loads of the lines in turn, and what follows the last of them.
  static WarpCode chain(const std::vector<std::uint64_t>& lines, std::uint32_t passes) {
    WarpCode code;
    for (std::uint32_t pass = 0; pass < passes; ++pass)
      for (const std::uint64_t line : lines) code.global(0, line);
    code.run(1);
    return code;
  }
  /// A loop of one load; the jump is over long before the data is back.
  static Program program() {
    Program made;
    made.add(chained_load(1, 1));
    made.add(alu(2, {1}));
    return made;
  }
  /// Bytes that a load of a line fetches, all sectors wanted.
  static constexpr std::uint32_t kBytes = kLineBytes;
  [[nodiscard]] std::uint64_t l1_lines() const { return l1_bytes() / kLineBytes; }
  [[nodiscard]] std::uint64_t l2_lines() const {
    return std::uint64_t{config_.l2.partitions} * config_.l2.slices_per_partition * config_.l2.slice_bytes /
           kLineBytes;
  }
  /// Each bank's open row, as the lines pass through it.
  struct Rows {
    std::map<std::pair<PartitionId, std::uint32_t>, std::uint64_t> open;
    Way::Row touch(const Assembly& machine, std::uint64_t line) {
      const auto place = dram::AddressMap(machine.config().dram).locate(machine.map().local_line(line));
      const auto [bank, fresh] = open.try_emplace({machine.map().partition(line), place.bank}, place.row);
      const Way::Row row = fresh                       ? Way::Row::Closed
                           : bank->second == place.row ? Way::Row::Open
                                                       : Way::Row::Conflict;
      bank->second = place.row;
      return row;
    }
  };
};

TEST_P(Chase, L1) {
  // Half of L1, five times: misses in the first pass, then every load is its access and L1's latency.
  std::vector<std::uint64_t> lines;
  for (std::uint64_t i = 0; i < l1_lines() / 2; ++i) lines.push_back(kChaseApp + i);
  const auto cycles = [&](std::uint32_t passes) {
    Assembly machine(config_);
    machine.launch(program(), {chain(lines, passes)});
    machine.finish();
    return machine.end();
  };
  EXPECT_EQ(cycles(5) - cycles(1), 4 * lines.size() * (1 + config_.l1.latency));
}

TEST_P(Chase, L2) {
  // Twice L1, in order: the least recently used line goes just before it is needed, so every load misses L1.
  // The first pass comes from the DRAM, the second from L2.
  std::vector<std::uint64_t> lines;
  for (std::uint64_t i = 0; i < 2 * l1_lines(); ++i) lines.push_back(kChaseApp + i);
  ASSERT_LT(lines.size(), l2_lines() / 2);
  Assembly machine(config_);
  machine.launch(program(), {chain(lines, 2)});
  machine.finish();
  const Way way(config_);
  Rows rows;
  Cycle issue = kFirstIssue;
  for (const std::uint64_t line : lines) issue = way.l2_miss(issue + 1, rows.touch(machine, line), kBytes);
  for (std::size_t i = 0; i < lines.size(); ++i) issue = way.l2_hit(issue + 1, kBytes);
  EXPECT_EQ(machine.end(), issue);
  const std::uint64_t units = config_.l2.sectored ? 4 : 1;
  EXPECT_EQ(machine.partition_counters().l2_accesses, 2 * units * lines.size());
  EXPECT_EQ(machine.partition_counters().l2_misses, units * lines.size());
}

TEST_P(Chase, Dram) {
  // Twice L2, in order: every load of both passes comes from the DRAM, by open and by closed rows.
  std::vector<std::uint64_t> lines;
  for (std::uint64_t i = 0; i < 2 * l2_lines(); ++i) lines.push_back(kChaseApp + i);
  Assembly machine(config_);
  machine.launch(program(), {chain(lines, 2)});
  machine.finish(4'000'000'000);
  const Way way(config_);
  Rows rows;
  Cycle issue = kFirstIssue;
  for (int pass = 0; pass < 2; ++pass)
    for (const std::uint64_t line : lines) issue = way.l2_miss(issue + 1, rows.touch(machine, line), kBytes);
  EXPECT_EQ(machine.end(), issue);
  const arch::PartitionCounters counters = machine.partition_counters();
  EXPECT_EQ(counters.dram_reads, 2 * lines.size() * (kLineBytes / config_.dram.burst_bytes));
  EXPECT_EQ(counters.dram_bytes, 2 * lines.size() * kLineBytes);
  EXPECT_EQ(counters.dram_writes + counters.l2_writebacks, 0U);
}

TEST_P(Chase, DramRowConflicts) {
  // Lines of two rows of one bank in turn, each a new line, so that no cache has it: every load but the first
  // finds the other row open.
  const noc::PartitionMap map(config_);
  const dram::AddressMap channel(config_.dram);
  std::vector<std::uint64_t> one, other;
  std::uint64_t row = 0;
  for (std::uint64_t line = kChaseApp; one.size() < 6 || other.size() < 6; ++line) {
    if (map.partition(line) != map.partition(kChaseApp)) continue;
    const auto place = channel.locate(map.local_line(line));
    if (place.bank != channel.locate(map.local_line(kChaseApp)).bank) continue;
    if (place.row == channel.locate(map.local_line(kChaseApp)).row) {
      one.push_back(line);
    } else if (row == 0 || place.row == row) {
      row = place.row;
      other.push_back(line);
    }
  }
  std::vector<std::uint64_t> lines;
  for (std::size_t i = 0; i < 6; ++i) lines.insert(lines.end(), {one[i], other[i]});
  Assembly machine(config_);
  machine.launch(program(), {chain(lines, 1)});
  machine.finish();
  const Way way(config_);
  Cycle issue = kFirstIssue;
  for (std::size_t i = 0; i < lines.size(); ++i)
    issue = way.l2_miss(issue + 1, i == 0 ? Way::Row::Closed : Way::Row::Conflict, kBytes);
  EXPECT_EQ(machine.end(), issue);
  EXPECT_EQ(machine.partition_counters().dram_activates, lines.size());
}

TEST_P(Chase, SectorsOfASectoredCache) {
  // One sector at a time: less data on every way. A cache without sectors fetches the line all the same.
  Program made = program();
  WarpCode code;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t i = 0; i < 20; ++i) lines.push_back(kChaseApp + 77 * i);
  for (const std::uint64_t line : lines) code.global(0, line, 0x2);
  code.run(1);
  Assembly machine(config_);
  machine.launch(made, {code});
  machine.finish();
  const Way way(config_);
  Rows rows;
  Cycle issue = kFirstIssue;
  for (const std::uint64_t line : lines)
    issue =
        way.l2_miss(issue + 1, rows.touch(machine, line), config_.l1.sectored ? kSectorBytes : kLineBytes);
  EXPECT_EQ(machine.end(), issue);
}

TEST_P(Chase, StoresAndAtomicsToTheirAcknowledgement) {
  // Each followed by a fence: a store that covers the line is acknowledged when its data is in L2, an atomic
  // with a result when its operations are done, one after the other.
  Program made;
  made.add(store());
  made.add(control(isa::kFence));
  StaticInst atomic = inst(Unit::Memory, LatencyClass::Memory, {1}, {1}, isa::kAtomic | isa::kLoad);
  made.add(atomic);
  made.add(alu(2, {1}));
  const Way way(config_);
  {
    WarpCode code;
    Cycle issue = kFirstIssue;
    for (std::uint64_t i = 0; i < 5; ++i) {
      code.global(0, kChaseApp + 77 * i).run(1);
      const std::uint64_t tags = way.tags(issue + 1, kLineBytes);
      // The fence ends when the acknowledgement is here; the jump back to the store is over by then.
      issue = way.back(tags + way.beats(kLineBytes), 0);
    }
    code.run(3);
    Assembly machine(config_);
    machine.launch(made, {code});
    machine.finish();
    EXPECT_EQ(machine.end(), issue);
  }
  for (const std::uint32_t lanes : {1U, 2U, 7U, 32U}) {
    WarpCode code;
    Cycle issue = kFirstIssue;
    Assembly machine(config_);
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t line = kChaseApp + 77 * i;
      machine.preload(line);
      code.global(2, line, 0xf, lanes);
      const std::uint32_t bytes = lanes * 4;
      const std::uint64_t done =
          way.tags(issue + 1, bytes) + std::uint64_t{lanes} * config_.l2.atomic_interval;
      issue = way.back(done, bytes);
    }
    code.run(3);
    machine.launch(made, {code});
    machine.finish();
    EXPECT_EQ(machine.end(), issue) << lanes;
    EXPECT_EQ(machine.partition_counters().atomics, 5 * lanes);
  }
}

GPUMUX_ON_EVERY_PRESET(Chase);

}  // namespace
}  // namespace gpumux::micro
