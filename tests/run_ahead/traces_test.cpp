// Runs with parts of the machine that are simulated ahead of each other give the same figures as a simulation
// window by window (Gpu::Options::no_skip), for any number of threads.
#include <random>
#include <tuple>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "tests/figures.hpp"
#include "tests/restless.hpp"
#include "tests/trace/trace_folder.hpp"

namespace gpumux::trace::test {
namespace {

/// Kernels of random blocks: long and short ones, loads, stores, atomics and barriers.
class RandomKernels {
 public:
  explicit RandomKernels(std::uint32_t seed) : random_(seed) {}

  std::string kernel(std::uint32_t blocks, std::uint32_t length) {
    Header header;
    header.grid = "(" + std::to_string(blocks) + ",1,1)";
    header.block = "(64,1,1)";
    std::string text = header.text();
    for (std::uint32_t b = 0; b < blocks; ++b) {
      text += "#BEGIN_TB\n\nthread block = " + std::to_string(b) + ",0,0\n\n";
      // Warps of a block meet at as many barriers.
      const std::uint32_t rounds = 1 + below(3);
      const std::uint32_t most = below(4) == 0 ? 1 : length;
      for (std::uint32_t w = 0; w < 2; ++w) text += warp(w, rounds, most);
      text += "#END_TB\n\n";
    }
    return text;
  }

  /// Blocks of one warp each, of few records or none.
  std::string short_blocks(std::uint32_t blocks) {
    Header header;
    header.grid = "(" + std::to_string(blocks) + ",1,1)";
    std::string text = header.text();
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const std::uint32_t records = below(3) == 0 ? 0 : below(30);
      std::string code;
      for (std::uint32_t i = 0; i < records; ++i) code += "0160 ffffffff 1 R8 IADD3 2 R8 R8 0\n";
      text += block(code, records, std::to_string(b) + ",0,0");
    }
    return text;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::string warp(std::uint32_t index, std::uint32_t rounds, std::uint32_t most) {
    std::string code;
    std::uint32_t count = 0;
    for (std::uint32_t r = 0; r < rounds; ++r) {
      for (std::uint32_t i = below(most) + 1; i > 0; --i, ++count) code += instruction();
      code += "0300 ffffffff 0 BAR.SYNC 0 0\n";
      ++count;
    }
    return "warp = " + std::to_string(index) + "\ninsts = " + std::to_string(count + 1) + "\n" + code +
           "0310 ffffffff 0 EXIT 0 0\n\n";
  }
  // At a pc of its own for each opcode, so that the kernel's static instructions agree.
  std::string instruction() {
    const auto address = [this] { return "0x7f01000" + std::to_string(10 + below(80)) + "00"; };
    switch (below(8)) {
      case 0: return "0100 ffffffff 1 R4 LDG.E 1 R2 4 1 " + address() + " 4\n";
      case 1: return "0110 ffffffff 1 R6 LDG.E 1 R2 4 1 " + address() + " 128\n";
      case 2: return "0120 ffffffff 0 STG.E 2 R2 R4 4 1 " + address() + " 4\n";
      case 3: return "0130 0000ffff 0 RED.E.ADD 2 R2 R4 4 1 " + address() + " 4\n";
      case 4: return "0140 ffffffff 1 R5 MUFU.RCP 1 R4 0\n";
      case 5: return "0150 ffffffff 1 R7 FFMA 3 R5 R6 R7 0\n";
      default: return "0160 ffffffff 1 R8 IADD3 2 R8 R8 0\n";
    }
  }
  std::mt19937 random_;
};

experiment::AppSpec app(std::shared_ptr<const Trace> trace, const std::string& name) {
  experiment::AppSpec spec;
  spec.text = spec.name = spec.identity = name;
  spec.create = [trace](std::uint64_t) { return std::make_unique<TraceApplication>(trace); };
  return spec;
}

std::string figures(const experiment::RunSpec& spec) { return gpumux::figures(experiment::simulate(spec)); }

class RunAheadOfOthers : public TraceFolder, public testing::WithParamInterface<std::uint32_t> {
 protected:
  std::shared_ptr<const Trace> trace(std::uint32_t seed) {
    RandomKernels random(seed);
    write("kernelslist.g",
          "MemcpyHtoD,0x7f010001000,4096\nkernel-1.traceg\nMemcpyHtoD,0x7f010004000,16384\n"
          "kernel-2.traceg\nkernel-3.traceg\nMemcpyDtoH,0x7f010002000,8192\n");
    write("kernel-1.traceg", random.kernel(40, 30));
    write("kernel-2.traceg", random.kernel(3, 400));
    write("kernel-3.traceg", random.kernel(150, 4));
    return load();
  }
  void expect_same(const char* machine, const char* policy, std::uint32_t apps, std::uint32_t few,
                   double network = 1) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine(machine);
    spec.machine.sms = 6;
    spec.machine.sm.max_blocks = 4;
    if (few != 0) spec.machine.noc.input_buffer_flits = spec.machine.noc.output_buffer_flits = few;
    spec.machine.clocks.noc *= network;
    spec.policy = policy::parse_choice(policy);
    for (std::uint32_t i = 0; i < apps; ++i)
      spec.apps.push_back(app(trace(10 * GetParam() + i), "trace " + std::to_string(i)));
    expect_same(spec, std::string(machine) + " " + policy);
  }
  static void expect_same(experiment::RunSpec spec, const std::string& what) {
    for (const Cycle cycles : {Cycle{0}, Cycle{9001}}) {
      spec.cycles = cycles;
      spec.no_skip = true;
      spec.threads = 1;
      const std::string in_step = figures(spec);
      spec.no_skip = false;
      EXPECT_EQ(in_step, figures(spec)) << what;
      spec.threads = 3;
      EXPECT_EQ(in_step, figures(spec)) << what << ", 3 threads";
    }
  }
};

TEST_P(RunAheadOfOthers, Alone) {
  for (const char* machine : {"v100", "dai18-maxwell", "chimera15-fermi30"})
    expect_same(machine, "leftover", 1, 0);
}

TEST_P(RunAheadOfOthers, TogetherUnderEachPolicy) {
  for (const char* policy : {"leftover", "leftover:mode=sequential", "even", "spatial", "sequential"})
    expect_same("v100", policy, 2, 0);
}

// Several kernels are near their ends at any time.
TEST_P(RunAheadOfOthers, ManyTogether) { expect_same("v100", "even", 5, 0); }

// Their ends concern the host alone, until the last application is about to end, when the launch latency is
// at least what parts are ahead by at most: 183 cycles. What is copied between kernels takes an L2 that keeps
// little.
TEST_P(RunAheadOfOthers, ManyEndsThatConcernTheHostAlone) {
  for (const std::uint32_t latency : {100U, 182U, 183U, 184U, 300U, 5000U}) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine("v100");
    spec.machine.sms = 6;
    spec.machine.sm.max_blocks = 4;
    spec.machine.l2.partitions = 8;
    spec.machine.l2.slice_bytes = 3072;
    spec.machine.runtime.kernel_launch_latency = latency;
    spec.policy = policy::parse_choice("leftover");
    for (std::uint32_t i = 0; i < 5; ++i)
      spec.apps.push_back(app(trace(10 * GetParam() + i), "trace " + std::to_string(i)));
    expect_same(spec, std::to_string(latency) + " cycles to launch");
  }
}

