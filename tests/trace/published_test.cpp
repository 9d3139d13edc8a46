// Cycles that Accel-Sim printed for published traces. The artifacts of cspool/MLX_dev (fig21, revision
// 21b359d0) have the cycles for 64 blocks of one warp, each a chain of r dependent instructions, on
// Accel-Sim's Volta with eight SMs and no launch latency. docs/validation.md explains each difference.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "trace_folder.hpp"

namespace gpumux::trace::test {
namespace {

struct Chain {
  const char* name;
  const char* instruction;
  std::array<Cycle, 4> cycles;  // with 16, 32, 64 and 128 of it
};
constexpr std::array<std::uint32_t, 4> kLengths = {16, 32, 64, 128};

/// Simulates the trace alone.
experiment::RunResult run(const arch::MachineConfig& machine, const std::shared_ptr<const Trace>& trace) {
  experiment::RunSpec spec;
  spec.machine = machine;
  spec.policy = policy::parse_choice("leftover");
  experiment::AppSpec app;
  app.text = app.name = app.identity = "published";
  app.create = [trace](std::uint64_t) { return std::make_unique<TraceApplication>(trace); };
  spec.apps = {app};
  return experiment::simulate(spec);
}

class Published : public TraceFolder, public testing::WithParamInterface<Chain> {
 protected:
  /// A move, `length` times the instruction, and the warp's end, in each of 64 blocks.
  [[nodiscard]] std::string chains(std::uint32_t length) const {
    Header header;
    header.grid = "(64,1,1)";
    header.registers = "4";
    header.tracer = "3";
    std::string instructions = "0000 ffffffff 1 R1 MOV 0 0\n";
    for (std::uint32_t i = 1; i <= length; ++i)
      instructions += fmt::format("{:04x} ffffffff 1 R3 {} 0\n", 16 * i, GetParam().instruction);
    instructions += fmt::format("{:04x} ffffffff 0 EXIT 0 0\n", 16 * (length + 1));
    std::string text = header.text();
    for (std::uint32_t b = 0; b < 64; ++b)
      text += block(instructions, length + 2, std::to_string(b) + ",0,0");
    return text;
  }
};

TEST_P(Published, ChainsOfDependentInstructions) {
  std::array<Cycle, 4> ours{};
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    write_kernel(chains(kLengths[i]));
    arch::MachineConfig machine = arch::load_machine("v100");
    machine.sms = 8;
    machine.runtime.kernel_launch_latency = 0;
    const experiment::RunResult result = run(machine, load());
    EXPECT_EQ(result.gpu.warp_instructions, 64 * (kLengths[i] + 2));
    ours[i] = result.cycles;
    // Ours ends with a window; theirs when the last result is written.
    EXPECT_NEAR(static_cast<double>(ours[i]) / static_cast<double>(GetParam().cycles[i]), 1, 0.06)
        << kLengths[i];
    // What a longer chain takes more is a multiple of the window.
    if (i > 0) {
      EXPECT_EQ(ours[i] - ours[i - 1], GetParam().cycles[i] - GetParam().cycles[i - 1]) << kLengths[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Units, Published,
                         testing::Values(Chain{"sp", "FADD 2 R3 R1", {128, 240, 464, 912}},
                                         Chain{"alu", "SHFL.IDX 4 R3 R1 R1 R1", {129, 241, 465, 913}},
                                         Chain{"sfu", "MUFU.EX2 1 R3", {415, 815, 1615, 3215}},
                                         Chain{"hmma", "HMMA 3 R1 R2 R3", {128, 240, 464, 912}}),
                         [](const auto& test) { return std::string(test.param.name); });

// One thread follows pointers through L1, or past it through L2; SpirosPapa/Accelsim_spapad (classic_run,
// revision 872c4a17) has Accel-Sim's logs of it, on a machine with these two latencies: 1,328,749 and
// 6,735,635 cycles for 32,768 loads, 9488 of them the launch.
class PublishedChase : public TraceFolder {
 protected:
  /// Cycles of one load more.
  double step(const std::string& opcode) {
    arch::MachineConfig machine = arch::load_machine("v100");
    machine.l1.latency = machine.l1.tag_latency = 35;
    machine.l2.latency = 192 - 8;  // as in the preset: so much lies in the network
    std::array<Cycle, 2> cycles{};
    constexpr std::array<std::uint32_t, 2> kLoads = {500, 1500};
    for (std::size_t i = 0; i < kLoads.size(); ++i) {
      Header header;
      header.tracer = "3";
      std::string loads;
      for (std::uint32_t n = 0; n < kLoads[i]; ++n) {
        const std::uint64_t address = 0x7f0200000000 + n % 64 * kLineBytes;
        loads += fmt::format("{:04x} 00000001 1 R2 {} 1 R2 8 1 0x{:x} 0\n", n % 8 * 16, opcode, address);
      }
      write("kernelslist.g", "MemcpyHtoD,0x00007f0200000000,8192\nkernel-1.traceg\n");
      write("kernel-1.traceg", header.text() + block(loads + "0100 ffffffff 0 EXIT 0 0\n", kLoads[i] + 1));
      cycles[i] = run(machine, load()).cycles;
    }
    return static_cast<double>(cycles[1] - cycles[0]) / (kLoads[1] - kLoads[0]);
  }
  static double theirs(double cycles) { return (cycles - 9488) / 32768; }
};

TEST_F(PublishedChase, L1) { EXPECT_NEAR(step("LDG.E.64.SYS") / theirs(1328749), 1, 0.02); }
TEST_F(PublishedChase, L2) { EXPECT_NEAR(step("LDG.E.64.STRONG.GPU") / theirs(6735635), 1, 0.03); }

}  // namespace
}  // namespace gpumux::trace::test
