// Properties over random programs: the length of windows, sleeping and the order of events do not change
// results, and no resource is lost.
#include <random>
#include <tuple>

#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

struct Case {
  arch::MachineConfig config;
  Program program;
  std::vector<std::vector<WarpCode>> blocks;
};

Case random_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Case made;
  arch::MachineConfig& config = made.config = plain_machine();
  config.sm.schedulers = 1U << upto(3);
  config.sm.issue_interval = 1 + upto(2);
  config.sm.warp_scheduler =
      static_cast<arch::WarpScheduler>(upto(static_cast<std::uint32_t>(arch::warp_scheduler_names().size())));
  config.sm.ready_queue = 1 + config.sm.schedulers % 5;
  config.sm.register_banks = 16;
  config.sm.collectors_per_scheduler = 1 + upto(4);
  config.sm.result_buses = 1 + upto(3);
  config.sm.memory_queue = 1 + upto(8);
  config.sm.fetch_interval = 1 + upto(2);
  config.sm.barrier_latency = 1 + upto(30);
  config.icache.bytes = upto(2) * 512;
  config.icache.ways = 1;
  config.constant.bytes = upto(2) * 256;
  config.texture.ways = 4;
  config.texture.bytes = upto(2) * 512;
  config.texture.latency = 1 + upto(40);
  config.texture.mshr_entries = 1 + upto(4);
  config.texture.mshr_merges = 1 + upto(3);
  config.l1.sectored = upto(2) != 0;
  config.l1.allocate = upto(2) != 0 ? arch::Allocate::OnMiss : arch::Allocate::OnFill;
  config.l1.write = upto(2) != 0 ? arch::L1Write::Evict : arch::L1Write::Through;
  config.l1.index = static_cast<arch::L1Index>(upto(arch::kL1IndexWords.size()));
  config.l1.bytes = 1024U << upto(3);
  config.l1.mshr_entries = 1 + upto(8);
  config.l1.mshr_merges = 1 + upto(4);
  config.l1.miss_queue = 1 + upto(6);
  config.l1.banks = 1 + upto(4);
  config.noc.input_buffer_flits = upto(8);
  config.clocks.noc = upto(2) != 0 ? 1000 : 700;
  config.units[static_cast<unsigned>(Unit::Sfu)] = {config.sm.schedulers, 8, upto(2) != 0};
  config.latency[static_cast<unsigned>(LatencyClass::Sfu)] = {100, 4};

  const auto reg = [&] { return static_cast<std::uint16_t>(upto(12)); };
  constexpr std::uint32_t kLength = 40;
  std::vector<std::uint32_t> kinds;
  for (std::uint32_t i = 0; i < kLength; ++i) {
    const std::uint32_t kind = upto(16);
    kinds.push_back(kind);
    StaticInst made_inst = alu(reg(), {reg(), reg(), reg()});
    if (kind == 0 || kind == 1) made_inst = load(reg());
    if (kind == 2) made_inst = store();
    if (kind == 3)
      made_inst = inst(Unit::Memory, LatencyClass::Memory, {reg()}, {}, isa::kAtomic | isa::kLoad);
    if (kind == 4) made_inst = load(reg(), isa::kShared);
    if (kind == 5) made_inst = load(reg(), isa::kConstant);
    if (kind == 6) made_inst = load(reg(), isa::kBypassL1);
    if (kind == 7) made_inst = control(isa::kFence);
    if (kind == 8) made_inst = control(isa::kBarrier);
    if (kind == 9 || kind == 10) made_inst = inst(Unit::Sfu, LatencyClass::Sfu, {reg()}, {reg()});
    made.program.add(made_inst);
  }
  for (std::uint32_t b = 0; b < 3; ++b) {
    std::vector<WarpCode> block(1 + upto(6));
    const std::uint32_t rounds = 1 + upto(6);
    for (WarpCode& warp : block) {
      for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t pc = 0; pc < kLength; ++pc) {
          const std::uint32_t kind = kinds[pc];
          if (kind != 8 && upto(8) == 0) continue;  // skipped by a branch
          const LaneMask active = kind != 8 && upto(10) == 0 ? 0 : kAllLanes >> upto(31);
          if (made.program.table[pc].unit != Unit::Memory) {
            warp.run(pc, active);
            continue;
          }
          workload::MemHeader header;
          header.where = kind == 4                   ? Where::Shared
                         : kind == 5                 ? Where::Constant
                         : kind == 6 && upto(2) == 0 ? Where::Texture
                         : upto(4) == 0              ? Where::Local
                                                     : Where::Global;
          header.shared_passes = static_cast<std::uint16_t>(kind == 4 || kind == 5 ? 1 + upto(8) : 0);
          header.transactions = static_cast<std::uint16_t>(active == 0 || kind == 4 ? 0 : 1 + upto(6));
          warp.run(pc, active);
          warp.memory.push_back(std::bit_cast<std::uint64_t>(header));
          for (std::uint32_t t = 0; t < header.transactions; ++t)
            warp.memory.push_back(workload::Transaction::make(upto(64), 1 + upto(15), 1 + upto(32)).word);
        }
      }
    }
    made.blocks.push_back(std::move(block));
  }
  return made;
}

