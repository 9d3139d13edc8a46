// Whole-machine microbenchmarks: kernels whose speed follows from the machine file, on every preset.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "experiment/run.hpp"
#include "runtime/application.hpp"

namespace gpumux {
namespace {

/// One launch of one kernel of micro.ptx over two buffers.
class Micro final : public runtime::Application {
 public:
  enum class Kernel : std::uint8_t { Fma, Read, Copy };
  Micro(Kernel kernel, Dim3 grid, Dim3 block, int amount)
      : kernel_(kernel), grid_(grid), block_(block), amount_(amount) {}

  runtime::Task run(runtime::Host& host, bool) override {
    const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/machine/data/micro.ptx";
    const std::uint32_t module = host.load_module(read_file(file), file);
    const std::size_t threads = grid_.count() * block_.count();
    // The streams move `amount` vectors of four words per thread.
    const std::size_t words =
        kernel_ == Kernel::Fma ? threads : threads * static_cast<std::size_t>(amount_) * 4;
    const auto in = host.malloc<float>(words);
    const auto out = host.malloc<float>(words);
    const runtime::LaunchSpec spec{grid_, block_, 0, 0};
    switch (kernel_) {
      case Kernel::Fma: host.launch(module, "fma_chains", spec, out, amount_, 0.5F, 1.0F); break;
      case Kernel::Read: host.launch(module, "stream_read", spec, in, out, amount_); break;
      case Kernel::Copy: host.launch(module, "stream_copy", spec, in, out, amount_); break;
    }
    co_await host.synchronize();
  }

 private:
  Kernel kernel_;
  Dim3 grid_;
  Dim3 block_;
  int amount_;
};

experiment::RunResult run_micro(const arch::MachineConfig& config, Micro::Kernel kernel, std::uint32_t blocks,
                                int amount) {
  experiment::RunSpec spec;
  spec.machine = config;
  spec.policy = policy::parse_choice("sequential");
  experiment::AppSpec app;
  app.text = app.name = app.identity = "micro";
  app.create = [=](std::uint64_t) {
    return std::make_unique<Micro>(kernel, Dim3{blocks, 1, 1}, Dim3{256, 1, 1}, amount);
  };
  spec.apps.push_back(app);
  return experiment::simulate(spec);
}

class EveryMachine : public testing::TestWithParam<std::string> {
 protected:
  arch::MachineConfig config_ = arch::load_machine(GetParam());
  /// Blocks that fill the machine once.
  [[nodiscard]] std::uint32_t one_wave() const { return config_.sms * (config_.sm.max_threads / 256); }
  /// Bytes per core cycle: DRAM's peak, or what the reply ports of the slices give or of the SMs take.
  [[nodiscard]] double read_limit() const {
    const double dram = config_.dram_peak_bytes_per_second() / (config_.clocks.core * 1e6);
    const auto& noc = config_.noc;
    const double flits = (noc.header_bytes + kLineBytes + noc.flit_bytes - 1) / noc.flit_bytes;
    const double port = kLineBytes / flits * config_.clocks.noc / config_.clocks.core;
    return std::min(
        {dram, port * config_.sms, port * config_.l2.partitions * config_.l2.slices_per_partition});
  }
};

TEST_P(EveryMachine, IndependentFmaReachesTheIssueOrUnitLimit) {
  const experiment::RunResult result = run_micro(config_, Micro::Kernel::Fma, one_wave(), 20);
  const auto& sp = config_.units[static_cast<std::size_t>(isa::Unit::Sp)];
  const auto& mad = config_.latency[static_cast<std::size_t>(isa::LatencyClass::FpMad)];
  const double occupied = std::max((32.0 + sp.lanes - 1) / sp.lanes, double(mad.initiation));
  const double issue = double(config_.sm.schedulers) / config_.sm.issue_interval;
  const double limit = std::min(issue, sp.count / std::floor(occupied));
  const double cycles = double(result.cycles - config_.runtime.kernel_launch_latency);
  const double rate = double(result.gpu.warp_instructions) / config_.sms / cycles;
  EXPECT_GE(rate, 0.97 * limit);
  EXPECT_LE(rate, 1.03 * limit);  // other units take the loop's few instructions
}

TEST_P(EveryMachine, ReadStreamReaches80PercentOfTheBandwidth) {
  const experiment::RunResult result = run_micro(config_, Micro::Kernel::Read, one_wave(), 16);
  const double cycles = double(result.cycles - config_.runtime.kernel_launch_latency);
  const double bytes = double(one_wave()) * 256 * 16 * 16;
  EXPECT_GE(bytes / cycles, 0.8 * read_limit());
  EXPECT_LE(bytes / cycles, 1.0 * read_limit());
}

TEST_P(EveryMachine, CopyReaches60PercentOfTheBandwidth) {
  const experiment::RunResult result = run_micro(config_, Micro::Kernel::Copy, one_wave(), 16);
  const double cycles = double(result.cycles - config_.runtime.kernel_launch_latency);
  const double moved = double(result.partitions.dram_bytes);
  EXPECT_GE(moved / cycles, 0.6 * read_limit());
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryMachine, testing::ValuesIn(arch::machine_names()),
                         [](const testing::TestParamInfo<std::string>& preset) {
                           std::string name = preset.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace gpumux
