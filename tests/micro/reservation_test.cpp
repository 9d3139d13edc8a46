// Resources of an L1 miss: a line, an MSHR, a place in the MSHR's merge list, and a place in the miss queue.
// Each resource runs out after exactly the number in the machine file. The load/store unit then stalls for
// exactly the cycles until one is free.
#include <cmath>

#include "micro/preset.hpp"

namespace gpumux::micro {
namespace {

constexpr Cycle kReservationDelay = 900;

class Reservation : public Preset {
 protected:
  struct Taken {
    Cycle next = 0;          // cycle of the next access
    Cycle queue_stalls = 0;  // cycles that ended with an access refused by the miss queue
  };
  /// The first `n` accesses, all misses of reads: up to l1.banks a cycle, of one instruction; from the second
  /// cycle on one packet leaves the miss queue before them. The next instruction begins in the next cycle.
  [[nodiscard]] Taken take(std::uint32_t n) const {
    EXPECT_TRUE(n % 32 == 0 || config_.l1.banks == 1);  // the next access is one of the next cycle
    Taken taken{kFirstAccess, 0};
    std::uint32_t accessed = 0, queued = 0, of_instruction = 0;
    for (; accessed < n; ++taken.next) {
      if (queued > 0) --queued;
      for (std::uint32_t b = 0; b < config_.l1.banks && accessed < n && of_instruction < 32; ++b) {
        if (queued == config_.l1.miss_queue) {
          ++taken.queue_stalls;
          break;
        }
        ++queued, ++accessed, ++of_instruction;
      }
      if (of_instruction == 32) of_instruction = 0;
    }
    return taken;
  }
  /// Lines of L1 when no kernel needs shared memory.
  [[nodiscard]] std::uint32_t l1_lines() const { return l1_bytes() / kLineBytes; }
  /// The first reply to a burst of misses that began with the first access.
  [[nodiscard]] Cycle first_reply() const { return kFirstAccess + 1 + network_latency() + kReservationDelay; }
};

/// Loads of up to 32 lines each over `lines`.
void loads_of(Program& program, WarpCode& code, const std::vector<std::uint64_t>& lines) {
  for (std::size_t i = 0; i < lines.size();) {
    const std::size_t n = std::min<std::size_t>(32, lines.size() - i);
    const std::uint32_t pc = program.add(load(static_cast<std::uint16_t>(program.table.size())));
    code.run(pc);
    workload::MemHeader header;
    header.where = Where::Global;
    header.transactions = static_cast<std::uint16_t>(n);
    code.memory.push_back(std::bit_cast<std::uint64_t>(header));
    for (std::size_t k = 0; k < n; ++k) code.memory.push_back(Transaction::make(lines[i + k], 0xf, 1).word);
    i += n;
  }
}

/// Set of a line in L1, as the machine file's index says: the number of the line modulo the sets, or its bits
/// above folded onto those by exclusive or.
std::uint64_t l1_set(const arch::L1Config& l1, std::uint64_t line) {
  const std::uint64_t sets = l1.bytes / (l1.ways * kLineBytes);
  if (l1.index == arch::L1Index::Linear) return line % sets;
  if (l1.index == arch::L1Index::Fermi)
    return (line % sets) ^ ((line >> 6 & 7) | (line >> 7 & 8) | (line >> 8 & 16));
  std::uint64_t set = 0;
  for (; line != 0; line /= sets) set ^= line % sets;
  return set;
}

TEST_P(Reservation, MshrsRunOutAfterTheirNumber) {
  // One line more than there are MSHRs, each in no set more often than that has ways.
  const std::uint32_t mshrs = config_.l1.mshr_entries;
  for (const bool more : {false, true}) {
    std::vector<std::uint64_t> lines(mshrs + (more ? 1 : 0));
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = i;
    Program program;
    WarpCode code;
    loads_of(program, code, lines);
    Bench bench(config_, kReservationDelay);
    bench.start(program, {code});
    bench.finish();
    const Taken taken = take(mshrs);
    EXPECT_EQ(bench.counters().rsfail_miss_queue, taken.queue_stalls);
    const Cycle stalled = more ? first_reply() - taken.next : 0;
    // A cache with no more lines than MSHRs that reserves lines at the miss lacks the line first.
    const bool line = on_miss() && l1_lines() <= mshrs;
    EXPECT_EQ(bench.counters().rsfail_mshr, line ? 0 : stalled);
    // The first line of the last one's set is the one with that set's number, and comes as many cycles later.
    EXPECT_EQ(bench.counters().rsfail_line, line && more ? stalled + l1_set(config_.l1, mshrs) : 0);
    EXPECT_EQ(bench.counters().rsfail_merge, 0U);
    EXPECT_EQ(bench.counters().requests_sent, lines.size());
  }
}

TEST_P(Reservation, AnMshrMergesAsManyAsItsList) {
  // Loads of one line by one warp, one each memory_interval().
  const std::uint32_t merges = config_.l1.mshr_merges;
  for (const bool more : {false, true}) {
    Program program;
    WarpCode code;
    const std::uint32_t loads = merges + (more ? 1 : 0);
    for (std::uint16_t i = 0; i < loads; ++i) program.add(load(i));
    for (std::uint32_t i = 0; i < loads; ++i) code.global(i, 7);
    Bench bench(config_, kReservationDelay);
    bench.start(program, {code});
    const Cycle end = bench.finish();
    const std::uint64_t units = config_.l1.sectored ? 4 : 1;
    EXPECT_EQ(bench.counters().l1_hits_pending, (merges - 1) * units);
    EXPECT_EQ(bench.counters().requests_sent, 1U);
    EXPECT_EQ(bench.counters().l1_misses, merges * units);
    const Cycle refused = kFirstAccess + merges * memory_interval();
    EXPECT_EQ(bench.counters().rsfail_merge, more ? first_reply() - refused : 0U);
    // The refused one finds the data when it looks again.
    EXPECT_EQ(end, first_reply() + (more ? config_.l1.latency : 0));
    EXPECT_EQ(bench.counters().lsu_stall_cycles, bench.counters().rsfail_merge);
  }
}

TEST_P(Reservation, ASetReservesAsManyLinesAsItHasWays) {
  const std::uint32_t ways = l1_lines() / (config_.l1.bytes / (config_.l1.ways * kLineBytes));
  if (ways > config_.l1.mshr_entries) return;
  config_.l1.banks = 1;  // lines of one set may lie in one bank
  for (const bool more : {false, true}) {
    std::vector<std::uint64_t> lines;
    for (std::uint64_t line = 0; lines.size() < ways + (more ? 1 : 0); ++line)
      if (l1_set(config_.l1, line) == 3) lines.push_back(line);
    Program program;
    WarpCode code;
    loads_of(program, code, lines);
    Bench bench(config_, kReservationDelay);
    bench.start(program, {code});
    bench.finish();
    if (on_miss()) {
      EXPECT_EQ(bench.counters().rsfail_line, more ? first_reply() - take(ways).next : 0U);
    } else {
      EXPECT_EQ(bench.counters().rsfail_line, 0U);  // lines are taken when the data comes
    }
    EXPECT_EQ(bench.counters().rsfail_mshr + bench.counters().rsfail_merge, 0U);
    EXPECT_EQ(bench.counters().requests_sent, lines.size());
  }
}

TEST_P(Reservation, TheMissQueueBacksUpBehindTheInjectionPort) {
  // Stores of whole lines: each holds the injection port for its flits, so the queue fills.
  const std::uint32_t queue = config_.l1.miss_queue, banks = config_.l1.banks, length = flits(kLineBytes);
  for (const std::uint32_t stores : {queue, queue + 1, queue + 2, 3 * queue, 4 * queue + 5}) {
    Program program;
    WarpCode code;
    for (std::uint32_t left = stores; left > 0;) {
      const std::uint32_t n = std::min(32U, left);
      access_lines(code, program.add(store()), stores - left, n);
      left -= n;
    }
    Bench bench(config_, kReservationDelay);
    bench.start(program, {code});
    bench.finish();
    Cycle stalls = 0, port_free = kFirstAccess + 1;
    std::uint32_t accessed = 0, queued = 0, in_instruction = 0;
    for (Cycle cycle = kFirstAccess; accessed < stores; ++cycle) {
      if (queued > 0 && port_free <= cycle) {
        --queued;
        port_free = cycle + length;
      }
      for (std::uint32_t b = 0; b < banks && accessed < stores && in_instruction < 32; ++b) {
        if (queued == queue) {
          ++stalls;
          break;
        }
        ++queued, ++accessed, ++in_instruction;
      }
      if (in_instruction == 32) in_instruction = 0;
    }
    EXPECT_EQ(bench.counters().rsfail_miss_queue, stalls) << stores;
    EXPECT_EQ(bench.counters().lsu_stall_cycles, stalls) << stores;
    ASSERT_EQ(bench.sent.size(), stores);
    for (std::uint32_t i = 0; i < stores; ++i)
      EXPECT_EQ(bench.sent[i].time, kFirstAccess + 1 + i * length + (length - 1) + network_latency());
  }
}

TEST_P(Reservation, CreditsBoundWhatIsUnderWay) {
  // Nothing gives credits back: the SM sends as many flits as its input buffer, the credit loop (twice the
  // latency) and one packet of the largest size make up, in whole packets, and not one flit more.
  const auto loop = static_cast<std::uint32_t>(std::floor(
      static_cast<double>(2 * network_latency()) * config_.clocks.noc / config_.clocks.core + 1e-9));
  const std::uint32_t credits = config_.noc.input_buffer_flits + loop + flits(kLineBytes);
  for (const bool read : {true, false}) {
    const std::uint32_t length = read ? 1 : flits(kLineBytes);
    const std::uint32_t packets = credits / length + 5;
    Program program;
    WarpCode code;
    for (std::uint32_t left = packets; left > 0;) {
      const std::uint32_t n = std::min(32U, left);
      access_lines(
          code,
          program.add(read ? load(static_cast<std::uint16_t>(program.table.size() % 200), isa::kBypassL1)
                           : store()),
          packets - left, n);
      left -= n;
    }
    Bench bench(config_, kReservationDelay);
    bench.answer = false;
    bench.start(program, {code});
    run_through(bench, 20 * credits + 100);
    EXPECT_EQ(bench.sent.size(), credits / length);
    // One packet's credits let one packet go, in the cycle in which they come.
    const Cycle due = bench.now + 3;
    bench.sm.mailbox().credits_in.push_back({due, static_cast<std::uint16_t>(length), 0, 0});
    run_through(bench, due + 20);
    ASSERT_EQ(bench.sent.size(), credits / length + 1);
    EXPECT_EQ(bench.sent.back().time, due + (length - 1) + network_latency());
  }
}

GPUMUX_ON_EVERY_PRESET(Reservation);

}  // namespace
}  // namespace gpumux::micro
