// The whole machine's own times: launch latency and block dispatch. And the audit that ends every run.
#include "experiment/run.hpp"
#include "micro/preset.hpp"
#include "noc/network.hpp"
#include "runtime/application.hpp"

namespace gpumux::micro {
namespace {

/// A kernel of one instruction per warp, and one of some hundreds.
constexpr const char* kPtx = R"(
.version 9.0
.target sm_75
.address_size 64
.visible .entry nothing()
{
  ret;
}
.visible .entry long()
{
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  mov.u32 %r1, 0;
  mov.u32 %r2, %tid.x;
AGAIN:
  mul.lo.u32 %r2, %r2, %r2;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 100;
  @%p1 bra AGAIN;
  setp.eq.u32 %p1, %r2, 12345;
  @%p1 trap;
  ret;
}
)";

class Launches final : public runtime::Application {
 public:
  Launches(std::uint32_t launches, std::uint32_t blocks, bool streams, const char* kernel)
      : launches_(launches), blocks_(blocks), streams_(streams), kernel_(kernel) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(kPtx, "nothing.ptx");
    for (std::uint32_t i = 0; i < launches_; ++i)
      host.launch(module, kernel_, {{blocks_, 1, 1}, {32, 1, 1}, 0, streams_ ? host.create_stream() : 0});
    co_await host.synchronize();
  }

 private:
  std::uint32_t launches_, blocks_;
  bool streams_;  // one each
  const char* kernel_;
};

experiment::RunResult run_launches(const MachineConfig& config, std::uint32_t launches, std::uint32_t blocks,
                                   bool streams = false, const char* kernel = "nothing") {
  experiment::RunSpec spec;
  spec.machine = config;
  spec.policy = policy::parse_choice(streams ? "leftover" : "sequential");
  spec.audit = true;
  experiment::AppSpec app;
  app.text = app.name = app.identity = "launches";
  app.create = [=](std::uint64_t) { return std::make_unique<Launches>(launches, blocks, streams, kernel); };
  spec.apps.push_back(app);
  return experiment::simulate(spec);
}

class Launch : public Preset {
 protected:
  [[nodiscard]] Cycle window() const { return noc::Network(config_).window; }
};

TEST_P(Launch, KernelsOfAStreamArriveTheirLatencyAfterEachOther) {
  // The machine takes a launch at the first window that begins with or after its arrival; the kernel's block
  // issues in the cycle after its fetch, and the host sees its end when that window ends.
  const Cycle w = window();
  for (const Cycle latency : {Cycle{config_.runtime.kernel_launch_latency}, Cycle{0}, Cycle{1}, w - 1, w,
                              w + 1, 5 * w - 1, 5 * w, 5 * w + 1}) {
    config_.runtime.kernel_launch_latency = static_cast<std::uint32_t>(latency);
    const Cycle each = (latency + w - 1) / w * w + w;
    for (const std::uint32_t launches : {1U, 7U})
      EXPECT_EQ(run_launches(config_, launches, 1).cycles, launches * each) << latency;
  }
}

TEST_P(Launch, BlocksAreDispatchedAtTheirRate) {
  // As many blocks as all SMs hold: the last is dispatched with its cycle's others, at most one to an SM, and
  // issues a cycle later; the run ends with that window.
  config_.runtime.kernel_launch_latency = 0;
  const std::uint32_t places = std::min(config_.sm.max_blocks, config_.sm.max_warps) * config_.sms;
  for (const std::uint32_t rate : {config_.runtime.blocks_per_cycle, 1U, 3U}) {
    config_.runtime.blocks_per_cycle = rate;
    for (const std::uint32_t blocks : {1U, 6U, 7U, 8U, 9U, places / 2, places}) {
      const Cycle last_issue = (blocks - 1) / std::min(rate, config_.sms) + kFirstIssue;
      const experiment::RunResult result = run_launches(config_, 1, blocks);
      EXPECT_EQ(result.cycles, (last_issue / window() + 1) * window()) << blocks << " at " << rate;
      EXPECT_EQ(result.gpu.warp_instructions, blocks);
      EXPECT_EQ(result.gpu.blocks_completed, blocks);
    }
  }
}

TEST_P(Launch, AnSmTakesOneBlockACycle) {
  config_.runtime.kernel_launch_latency = 0;
  config_.runtime.blocks_per_cycle = 2 * config_.sms;
  const Cycle last_issue = window() - 1 + kFirstIssue;  // where schedulers keep up with it; else later
  const auto blocks = static_cast<std::uint32_t>(config_.sms * window());
  EXPECT_GE(run_launches(config_, 1, blocks).cycles, (last_issue / window() + 1) * window());
}

TEST_P(Launch, AsManyKernelsRunAtATimeAsTheMachineTakes) {
  // Kernels of one block in streams of their own: each window takes as many as may run at once.
  config_.runtime.launch_when_full = arch::WhenFull::Wait;
  config_.runtime.kernel_launch_latency = 0;
  constexpr std::uint32_t kKernels = 12;
  for (const std::uint32_t limit : {1U, 2U, 3U, 4U}) {
    config_.runtime.max_concurrent_kernels = limit;
    EXPECT_EQ(run_launches(config_, kKernels, 1, true).cycles, kKernels / limit * window()) << limit;
  }
}

TEST_P(Launch, AKernelCountsUntilItsLastBlockHasEndedOrIsDispatched) {
  // Kernels of one long block, each on an SM of its own, of which one may run at once: one after the other,
  // or one in each window, as its only block is dispatched at once.
  config_.runtime.launch_when_full = arch::WhenFull::Wait;
  config_.runtime.kernel_launch_latency = 0;
  config_.runtime.max_concurrent_kernels = 1;
  const Cycle alone = run_launches(config_, 1, 1, true, "long").cycles;
  EXPECT_GT(alone, 4 * window());
  for (const std::uint32_t kernels : {2U, 4U}) {
    config_.runtime.kernel_leaves = arch::KernelLeaves::Ended;
    EXPECT_EQ(run_launches(config_, kernels, 1, true, "long").cycles, kernels * alone);
    config_.runtime.kernel_leaves = arch::KernelLeaves::Dispatched;
    EXPECT_EQ(run_launches(config_, kernels, 1, true, "long").cycles, (kernels - 1) * window() + alone);
  }
}

TEST_P(Launch, FailsWhenAsManyRunWhereTheMachineSaysSo) {
  config_.runtime.kernel_launch_latency = 0;
  config_.runtime.launch_when_full = arch::WhenFull::Fail;
  config_.runtime.max_concurrent_kernels = 3;
  EXPECT_EQ(run_launches(config_, 3, 1, true).cycles, window());
  try {
    (void)run_launches(config_, 4, 1, true);
    ADD_FAILURE() << "the fourth was taken";
  } catch (const SimulationFault& fault) {
    EXPECT_NE(std::string(fault.what()).find("the GPU has 3 running, and takes no more"), std::string::npos)
        << fault.what();
  }
}

GPUMUX_ON_EVERY_PRESET(Launch);

}  // namespace
}  // namespace gpumux::micro
