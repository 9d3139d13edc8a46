// Latency, dependent-issue distance and rate of every unit and latency class.
#include "micro/preset.hpp"

#include <algorithm>
#include <map>

namespace gpumux::micro {
namespace {

struct Row {
  isa::Unit unit;
  LatencyClass row;
};
constexpr Row kRows[] = {
    {Unit::Int, LatencyClass::IntAdd},    {Unit::Int, LatencyClass::IntMax},
    {Unit::Int, LatencyClass::IntMul},    {Unit::Int, LatencyClass::IntMad},
    {Unit::Int, LatencyClass::IntDiv},    {Unit::Sp, LatencyClass::FpAdd},
    {Unit::Sp, LatencyClass::FpMax},      {Unit::Sp, LatencyClass::FpMul},
    {Unit::Sp, LatencyClass::FpMad},      {Unit::Sfu, LatencyClass::FpDiv},
    {Unit::Dp, LatencyClass::DpAdd},      {Unit::Dp, LatencyClass::DpMax},
    {Unit::Dp, LatencyClass::DpMul},      {Unit::Dp, LatencyClass::DpMad},
    {Unit::Dp, LatencyClass::DpDiv},      {Unit::Sfu, LatencyClass::Sfu},
    {Unit::Tensor, LatencyClass::Tensor}, {Unit::Control, LatencyClass::Control},
};

class Units : public Preset {
 protected:
  static std::string what(const Row& r) { return std::string(name(r.unit)) + " " + name(r.row); }
};

TEST_P(Units, DependentIssueDistanceIsTheLatency) {
  constexpr std::uint32_t kLength = 5;
  for (const Row& r : kRows) {
    SCOPED_TRACE(what(r));
    Program program;
    for (std::uint32_t i = 0; i < kLength; ++i) program.add(inst(r.unit, r.row, {1}, {1}));
    WarpCode code;
    for (std::uint32_t i = 0; i < kLength; ++i) code.run(i);
    Bench bench(config_);
    bench.start(program, {code});
    // Instruction i issues i latencies after the first: not a cycle before, not one after.
    const Cycle distance =
        std::max<Cycle>({row(r.row).latency, occupied(r.unit, r.row), config_.sm.issue_interval});
    for (std::uint32_t i = 1; i < kLength; ++i) {
      const Cycle issue = kFirstIssue + i * distance;
      bench.window(issue);  // the cycles before
      EXPECT_EQ(bench.counters().warp_instructions, i);
      bench.window(issue + 1);
      EXPECT_EQ(bench.counters().warp_instructions, i + 1);
    }
    bench.finish();
  }
}

TEST_P(Units, OneWarpIssuesAtTheUnitsRate) {
  constexpr std::uint32_t kLength = 24;
  for (const Row& r : kRows) {
    SCOPED_TRACE(what(r));
    Program program;
    for (std::uint16_t i = 0; i < kLength; ++i) program.add(inst(r.unit, r.row, {i}, {}));
    WarpCode code;
    for (std::uint32_t i = 0; i < kLength; ++i) code.run(i);
    // The units that this warp's scheduler may use, each busy for occupied() cycles; one issue per interval.
    const arch::UnitConfig& u = unit(r.unit);
    const std::size_t count = u.scheduler_private ? u.count / config_.sm.schedulers : u.count;
    std::vector<Cycle> free(count, 0);
    Cycle issue = kFirstIssue - config_.sm.issue_interval;
    for (std::uint32_t i = 0; i < kLength; ++i) {
      const auto unit = std::min_element(free.begin(), free.end());
      issue = std::max(issue + config_.sm.issue_interval, *unit);
      *unit = issue + occupied(r.unit, r.row);
    }
    EXPECT_EQ(time_of(config_, program, {code}), issue);
  }
}

TEST_P(Units, AllSchedulersTogetherIssueAtTheUnitsRate) {
  constexpr std::uint32_t kLength = 24;
  const std::uint32_t schedulers = config_.sm.schedulers;
  for (const Row& r : kRows) {
    SCOPED_TRACE(what(r));
    Program program;
    for (std::uint16_t i = 0; i < kLength; ++i) program.add(inst(r.unit, r.row, {i}, {}));
    std::vector<WarpCode> code(schedulers);  // one warp for each scheduler
    for (WarpCode& warp : code)
      for (std::uint32_t i = 0; i < kLength; ++i) warp.run(i);
    // Each cycle every scheduler whose interval is over takes a free unit, its own or of the SM's pool, in
    // order of their numbers.
    const arch::UnitConfig& u = unit(r.unit);
    std::vector<std::uint32_t> left(schedulers, kLength);
    std::vector<Cycle> next(schedulers, kFirstIssue);
    std::vector<Cycle> free(u.count, 0);
    Cycle last = 0;
    for (Cycle cycle = kFirstIssue; std::any_of(left.begin(), left.end(), [](auto n) { return n > 0; });
         ++cycle) {
      for (std::uint32_t s = 0; s < schedulers; ++s) {
        const std::uint32_t own = u.scheduler_private ? u.count / schedulers : u.count;
        const auto first = free.begin() + (u.scheduler_private ? s * own : 0);
        const auto found = std::find_if(first, first + own, [&](Cycle busy) { return busy <= cycle; });
        if (left[s] == 0 || next[s] > cycle || found == first + own) continue;
        *found = cycle + occupied(r.unit, r.row);
        next[s] = cycle + config_.sm.issue_interval;
        --left[s];
        last = cycle;
      }
    }
    EXPECT_EQ(time_of(config_, program, code), last);
  }
}

TEST_P(Units, OccupiedUnitCyclesAreCounted) {
  for (const Row& r : kRows) {
    if (r.unit == Unit::Control || r.unit == Unit::Tensor) continue;  // not part of this counter
    SCOPED_TRACE(what(r));
    Program program;
    for (std::uint16_t i = 0; i < 7; ++i) program.add(inst(r.unit, r.row, {i}, {}));
    WarpCode code;
    for (std::uint32_t i = 0; i < 7; ++i) code.run(i);
    Bench bench(config_);
    bench.start(program, {code});
    bench.finish();
    EXPECT_EQ(bench.counters().alu_issue_cycles, 7 * occupied(r.unit, r.row));
  }
}

TEST_P(Units, MatrixProductsTakeAsManyPassesAsTheirMultiplyAddsNeed) {
  const std::uint32_t each = config_.tensor_multiply_adds;
  const Cycle pass = occupied(Unit::Tensor, LatencyClass::Tensor);
  const bool own_units = config_.serving(Unit::Tensor) == Unit::Tensor;
  const std::pair<std::uint32_t, std::uint32_t> cases[] = {{0, 1},        {1, 1},        {each, 1},
                                                           {each + 1, 2}, {2 * each, 2}, {4 * each, 4}};
  for (const auto& [multiply_adds, passes] : cases) {
    SCOPED_TRACE(multiply_adds);
    if (multiply_adds > isa::kMostMultiplyAdds) continue;
    constexpr std::uint32_t kLength = 4;
    Program program;
    for (std::uint32_t i = 0; i < kLength; ++i) {
      isa::StaticInst product = inst(Unit::Tensor, LatencyClass::Tensor, {1}, {1});
      product.multiply_adds = multiply_adds;
      program.add(product);
    }
    for (std::uint16_t i = 0; i < kLength; ++i) {  // and apart from each other
      isa::StaticInst product =
          inst(Unit::Tensor, LatencyClass::Tensor, {static_cast<std::uint16_t>(2 + i)}, {});
      product.multiply_adds = multiply_adds;
      program.add(product);
    }
    WarpCode chain;
    for (std::uint32_t i = 0; i < kLength; ++i) chain.run(i);
    const Cycle distance = std::max<Cycle>(
        {row(LatencyClass::Tensor).latency + (passes - 1) * pass, passes * pass, config_.sm.issue_interval});
    EXPECT_EQ(time_of(config_, program, {chain}), kFirstIssue + (kLength - 1) * distance);
    WarpCode apart;
    for (std::uint32_t i = 0; i < kLength; ++i) apart.run(kLength + i);
    const arch::UnitConfig& u = unit(Unit::Tensor);
    std::vector<Cycle> free(u.scheduler_private ? u.count / config_.sm.schedulers : u.count, 0);
    Cycle issue = kFirstIssue - config_.sm.issue_interval;
    for (std::uint32_t i = 0; i < kLength; ++i) {
      const auto next = std::min_element(free.begin(), free.end());
      issue = std::max(issue + config_.sm.issue_interval, *next);
      *next = issue + passes * pass;
    }
    EXPECT_EQ(time_of(config_, program, {apart}), issue);
    Bench bench(config_);
    bench.start(program, {chain});
    bench.finish();
    EXPECT_EQ(bench.counters().tensor_passes, own_units ? kLength * kWarpSize * passes : 0U);
  }
}

// Operands in one bank are read one per cycle, and their collector is held until the last read.
TEST_P(Units, OperandsOfOneBankTakeTheirTurns) {
  const auto banks = static_cast<std::uint16_t>(config_.sm.register_banks / config_.sm.schedulers);
  Program program;
  const auto same = [&](std::uint16_t n) { return static_cast<std::uint16_t>(1 + n * banks); };
  program.add(inst(Unit::Sp, LatencyClass::FpMad, {200}, {same(0), same(1), same(2)}));
  program.add(inst(Unit::Sp, LatencyClass::FpAdd, {201}, {200}));
  WarpCode code;
  code.run(0).run(1);
  // Two reads more than the one that the latency includes.
  EXPECT_EQ(time_of(config_, program, {code}), kFirstIssue + row(LatencyClass::FpMad).latency + 2);
  if (banks < 3) return;  // three operands never lie apart
  Program apart;
  apart.add(inst(Unit::Sp, LatencyClass::FpMad, {200}, {same(0), 2, 3}));
  apart.add(inst(Unit::Sp, LatencyClass::FpAdd, {201}, {200}));
  EXPECT_EQ(time_of(config_, apart, {code}), kFirstIssue + row(LatencyClass::FpMad).latency);
}

TEST_P(Units, CollectorsBoundConflictingInstructions) {
  // Instruction i reads one bank r times, all the same bank: its last read falls in 1 + (i + 1) r - 1, and it
  // holds its collector until after that. With c collectors, i issues when i - c has let go.
  const auto banks = static_cast<std::uint16_t>(config_.sm.register_banks / config_.sm.schedulers);
  const std::uint32_t collectors = config_.sm.collectors_per_scheduler;
  constexpr std::uint32_t kReads = 8;
  const std::uint32_t length = 2 * collectors + 3;
  Program program;
  WarpCode code;
  for (std::uint32_t i = 0; i < length; ++i) {
    StaticInst made = inst(Unit::Sp, LatencyClass::FpAdd, {static_cast<std::uint16_t>(200 + i % 50)}, {});
    for (std::uint16_t n = 0; n < kReads; ++n) {
      made.slot[1U + n] = static_cast<std::uint16_t>(n * banks % 192);
      made.num_src = made.num_operands = static_cast<std::uint8_t>(n + 1);
    }
    code.run(program.add(made));
  }
  const Cycle interval = std::max<Cycle>(
      config_.sm.issue_interval, occupied(Unit::Sp, LatencyClass::FpAdd) / [&] {
        const arch::UnitConfig& u = unit(Unit::Sp);
        return u.scheduler_private ? u.count / config_.sm.schedulers : u.count;
      }());
  std::vector<Cycle> held;
  Cycle issue = 0, bank_free = 0;
  for (std::uint32_t i = 0; i < length; ++i) {
    issue = i == 0 ? kFirstIssue : issue + interval;
    if (i >= collectors) issue = std::max(issue, held[i - collectors]);
    bank_free = std::max(issue, bank_free) + kReads;
    held.push_back(bank_free);
  }
  EXPECT_EQ(time_of(config_, program, {code}), issue);
}

/// Issue cycles of one warp's independent instructions when each takes a unit of its kind's pool, and up to
/// `width` go in one cycle, each to another kind than the one before: the last of them.
struct WarpModel {
  const MachineConfig& config;
  std::uint32_t width = 1;
  bool to_other_units = true;
  std::map<Unit, std::vector<Cycle>> free{};

