// Sustained rates: the DRAM channel by access pattern, and the crossbar's ports under hot spots.
#include <algorithm>
#include <bit>
#include <optional>

#include "base/hash.hpp"
#include "dram/channel.hpp"
#include "micro/assembly.hpp"

namespace gpumux::micro {
namespace {

using dram::Tick;

class DramRate : public Preset {
 protected:
  const arch::DramConfig& d() const { return config_.dram; }
  struct Access {
    std::uint64_t line;
    bool write = false;
  };
  struct Outcome {
    arch::PartitionCounters counters;
    std::vector<dram::Command> trace;
    Tick end = 0;
    double bus_share = 0;
  };
  /// `count` whole lines through a channel whose queue is kept full, and whose data is taken at once.
  template <typename Pattern>
  Outcome stream(std::uint32_t count, Pattern&& pattern) const {
    Outcome outcome;
    dram::Channel channel(d(), config_.l2.sectored);
    channel.set_trace(&outcome.trace);
    for (std::uint32_t pushed = 0; pushed < count || channel.size() > 0;) {
      while (pushed < count && !channel.full()) {
        const Access access = pattern(pushed);
        dram::Request r;
        r.local_line = access.line;
        r.write = access.write;
        r.sectors = 0xf;
        r.token = pushed++;
        channel.push(r, channel.last() + 1);
      }
      dram::Channel::Completion completion;
      if (channel.step(completion)) channel.release_return(completion.end);
    }
    outcome.end = channel.last();
    channel.count(outcome.counters);
    arch::MemoryCounters moved;
    channel.count(AppId{0}, moved);
#define GPUMUX_FIELD(field, unit, description) outcome.counters.field = moved.field;
    GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    const double bytes = static_cast<double>(outcome.counters.dram_bytes);
    outcome.bus_share = bytes / (static_cast<double>(outcome.end) * d().bus_bytes * d().transfers_per_clock);
    EXPECT_EQ(outcome.counters.dram_bytes, std::uint64_t{count} * kLineBytes);
    EXPECT_EQ(outcome.counters.dram_row_hits + outcome.counters.dram_activates,
              outcome.counters.dram_reads + outcome.counters.dram_writes);
    return outcome;
  }
  [[nodiscard]] Tick bursts() const { return kLineBytes / d().burst_bytes; }
  [[nodiscard]] double line_clocks() const { return kLineBytes / (d().bus_bytes * d().transfers_per_clock); }
  /// Lines of bank 0, one of each row.
  [[nodiscard]] std::vector<std::uint64_t> rows_of_one_bank(std::size_t n) const {
    const dram::AddressMap map(d());
    std::vector<std::uint64_t> lines;
    for (std::uint64_t line = 0; lines.size() < n; ++line) {
      const auto place = map.locate(line);
      if (place.bank == 0 && place.row == lines.size()) lines.push_back(line);
    }
    return lines;
  }
  /// Clocks from one activation of a bank to its next for one line read in between.
  [[nodiscard]] Tick row_period() const {
    const Tick last = d().RCD + (bursts() - 1) * Tick{d().CCDL};
    return std::max<Tick>(d().RC, std::max<Tick>(d().RAS, last + d().RTPL) + d().RP);
  }
};

TEST_P(DramRate, SequentialReadsAndWritesKeepTheBusBusy) {
  for (const bool write : {false, true}) {
    const Outcome outcome = stream(20'480, [&](std::uint32_t n) { return Access{n, write}; });
    EXPECT_GE(outcome.bus_share, 0.95);
    EXPECT_LE(outcome.bus_share, 1.0);
    // Every row is opened once.
    EXPECT_EQ(outcome.counters.dram_activates, (20'480ULL * kLineBytes + d().row_bytes - 1) / d().row_bytes);
  }
}

TEST_P(DramRate, OneBankTakesItsRowPeriodForEachRow) {
  constexpr std::uint32_t kRows = 200;
  const std::vector<std::uint64_t> lines = rows_of_one_bank(kRows);
  const Outcome outcome = stream(kRows, [&](std::uint32_t n) { return Access{lines[n]}; });
  Tick activate = 0;
  for (const dram::Command& command : outcome.trace) {
    if (command.kind != dram::CommandKind::Activate) continue;
    EXPECT_EQ(command.tick, activate);
    activate += row_period();
  }
  EXPECT_EQ(activate, kRows * row_period());
  EXPECT_EQ(outcome.counters.dram_row_hits, kRows * static_cast<std::uint64_t>(bursts() - 1));
}

TEST_P(DramRate, OneLineOfEachRowIsBoundByActivationsOrTheBus) {
  // Strides of a row: every line in a new row, round all banks.
  const dram::AddressMap map(d());
  std::vector<std::uint64_t> lines;
  for (std::uint64_t row = 0; row < 100; ++row)
    for (std::uint64_t line = row * d().row_bytes / kLineBytes * d().banks, seen = 0;; ++line) {
      const auto place = map.locate(line);
      if (place.row != row) break;
      if ((seen >> place.bank & 1U) != 0) continue;
      seen |= std::uint64_t{1} << place.bank;
      lines.push_back(line);
      if (std::popcount(seen) == static_cast<int>(d().banks)) break;
    }
  const Outcome outcome =
      stream(static_cast<std::uint32_t>(lines.size()), [&](std::uint32_t n) { return Access{lines[n]}; });
  const double per_line =
      std::max({static_cast<double>(d().RRD), line_clocks(), static_cast<double>(row_period()) / d().banks});
  const double clocks = static_cast<double>(outcome.end) / static_cast<double>(lines.size());
  EXPECT_GE(clocks, per_line * 0.999);
  EXPECT_LE(clocks, per_line * 1.1);
  EXPECT_EQ(outcome.counters.dram_activates, lines.size());
}

TEST_P(DramRate, RandomLinesAreBoundByActivations) {
  const Outcome outcome = stream(20'000, [&](std::uint32_t n) { return Access{mix64(n + 1) & 0xffff'ffU}; });
  const double per_line = std::max(static_cast<double>(d().RRD), line_clocks());
  const double clocks = static_cast<double>(outcome.end) / 20'000;
  EXPECT_GE(clocks, per_line * 0.99);
  // Where nearly all banks have to be in their row cycles at once, random lines do not keep them all busy.
  const double banks_at_once = static_cast<double>(d().RC) / per_line;
  EXPECT_LE(clocks, per_line * (banks_at_once > 0.75 * d().banks ? 1.15 : 1.1));
}

TEST_P(DramRate, MixesPayForEveryTurnOfTheBus) {
  // Reads and writes of two streams in runs of `run` lines: what is lost is at least the turnarounds that the
  // trace shows, and at most these and a few clocks each.
  for (const std::uint32_t run : {1U, 4U, 16U, 64U}) {
    const Outcome outcome = stream(20'000, [&](std::uint32_t n) {
      const bool write = n / run % 2 != 0;
      return Access{(write ? std::uint64_t{1} << 20U : 0) + n / (2 * run) * run + n % run, write};
    });
    std::uint64_t to_write = 0, to_read = 0;
    std::optional<dram::CommandKind> last;
    for (const dram::Command& command : outcome.trace) {
      if (command.kind != dram::CommandKind::Read && command.kind != dram::CommandKind::Write) continue;
      if (last && *last != command.kind) ++(command.kind == dram::CommandKind::Write ? to_write : to_read);
      last = command.kind;
    }
    // Data bus: two clocks before write data; before read data WL's end to CL's begin: CDLR + CL.
    const double lost = static_cast<double>(to_write * 2 + to_read * (Tick{d().CDLR} + d().CL));
    const double busy = 20'000 * line_clocks();
    EXPECT_GE(static_cast<double>(outcome.end) + d().CL + 8, busy + lost);
    EXPECT_LE(static_cast<double>(outcome.end), (busy + lost) * 1.12);
  }
}

GPUMUX_ON_EVERY_PRESET(DramRate);

class Crossbar : public Preset {
 protected:
  void SetUp() override {
    if (arch::load_machine(GetParam()).noc.topology == arch::Topology::Mesh) GTEST_SKIP() << "has none";
  }
};

TEST_P(Crossbar, AnSmTakesOneFlitACycleFromAllPartitions) {
  // Replies of several flits that arrive in one cycle: each is there when its flits have passed, by
  // partition.
  Program program;
  WarpCode code;
  const noc::PartitionMap map(config_);
  std::vector<std::uint64_t> lines;
  const std::size_t count = std::min<std::size_t>(4, config_.l2.partitions);
  for (std::uint64_t line = 0; lines.size() < count; ++line) {
    const auto other = [&](std::uint64_t l) { return map.partition(l) == map.partition(line); };
    if (std::none_of(lines.begin(), lines.end(), other)) lines.push_back(line);
  }
  Bench bench(config_);
  bench.answer = false;
  program.add(load(1, isa::kBypassL1));
  bench.bind(program, {32, 16, 0});
  for (std::uint32_t i = 0; i < count; ++i) {
    WarpCode warp;
    warp.global(0, lines[i]);
    bench.launch({warp}, 0, i);
  }
  run_through(bench, 60);
  ASSERT_EQ(bench.sent.size(), count);
  std::vector<PartitionId> order;
  for (const arch::MemRequest& request : bench.sent) {
    arch::MemReply reply;
    reply.tag = request.tag;
    reply.time = 200;
    reply.flits = static_cast<std::uint8_t>(flits(kLineBytes)) & 0xfU;
    reply.sectors = 0xf;
    bench.sm.mailbox().in.push_back(reply);
    order.push_back(request.partition);
  }
  std::sort(order.begin(), order.end());
  run_through(bench, 300);
  ASSERT_EQ(bench.ended.size(), count);
  std::sort(bench.ended.begin(), bench.ended.end(),
            [](const auto& a, const auto& b) { return a.time < b.time; });
  for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(bench.ended[i].time, 200 + i * flits(kLineBytes));
}

/// Reads of lines in L2 by all warps of several SMs, without L1.
Cycle read_from_l2(const MachineConfig& config, std::uint32_t sms, const std::vector<std::uint64_t>& lines,
                   std::uint32_t loads) {
  Assembly machine(config, sms);
  for (const std::uint64_t line : lines) machine.preload(line);
  Program program;
  for (std::uint16_t i = 0; i < 8; ++i) program.add(load(i, isa::kBypassL1));
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    std::size_t next =
        lines.size() / sms * sm;  // apart, so that they do not follow each other from slice to slice
    std::vector<WarpCode> code(16);
    for (std::uint32_t i = 0; i < loads; ++i)
      for (WarpCode& warp : code) {
        warp.run(i % 8);
        workload::MemHeader header;
        header.where = Where::Global;
        header.transactions = 4;
        warp.memory.push_back(std::bit_cast<std::uint64_t>(header));
        for (int k = 0; k < 4; ++k)
          warp.memory.push_back(Transaction::make(lines[next++ % lines.size()], 0xf, 8).word);
      }
    machine.launch(program, std::move(code), sm);
  }
  machine.finish();
  Cycle end = 0;
  for (std::uint32_t sm = 0; sm < sms; ++sm) end = std::max(end, machine.end(sm));
  return end;
}

TEST_P(Crossbar, L2BandwidthOfManySlicesAndOfOne) {
  const noc::PartitionMap map(config_);
  std::vector<std::uint64_t> all, one;
  for (std::uint64_t line = std::uint64_t{1} << kAppLineShift; all.size() < 512 || one.size() < 128; ++line) {
    if (all.size() < 512) all.push_back(line);
    const auto place = map.locate(line);
    if (one.size() < 128 && place.partition == 0 && place.slice == 0) one.push_back(line);
  }
  // Core cycles for a line at the ports of an SM and of a slice, and at a slice's data port.
  const double noc = config_.clocks.core / config_.clocks.noc, l2 = config_.clocks.core / config_.clocks.l2;
  const double port = flits(kLineBytes) * noc;
  const double slice = std::max(port, kLineBytes / config_.l2.port_bytes * l2);
  const std::uint32_t slices = config_.l2.partitions * config_.l2.slices_per_partition;
  for (const std::uint32_t sms : {1U, 8U}) {
    constexpr std::uint32_t kLoads = 96;  // enough that the first line's latency counts for little
    const double lines = sms * 16.0 * kLoads * 4;
    const double spread = static_cast<double>(read_from_l2(config_, sms, all, kLoads)) / lines;
    const double hot = static_cast<double>(read_from_l2(config_, sms, one, kLoads)) / lines;
    const double spread_bound = std::max(port / sms, slice / slices);
    const double hot_bound = std::max(port / sms, slice);
    EXPECT_GE(spread, spread_bound);
    EXPECT_GE(hot, hot_bound);
    // Replies that wait for one SM's port hold their partition's credits, which those for others then lack: a
    // crossbar with one queue per port reaches about three quarters when several destinations saturate.
    EXPECT_LE(spread, spread_bound * (sms == 1 ? 1.03 : 1.45));
    EXPECT_LE(hot, hot_bound * 1.03);
  }
}

GPUMUX_ON_EVERY_PRESET(Crossbar);

}  // namespace
}  // namespace gpumux::micro
