// Random traces on random cores: compared with a model that examines every instruction in every cycle, and
// with the same core simulated in other steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.hpp"
#include "tests/cpu/core_reference.hpp"
#include "tests/cpu/fixed_memory.hpp"
#include "tests/sanitized.hpp"

namespace gpumux::cpu::test {
namespace {

/// Registers and addresses that meet often; in one region, so that lines are addresses / 128.
std::vector<Record> random_trace(Random& random, std::size_t count) {
  const std::uint32_t lines = 1U << (3 + random.below(10));
  const std::uint32_t stride = random.below(2) == 0 ? 1 : 64;
  const std::uint32_t registers = 2 + random.below(40);
  const std::uint32_t memory = 1 + random.below(4);  // of 4
  const auto address = [&] {
    return kLineBytes * (1 + std::uint64_t{random.below(lines)} * stride) + random.below(16) * 8 +
           random.below(2);
  };
  const auto reg = [&] { return static_cast<std::uint8_t>(random.below(2) * (1 + random.below(registers))); };
  std::vector<Record> records(count);
  for (Record& record : records) {
    record.is_branch = random.below(8) == 0 ? 1 : 0;
    record.branch_taken = random.below(3) == 0 ? 1 : 0;
    record.ip = random.below(16);
    for (std::uint8_t& to : record.destination_registers) to = reg();
    for (std::uint8_t& from : record.source_registers) from = random.below(2) == 0 ? reg() : std::uint8_t{0};
    if (random.below(4) >= memory) continue;
    if (random.below(16) == 0) {
      for (std::uint64_t& from : record.source_memory) from = random.below(2) * address();
      for (std::uint64_t& to : record.destination_memory) to = random.below(2) * address();
    } else {
      (random.below(3) == 0 ? record.destination_memory[0] : record.source_memory[0]) = address();
    }
  }
  return records;
}

CpuConfig random_config(Random& random) {
  CpuConfig config;
  if (random.below(3) > 0) config.window = 1 + random.below(128);
  config.width = 1 + random.below(5);
  config.l1 = {(1U + random.below(4)) * kLineBytes << random.below(5), 0, 1 + random.below(6)};
  config.l1.ways = config.l1.bytes / kLineBytes;
  while (config.l1.ways % 2 == 0 && random.below(2) == 0) config.l1.ways /= 2;
  config.l2 = {(1U + random.below(4)) * kLineBytes << random.below(8), 0, 1 + random.below(20)};
  config.l2.ways = config.l2.bytes / kLineBytes;
  while (config.l2.ways % 2 == 0 && (config.l2.ways > 64 || random.below(2) == 0)) config.l2.ways /= 2;
  config.mshrs = 1 + random.below(random.below(2) == 0 ? 4 : 20);
  config.outbox = 1 + random.below(random.below(2) == 0 ? 3 : 20);
  config.fold_stack_pointer = random.below(2) == 0;
  config.forward_stores = random.below(4) > 0;
  if (random.below(3) == 0) {
    config.predictor_bits = 1 + random.below(8);
    config.redirect = random.below(20);
  }
  return config;
}

/// By cycle, reads first: as a core shows them.
std::vector<std::pair<Cycle, std::uint64_t>> in_order(std::vector<Request> requests) {
  std::stable_sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return std::pair(a.cycle, a.write) < std::pair(b.cycle, b.write);
  });
  std::vector<std::pair<Cycle, std::uint64_t>> list;
  for (const Request& request : requests)
    list.emplace_back(request.cycle, request.line << 1U | (request.write ? 1U : 0U));
  return list;
}