  [[nodiscard]] Cycle run(const std::vector<Row>& rows, Cycle first) {
    Cycle cycle = first;
    Cycle last = first;
    for (std::size_t i = 0; i < rows.size();) {
      std::uint32_t issued = 0;
      for (; issued < width && i < rows.size(); ++issued, ++i) {
        if (issued > 0 && to_other_units && served(rows[i]) == served(rows[i - 1])) break;
        std::vector<Cycle>& pool = pool_of(rows[i]);
        const auto unit = std::min_element(pool.begin(), pool.end());
        if (*unit > cycle) break;
        *unit = cycle + sm::unit_cycles(config, rows[i].unit, rows[i].row);
        last = cycle;
      }
      cycle += issued > 0 ? config.sm.issue_interval : 1;
    }
    return last;
  }
  [[nodiscard]] Unit served(const Row& r) const { return config.serving(r.unit); }
  [[nodiscard]] std::vector<Cycle>& pool_of(const Row& r) {
    const arch::UnitConfig& u = config.units[static_cast<std::size_t>(served(r))];
    return free.try_emplace(served(r), u.scheduler_private ? u.count / config.sm.schedulers : u.count)
        .first->second;
  }
};

WarpCode independent(Program& program, const std::vector<Row>& rows) {
  WarpCode code;
  for (std::uint16_t i = 0; i < rows.size(); ++i) {
    program.add(inst(rows[i].unit, rows[i].row, {i}, {}));
    code.run(i);
  }
  return code;
}

std::vector<Row> repeated(const std::vector<Row>& rows, unsigned times) {
  std::vector<Row> result;
  for (unsigned i = 0; i < times; ++i) result.insert(result.end(), rows.begin(), rows.end());
  return result;
}

TEST_P(Units, KindsThatShareAUnitTakeItsTurns) {
  const std::vector<Row> rows =
      repeated({{Unit::Dp, LatencyClass::DpAdd}, {Unit::Sfu, LatencyClass::Sfu}}, 10);
  Cycle shared = 0;
  for (const Unit on : {Unit::Sfu, Unit::Sp}) {
    arch::UnitConfig& dp = config_.units[static_cast<std::size_t>(Unit::Dp)];
    dp.count = 0;
    dp.on = on;
    Program program;
    const WarpCode code = independent(program, rows);
    const Cycle end = time_of(config_, program, {code});
    EXPECT_EQ(end, WarpModel{config_}.run(rows, kFirstIssue)) << name(on);
    if (on == Unit::Sfu) shared = end;
    // As if they were instructions of that kind.
    Program direct;
    const WarpCode same =
        independent(direct, repeated({{on, LatencyClass::DpAdd}, {Unit::Sfu, LatencyClass::Sfu}}, 10));
    EXPECT_EQ(end, time_of(config_, direct, {same})) << name(on);
  }
  // A chain that ends nowhere is refused where machines are read; one that ends at SP is followed.
  config_.units[static_cast<std::size_t>(Unit::Dp)].on = Unit::Tensor;
  config_.units[static_cast<std::size_t>(Unit::Tensor)].count = 0;
  config_.units[static_cast<std::size_t>(Unit::Tensor)].on = Unit::Sfu;
  Program program;
  const WarpCode code = independent(program, rows);
  EXPECT_EQ(time_of(config_, program, {code}), shared);
}

TEST_P(Units, AWarpIssuesSeveralInstructionsAtOnce) {
  config_.sm.fetch_interval = 1;  // so that fetch keeps up
  config_.sm.fetch_width = 4;
  config_.sm.instruction_buffer = 12;
  config_.sm.collectors_per_scheduler = 64;
  const Row fp{Unit::Sp, LatencyClass::FpAdd}, sfu{Unit::Sfu, LatencyClass::Sfu},
      integer{Unit::Int, LatencyClass::IntAdd};
  for (const std::vector<Row>& rows : {repeated({fp, integer}, 16), repeated({fp, fp}, 16),
                                       repeated({fp, sfu, integer}, 10), repeated({sfu, fp, fp}, 10)}) {
    for (const std::uint32_t width : {1U, 2U, 3U}) {
      for (const bool to_other_units : {true, false}) {
        config_.sm.issue_width = width;
        config_.sm.issue_to_other_units = to_other_units;
        Program program;
        const WarpCode code = independent(program, rows);
        EXPECT_EQ(time_of(config_, program, {code}),
                  (WarpModel{config_, width, to_other_units}.run(rows, kFirstIssue)))
            << width << to_other_units;
      }
    }
  }
  // Two results, one after the other: what needs the second does not go with what needs the first.
  config_.sm.issue_to_other_units = true;
  for (const std::uint32_t width : {1U, 2U}) {
    config_.sm.issue_width = width;
    Program pairs;
    pairs.add(inst(Unit::Sp, LatencyClass::FpAdd, {1}, {}));
    pairs.add(inst(Unit::Sp, LatencyClass::FpAdd, {2}, {}));
    pairs.add(inst(Unit::Int, LatencyClass::IntAdd, {3}, {1}));
    pairs.add(inst(Unit::Sfu, LatencyClass::Sfu, {4}, {2}));
    WarpCode both;
    both.run(0).run(1).run(2).run(3);
    const arch::UnitConfig& sp = unit(Unit::Sp);
    const bool another = (sp.scheduler_private ? sp.count / config_.sm.schedulers : sp.count) > 1;
    const Cycle interval = config_.sm.issue_interval, latency = row(LatencyClass::FpAdd).latency;
    const Cycle second =
        kFirstIssue + (another ? interval : std::max(occupied(Unit::Sp, LatencyClass::FpAdd), interval));
    const Cycle third = std::max(kFirstIssue + latency, second + interval);
    const Cycle fourth = std::max(second + latency, third);
    EXPECT_EQ(time_of(config_, pairs, {both}), fourth == third && width == 1 ? third + interval
                                               : fourth > third ? std::max(fourth, third + interval)
                                                                : fourth)
        << width;
  }
  // What depends on the first waits for it.
  config_.sm.issue_width = 2;
  Program program;
  program.add(inst(Unit::Sp, LatencyClass::FpAdd, {1}, {}));
  program.add(inst(Unit::Sfu, LatencyClass::Sfu, {2}, {1}));
  WarpCode code;
  code.run(0).run(1);
  EXPECT_EQ(time_of(config_, program, {code}),
            kFirstIssue + std::max<Cycle>(row(LatencyClass::FpAdd).latency, config_.sm.issue_interval));
}

TEST_P(Units, TheUniformDatapathHasARowOfItsOwnWhereThereIsOne) {
  constexpr std::uint32_t kLength = 5;
  arch::UnitConfig& uniform = config_.units[static_cast<std::size_t>(Unit::Uniform)];
  config_.latency[static_cast<std::size_t>(LatencyClass::Uniform)] = {33, 1};
  for (const std::uint32_t count : {0U, config_.sm.schedulers}) {
    uniform = {count, kWarpSize, true, Unit::Int};
    Program program;
    WarpCode code;
    for (std::uint32_t i = 0; i < kLength; ++i) {
      program.add(inst(Unit::Uniform, LatencyClass::IntAdd, {1}, {1}));
      code.run(i);
    }
    const Cycle each =
        count > 0 ? 33
                  : std::max<Cycle>({row(LatencyClass::IntAdd).latency,
                                     occupied(Unit::Int, LatencyClass::IntAdd), config_.sm.issue_interval});
    EXPECT_EQ(time_of(config_, program, {code}), kFirstIssue + (kLength - 1) * each) << count;
  }
}

GPUMUX_ON_EVERY_PRESET(Units);

}  // namespace
}  // namespace gpumux::micro
