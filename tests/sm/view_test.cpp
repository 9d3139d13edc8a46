// Views of execution: what each warp does in each cycle, by hand.
#include "harness.hpp"

namespace gpumux::sm::testing {
namespace {

using arch::SmViewCounters;

std::uint64_t running(const SmViewCounters& c) {
  return c.warps_fetch + c.warps_alu_scoreboard + c.warps_memory_scoreboard + c.warps_alu_stall +
         c.warps_memory_stall + c.warps_can_issue_alu + c.warps_can_issue_memory + c.warps_barrier +
         c.warps_held;
}

std::uint64_t in_phases(SmViewCounters counters) {
  std::uint64_t sum = 0;
  for (std::size_t phase = 0; phase < arch::kViewedPhases; ++phase) sum += counters.phase(phase);
  return sum;
}

/// One kernel of one block. `length`: of the windows.
SmViewCounters view_of(const arch::MachineConfig& config, const Program& program, std::vector<WarpCode> code,
                       Cycle length = 5) {
  Bench bench(config);
  bench.sm.begin_view();
  bench.start(program, std::move(code));
  const Cycle end = bench.finish(length) + 1;
  const SmViewCounters& all = *bench.sm.view();
  EXPECT_EQ(all.core_active_cycles + all.core_pipeline_cycles + all.core_mixed_cycles +
                all.core_scoreboard_cycles + all.core_idle_cycles,
            bench.now);
  EXPECT_EQ(in_phases(all), running(all));
  EXPECT_GE(all.core_idle_cycles, bench.now - end);
  return all;
}

arch::MachineConfig machine(std::uint32_t latency = 6, std::uint32_t busy = 1) {
  arch::MachineConfig config = plain_machine();
  auto& add = config.latency[static_cast<std::size_t>(LatencyClass::FpAdd)];
  add.latency = latency;
  add.initiation = busy;
  config.units[static_cast<std::size_t>(Unit::Sp)].count = 1;
  return config;
}

TEST(View, AChainOfAdditionsWaitsForEachResult) {
  Program program;
  const auto add = program.add(alu(1, {1}));
  WarpCode code;
  for (int i = 0; i < 10; ++i) code.run(add);
  const SmViewCounters seen = view_of(machine(6), program, {code});
  EXPECT_EQ(seen.warps_can_issue_alu, 10U);
  const std::uint64_t each = seen.alu_in_flight / 10;  // 6 and what operands take
  EXPECT_GE(each, 6U);
  EXPECT_EQ(seen.alu_in_flight, 10 * each);
  EXPECT_EQ(seen.alu_cycles, seen.alu_in_flight) << "one at a time";
  EXPECT_EQ(seen.warps_alu_scoreboard, 9 * (each - 1)) << "between one's issue and the next one's";
  EXPECT_EQ(seen.warps_alu_stall + seen.warps_memory_scoreboard + seen.warps_completed + seen.tail_cycles,
            0U);
  EXPECT_EQ(seen.core_active_cycles, 10U);
  EXPECT_EQ(seen.core_pipeline_cycles, 0U);
}

TEST(View, TwoWarpsFindOneUnitBusy) {
  // Each instruction holds the unit for 4 cycles: in the first of each four, both could issue.
  Program program;
  std::vector<WarpCode> code(2);
  for (std::uint16_t i = 0; i < 20; ++i) {
    const auto add = program.add(alu(i));
    for (WarpCode& warp : code) warp.run(add);
  }
  arch::MachineConfig config = machine(6, 4);
  const SmViewCounters seen = view_of(config, program, code);
  EXPECT_EQ(seen.core_active_cycles, 40U);
  EXPECT_EQ(seen.core_pipeline_cycles, 3 * 39U) << "between the first issue and the last";
  // The other's first instruction comes while this one's is executed, and one has gone when the other issues
  // its last.
  EXPECT_EQ(seen.warps_can_issue_alu, 1 + 2 * 38U + 1);
  EXPECT_EQ(seen.warps_alu_stall, 3 * (2 * 38U + 1));
  EXPECT_EQ(seen.warps_completed, 4U);
  EXPECT_EQ(seen.tail_cycles, 4U);
  // No warp waits beside one that is ready.
  config.sm.view_mixed = arch::ViewMixed::Apart;
  EXPECT_EQ(view_of(config, program, code).core_mixed_cycles, 0U);
}

// One warp waits for its own result, 200 cycles, while the other issues ten additions, one in each four
// cycles: three cycles in front of each have one that is ready beside one that waits. Behind the last both
// wait.
TEST(View, CyclesOfReadyWarpsBesideOthersThatWait) {
  Program program;
  WarpCode waits, goes_on;
  waits.run(program.add(alu(1))).run(program.add(alu(1, {1})));
  for (std::uint16_t i = 0; i < 10; ++i) goes_on.run(program.add(alu(2 + i)));
  const auto view = [&](arch::ViewMixed mixed) {
    arch::MachineConfig config = machine(200, 4);
    config.sm.view_mixed = mixed;
    return view_of(config, program, {waits, goes_on});
  };
  const SmViewCounters pipeline = view(arch::ViewMixed::Pipeline);
  const SmViewCounters scoreboard = view(arch::ViewMixed::Scoreboard);
  const SmViewCounters apart = view(arch::ViewMixed::Apart);
  EXPECT_EQ(pipeline.core_pipeline_cycles, 3 * 10U);
  EXPECT_EQ(pipeline.core_mixed_cycles, 0U);
  EXPECT_EQ(scoreboard.core_pipeline_cycles, 0U);
  EXPECT_EQ(scoreboard.core_mixed_cycles, 0U);
  EXPECT_EQ(scoreboard.core_scoreboard_cycles, pipeline.core_scoreboard_cycles + 3 * 10);
  EXPECT_EQ(apart.core_pipeline_cycles, 0U);
  EXPECT_EQ(apart.core_mixed_cycles, 3 * 10U);
  EXPECT_EQ(apart.core_scoreboard_cycles, pipeline.core_scoreboard_cycles);
  for (const SmViewCounters* of : {&pipeline, &scoreboard, &apart}) EXPECT_EQ(of->core_active_cycles, 12U);
}

TEST(View, ALoadIsInFlightWhileItsReaderWaits) {
  Program program;
  const auto read = program.add(load(1));
  const auto use = program.add(alu(2, {1}));
  WarpCode reads, computes;
  reads.global(read, 7).run(use);
  for (std::uint16_t i = 0; i < 40; ++i) computes.run(program.add(alu(3 + i)));
  const SmViewCounters seen = view_of(machine(6), program, {reads, computes});
  EXPECT_EQ(seen.memory_in_flight_begun, 1U);
  EXPECT_EQ(seen.memory_in_flight, seen.memory_cycles) << "one at a time";
  EXPECT_GE(seen.memory_in_flight, 100U) << "as long as memory takes, and the network";
  // Its reader issues when it is there and written.
  EXPECT_GE(seen.warps_memory_scoreboard + 1, seen.memory_in_flight);
  EXPECT_LE(seen.warps_memory_scoreboard, seen.memory_in_flight + 2);
  EXPECT_EQ(seen.memory_overlapped, seen.overlap_cycles);
  EXPECT_GE(seen.overlap_cycles, 40U) << "the other computes meanwhile";
  EXPECT_LT(seen.overlap_cycles, 60U);
  EXPECT_EQ(seen.warps_can_issue_memory, 1U);
  EXPECT_EQ(seen.core_active_cycles, 42U);
  // The reader's second instruction is another phase than the load.
  EXPECT_EQ(seen.phase_1 + seen.phase_2, running(seen));
  EXPECT_GE(seen.phase_2, seen.warps_memory_scoreboard);
}

TEST(View, WaitsAtABarrierAndWarpsThatHaveEndedAreStates) {
  Program program;
  const auto add = program.add(alu(1, {1}));
  const auto barrier = program.add(control(isa::kBarrier));
  WarpCode early, late;
  early.run(barrier).run(add);
  for (int i = 0; i < 10; ++i) late.run(add);
  late.run(barrier);
  for (int i = 0; i < 10; ++i) late.run(add);
  const SmViewCounters seen = view_of(machine(6), program, {early, late});
  // Ten additions of one warp, each behind the one before it.
  EXPECT_GE(seen.warps_barrier, 9 * 6U);
  EXPECT_LE(seen.warps_barrier, 10 * 8U);
  EXPECT_GE(seen.warps_completed, 9 * 6U);
  EXPECT_LE(seen.warps_completed, 10 * 8U);
  EXPECT_EQ(seen.tail_cycles, seen.warps_completed) << "one warp of one block";
}

TEST(View, WindowsChangeNothing) {
  Program program;
  const auto read = program.add(load(1));
  const auto use = program.add(alu(2, {1}));
  std::vector<WarpCode> code(6);
  for (std::size_t warp = 0; warp < code.size(); ++warp)
    for (std::size_t i = 0; i < 20; ++i) code[warp].global(read, warp * 64 + i).run(use).run(use);
  const SmViewCounters one = view_of(machine(), program, code, 1);
  const SmViewCounters ten = view_of(machine(), program, code, 10);
#define GPUMUX_SAME(field, unit, description)           \
  if (std::string_view(#field) != "core_idle_cycles") { \
    EXPECT_EQ(one.field, ten.field) << #field;          \
  }
  GPUMUX_ALL_SM_VIEW_COUNTERS(GPUMUX_SAME)
#undef GPUMUX_SAME
}

}  // namespace
}  // namespace gpumux::sm::testing
