// Constant memory and barriers in the emulator's records, observed in whole runs.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"

namespace gpumux {
namespace {

/// One launch of the kernel `k` of a PTX text, with a pointer to one word per thread.
class OneKernel final : public runtime::Application {
 public:
  OneKernel(std::string text, Dim3 grid, Dim3 block) : text_(std::move(text)), grid_(grid), block_(block) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(text_, "one.ptx");
    const auto out = host.malloc<std::uint32_t>(grid_.count() * block_.count());
    host.launch(module, "k", {grid_, block_, 0, 0}, out);
    co_await host.synchronize();
  }

 private:
  std::string text_;
  Dim3 grid_;
  Dim3 block_;
};

experiment::RunSpec spec_of(const arch::MachineConfig& config, const std::string& text, std::uint32_t blocks,
                            std::uint32_t threads) {
  experiment::RunSpec spec;
  spec.machine = config;
  spec.policy = policy::parse_choice("sequential");
  experiment::AppSpec app;
  app.text = app.name = app.identity = "one";
  app.create = [=](std::uint64_t) {
    return std::make_unique<OneKernel>(text, Dim3{blocks, 1, 1}, Dim3{threads, 1, 1});
  };
  spec.apps.push_back(app);
  return spec;
}

experiment::RunResult run(const arch::MachineConfig& config, const std::string& text, std::uint32_t blocks,
                          std::uint32_t threads) {
  return experiment::simulate(spec_of(config, text, blocks, threads));
}

std::string ptx(const std::string& declarations, const std::string& body) {
  return ".version 8.0\n.target sm_75\n.address_size 64\n" + declarations + R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
)" + body +
         "\n}\n";
}

/// 512 rounds over a table of `words` words (a power of two), one line of 64 bytes further each time.
std::string table_kernel(std::uint32_t words) {
  return ptx(".const .align 64 .b32 table[" + std::to_string(words) + "];",
             R"(
  mov.u64 %rd2, table;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
LOOP:
  mul.lo.u32 %r4, %r2, 16;
  and.b32 %r4, %r4, )" +
                 std::to_string(words - 1) + R"(;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.const.u32 %r5, [%rd4];
  add.u32 %r3, %r3, %r5;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 512;
  @%p1 bra LOOP;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r3;
  ret;
)");
}

TEST(ConstantCache, ATableThatDoesNotFitGoesToL2) {
  arch::MachineConfig config = arch::load_machine("dai18-maxwell", {"code=machine"});
  config.constant = {2048, 2, 64, 10};
  arch::MachineConfig perfect = config;
  perfect.constant.bytes = 0;
  const std::string small = table_kernel(256);   // 1 KiB: 16 lines, all fit
  const std::string large = table_kernel(8192);  // 32 KiB: 512 lines, each used once
  const auto small_real = run(config, small, 1, 32);
  const auto small_perfect = run(perfect, small, 1, 32);
  const auto large_real = run(config, large, 1, 32);
  const auto large_perfect = run(perfect, large, 1, 32);
  EXPECT_EQ(large_perfect.cycles, small_perfect.cycles) << "a perfect cache holds any table";
  EXPECT_EQ(small_real.gpu.requests_sent, small_perfect.gpu.requests_sent + 16);
  EXPECT_EQ(large_real.gpu.requests_sent, large_perfect.gpu.requests_sent + 512);
  EXPECT_EQ(large_real.partitions.requests, large_perfect.partitions.requests + 512);
  EXPECT_GT(small_real.cycles, small_perfect.cycles);
  EXPECT_GT(large_real.cycles, 2 * small_real.cycles);
  EXPECT_EQ(large_real.gpu.warp_instructions, large_perfect.gpu.warp_instructions);
  EXPECT_EQ(large_real.gpu.l1_accesses, large_perfect.gpu.l1_accesses) << "constants pass the L1 by";
}

// What kernels read as time is the emulator's, not the machine's: they have to agree about as well as a loop
// of dependent instructions does with their latencies.
TEST(Clocks, AWaitTakesAboutItsTime) {
  const auto wait = [](const char* clock, int ticks) {
    return ptx("", std::string(R"(
  mov.u64 %rd3, )") + clock +
                       R"(;
TIME:
  mov.u64 %rd4, )" + clock +
                       R"(;
  sub.s64 %rd4, %rd4, %rd3;
  setp.lt.u64 %p2, %rd4, )" +
                       std::to_string(ticks) + R"(;
  @%p2 bra TIME;
  ret;
)");
  };
  for (const char* machine : {"dai18-maxwell", "v100", "rtx2060", "h100-measured"}) {
    const arch::MachineConfig config = arch::load_machine(machine, {});
    const double cycles = static_cast<double>(run(config, wait("%clock64", 20000), 1, 32).cycles);
    EXPECT_GT(cycles, 0.8 * 20000) << machine;
    EXPECT_LT(cycles, 2 * 20000) << machine;
    const double ns = static_cast<double>(run(config, wait("%globaltimer", 20000), 1, 32).cycles) /
                      (config.clocks.core * 1e-3);
    EXPECT_GT(ns, 0.8 * 20000) << machine;
    EXPECT_LT(ns, 2 * 20000) << machine;
  }
}

