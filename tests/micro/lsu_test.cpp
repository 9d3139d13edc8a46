// The load/store unit against a memory that answers after a fixed delay: shared memory, coalescing, L1 hits,
// constant memory.
#include "micro/preset.hpp"

namespace gpumux::micro {
namespace {

constexpr Cycle kDelay = 900;  // from a request's arrival to its reply; longer than any queue takes to fill

class LoadStoreUnit : public Preset {
 protected:
  /// Cycle in which the reply to a packet that entered the miss queue at `access` is back, when it is the
  /// n-th of a burst of one-flit packets (0: the first).
  [[nodiscard]] Cycle reply_at(Cycle access, std::uint32_t n = 0) const {
    return access + 1 + n + network_latency() + kDelay;
  }
};

TEST_P(LoadStoreUnit, SharedMemoryLatencyByDegreeOfConflict) {
  Program program;
  program.add(load(1, isa::kShared));
  program.add(alu(2, {1}));
  for (std::uint16_t degree = 1; degree <= 32; ++degree) {
    WarpCode code;
    code.shared(0, degree).run(1);
    Bench bench(config_);
    bench.start(program, {code});
    const Cycle ready = kFirstAccess + config_.shared.latency + degree - 1;
    run_through(bench, ready - 1);
    EXPECT_EQ(bench.counters().warp_instructions, 1U) << degree;
    bench.window(ready + 1);
    EXPECT_EQ(bench.counters().warp_instructions, 2U) << degree;
    bench.finish();
    EXPECT_EQ(bench.counters().shared_conflict_cycles, degree - 1U);
  }
}

TEST_P(LoadStoreUnit, SharedMemoryRateByDegreeOfConflict) {
  // n independent loads: the pipe takes the next one `degree` cycles later, if it has been issued by then.
  constexpr std::uint32_t kLoads = 20;
  Program program;
  for (std::uint16_t i = 0; i < kLoads; ++i) program.add(load(i, isa::kShared));
  for (std::uint16_t degree = 1; degree <= 32; ++degree) {
    WarpCode code;
    for (std::uint32_t i = 0; i < kLoads; ++i) code.shared(i, degree);
    const Cycle period = std::max<Cycle>(degree, memory_interval());
    EXPECT_EQ(time_of(config_, program, {code}),
              kFirstAccess + (kLoads - 1) * period + config_.shared.latency + degree - 1)
        << degree;
  }
}

TEST_P(LoadStoreUnit, TheMemoryQueueBoundsWhatIsIssuedAhead) {
  // Loads of 64 passes: one in the pipe, memory_queue behind it; each further one issues when a place is
  // free.
  const std::uint32_t ahead = 1 + config_.sm.memory_queue;
  const std::uint32_t loads = ahead + 3;
  Program program;
  for (std::uint16_t i = 0; i < loads; ++i) program.add(load(i, isa::kShared));
  WarpCode code;
  for (std::uint32_t i = 0; i < loads; ++i) code.shared(i, 64);
  Bench bench(config_);
  bench.start(program, {code});
  // Load n enters the pipe 64 n cycles after the first, and its place in the queue is free in that cycle.
  for (std::uint32_t n = 1; n <= 3; ++n) {
    const Cycle freed = kFirstAccess + n * 64;
    run_through(bench, freed - 1);
    EXPECT_EQ(bench.counters().warp_instructions, ahead + n - 1);
    bench.window(freed + 1);
    EXPECT_EQ(bench.counters().warp_instructions, ahead + n);
  }
  bench.finish();
}

TEST_P(LoadStoreUnit, MemoryInstructionsPerCycleOfAllSchedulers) {
  Program program;
  program.add(load(1, isa::kShared));
  std::vector<WarpCode> code(config_.sm.schedulers);
  for (WarpCode& warp : code) warp.shared(0, 1);
  // One memory unit for the whole SM, and memory_issue_width places a cycle in front of the LSU.
  Bench bench(config_);
  bench.start(program, code);
  bench.window(kFirstIssue + 1);
  EXPECT_EQ(bench.counters().warp_instructions,
            std::min({config_.sm.schedulers, config_.sm.memory_issue_width, unit(Unit::Memory).count}));
  bench.finish();
}

TEST_P(LoadStoreUnit, AtomicsOfSharedMemoryTakeTheirIntervalForEachPass) {
  constexpr std::uint32_t kDegree = 8;
  for (const std::uint32_t interval : {1U, 2U, 5U}) {
    config_.shared.atomic_interval = interval;
    Program program;
    const auto flags = static_cast<std::uint16_t>(isa::kShared | isa::kAtomic | isa::kLoad);
    program.add(inst(Unit::Memory, LatencyClass::Memory, {1}, {}, flags));
    program.add(load(2, isa::kShared));
    program.add(inst(Unit::Int, LatencyClass::IntAdd, {3}, {2}));
    WarpCode code;
    code.shared(0, kDegree).shared(1, 1).run(2);
    // The load behind it waits for the passes; loads have none of the interval.
    const Cycle begun = std::max<Cycle>(kFirstAccess + kDegree * interval, kFirstAccess + memory_interval());
    Bench bench(config_);
    bench.start(program, {code});
    EXPECT_EQ(bench.finish(), begun + config_.shared.latency) << interval;
    EXPECT_EQ(bench.counters().shared_conflict_cycles, kDegree * interval - 1U);
  }
}

TEST_P(LoadStoreUnit, L1HitLatencyByTransactions) {
  // A load of n lines twice; the second hits. One access per bank and cycle, the last one tells.
  for (std::uint32_t n = 1; n <= 32; ++n) {
    Program program;
    program.add(load(1));
    program.add(chained_load(2, 1));
    program.add(alu(3, {2}));
    WarpCode code;
    access_lines(code, 0, 0, n);
    access_lines(code, 1, 0, n);
    code.run(2);
    Bench bench(config_, kDelay);
    bench.start(program, {code});
    // The misses leave one per network cycle; the data is there with the last.
    const Cycle data = reply_at(kFirstAccess, n - 1);
    const Cycle ready = data + 1 + (access_cycles(n) - 1) + config_.l1.latency;
    run_through(bench, data - 1);
    EXPECT_EQ(bench.counters().warp_instructions, 1U) << n;
    bench.window(data + 1);
    EXPECT_EQ(bench.counters().warp_instructions, 2U) << n;
    run_through(bench, ready - 1);
    EXPECT_EQ(bench.counters().warp_instructions, 2U) << n;
    bench.window(ready + 1);
    EXPECT_EQ(bench.counters().warp_instructions, 3U) << n;
    bench.finish();
    const std::uint64_t units = config_.l1.sectored ? 4 : 1;
    EXPECT_EQ(bench.counters().l1_accesses, 2 * n * units);
    EXPECT_EQ(bench.counters().l1_misses, n * units);
    EXPECT_EQ(bench.counters().requests_sent, n);
    if (config_.l1.banks == 1) {  // no faster than the miss queue empties
      EXPECT_EQ(bench.counters().reservation_failures(), 0U);
    }
  }
}

TEST_P(LoadStoreUnit, L1HitBandwidth) {
  // Hits of n lines each, back to back: an access per bank and cycle.
  constexpr std::uint32_t kLoads = 30;
  for (const std::uint32_t n : {1U, 2U, 4U, 8U, 16U, 32U}) {
    Program program;
    program.add(load(1));
    for (std::uint16_t i = 0; i < kLoads; ++i)
      program.add(chained_load(static_cast<std::uint16_t>(2 + i), 1));
    WarpCode code;
    access_lines(code, 0, 0, 32);
    for (std::uint32_t i = 0; i < kLoads; ++i) access_lines(code, 1 + i, 0, n);
    const Cycle warm = reply_at(kFirstAccess, 31);
    const Cycle period = std::max(access_cycles(n), memory_interval());
    EXPECT_EQ(time_of(config_, program, {code}, kDelay),
              warm + 1 + (kLoads - 1) * period + (access_cycles(n) - 1) + config_.l1.latency)
        << n;
  }
}

TEST_P(LoadStoreUnit, L1HoldsItsSizeAndNoLineMore) {
  // Twice over a working set: as many lines as L1 has hit; one line more in one set misses throughout that
  // set (least recently used first out, in the worst order).
  const std::uint32_t bytes = l1_bytes();
  const std::uint32_t lines = bytes / kLineBytes;
  const std::uint32_t sets = config_.l1.bytes / (config_.l1.ways * kLineBytes);
  const std::uint32_t ways = lines / sets;
  const std::uint64_t units = config_.l1.sectored ? 4 : 1;
  for (const bool more : {false, true}) {
    Program program;
    program.add(chained_load(1, 1));
    WarpCode code;
    // Consecutive lines fill all sets alike under either index; sets x n is in set 0 of a linear index, and
    // the xor index folds the bits above onto it: line `lines` is in some set, which then has one too many.
    for (int pass = 0; pass < 2; ++pass)
      for (std::uint64_t line = 0; line < lines + (more ? 1 : 0); ++line) code.global(0, line);
    Bench bench(config_, 50);
    bench.keep_sent = false;
    bench.start(program, {code});
    bench.finish();
    EXPECT_EQ(bench.counters().l1_misses, units * (more ? lines + 1 + (ways + 1) : lines));
    EXPECT_EQ(bench.counters().l1_accesses, units * 2 * (lines + (more ? 1 : 0)));
  }
}

/// A store of all lanes, `bytes` each.
StaticInst wide_store(std::uint8_t bytes) {
  StaticInst result = inst(Unit::Memory, LatencyClass::Memory, {}, {}, isa::kStore);
  result.access_bytes = bytes;
  return result;
}

TEST_P(LoadStoreUnit, AStoreThatTakesALineServesTheLoadBehindIt) {
  // 32 lanes of 4 bytes are a whole line; of 2 bytes they leave no sector whole.
  for (const auto& [write, bytes, requests] :
       {std::tuple{arch::L1Write::Allocate, 4, 1U}, std::tuple{arch::L1Write::Allocate, 2, 2U},
        std::tuple{arch::L1Write::Through, 4, 2U}, std::tuple{arch::L1Write::Evict, 4, 2U}}) {
    config_.l1.write = write;
    Program program;
    program.add(wide_store(static_cast<std::uint8_t>(bytes)));
    program.add(load(1));
    WarpCode code;
    access_lines(code, 0, 7, 1);
    access_lines(code, 1, 7, 1);
    Bench bench(config_, kDelay);
    bench.start(program, {code});
    bench.finish();
    EXPECT_EQ(bench.counters().requests_sent, requests) << bytes;
  }
}

TEST_P(LoadStoreUnit, WrittenLinesStayWhileTheyAreFew) {
  // `written` lines, then as many as L1 has others, then the written ones again. While fewer than the limit
  // are written, they stay; of as many as the limit the oldest goes, after which the others stay.
  const std::uint32_t lines = l1_bytes() / kLineBytes;
  const std::uint64_t units = config_.l1.sectored ? 4 : 1;
  config_.l1.write = arch::L1Write::Allocate;
  config_.l1.written_kept = 25;
  const std::uint32_t limit = (lines + 3) / 4;
  for (const auto& [written, missed] : {std::pair{limit - 1, 0U}, std::pair{limit, 1U}}) {
    Program program;
    program.add(wide_store(4));
    program.add(chained_load(1, 1));
    WarpCode code;
    for (std::uint64_t line = 0; line < written; ++line) access_lines(code, 0, line, 1);
    for (std::uint64_t line = 0; line < lines; ++line) code.global(1, written + line);
    for (std::uint64_t line = 0; line < written; ++line) code.global(1, line);
    Bench bench(config_, 50);
    bench.keep_sent = false;
    bench.start(program, {code});
    bench.finish();
    EXPECT_EQ(bench.counters().l1_misses, units * (written + lines + missed));
  }
}

TEST_P(LoadStoreUnit, MissLatencyByTransactions) {
  for (std::uint32_t n = 1; n <= 32; ++n) {
    Program program;
    program.add(load(1, isa::kBypassL1));
    program.add(alu(2, {1}));
    WarpCode code;
    access_lines(code, 0, 0, n, 3);
    code.run(1);
    Bench bench(config_, kDelay);
    bench.start(program, {code});
    EXPECT_EQ(bench.finish(), reply_at(kFirstAccess, n - 1)) << n;
    ASSERT_EQ(bench.sent.size(), n);
    for (std::uint32_t i = 0; i < n; ++i)
      EXPECT_EQ(bench.sent[i].time, kFirstAccess + 1 + i + network_latency());
  }
}

TEST_P(LoadStoreUnit, AMissIsNeverFasterThanAHit) {
  // A memory that answers at once: the data is there with its reply, but not before a hit's latency.
  Program program;
  program.add(load(1));
  program.add(alu(2, {1}));
  WarpCode code;
  code.global(0, 5).run(1);
  for (const Cycle delay : {Cycle{1}, Cycle{config_.l1.latency}, Cycle{config_.l1.latency} + 30}) {
    const Cycle reply = kFirstAccess + 1 + network_latency() + delay;
    EXPECT_EQ(time_of(config_, program, {code}, delay),
              std::max<Cycle>(reply, kFirstAccess + config_.l1.latency));
  }
}

TEST_P(LoadStoreUnit, ConstantCacheHitsAndMisses) {
  Program program;
  program.add(load(1, isa::kConstant));
  program.add(load(2, isa::kConstant));
  program.table[1].slot[1] = 1;
  program.table[1].num_src = 1;
  program.add(alu(3, {2}));
  for (std::uint16_t words = 1; words <= 4; ++words) {
    WarpCode code;
    const Transaction first_half = Transaction::make(100, 0x1, 32);
    code.access(0, Where::Constant, {first_half}, 1).access(1, Where::Constant, {first_half}, words).run(2);
    // A miss costs the memory's delay, unless the cache is perfect; a hit its latency and a pass per word.
    const Cycle first =
        config_.constant.bytes == 0 ? kFirstAccess + config_.constant.latency : reply_at(kFirstAccess);
    EXPECT_EQ(time_of(config_, program, {code}, kDelay), first + 1 + config_.constant.latency + words - 1);
  }
}

GPUMUX_ON_EVERY_PRESET(LoadStoreUnit);

}  // namespace
}  // namespace gpumux::micro
