// Generated traces: on the table's caches, the trace of each application of kayiran14's Table III misses as
// often as the table says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "cpu/trace/applications.hpp"
#include "tests/cpu/fixed_memory.hpp"

namespace gpumux::cpu::test {
namespace {

std::vector<Record> some(TraceSource& source, std::size_t count) {
  std::vector<Record> records;
  while (records.size() < count) {
    const std::span<const Record> chunk = source.next();
    records.insert(records.end(), chunk.begin(), chunk.end());
  }
  records.resize(count);
  return records;
}

bool same(const std::vector<Record>& a, const std::vector<Record>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(Record)) == 0;
}

/// After the paper's warm-up of 500,000 instructions.
Counters measure(std::unique_ptr<TraceSource> source, std::uint64_t instructions, Cycle latency) {
  constexpr std::uint64_t kWarmUp = 500'000;
  Core core(CpuConfig{}, std::move(source), 0);
  FixedMemory memory{latency, 32};
  const Counters warm = memory.until_retired(core, kWarmUp, 32);
  return memory.until_retired(core, kWarmUp + instructions, 32) - warm;
}

double per_1000(std::uint64_t count, const Counters& counters) {
  return 1000.0 * static_cast<double>(count) / static_cast<double>(counters.instructions);
}

class TableIII : public testing::TestWithParam<std::size_t> {};

TEST_P(TableIII, MissesOfL2AreThoseOfTheTable) {
  const CpuApplication& application = cpu_applications()[GetParam()];
  const Counters counters = measure(generated_trace(application, 1, 0), 5'000'000, 200);
  const double mpki = per_1000(counters.l2_misses, counters);
  EXPECT_NEAR(mpki, application.l2_mpki, 0.1 * application.l2_mpki) << application.name;
  RecordProperty("l2_mpki", std::to_string(mpki));
  // What L1 misses is what is warm or far, and a little that was pushed out.
  EXPECT_NEAR(per_1000(counters.l1_misses, counters), 10 + 2 * application.l2_mpki,
              0.6 + 0.1 * application.l2_mpki);
}
INSTANTIATE_TEST_SUITE_P(Applications, TableIII, testing::Range(std::size_t{0}, std::size_t{34}),
                         [](const auto& chosen) {
                           return std::string(cpu_applications()[chosen.param].name);
                         });

TEST(Generated, MissesDoNotDependOnTheMemoryNorOnTheSeed) {
  for (const char* name : {"gcc", "bzip2", "milc", "soplex"}) {
    const CpuApplication& application = cpu_application(name);
    for (const auto& [seed, core, latency] :
         {std::tuple{1U, 0U, Cycle{40}}, {1U, 0U, Cycle{800}}, {2U, 13U, Cycle{200}}}) {
      const Counters counters = measure(generated_trace(application, seed, core), 1'500'000, latency);
      // Of some hundred bursts of unequal distance.
      EXPECT_NEAR(per_1000(counters.l2_misses, counters), application.l2_mpki, 0.1 * application.l2_mpki)
          << name;
    }
  }
}

TEST(Generated, IsTheSameForASeedAndACore) {
  const CpuApplication& mcf = cpu_application("mcf");
  const std::vector<Record> records = some(*generated_trace(mcf, 7, 3), 20000);
  EXPECT_TRUE(same(records, some(*generated_trace(mcf, 7, 3), 20000)));
  EXPECT_FALSE(same(records, some(*generated_trace(mcf, 8, 3), 20000)));
  EXPECT_FALSE(same(records, some(*generated_trace(mcf, 7, 4), 20000)));
  // perlbench and povray are one model, and two programs.
  EXPECT_FALSE(same(some(*generated_trace(cpu_application("perlbench"), 7, 3), 100),
                    some(*generated_trace(cpu_application("povray"), 7, 3), 100)));
}

TEST(Generated, HasTheSharesOfItsModel) {
  TraceModel model;
  model.l2_mpki = 20;
  model.memory = 0.3;
  model.stores = 0.25;
  model.branches = 0.2;
  model.streams = 0.75;
  model.chased = 0.5;
  model.stream_count = 3;
  constexpr std::size_t kCount = 400'000;
  GeneratedTrace trace(model, 1, 0);
  double loads = 0;
  double stores = 0;
  double branches = 0;
  double streamed = 0;
  double spread = 0;
  double chased = 0;
  std::uint64_t last = 0;
  for (const Record& record : some(trace, kCount)) {
    const std::uint64_t address = record.source_memory[0] + record.destination_memory[0];
    loads += record.source_memory[0] != 0;
    stores += record.destination_memory[0] != 0;
    branches += record.is_branch;
    if (record.is_branch != 0) {
      EXPECT_EQ(record.destination_registers[0], kInstructionPointer);
    }
    EXPECT_LT(address, std::uint64_t{1} << 32U);
    if (address < 0x40000000) continue;
    // Accesses of a stream are half a line apart; a line at random may look like the first of one.
    const bool second = address % 128 == 64 && address - last == 64;
    if (record.source_registers[0] == 40 && (second || address % 128 == 0)) {
      streamed += second;
    } else if (record.source_registers[0] == 41) {
      ++chased;
    } else {
      ++spread;
    }
    last = address;
  }
  EXPECT_NEAR(loads / kCount, 0.3 * 0.75, 0.004);
  EXPECT_NEAR(stores / kCount, 0.3 * 0.25, 0.004);
  EXPECT_NEAR(branches / kCount, 0.2, 0.004);
  EXPECT_NEAR(streamed / kCount, 0.020 * 0.75, 0.0015);
  EXPECT_NEAR(chased / kCount, 0.020 * 0.125, 0.001);
  EXPECT_NEAR(spread / kCount, 0.020 * 0.125, 0.001);
}

TEST(Generated, SourcesAreAsFarBackAsTheModelSays) {
  for (const double mean : {1.0, 2.0, 4.0, 8.0}) {
    TraceModel model;
    model.distance = mean;
    GeneratedTrace trace(model, 3, 0);
    std::uint64_t results = 0;
    double sum = 0;
    double count = 0;
    for (const Record& record : some(trace, 200'000)) {
      const bool computes = record.source_memory[0] + record.destination_memory[0] + record.is_branch == 0;
      if (computes && record.source_registers[0] != 0 && results > 32) {
        sum += static_cast<double>((results + 32 - (record.source_registers[0] - 64U)) % 32);
        ++count;
      }
      results += record.destination_registers[0] >= 64;
    }
    EXPECT_NEAR(sum / count, mean, 0.06 * mean);
  }
}

TEST(Generated, ChasedMissesGoOneAfterTheOther) {
  TraceModel model;
  model.l2_mpki = 25;
  model.streams = 0;
  model.stores = 0;
  model.chased = 1;
  const Counters chased = measure(std::make_unique<GeneratedTrace>(model, 1, 0), 200'000, 300);
  // 110 cycles of lookups and memory for each.
  EXPECT_GT(chased.cycles, chased.l2_misses * 300);
  model.chased = 0;
  const Counters spread = measure(std::make_unique<GeneratedTrace>(model, 1, 0), 200'000, 300);
  model.streams = 1;
  const Counters streams = measure(std::make_unique<GeneratedTrace>(model, 1, 0), 200'000, 300);
  EXPECT_LT(1.5 * static_cast<double>(spread.cycles), static_cast<double>(chased.cycles));
  EXPECT_LT(streams.cycles, spread.cycles);
}

TEST(Generated, ModelsOutOfRangeAreRefused) {
  const auto refused = [](auto change) {
    TraceModel model;
    change(model);
    EXPECT_THROW(GeneratedTrace(model, 1, 0), UserError);
  };
  refused([](TraceModel& m) { m.l2_mpki = 0; });
  refused([](TraceModel& m) { m.l2_mpki = 121; });
  refused([](TraceModel& m) { m.l2_mpki = NAN; });
  refused([](TraceModel& m) { m.memory = 1.1; });
  refused([](TraceModel& m) { m.memory = 0.9; });  // with the branches more than all
  refused([](TraceModel& m) { m.far_lines = 1000; });
  refused([](TraceModel& m) { m.burst = 0; });
  refused([](TraceModel& m) { m.stream_count = 0; });
  refused([](TraceModel& m) { m.stream_touches = 17; });
  refused([](TraceModel& m) { m.distance = 0.5; });
  refused([](TraceModel& m) {
    m.l2_mpki = 120;
    m.stream_touches = 16;
  });
}

TEST(Generated, TablesOfThePaper) {
  ASSERT_EQ(cpu_applications().size(), 34U);
  int of_class[3] = {0, 0, 0};
  for (const CpuApplication& application : cpu_applications()) {
    ++of_class[static_cast<int>(application.type)];
    // The classes' bounds lie between the table's rows.
    EXPECT_EQ(application.type == MpkiClass::Low, application.l2_mpki < 2);
    EXPECT_EQ(application.type == MpkiClass::High, application.l2_mpki > 20);
  }
  EXPECT_EQ(of_class[0], 15);
  EXPECT_EQ(of_class[1], 15);
  EXPECT_EQ(of_class[2], 4);
  ASSERT_EQ(cpu_mixes().size(), 6U);
  for (const CpuMix& mix : cpu_mixes()) {
    for (const std::string_view name : mix.applications) {
      const MpkiClass type = cpu_application(name).type;
      EXPECT_EQ(type == MpkiClass::Low ? 'L' : type == MpkiClass::Medium ? 'M' : 'H', mix.name[0]) << name;
    }
  }
  EXPECT_EQ(cpu_mix("H2").applications[13], "mcf");
  EXPECT_THROW((void)cpu_mix("H3"), UserError);
  EXPECT_THROW((void)cpu_application("doom"), UserError);
}

}  // namespace
}  // namespace gpumux::cpu::test
