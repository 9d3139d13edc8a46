// The ledger of interference at the issue stage, with one warp of each application on one scheduler.
#include "harness.hpp"

namespace gpumux::sm::testing {
namespace {

constexpr std::uint16_t kInstructions = 200;

/// Two applications, whose warps issue in turn; `busy`: cycles for which an instruction takes the only SP
/// unit.
struct Turns {
  explicit Turns(std::uint32_t busy) : bench(machine(busy)) {
    for (std::uint16_t i = 0; i < kInstructions; ++i) code.run(program.add(alu(i % 40)));
    bench.sm.keep_ledger();
  }
  static arch::MachineConfig machine(std::uint32_t busy) {
    arch::MachineConfig config = plain_machine();
    config.units[static_cast<std::size_t>(Unit::Sp)].count = 1;
    config.latency[static_cast<std::size_t>(LatencyClass::FpAdd)].initiation = busy;
    return config;
  }
  void run(std::uint32_t applications) {
    for (KernelSlot slot = 0; slot < applications; ++slot) {
      bench.bind(program, {kWarpSize, 16, 0}, slot, slot);
      bench.launch({code}, slot, slot);
    }
    while (bench.sm.all_resident_blocks() > 0) bench.window(bench.now + 5);
  }
  Program program;
  WarpCode code;
  Bench bench;
};

TEST(IssueLedger, ATurnIsLostToWhoseTurnItWas) {
  Turns q(1);
  q.run(2);
  // The other's first instruction is fetched when this one's has issued.
  EXPECT_EQ(q.bench.sm.counters(1, 0).issue_cycles, kInstructions - 1);
  EXPECT_EQ(q.bench.sm.counters(0, 1).issue_cycles, kInstructions - 1)
      << "it has gone when the other's last one issues";
  EXPECT_EQ(q.bench.sm.counters(0, 1).unit_cycles + q.bench.sm.counters(1, 0).unit_cycles, 0U);
  EXPECT_GE(q.bench.sm.ledger_counters(0).resident_scheduler_cycles, 2 * kInstructions - 1);
}

TEST(IssueLedger, AUnitIsLostToWhoHasTakenIt) {
  Turns q(4);
  q.run(2);
  EXPECT_EQ(q.bench.sm.counters(1, 0).issue_cycles, kInstructions - 1);
  EXPECT_EQ(q.bench.sm.counters(1, 0).unit_cycles, 3 * kInstructions);
  EXPECT_EQ(q.bench.sm.counters(0, 1).unit_cycles, 3 * (kInstructions - 1));
}

TEST(IssueLedger, WaitsAtBarriersAreNotThoseForMemory) {
  // A warp at a barrier, and one on another scheduler that comes there after 50 instructions, 4 cycles each.
  arch::MachineConfig config = Turns::machine(4);
  config.sm.schedulers = 2;
  Program program;
  const auto barrier = program.add(control(isa::kBarrier));
  const auto add = program.add(alu(1));
  WarpCode early, late;
  early.run(barrier).run(add);
  for (int i = 0; i < 50; ++i) late.run(add);
  late.run(barrier).run(add);
  Bench bench(config);
  bench.sm.keep_ledger();
  bench.bind(program, {2 * kWarpSize, 16, 0}, 0, 0);
  bench.launch({early, late}, 0, 0);
  while (bench.sm.all_resident_blocks() > 0) bench.window(bench.now + 5);
  const arch::LedgerAppCounters own = bench.sm.ledger_counters(0);
  EXPECT_EQ(own.memory_scheduler_cycles, 0U);
  EXPECT_NEAR(static_cast<double>(own.barrier_scheduler_cycles), 200, 20);
}

TEST(IssueLedger, OneAloneLosesNothing) {
  Turns q(4);
  q.run(1);
  for (AppId victim = 0; victim < 2; ++victim)
    for (AppId culprit = 0; culprit < 2; ++culprit) {
      EXPECT_EQ(q.bench.sm.counters(victim, culprit).issue_cycles, 0U);
      EXPECT_EQ(q.bench.sm.counters(victim, culprit).unit_cycles, 0U);
    }
}

}  // namespace
}  // namespace gpumux::sm::testing