TEST(Barriers, HalvesOfABlockMeetApart) {
  // Warps 0 and 1 meet 40 times while warps 2 and 3 run a chain of divisions of several times that length;
  // at barriers of the whole block the first two would take as long as the others in every round.
  const auto text = [](const std::string& first, const std::string& second) {
    return ptx("", R"(
  mov.u32 %r2, 0;
  mov.u32 %r3, 1000000;
  setp.ge.u32 %p1, %r1, 64;
  @%p1 bra OTHERS;
LOOP:
  )" + first + R"(
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 40;
  @%p2 bra LOOP;
  bra.uni STORE;
OTHERS:
  )" + second + R"(
  div.u32 %r3, %r3, %r1;
  add.u32 %r3, %r3, 1000000;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p3, %r2, 40;
  @%p3 bra OTHERS;
STORE:
  add.u32 %r3, %r3, %r2;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r3;
  ret;
)");
  };
  const arch::MachineConfig config = arch::load_machine("dai18-maxwell", {"code=machine"});
  const auto apart = run(config, text("bar.sync 1, 64;", ""), 1, 128);
  const auto alone = run(config, text("", ""), 1, 128);
  const auto joined = run(config, text("bar.sync 1, 128;", "bar.sync 1, 128;"), 1, 128);
  EXPECT_EQ(apart.gpu.barriers, 80U);
  EXPECT_EQ(joined.gpu.barriers, 160U);
  // The chain alone decides how long it takes; warps that meet by pairs do not hold it up.
  EXPECT_LE(apart.cycles, alone.cycles + alone.cycles / 20);
  EXPECT_GT(joined.cycles, apart.cycles);
}

TEST(Barriers, ProducersDoNotWaitForConsumers) {
  // Warps 0 and 1 arrive and go on; warps 2 and 3 come after a chain of divisions. With bar.sync instead the
  // producers' own chain begins only then.
  const auto text = [](const std::string& barrier) {
    return ptx("", R"(
  mov.u32 %r2, 0;
  mov.u32 %r3, 1000000;
  setp.ge.u32 %p1, %r1, 64;
  @!%p1 )" + barrier + R"( 2, 128;
LOOP:
  div.u32 %r3, %r3, %r1;
  add.u32 %r3, %r3, 1000000;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p3, %r2, 40;
  @%p3 bra LOOP;
  @%p1 bar.sync 2, 128;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r3;
  ret;
)");
  };
  const arch::MachineConfig config = arch::load_machine("dai18-maxwell", {"code=machine"});
  const auto arrive = run(config, text("bar.arrive"), 1, 128);
  const auto sync = run(config, text("bar.sync"), 1, 128);
  EXPECT_EQ(arrive.gpu.barriers, 4U);
  EXPECT_EQ(sync.gpu.barriers, 4U);
  EXPECT_EQ(arrive.gpu.warp_instructions, sync.gpu.warp_instructions);
  const Cycle launch = config.runtime.kernel_launch_latency;
  EXPECT_LT((arrive.cycles - launch) * 3, (sync.cycles - launch) * 2);
}

// A grid that fills the machine with `while (true);` ends at once, with the loop's place.
TEST(Endless, GridsAreFoundAtOnce) {
  for (const std::uint32_t blocks : {1U, 1000U}) {
    try {
      (void)run(arch::load_machine("dai18-maxwell", {"code=machine"}), ptx("", "LOOP:\n  bra.uni LOOP;\n"),
                blocks, 256);
      ADD_FAILURE() << "it ended";
    } catch (const SimulationFault& fault) {
      // Of many blocks any may be the first.
      const std::string text = fault.what();
      const std::string begin = "error: app one: kernel k: endless: warp 0 of block (";
      EXPECT_EQ(text.substr(0, begin.size()), begin);
      const std::size_t other = text.find(',', begin.size());
      EXPECT_LT(std::stoul(text.substr(begin.size())), blocks);
      EXPECT_EQ(text.substr(other),
                ",0,0) comes back to the same state every 1 instruction and reads no memory on the way, "
                "lanes 0 to 31 at pc 0 (one.ptx:13)");
    }
  }
}

/// Every SM for everyone, with or without notices in their code.
class Noticing final : public policy::Policy {
 public:
  explicit Noticing(bool notices) : notices_(notices) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.notices = notices_}; }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    EXPECT_EQ(kernel.has_notices, notices_);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
    control.set_dispatch_order({kernel.slot});
  }

 private:
  bool notices_;
};

TEST(Notices, CostAnInstructionAndAPacketOfOneWordPerWarpThatStores) {
  // Of each block, the first of two warps stores to what it has read.
  const experiment::RunSpec spec = spec_of(arch::load_machine("dai18-maxwell"), ptx("", R"(
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r5, [%rd3];
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 st.global.u32 [%rd3], %r5;
  ret;
)"),
                                           20, 64);
  const auto run_with = [&](bool notices) {
    return experiment::simulate_under(spec, std::make_unique<Noticing>(notices));
  };
  const experiment::RunResult without = run_with(false);
  const experiment::RunResult with = run_with(true);
  EXPECT_EQ(with.gpu.warp_instructions, without.gpu.warp_instructions + 40);  // predicated off, a slot alone
  EXPECT_EQ(with.gpu.thread_instructions, without.gpu.thread_instructions + 20 * 32);
  EXPECT_EQ(with.gpu.memory_instructions, without.gpu.memory_instructions + 20);
  EXPECT_EQ(with.gpu.requests_sent, without.gpu.requests_sent + 20);
  EXPECT_EQ(with.gpu.l1_misses, without.gpu.l1_misses + 20);  // as every access that bypasses L1
  EXPECT_EQ(with.partitions.requests, without.partitions.requests + 20);
  EXPECT_GE(with.cycles, without.cycles);
  EXPECT_EQ(run_with(false).cycles, without.cycles);
}

}  // namespace
}  // namespace gpumux
