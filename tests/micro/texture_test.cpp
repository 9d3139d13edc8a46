// The texture cache: latency of hits and misses, rate, misses of a walk that does not fit, and MSHRs. Also
// machines on which texture fetches use L1. Expected values follow from the machine's keys.
#include "micro/preset.hpp"

namespace gpumux::micro {
namespace {

constexpr Cycle kTextureDelay = 900;

class Texture : public Preset {
 protected:
  [[nodiscard]] bool own() const { return config_.texture.bytes > 0; }
  /// Of what texture fetches go through.
  [[nodiscard]] Cycle hit_latency() const { return own() ? config_.texture.latency : config_.l1.latency; }
  [[nodiscard]] std::uint32_t lines() const {
    return (own() ? config_.texture.bytes : l1_bytes()) / kLineBytes;
  }
  /// The preset, with the cache that it lacks.
  [[nodiscard]] MachineConfig with_cache() const {
    MachineConfig config = config_;
    if (!own()) config.texture.bytes = 12288;
    return config;
  }
  [[nodiscard]] Cycle reply_at(Cycle access) const { return access + 1 + network_latency() + kTextureDelay; }

  static Program chased() {
    Program made;
    made.add(chained_load(1, 1));
    made.add(alu(2, {1}));
    return made;
  }
  static void fetch(WarpCode& code, std::uint64_t line) {
    code.access(0, Where::Texture, {Transaction::make(line, 0x1, 32)});
  }
  /// `passes` over so many lines, each fetch after the one before.
  static WarpCode walk(std::uint32_t count, std::uint32_t passes) {
    WarpCode code;
    for (std::uint32_t pass = 0; pass < passes; ++pass)
      for (std::uint32_t line = 0; line < count; ++line) fetch(code, line);
    return code.run(1);
  }
  static arch::KernelCounters counters_of(const MachineConfig& config, const WarpCode& code,
                                          const Program& program = chased()) {
    Bench bench(config, 50);
    bench.start(program, {code});
    bench.finish();
    return bench.counters();
  }
};

TEST_P(Texture, AMissIsTheMemorysAndAHitTakesItsLatency) {
  for (const std::uint32_t hits : {0U, 1U, 5U}) {
    WarpCode code;
    for (std::uint32_t i = 0; i <= hits; ++i) fetch(code, 77);
    code.run(1);
    EXPECT_EQ(time_of(config_, chased(), {code}, kTextureDelay),
              reply_at(kFirstAccess) + hits * (1 + hit_latency()));
  }
  // However fast the memory, no data before a hit's latency.
  const MachineConfig config = with_cache();
  WarpCode code;
  fetch(code, 77);
  code.run(1);
  EXPECT_EQ(time_of(config, chased(), {code}, 1),
            std::max<Cycle>(kFirstAccess + config.texture.latency, kFirstAccess + 2 + network_latency()));
}

TEST_P(Texture, NothingButBorderTakesAHitsTime) {
  WarpCode code;
  code.access(0, Where::Texture, {}).access(0, Where::Texture, {}).run(1);
  EXPECT_EQ(time_of(config_, chased(), {code}), kFirstAccess + 1 + 2 * hit_latency());
  EXPECT_EQ(counters_of(config_, code).requests_sent, 0U);
}

TEST_P(Texture, OneLineACycle) {
  const MachineConfig config = with_cache();
  // Warm lines; then fetches of one line and of many, with nothing between.
  constexpr std::uint32_t kLines = 16;
  const auto time = [&](std::uint32_t count) {
    WarpCode code = walk(kLines, 1);
    code.records.pop_back();
    code.run(0);
    workload::MemHeader header;
    header.where = Where::Texture;
    header.transactions = static_cast<std::uint16_t>(count);
    code.memory.push_back(std::bit_cast<std::uint64_t>(header));
    for (std::uint32_t i = 0; i < count; ++i) code.memory.push_back(Transaction::make(i, 0xf, 2).word);
    return time_of(config, chased(), {code.run(1)});
  };
  for (std::uint32_t n = 2; n <= kLines; n += 7) EXPECT_EQ(time(n) - time(1), n - 1) << n;
}

TEST_P(Texture, AWalkThatFitsMissesOnceAndOneThatDoesNotAlways) {
  const MachineConfig config = with_cache();
  const std::uint32_t fits = config.texture.bytes / kLineBytes;
  const std::uint32_t sets = fits / config.texture.ways;
  const arch::KernelCounters warm = counters_of(config, walk(fits, 3));
  EXPECT_EQ(warm.texture_accesses, 3 * fits);
  EXPECT_EQ(warm.texture_misses, fits);
  EXPECT_EQ(warm.requests_sent, fits);
  // One line more in every set: the least recently used one goes just before it is needed.
  const arch::KernelCounters cold = counters_of(config, walk(fits + sets, 3));
  EXPECT_EQ(cold.texture_misses, 3 * (fits + sets));
  // One line more in one set: that set alone.
  const arch::KernelCounters one = counters_of(config, walk(fits + 1, 3));
  EXPECT_EQ(one.texture_misses, fits + 1 + 2 * (config.texture.ways + 1));
  EXPECT_EQ(one.l1_accesses, 0U);
  EXPECT_EQ(one.l1_misses, 0U);
}

TEST_P(Texture, WithoutACacheOfItsOwnL1Serves) {
  MachineConfig config = config_;
  config.texture.bytes = 0;
  config.l1.caches_global = false;  // what global loads may do does not matter
  const arch::KernelCounters counters = counters_of(config, walk(4, 3));
  EXPECT_EQ(counters.texture_accesses, 0U);
  EXPECT_EQ(counters.l1_accesses, 12U);
  EXPECT_EQ(counters.l1_misses, 4U);
  EXPECT_EQ(counters.requests_sent, 4U);
}

TEST_P(Texture, MshrsBoundTheMissesUnderWay) {
  MachineConfig config = with_cache();
  config.texture.mshr_entries = 2;
  config.l1.miss_queue = 64;
  // Four lines of one instruction: the third waits for the first reply.
  Program program = chased();
  WarpCode code;
  code.access(0, Where::Texture,
              {Transaction::make(0, 1, 8), Transaction::make(1, 1, 8), Transaction::make(2, 1, 8),
               Transaction::make(3, 1, 8)});
  code.run(1);
  Bench bench(config, kTextureDelay);
  bench.start(program, {code});
  bench.finish();
  ASSERT_EQ(bench.sent.size(), 4U);
  EXPECT_EQ(bench.sent[1].time, kFirstAccess + 2 + network_latency());
  // The reply of the first comes, the third is looked up in that cycle and leaves in the next.
  EXPECT_EQ(bench.sent[2].time, reply_at(kFirstAccess) + 1 + network_latency());
  EXPECT_EQ(bench.counters().rsfail_mshr, bench.counters().lsu_stall_cycles);
  EXPECT_GT(bench.counters().rsfail_mshr, kTextureDelay);
  // And of one line as many fetches wait as an MSHR takes.
  config.texture.mshr_merges = 2;
  Program apart;
  for (std::uint16_t i = 0; i < 3; ++i) apart.add(load(i));
  WarpCode same;
  for (std::uint32_t i = 0; i < 3; ++i) same.access(i, Where::Texture, {Transaction::make(9, 1, 32)});
  const arch::KernelCounters counters = counters_of(config, same, apart);
  EXPECT_EQ(counters.requests_sent, 1U);
  EXPECT_GT(counters.rsfail_merge, 0U);
  EXPECT_EQ(counters.texture_accesses, 3U);
  EXPECT_EQ(counters.texture_misses, 2U);  // the third comes when the line is there
}

GPUMUX_ON_EVERY_PRESET(Texture);

}  // namespace
}  // namespace gpumux::micro