struct Result {
  arch::KernelCounters counters;
  arch::SchedulerCounters reasons;
  std::vector<std::tuple<Cycle, std::uint64_t, int>> sent;
  std::vector<std::pair<std::uint32_t, Cycle>> ended;
};

// `skip`: windows in which the SM sleeps are left out.
Result run_case(const Case& made, Cycle length, bool skip) {
  Bench bench(made.config, 57);
  bench.bind(made.program, {32 * 6, 16, 1000});
  for (std::uint32_t b = 0; b < made.blocks.size(); ++b) bench.launch(made.blocks[b], 0, b);
  bench.chunk = 40;
  while (bench.sm.all_resident_blocks() > 0 || !bench.sm.drained(0)) {
    if (skip) {
      bench.sm.refill_streams(static_cast<std::uint32_t>(length) + 1);
      const Cycle wake = bench.sm.next_wake();
      if (wake == kNever) {
        ADD_FAILURE() << bench.sm.describe_waits();
        return {};
      }
      if (wake > bench.now + length) bench.now = wake / length * length;
    }
    bench.window(bench.now + length);
    if (bench.now > 200'000) {
      ADD_FAILURE() << bench.sm.describe_waits();
      return {};
    }
  }
  bench.now = bench.now / 50 * 50 + 50;
  bench.window(bench.now + 50);
  bench.sm.check_drained(true);
  Result result;
  result.counters = bench.counters();
  result.reasons = bench.sm.scheduler_counters();
  for (const MemRequest& request : bench.sent)
    result.sent.emplace_back(request.time, request.line, static_cast<int>(request.kind));
  for (const FinishedBlock& block : bench.ended) result.ended.emplace_back(block.residency, block.time);
  return result;
}

void expect_same(const Result& a, const Result& b) {
#define GPUMUX_FIELD(field, unit, description) EXPECT_EQ(a.counters.field, b.counters.field) << #field;
  GPUMUX_KERNEL_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) EXPECT_EQ(a.reasons.field, b.reasons.field) << #field;
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  EXPECT_EQ(a.sent, b.sent);
  EXPECT_EQ(a.ended, b.ended);
}

TEST(Windows, LengthAndSleepingDoNotChangeResults) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = random_case(seed);
    const Result reference = run_case(made, 1, false);
    for (const Cycle length : {Cycle{2}, Cycle{5}, Cycle{10}})
      expect_same(reference, run_case(made, length, false));
    expect_same(reference, run_case(made, 1, true));
    expect_same(reference, run_case(made, 10, true));
    const auto& c = reference.counters;
    EXPECT_EQ(c.lsu_stall_cycles, c.reservation_failures());
    EXPECT_EQ(c.blocks_completed, 3U);
    if (made.config.sm.issue_interval == 1) {
      EXPECT_EQ(reference.reasons.issued, c.warp_instructions);
    }
    EXPECT_LE(c.l1_hits_pending, c.l1_misses);
    EXPECT_LE(c.l1_misses, c.l1_accesses);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace gpumux::sm::testing