TEST_P(RunAheadOfOthers, WithFewCredits) {
  expect_same("v100", "leftover", 1, 6);
  expect_same("dai18-maxwell", "even", 2, 4);
}

TEST_P(RunAheadOfOthers, WithAFastNetwork) {
  expect_same("v100", "leftover", 1, 6, 3);
  expect_same("v100", "leftover", 1, 0, 1.4);
}

// One SM is left for kernels of a few short blocks, whose ends lie close behind the dispatch of their last
// block, while the others know what they will do for long.
TEST_P(RunAheadOfOthers, WithShortBlocksToDispatch) {
  RandomKernels random(GetParam());
  write("kernelslist.g", "kernel-1.traceg\n");
  write("kernel-1.traceg", random.kernel(3, 1000));
  const auto longs = load();
  std::string list;
  for (int kernel = 1; kernel <= 12; ++kernel) {
    const std::string name = "kernel-" + std::to_string(kernel) + ".traceg";
    write(name, random.short_blocks(3));
    list += name + "\n";
  }
  write("kernelslist.g", list);
  const auto shorts = load();
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("v100");
  spec.machine.sms = 4;
  spec.machine.sm.max_blocks = 1;
  spec.machine.runtime.kernel_launch_latency = 0;
  spec.policy = policy::parse_choice("leftover");
  spec.apps = {app(longs, "long"), app(shorts, "short")};
  for (const std::uint32_t rate : {1U, 3U, 80U}) {
    for (const std::uint32_t latency : {0U, 10U, 150U}) {
      spec.machine.runtime.blocks_per_cycle = rate;
      spec.machine.sm.block_launch_latency = latency;
      expect_same(spec, std::to_string(rate) + " blocks a cycle after " + std::to_string(latency));
    }
  }
}

// Blocks of traces refill themselves, by the threads that run SMs.
TEST_P(RunAheadOfOthers, WithBlocksThatStopMoveAndBeginAnew) {
  std::uint64_t left = 0;
  for (const char* machine : {"v100", "dai18-maxwell"}) {
    for (std::uint32_t drops = 0; drops < 4; ++drops) {
      experiment::RunSpec spec;
      spec.machine = arch::load_machine(machine);
      spec.machine.sms = 4;
      spec.machine.sm.max_blocks = 4;
      spec.policy = policy::parse_choice("leftover");
      for (std::uint32_t i = 0; i < 2; ++i)
        spec.apps.push_back(app(trace(10 * GetParam() + i), "trace " + std::to_string(i)));
      const auto figures_of = [&] {
        gpumux::test::Restless::Seen seen;
        auto policy = std::make_unique<gpumux::test::Restless>(GetParam(), 300, 8, drops, seen);
        const experiment::RunResult result = experiment::simulate_under(spec, std::move(policy));
        left += seen.left;
        return gpumux::figures(result);
      };
      const std::string first = figures_of();
      spec.threads = 3;
      EXPECT_EQ(first, figures_of()) << machine << ", 3 threads";
      spec.no_skip = true;
      EXPECT_EQ(first, figures_of()) << machine << ", window by window";
    }
  }
  EXPECT_GT(left, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RunAheadOfOthers, testing::Values(1U, 2U, 3U),
                         [](const auto& seed) { return fmt::format("seed_{}", seed.param); });

}  // namespace
}  // namespace gpumux::trace::test
