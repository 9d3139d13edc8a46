// Counters agree between the levels: the next level has received what a level has sent, and nothing is
// counted twice or lost.
#include <cmath>

#include "base/hash.hpp"
#include "micro/assembly.hpp"

namespace gpumux::micro {
namespace {

class Levels : public Preset {};

/// Lines of loads, of stores and of atomics are apart; each line is stored once, so that every store misses.
struct Traffic {
  std::vector<WarpCode> code;
  std::uint64_t loads = 0, stores = 0, atomics = 0, operations = 0;
};

constexpr std::uint32_t kInstructions = 60;

Traffic random_traffic(std::uint32_t sm, std::uint32_t warps) {
  Traffic made;
  made.code.resize(warps);
  constexpr std::uint64_t kApp = std::uint64_t{1} << kAppLineShift;
  Random random(7 + sm);
  for (WarpCode& warp : made.code) {
    for (std::uint32_t i = 0; i < kInstructions; ++i) {
      // pc = what it does: 0..7 load, 8 store, 9 atomic with a result, 10 without, 11 a fence.
      const auto pc = static_cast<std::uint32_t>(random.below(12));
      if (pc == 11) {
        warp.run(pc);
        continue;
      }
      const auto n = static_cast<std::uint16_t>(1 + random.below(8));
      warp.run(pc);
      workload::MemHeader header;
      header.where = Where::Global;
      header.transactions = n;
      warp.memory.push_back(std::bit_cast<std::uint64_t>(header));
      for (std::uint16_t k = 0; k < n; ++k) {
        std::uint64_t line = kApp;
        std::uint32_t lanes = 4;
        if (pc < 8) {
          line += sm * 4096 + random.below(600);  // SMs apart: no two fetch a line at a time
          ++made.loads;
        } else if (pc == 8) {
          line += (1U << 20U) + sm * 65536 + made.stores++;
        } else {
          line += (1U << 24U) + sm * 4096 + random.below(16);
          lanes = static_cast<std::uint32_t>(1 + random.below(32));
          ++made.atomics;
          made.operations += lanes;
        }
        warp.memory.push_back(Transaction::make(line, 0xf, lanes).word);
      }
    }
  }
  return made;
}

TEST_P(Levels, EachLevelTakesWhatTheOneAboveSends) {
  constexpr std::uint32_t kSms = 3, kWarps = 8;
  Program program;
  for (std::uint16_t i = 0; i < 8; ++i) program.add(load(i));
  program.add(store());
  program.add(inst(Unit::Memory, LatencyClass::Memory, {9}, {}, isa::kAtomic | isa::kLoad));
  program.add(inst(Unit::Memory, LatencyClass::Memory, {}, {}, isa::kAtomic | isa::kStore));
  program.add(control(isa::kFence));
  Assembly machine(config_, kSms);
  std::vector<Traffic> traffic;
  for (std::uint32_t sm = 0; sm < kSms; ++sm) {
    traffic.push_back(random_traffic(sm, kWarps));
    machine.launch(program, traffic.back().code, sm);
  }
  machine.finish();  // audits that requests and replies agree, and that nothing leaks

  const std::uint64_t l1_units = config_.l1.sectored ? 4 : 1, l2_units = config_.l2.sectored ? 4 : 1;
  std::uint64_t fetched = 0, stores = 0, atomics = 0;
  for (std::uint32_t sm = 0; sm < kSms; ++sm) {
    const arch::KernelCounters& c = machine.sm_counters(sm);
    const Traffic& t = traffic[sm];
    EXPECT_EQ(c.warp_instructions, std::uint64_t{kWarps} * kInstructions);
    EXPECT_EQ(c.l1_accesses, l1_units * (t.loads + t.stores + t.atomics));
    EXPECT_EQ(c.atomics, t.operations);
    // Misses that did not merge leave as one packet a line; stores and atomics always do, and count as
    // misses.
    EXPECT_EQ(l1_units * c.requests_sent, c.l1_misses - c.l1_hits_pending);
    EXPECT_EQ(c.lsu_stall_cycles, c.reservation_failures());
    fetched += c.requests_sent - t.stores - t.atomics;
    stores += t.stores;
    atomics += t.atomics;
  }
  const arch::PartitionCounters m = machine.partition_counters();
  EXPECT_EQ(m.requests, fetched + stores + atomics);
  EXPECT_EQ(m.l2_accesses, l2_units * m.requests);
  // Whole-line stores miss without a fetch; all other misses of L2 fetch their line, unless they merge.
  const std::uint64_t read_lines = m.dram_reads * config_.dram.burst_bytes / kLineBytes;
  EXPECT_GE(m.l2_misses / l2_units, stores + read_lines);
  // Only atomics can merge here: an SM has one fetch of a line out at a time, and the SMs' lines are apart.
  EXPECT_LE(m.l2_misses / l2_units, stores + read_lines + atomics);
  EXPECT_EQ(m.dram_writes * config_.dram.burst_bytes,
            m.l2_writebacks * (config_.l2.sectored ? kSectorBytes : kLineBytes));
  EXPECT_EQ(m.dram_row_hits + m.dram_activates, m.dram_reads + m.dram_writes);
}

TEST_P(Levels, LoadsAloneAreReadOnce) {
  // Every line once: each is a miss at both levels and as many bursts as it has.
  Program program;
  for (std::uint16_t i = 0; i < 8; ++i) program.add(load(i));
  constexpr std::uint32_t kLoads = 64;
  std::vector<WarpCode> code(4);
  std::uint64_t line = std::uint64_t{1} << kAppLineShift;
  for (std::uint32_t i = 0; i < kLoads; ++i)
    for (WarpCode& warp : code) {
      access_lines(warp, i % 8, line, 8);
      line += 8;
    }
  constexpr std::uint64_t kLines = std::uint64_t{kLoads} * 4 * 8;
  Assembly machine(config_);
  machine.launch(program, code);
  machine.finish();
  const arch::PartitionCounters m = machine.partition_counters();
  EXPECT_EQ(machine.sm_counters().requests_sent, kLines);
  EXPECT_EQ(machine.sm_counters().l1_misses, kLines * (config_.l1.sectored ? 4 : 1));
  EXPECT_EQ(machine.sm_counters().l1_hits_pending, 0U);
  EXPECT_EQ(m.l2_misses, kLines * (config_.l2.sectored ? 4 : 1));
  EXPECT_EQ(m.dram_bytes, kLines * kLineBytes);
  EXPECT_EQ(m.dram_writes, 0U);
  EXPECT_EQ(m.dram_busy, static_cast<std::uint64_t>([&] {  // by channel, each rounds its own sum down
              double busy = 0;
              for (std::uint32_t p = 0; p < config_.l2.partitions; ++p)
                busy += std::floor(static_cast<double>(machine.partition(p).counters().dram_bytes) /
                                       (config_.dram.bus_bytes * config_.dram.transfers_per_clock) +
                                   1e-9);
              return busy;
            }()));
}

GPUMUX_ON_EVERY_PRESET(Levels);

}  // namespace
}  // namespace gpumux::micro
