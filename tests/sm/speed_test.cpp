// Prints the simulation speed of a compute-bound and of a memory-bound SM. No assertion depends on times.
#include <cstdio>
#include <ctime>

#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

TEST(Speed, ComputeBound) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 4;
  config.sm.register_banks = 16;
  config.sm.max_warps = 64;
  Program program;
  for (std::uint16_t i = 0; i < 40; ++i) {
    const auto chain = static_cast<std::uint16_t>(i % 4);
    program.add(inst(i % 5 == 4 ? Unit::Int : Unit::Sp, LatencyClass::FpMad, {chain},
                     {static_cast<std::uint16_t>(chain + 5), static_cast<std::uint16_t>(chain + 10)}));
  }
  std::vector<WarpCode> code(64);
  for (WarpCode& warp : code)
    for (std::uint32_t n = 0; n < 200; ++n)
      for (std::uint32_t i = 0; i < 40; ++i) warp.run(i);
  Bench bench(config);
  bench.chunk = 512;
  bench.start(program, code);
  const auto begin = std::clock();
  bench.finish(10);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const auto instructions = static_cast<double>(bench.counters().warp_instructions);
  EXPECT_EQ(bench.counters().warp_instructions, 64U * 200U * 40U);
  std::printf("compute: %.1f million warp instructions/s, %.2f per cycle\n", instructions / seconds / 1e6,
              instructions / static_cast<double>(bench.ended[0].time));
}

TEST(Speed, MemoryBound) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 4;
  config.sm.register_banks = 16;
  config.l1.sectored = true;
  config.l1.bytes = 32768;
  config.l1.mshr_entries = 256;
  config.l1.miss_queue = 16;
  config.l1.allocate = arch::Allocate::OnFill;
  for (const std::uint32_t lines : {1U, 8U, 32U}) {
    Program program;
    for (std::uint16_t i = 0; i < 4; ++i) program.add(load(i));
    program.add(alu(5, {0, 1}));
    program.add(alu(6, {2, 3}));
    std::vector<WarpCode> code(64);
    std::uint64_t line = 0;
    std::uint64_t transactions = 0;
    for (std::uint32_t w = 0; w < 64; ++w) {
      for (std::uint32_t n = 0; n < 500 / lines; ++n) {
        for (std::uint32_t i = 0; i < 4; ++i) {
          code[w].run(i);
          workload::MemHeader header;
          header.where = Where::Global;
          header.transactions = static_cast<std::uint16_t>(lines);
          code[w].memory.push_back(std::bit_cast<std::uint64_t>(header));
          for (std::uint32_t t = 0; t < lines; ++t)
            code[w].memory.push_back(
                workload::Transaction::make((line += 17) % 100'000, lines == 1 ? 0xf : 1, 4).word);
          transactions += lines;
        }
        code[w].run(4).run(5);
      }
    }
    Bench bench(config, 300);
    bench.chunk = 512;
    bench.keep_sent = false;
    bench.start(program, code);
    const auto begin = std::clock();
    bench.finish(10);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf(
        "memory, %u lines: %.1f ns per transaction, %.2f million warp instructions/s, %.2f transactions per "
        "cycle\n",
        lines, seconds * 1e9 / static_cast<double>(transactions),
        static_cast<double>(bench.counters().warp_instructions) / seconds / 1e6,
        static_cast<double>(transactions) / static_cast<double>(bench.ended[0].time));
  }
}

}  // namespace
}  // namespace gpumux::sm::testing
