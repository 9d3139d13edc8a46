// The kernel and block schedulers of the whole machine: slots and their reuse, limits on kernels, order and
// rate of dispatch, knobs that put SMs to sleep, and work that can never proceed.
#include "machine/gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"

namespace gpumux {
namespace {

// Each thread adds 1 to the counter; `wait` also spends some time first.
constexpr const char* kPtx = R"(
.version 9.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 counter)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [counter];
  cvta.to.global.u64 %rd2, %rd1;
  red.global.add.u32 [%rd2], 1;
  ret;
}
.visible .entry wait(.param .u64 counter, .param .u32 rounds)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [counter];
  ld.param.u32 %r1, [rounds];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, 0;
AGAIN:
  mul.lo.u32 %r3, %r2, %r1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra AGAIN;
  red.global.add.u32 [%rd2], 1;
  ret;
}
)";

/// What one application does: `launches` launches in each of `streams` streams.
struct Work {
  std::uint32_t streams = 1;
  std::uint32_t launches = 1;
  std::uint32_t blocks = 4;
  std::uint32_t threads = 64;
  std::uint32_t rounds = 0;  // 0: `count`, otherwise `wait`
};

class WorkApplication final : public runtime::Application {
 public:
  explicit WorkApplication(Work work) : work_(work) {}
  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(kPtx, "work.ptx");
    const auto counter = host.malloc<std::uint32_t>(1);
    host.fill(counter.address, 0, 4, 0);
    co_await host.synchronize();
    for (std::uint32_t s = 0; s < work_.streams; ++s) {
      const runtime::StreamId stream = host.create_stream();
      for (std::uint32_t l = 0; l < work_.launches; ++l) {
        const runtime::LaunchSpec spec{{work_.blocks, 1, 1}, {work_.threads, 1, 1}, 0, stream};
        if (work_.rounds == 0) {
          host.launch(module, "count", spec, counter);
        } else {
          host.launch(module, "wait", spec, counter, work_.rounds);
        }
      }
    }
    co_await host.synchronize();
    std::vector<std::uint32_t> sum(1);
    host.from_device(sum, counter);
    co_await host.synchronize();
    const std::uint32_t expected = work_.streams * work_.launches * work_.blocks * work_.threads;
    if (verify && sum[0] != expected) {
      throw SimulationFault("error: " + std::to_string(sum[0]) + " is not " + std::to_string(expected));
    }
  }

 private:
  Work work_;
};

experiment::AppSpec app(const char* name, Work work) {
  experiment::AppSpec spec;
  spec.text = spec.name = spec.identity = name;
  spec.create = [work](std::uint64_t) { return std::make_unique<WorkApplication>(work); };
  return spec;
}

experiment::RunSpec run_of(const char* policy, std::vector<experiment::AppSpec> apps,
                           const std::vector<std::string>& set = {"sms=4"}) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", set);
  spec.apps = std::move(apps);
  spec.policy = policy::parse_choice(policy);
  spec.verify = true;
  return spec;
}

/// What the policies of these tests saw in the last run.
struct Seen {
  std::vector<AppId> arrivals;
  std::size_t most_kernels = 0;
  std::vector<std::vector<std::uint32_t>> resident;  // at each epoch, by SM, of the oldest kernel
};
Seen seen;

/// Serves all kernels like left-over and writes down what happens.
class Watching : public policy::Policy {
 public:
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    if (kernel.arrival == 0) seen = {};
    EXPECT_EQ(kernel.arrival, seen.arrivals.size());
    seen.arrivals.push_back(kernel.app);
    seen.most_kernels = std::max(seen.most_kernels, control.kernels().size());
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      EXPECT_EQ(control.sm(sm).resident_blocks(kernel.slot), 0U) << "a used slot";
      EXPECT_EQ(control.sm(sm).counters(kernel.slot).warp_instructions, 0U);
      control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
    }
    serve(control);
  }
  void kernel_ended(policy::Control& control, const policy::RunningKernel& kernel) override {
    EXPECT_EQ(kernel.blocks_done, kernel.blocks_total);
    serve(control);
  }
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.epoch = 8}; }
  void epoch_ended(policy::Control& control) override {
    if (control.kernels().empty()) return;
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      blocks.push_back(control.sm(sm).resident_blocks(control.kernels().front().slot));
    }
    seen.resident.push_back(std::move(blocks));
  }

 protected:
  static void serve(policy::Control& control) {
    std::vector<arch::KernelSlot> order;
    for (const policy::RunningKernel& kernel : control.kernels()) order.push_back(kernel.slot);
    control.set_dispatch_order(order);
  }
};

