// The stages around execution, operand collectors and register ports, L1's tags and banks, and the end of a
// block: on every unchanged preset, and by hand on a plain machine.
#include "micro/preset.hpp"

namespace gpumux::micro {
namespace {

constexpr Cycle kPipelineDelay = 900;  // from a request's arrival to its reply

class Pipeline : public Preset {
 protected:
  Pipeline() {
    config_ = as_crossbar(arch::load_machine(GetParam()));
    config_.sm.issue_width = 1;
    config_.l1.caches_global = true;
  }
  [[nodiscard]] Cycle to_memory() const { return std::max(1U, config_.sm.operand_latency); }
  [[nodiscard]] Cycle around() const { return config_.sm.operand_latency + config_.sm.writeback_latency; }
  /// `instructions` have issued in the cycles up to `cycle`, and the last of them in it.
  static void expect_issue(Bench& bench, Cycle cycle, std::uint64_t instructions) {
    run_through(bench, cycle - 1);
    EXPECT_EQ(bench.counters().warp_instructions, instructions - 1) << "before cycle " << cycle;
    run_through(bench, cycle);
    EXPECT_EQ(bench.counters().warp_instructions, instructions) << "in cycle " << cycle;
  }
  /// Bytes that L1 reads per cycle.
  [[nodiscard]] std::uint32_t l1_bytes() const { return config_.l1.banks * config_.l1.bank_bytes; }
  /// End of `loads` loads that hit, each of `lines` lines from 0 on, of which it reads sector `sector(line)`
  /// or all.
  template <typename Sectors>
  [[nodiscard]] Cycle hits(std::uint32_t loads, std::uint32_t lines, Sectors&& sectors) const {
    Program program;
    program.add(load(1));
    for (std::uint16_t i = 0; i < loads; ++i) program.add(chained_load(static_cast<std::uint16_t>(2 + i), 1));
    WarpCode code;
    access_lines(code, 0, 0, lines);  // brings them in
    for (std::uint32_t i = 0; i < loads; ++i) {
      code.run(1 + i);
      workload::MemHeader header;
      header.where = Where::Global;
      header.transactions = static_cast<std::uint16_t>(lines);
      code.memory.push_back(std::bit_cast<std::uint64_t>(header));
      for (std::uint32_t line = 0; line < lines; ++line)
        code.memory.push_back(Transaction::make(line, sectors(line), 32 / lines).word);
    }
    return time_of(config_, program, {code}, kPipelineDelay);
  }
};

TEST_P(Pipeline, ADependentInstructionFollowsAfterOperandsExecutionAndWriteBack) {
  Program program;
  for (int i = 0; i < 4; ++i) program.add(inst(Unit::Sp, LatencyClass::FpAdd, {1}, {1}));
  WarpCode code;
  for (std::uint32_t i = 0; i < 4; ++i) code.run(i);
  Bench bench(config_);
  bench.start(program, {code});
  const Cycle distance = row(LatencyClass::FpAdd).latency + around();
  for (std::uint32_t i = 0; i < 4; ++i) expect_issue(bench, kFirstIssue + i * distance, i + 1);
  bench.finish();
}

TEST_P(Pipeline, SharedMemoryIsReadBetweenOperandsAndWriteBack) {
  Program program;
  program.add(load(1, isa::kShared));
  program.add(alu(2, {1}));
  WarpCode code;
  code.shared(0, 1).run(1);
  Bench bench(config_);
  bench.start(program, {code});
  expect_issue(bench, kFirstIssue + to_memory() + config_.shared.latency + config_.sm.writeback_latency, 2);
  bench.finish();
}

TEST_P(Pipeline, AHitIsAnAccessAndAMissGoesOutAfterTheTags) {
  Program program;
  program.add(load(1));
  program.add(chained_load(2, 1));
  program.add(alu(3, {2}));
  WarpCode code;
  code.global(0, 0, 0x1).global(1, 0, 0x1).run(2);
  Bench bench(config_, kPipelineDelay);
  bench.start(program, {code});
  const Cycle sent = kFirstIssue + to_memory() + config_.l1.tag_latency + 1 + network_latency();
  const Cycle second = sent + kPipelineDelay + config_.sm.writeback_latency;
  expect_issue(bench, second, 2);
  expect_issue(bench, second + to_memory() + config_.l1.latency + config_.sm.writeback_latency, 3);
  ASSERT_EQ(bench.sent.size(), 1U);
  EXPECT_EQ(bench.sent[0].time, sent);
  bench.finish();
}

// Twice as many loads take longer by what L1 needs for the bytes of the others.
TEST_P(Pipeline, WholeLinesComeAtTheBanksBandwidth) {
  const auto all = [](std::uint32_t) { return 0xfU; };
  for (const std::uint32_t lines : {4U, 8U, 32U}) {
    const Cycle period = std::max<Cycle>(lines * kLineBytes / l1_bytes(), memory_interval());
    EXPECT_EQ(hits(40, lines, all) - hits(20, lines, all), 20 * period) << lines;
  }
}

TEST_P(Pipeline, SectorsOfOneBankTakeTheirTurns) {
  // The first sector of each line: with banks of sectors, all in the same one, if their number divides four.
  const bool narrow = config_.l1.bank_bytes == kSectorBytes && kSectorsPerLine % config_.l1.banks == 0;
  const Cycle same = narrow ? 32 : 32 / config_.l1.banks;
  const auto first = [](std::uint32_t) { return 0x1U; };
  EXPECT_EQ(hits(40, 32, first) - hits(20, 32, first), 20 * std::max<Cycle>(same, memory_interval()));
  // Sector i of line i: as many a cycle as there are banks.
  const auto in_turn = [](std::uint32_t line) { return 1U << line % kSectorsPerLine; };
  const Cycle spread = 32 / config_.l1.banks;
  EXPECT_EQ(hits(40, 32, in_turn) - hits(20, 32, in_turn), 20 * std::max<Cycle>(spread, memory_interval()));
}

TEST_P(Pipeline, ABlockEndsWhenItsStoresAreAcknowledged) {
  for (const auto flags : {std::uint16_t{isa::kStore}, std::uint16_t{isa::kAtomic | isa::kStore}}) {
    Program program;
    program.add(inst(Unit::Memory, LatencyClass::Memory, {}, {}, flags));
    WarpCode code;
    code.global(0, 0, 0x1, 8);
    EXPECT_EQ(time_of(config_, program, {code}, kPipelineDelay),
              kFirstIssue + to_memory() + config_.l1.tag_latency + 1 + (flits(kSectorBytes) - 1) +
                  network_latency() + kPipelineDelay);
  }
}

GPUMUX_ON_EVERY_PRESET(Pipeline);

/// Two collectors, units of SFU that take four cycles for a warp, one of them.
MachineConfig waiting_machine() {
  MachineConfig config = plain_machine();
  config.sm.collectors_per_scheduler = 2;
  config.sm.collectors_wait = true;
  config.units[static_cast<std::size_t>(Unit::Sfu)] = {.count = 1, .lanes = 8};
  config.latency[static_cast<std::size_t>(LatencyClass::Sfu)] = {10, 1};
  config.latency[static_cast<std::size_t>(LatencyClass::FpAdd)] = {4, 1};
  return config;
}

/// The cycles in which a single warp issues.
std::vector<Cycle> issues(const MachineConfig& config, const Program& program, const WarpCode& code) {
  Bench bench(config, kPipelineDelay);
  bench.start(program, {code});
  std::vector<Cycle> cycles;
  while (cycles.size() < code.records.size() && bench.now < 10'000) {
    bench.window(bench.now + 1);
    if (bench.counters().warp_instructions > cycles.size()) cycles.push_back(bench.now - 1);
  }
  bench.finish();
  return cycles;
}

// In cycle 1 the first takes the unit until 5. The second waits in a collector for it until 5, the third in
// the other until
// 9. The fourth issues, and waits in front of the collectors for that of the second, which is free in 6; the
// fifth has to wait for its place until then; and so on, four cycles apart. Arithmetic of another unit has a
// place of its own in front of the collectors; it gets one when the last but one has left it in 18, and its
// result is there four cycles later.
TEST(Collectors, HoldWhatWaitsForItsUnit) {
  Program program;
  WarpCode code;
  for (std::uint16_t i = 0; i < 6; ++i) code.run(program.add(inst(Unit::Sfu, LatencyClass::Sfu, {i}, {})));
  code.run(program.add(alu(20)));
  code.run(program.add(alu(21, {20})));
  EXPECT_EQ(issues(waiting_machine(), program, code), (std::vector<Cycle>{1, 2, 3, 4, 6, 10, 11, 22}));
  MachineConfig config = waiting_machine();
  config.sm.collectors_wait = false;  // then each issues when its unit is free
  EXPECT_EQ(issues(config, program, code), (std::vector<Cycle>{1, 5, 9, 13, 17, 21, 22, 26}));
}

// The load/store unit takes 64 cycles for each. The first begins in 2; the second and the third keep their
// collectors until it takes them, in 66 and 130. Until then nothing issues, not even arithmetic.
TEST(Collectors, AreHeldByMemoryInstructionsUntilTheLoadStoreUnitTakesThem) {
  Program program;
  WarpCode code;
  for (std::uint16_t i = 0; i < 4; ++i) code.shared(program.add(load(i, isa::kShared)), 64);
  code.run(program.add(alu(20)));
  EXPECT_EQ(issues(waiting_machine(), program, code), (std::vector<Cycle>{1, 2, 3, 66, 130}));
}

// Nothing is left behind by instructions without lanes, or without anything to access.
TEST(Collectors, AreFreeAfterAMemoryInstructionThatDoesNothing) {
  Program program;
  WarpCode code;
  for (std::uint16_t i = 0; i < 5; ++i)
    code.access(program.add(load(i, isa::kShared)), Where::Shared, {}, 1, 0);
  code.run(program.add(alu(20)));
  EXPECT_EQ(issues(waiting_machine(), program, code), (std::vector<Cycle>{1, 2, 3, 4, 5, 6}));
}

class RegisterBanks : public testing::TestWithParam<std::uint32_t> {
 protected:
  [[nodiscard]] MachineConfig config() const {
    MachineConfig config = plain_machine();
    config.sm.register_banks = GetParam();
    config.latency[static_cast<std::size_t>(LatencyClass::FpAdd)] = {4, 1};
    config.latency[static_cast<std::size_t>(LatencyClass::FpMad)] = {4, 1};
    return config;
  }
  /// The n-th register of bank 1.
  [[nodiscard]] std::uint16_t same(std::uint32_t n) const {
    return static_cast<std::uint16_t>(1 + n * GetParam());
  }
};

// Five operands in one bank: with one port four cycles more than the one that the latency includes, with two
// two, with four one.
TEST_P(RegisterBanks, ReadAsManyOperandsACycleAsTheyHavePorts) {
  Program program;
  program.add(inst(Unit::Sp, LatencyClass::FpMad, {100}, {same(0), same(1), same(2), same(3), same(4)}));
  program.add(alu(101, {100}));
  WarpCode code;
  code.run(0).run(1);
  for (const auto& [ports, delay] : {std::pair{1U, 4U}, {2U, 2U}, {4U, 1U}, {8U, 0U}}) {
    MachineConfig machine = config();
    machine.sm.register_ports = ports;
    EXPECT_EQ(issues(machine, program, code), (std::vector<Cycle>{1, 1 + 4 + delay})) << ports;
  }
}

// Three results in one bank take three turns of it from cycle 1 on: an operand of that bank in cycle 2 is
// read in 4.
TEST_P(RegisterBanks, AreBusyWithResults) {
  Program program;
  StaticInst three = inst(Unit::Sp, LatencyClass::FpMad, {same(0), same(1), same(2)}, {});
  program.add(three);
  program.add(inst(Unit::Sp, LatencyClass::FpMad, {100}, {same(5)}));
  program.add(alu(101, {100}));
  WarpCode code;
  code.run(0).run(1).run(2);
  MachineConfig machine = config();
  EXPECT_EQ(issues(machine, program, code), (std::vector<Cycle>{1, 2, 2 + 4}));
  machine.sm.register_writes = true;
  EXPECT_EQ(issues(machine, program, code), (std::vector<Cycle>{1, 2, 2 + 4 + 2}));
  machine.sm.register_ports = 2;  // two turns in 1, the third in 2, and the operand beside it
  EXPECT_EQ(issues(machine, program, code), (std::vector<Cycle>{1, 2, 2 + 4}));
}

INSTANTIATE_TEST_SUITE_P(Of, RegisterBanks, testing::Values(8U, 12U));

}  // namespace
}  // namespace gpumux::micro
