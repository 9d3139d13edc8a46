// Not a test of speed (nothing is timed by assertion): prints the rate of a compute-bound SM.
#include <chrono>
#include <cstdio>

#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

TEST(Speed, ComputeBound) {
  machine::MachineConfig config = plain_machine();
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
  const auto begin = std::chrono::steady_clock::now();
  bench.finish(10);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto instructions = static_cast<double>(bench.counters().warp_instructions);
  EXPECT_EQ(bench.counters().warp_instructions, 64U * 200U * 40U);
  std::printf("compute: %.1f million warp instructions/s, %.2f per cycle\n", instructions / seconds / 1e6,
              instructions / static_cast<double>(bench.ended[0].time));
}

}  // namespace
}  // namespace gpumux::sm::testing