/// Lets the kernels of odd slots issue in every second epoch only.
class Blinking final : public Watching {
 public:
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.epoch = 700}; }
  void epoch_ended(policy::Control& control) override {
    on_ = !on_;
    for (const policy::RunningKernel& kernel : control.kernels()) {
      if (kernel.slot % 2 == 0) continue;
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
        control.sm(sm).allow_issue(kernel.slot, on_);
      }
    }
  }

 private:
  bool on_ = true;
};

/// Forgets every kernel.
class Forgetful final : public policy::Policy {
 public:
  void kernel_arrived(policy::Control&, const policy::RunningKernel&) override {}
};

template <typename P>
std::unique_ptr<policy::Policy> make(const policy::Settings&) {
  return std::make_unique<P>();
}
const bool registered_watching = policy::register_policy({"watching", "of a test", {}, make<Watching>}) &&
                                 policy::register_policy({"blinking", "of a test", {}, make<Blinking>}) &&
                                 policy::register_policy({"forgetful", "of a test", {}, make<Forgetful>});

TEST(Gpu, SlotsAreReusedAndCountersKept) {
  const auto result = experiment::simulate(run_of("watching", {app("many", {2, 70, 5, 96, 0})}));
  EXPECT_EQ(seen.arrivals.size(), 140U) << "far more launches than slots";
  EXPECT_EQ(seen.most_kernels, 2U);
  EXPECT_EQ(result.apps[0].counters.blocks_completed, 140U * 5);
  // Every warp issues the same instructions; none are lost with the slots that they were counted in.
  EXPECT_EQ(result.apps[0].counters.warp_instructions % (140U * 5 * 3), 0U);
  EXPECT_EQ(result.gpu.blocks_completed, 140U * 5);
}

TEST(Gpu, MoreKernelsThanSlotsWaitTheirTurn) {
  const auto result = experiment::simulate(run_of("watching", {app("wide", {50, 1, 3, 32, 20})}));
  EXPECT_EQ(seen.arrivals.size(), 50U);
  EXPECT_LE(seen.most_kernels, arch::kMaxKernelSlots);
  EXPECT_GT(seen.most_kernels, 16U);
  EXPECT_EQ(result.apps[0].completions, 1U);
}

TEST(Gpu, TheMachinesKernelLimitBinds) {
  const std::vector<experiment::AppSpec> apps = {app("a", {3, 2, 4, 64, 10}), app("b", {3, 2, 4, 64, 10})};
  for (const std::uint32_t limit : {1U, 3U}) {
    const auto result = experiment::simulate(
        run_of("watching", apps, {"sms=4", "runtime.max_concurrent_kernels=" + std::to_string(limit)}));
    EXPECT_EQ(seen.most_kernels, limit);
    EXPECT_GE(result.apps[0].completions, 1U);
    EXPECT_GE(result.apps[1].completions, 1U);
  }
}