TEST(RandomCore, DoesInEveryCycleWhatTheRulesSay) {
  constexpr Cycle kCycles = 4000;
  Counters sum;
  for (std::uint64_t seed = 1; seed <= gpumux::test::rounds(150); ++seed) {
    Random random(seed);
    const CpuConfig config = random_config(random);
    const std::vector<Record> records = random_trace(random, 700);
    const Cycle latency = 1 + random.below(300);
    const Cycle hold = 1 + random.below(random.below(2) == 0 ? 3 : 60);
    CoreReference reference(config, records, latency, hold);
    Core core = make_core(records, config, true);
    FixedMemory memory{latency, hold};
    for (Cycle cycle = 1; cycle <= kCycles; ++cycle) {
      reference.cycle();
      memory.run(core, cycle);
      // The reference counts a read when it is looked up, as the core does.
      ASSERT_EQ(core.counters(), reference.counters) << "seed " << seed << ", cycle " << cycle - 1;
    }
    auto expected = in_order(reference.sent);
    while (!expected.empty() && expected.back().first >= kCycles) expected.pop_back();
    ASSERT_EQ(in_order(memory.seen), expected) << seed;
    Counters all = core.counters();
    sum.l2_writebacks += all.l2_writebacks;
    sum.forwarded_loads += all.forwarded_loads;
    sum.stalled_by_mshrs += all.stalled_by_mshrs;
    sum.stalled_by_outbox += all.stalled_by_outbox;
    sum.l1_merges += all.l1_merges;
    sum.stalled_by_branches += all.stalled_by_branches;
  }
  // All of it has come up.
  EXPECT_GT(sum.l2_writebacks, gpumux::test::rounds(1000));
  EXPECT_GT(sum.forwarded_loads, gpumux::test::rounds(1000));
  EXPECT_GT(sum.stalled_by_mshrs, gpumux::test::rounds(1000));
  EXPECT_GT(sum.stalled_by_outbox, gpumux::test::rounds(1000));
  EXPECT_GT(sum.l1_merges, gpumux::test::rounds(1000));
  EXPECT_GT(sum.stalled_by_branches, gpumux::test::rounds(1000));
}

TEST(RandomCore, IsTheSameHoweverItIsSimulated) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed + 1000);
    const CpuConfig config = random_config(random);
    const std::vector<Record> records = random_trace(random, 5000);
    const Cycle latency = 64 + random.below(300);
    const Cycle hold = 64 + random.below(100);
    const Cycle until = 20000 + random.below(1000);
    std::vector<std::pair<Counters, std::vector<std::pair<Cycle, std::uint64_t>>>> outcomes;
    for (const auto& [chunk, every] :
         {std::pair<Cycle, bool>{1, true}, {1, false}, {7, false}, {64, false}, {64, true}}) {
      Core core = make_core(records, config, true);
      if (every) core.simulate_every_cycle();
      FixedMemory memory{latency, hold};
      memory.run(core, until, chunk);
      const Counters& counters = core.counters();
      EXPECT_EQ(counters.cycles, until);
      // Conservation.
      EXPECT_EQ(counters.l2_misses, counters.replies + core.outstanding());
      EXPECT_LE(counters.replies, memory.answered);
      std::uint64_t writes = 0;
      for (const Request& request : memory.seen) writes += request.write ? 1U : 0U;
      EXPECT_EQ(counters.l2_writebacks, writes);
      EXPECT_EQ(counters.memory_latency, counters.replies * latency);
      EXPECT_LE(counters.l1_misses + counters.l1_merges, counters.l1_accesses);
      outcomes.emplace_back(counters, in_order(memory.seen));
      EXPECT_EQ(outcomes.back(), outcomes.front()) << "seed " << seed << ", chunk " << chunk;
    }
  }
}

TEST(RandomCore, RunsAheadOfWhatIsKnownWithoutADifference) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed + 2000);
    const CpuConfig config = random_config(random);
    const std::vector<Record> records = random_trace(random, 5000);
    const auto run = [&](bool ahead) {
      Core core = make_core(records, config, true);
      std::vector<Request> seen;
      const Cycle latency = 50;
      while (core.done() < 8000) {
        // Known is what has been said: the core decides how far that takes it.
        const Cycle before = core.done();
        core.run(ahead ? 8000 : before + 1, before + 1);
        for (const Request* request = core.front(); request != nullptr; request = core.front()) {
          const Request taken = *request;
          seen.push_back(taken);
          core.take(taken.cycle + 1);
          if (!taken.write) core.reply(taken.id, taken.cycle + latency);
        }
      }
      return std::pair(core.counters(), in_order(seen));
    };
    EXPECT_EQ(run(true), run(false)) << seed;
  }
}

TEST(RandomCore, EveryReadIsAnsweredOnceAndEveryPlaceComesHome) {
  Random random(5);
  const CpuConfig config;
  Core core(config, std::make_unique<Script>(random_trace(random, 30000)), 0);
  FixedMemory memory{200, 8};
  memory.until_retired(core, 30000);
  memory.run(core, core.done() + 1000);
  EXPECT_EQ(core.outstanding(), 0U);
  EXPECT_EQ(core.mshrs_in_use(), 0U);
  EXPECT_EQ(core.front(), nullptr);
  EXPECT_EQ(core.counters().replies, core.counters().l2_misses);
  EXPECT_EQ(memory.answered, core.counters().replies);
}

}  // namespace
}  // namespace gpumux::cpu::test