// awatramani17 section 5.4 has both: a kernel leaves the kernel status block with the end, or with the
// dispatch, of its last block.
TEST(Gpu, AKernelLeavesWithTheEndOrTheDispatchOfItsLastBlock) {
  const auto run = [](const char* leaves, std::uint32_t limit, Work work, bool no_skip = false,
                      unsigned threads = 1) {
    experiment::RunSpec spec =
        run_of("watching", {app("a", work)},
               {"sms=4", "runtime.blocks_per_cycle=4", std::string("runtime.kernel_leaves=") + leaves,
                "runtime.max_concurrent_kernels=" + std::to_string(limit)});
    spec.no_skip = no_skip;
    spec.threads = threads;
    return experiment::simulate(spec);
  };
  // Four kernels of a block for each SM, which is dispatched at once: one after the other, or all in a row.
  const Work small{4, 1, 4, 64, 2000};
  const Cycle alone = run("ended", 1, {1, 1, 4, 64, 2000}).cycles;
  const Cycle in_turn = run("ended", 1, small).cycles;
  EXPECT_GT(in_turn, 3 * alone);
  EXPECT_LE(in_turn, 4 * alone);
  EXPECT_EQ(seen.most_kernels, 1U);
  EXPECT_LT(run("dispatched", 1, small).cycles, 2 * alone);
  EXPECT_EQ(seen.most_kernels, 4U) << "one in each window";
  // More blocks than fit: the last one of each is dispatched when others have ended, so that two overlap.
  const Work large{4, 1, 60, 512, 60};
  (void)run("ended", 1, large);
  EXPECT_EQ(seen.most_kernels, 1U);
  const Cycle end = run("dispatched", 1, large).cycles;
  EXPECT_EQ(seen.most_kernels, 2U);
  EXPECT_LT(end, run("ended", 1, large).cycles);
  // Admission comes in the midst of a run: nobody may be ahead of it.
  const auto text_of = [](experiment::RunResult result) {
    result.wall_seconds = 0;
    return experiment::result_json(result, {}, {});
  };
  for (const std::uint32_t limit : {1U, 2U}) {
    const std::string usual = text_of(run("dispatched", limit, large));
    EXPECT_EQ(usual, text_of(run("dispatched", limit, large, true)));
    EXPECT_EQ(usual, text_of(run("dispatched", limit, large, false, 3)));
  }
}

TEST(Gpu, DispatchesOneBlockPerCycleRoundRobinOverTheSms) {
  // 22 blocks on 4 SMs in windows of 8 cycles: 2, 4 and then 5 or 6 on each SM.
  (void)experiment::simulate(run_of("watching", {app("a", {1, 1, 22, 64, 200})}));
  ASSERT_GE(seen.resident.size(), 4U);
  const auto is = [](std::size_t at, std::vector<std::uint32_t> blocks) {
    EXPECT_EQ(seen.resident[at], blocks) << "at epoch " << at;
  };
  is(0, {2, 2, 2, 2});
  is(1, {4, 4, 4, 4});
  is(2, {6, 6, 5, 5});
  is(3, {6, 6, 5, 5});
}

TEST(Gpu, DispatchGoesOnBehindTheSmThatTookTheLastBlock) {
  // Two launches after each other, two blocks on four SMs each, as many in a cycle as there are.
  for (const char* rate : {"runtime.blocks_per_cycle=1", "runtime.blocks_per_cycle=4"}) {
    (void)experiment::simulate(run_of("watching", {app("a", {1, 2, 2, 64, 200})}, {"sms=4", rate}));
    ASSERT_FALSE(seen.resident.empty());
    EXPECT_EQ(seen.resident.front(), (std::vector<std::uint32_t>{1, 1, 0, 0})) << rate;
    // Their last stores are acknowledged one after the other.
    const std::vector<std::uint32_t> second{0, 0, 1, 1};
    EXPECT_NE(std::find(seen.resident.begin(), seen.resident.end(), second), seen.resident.end()) << rate;
  }
}

TEST(Gpu, UnderSequentialARestartedApplicationGoesToTheTail) {
  // `watching` with one kernel at a time has the same order of arrival as `sequential`: a has one launch per
  // run, b two, so b's second launch comes behind a's restart.
  experiment::RunSpec spec = run_of("watching", {app("a", {1, 1, 4, 64, 50}), app("b", {1, 2, 4, 64, 50})},
                                    {"sms=4", "runtime.max_concurrent_kernels=1"});
  spec.cycles = 40'000;
  const auto result = experiment::simulate(spec);
  ASSERT_GT(seen.arrivals.size(), 8U);
  for (std::size_t i = 0; i < seen.arrivals.size(); ++i) EXPECT_EQ(seen.arrivals[i], i % 2) << i;
  EXPECT_NEAR(static_cast<double>(result.apps[0].completions),
              2 * static_cast<double>(result.apps[1].completions), 2);
}

TEST(Gpu, SequentialNeverOverlapsLaunches) {
  const Work work{1, 3, 8, 64, 100};
  const auto alone = experiment::simulate(run_of("sequential", {app("a", work)}));
  const auto both = experiment::simulate(run_of("sequential", {app("a", work), app("b", work)}));
  EXPECT_GT(static_cast<double>(both.cycles), 1.9 * static_cast<double>(alone.cycles));
}

TEST(Gpu, MoreKernelsThanSmsUnderEveryPolicy) {
  for (const char* policy : {"sequential", "leftover", "leftover:mode=sequential", "spatial", "even"}) {
    std::vector<experiment::AppSpec> apps;
    for (std::uint32_t i = 0; i < 7; ++i) apps.push_back(app("a", {2, 2, 9 + i, 32 * (1 + i), 5 * i}));
    const auto result = experiment::simulate(run_of(policy, std::move(apps), {"sms=3"}));
    for (const auto& each : result.apps) EXPECT_GE(each.completions, 1U) << policy;
  }
}

TEST(Gpu, WithoutALimitOthersRestartUntilTheLastHasEndedOnce) {
  const auto result = experiment::simulate(
      run_of("even", {app("short", {1, 1, 4, 64, 0}), app("long", {1, 1, 4, 64, 2000})}));
  EXPECT_GT(result.apps[0].completions, 2U);
  EXPECT_EQ(result.apps[1].completions, 1U);
  EXPECT_EQ(result.apps[1].first_completion, result.cycles);
}

TEST(Gpu, AKernelThatMayNotIssueSleepsInvisibly) {
  experiment::RunSpec spec = run_of("blinking", {app("a", {2, 2, 40, 64, 30}), app("b", {2, 2, 40, 64, 30})});
  spec.cycles = 20'003;
  const auto with = [&](bool no_skip, unsigned threads) {
    spec.no_skip = no_skip;
    spec.threads = threads;
    experiment::RunResult result = experiment::simulate(spec);
    result.wall_seconds = 0;
    return experiment::result_json(result, {}, {});
  };
  const std::string skipping = with(false, 1);
  EXPECT_EQ(skipping, with(true, 1));
  EXPECT_EQ(skipping, with(false, 3));
  spec.policy = policy::parse_choice("watching");
  EXPECT_NE(skipping, with(false, 1)) << "the knob acts";
}

TEST(Gpu, WorkThatCanNeverMoveIsADeadlockEvenWithACycleLimit) {
  for (const Cycle cycles : {Cycle{0}, Cycle{5'000}, Cycle{500'000}}) {
    experiment::RunSpec spec = run_of("forgetful", {app("a", {}), app("b", {})});
    spec.cycles = cycles;
    try {
      (void)experiment::simulate(spec);
      ADD_FAILURE() << "no fault with a limit of " << cycles;
    } catch (const SimulationFault& fault) {
      EXPECT_NE(std::string(fault.what()).find("deadlock"), std::string::npos) << fault.what();
    }
  }
  // Nor does a queue of launches behind the kernel limit hide it.
  const std::vector<std::string> set = {"sms=4", "runtime.max_concurrent_kernels=1"};
  experiment::RunSpec spec = run_of("forgetful", {app("a", {4, 1, 4, 64, 0})}, set);
  spec.cycles = 5'000;
  EXPECT_THROW((void)experiment::simulate(spec), SimulationFault);
}

}  // namespace
}  // namespace gpumux
