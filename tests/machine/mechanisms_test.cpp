// Mechanisms that share the machine are called at the moments that they ask for and at no others. Observers
// change nothing.
#include <gtest/gtest.h>

#include <optional>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/observer.hpp"

namespace gpumux {
namespace {

experiment::RunSpec spec_of(const std::string& policy = "leftover") {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  for (const char* app : {"add:blocks=60", "stream:blocks=60"})
    spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  return spec;
}

struct Calls {
  std::uint64_t arrivals = 0, kernel_ends = 0, dispatch_ends = 0, block_ends = 0, epochs = 0, windows = 0;
  std::vector<Cycle> alarms;
  bool operator==(const Calls&) const = default;
};

/// Serves everybody, and counts its calls.
class Counting final : public policy::Policy {
 public:
  Counting(policy::Needs needs, Calls& calls) : needs_(needs), calls_(calls) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return needs_; }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel&) override {
    ++calls_.arrivals;
    std::vector<arch::KernelSlot> order;
    for (const policy::RunningKernel& kernel : control.kernels()) {
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
        control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
      order.push_back(kernel.slot);
    }
    control.set_dispatch_order(order);
  }
  void kernel_ended(policy::Control& control, const policy::RunningKernel&) override {
    probe(control, calls_.kernel_ends);
  }
  void kernel_fully_dispatched(policy::Control& control, const policy::RunningKernel&) override {
    probe(control, calls_.dispatch_ends);
  }
  void block_ended(policy::Control& control, const policy::RunningKernel&, SmId) override {
    probe(control, calls_.block_ends);
  }
  void epoch_ended(policy::Control& control) override { probe(control, calls_.epochs); }
  void window_ended(policy::Control& control) override { probe(control, calls_.windows); }

 private:
  /// Throws unless all parts have met.
  static void probe(const policy::Control& control, std::uint64_t& count) {
    ++count;
    EXPECT_LE(control.sm(0).resident_blocks(0), 16U);
  }
  policy::Needs needs_;
  Calls& calls_;
};

Calls calls_of(policy::Needs needs, experiment::RunResult* result = nullptr) {
  Calls calls;
  const auto run = experiment::simulate_under(spec_of(), std::make_unique<Counting>(needs, calls));
  if (result != nullptr) *result = run;
  return calls;
}

TEST(Mechanisms, AreCalledAtTheMomentsThatTheyNeed) {
  experiment::RunResult free;
  const Calls none = calls_of({.kernel_ends = false}, &free);
  Calls arrivals_alone;
  arrivals_alone.arrivals = none.arrivals;
  EXPECT_EQ(none, arrivals_alone);
  experiment::RunResult stepped;
  const Calls all =
      calls_of({.epoch = 1000, .windows = true, .block_ends = true, .dispatch_ends = true}, &stepped);
  EXPECT_EQ(all.arrivals, none.arrivals);  // an application that ends before the other begins again
  EXPECT_GE(all.kernel_ends, 2U);
  EXPECT_GE(all.arrivals, all.kernel_ends);
  EXPECT_GE(all.dispatch_ends, all.kernel_ends);
  EXPECT_EQ(all.block_ends, stepped.gpu.blocks_completed);
  EXPECT_EQ(all.epochs, stepped.cycles / 1000);
  EXPECT_GT(all.windows, 100U);
  // What is called and does nothing changes nothing.
  EXPECT_EQ(free.cycles, stepped.cycles);
  EXPECT_EQ(free.apps[1].counters.lsu_stall_cycles, stepped.apps[1].counters.lsu_stall_cycles);
}

TEST(Mechanisms, AnEpochShorterThanAWindowIsRefused) {
  Calls calls;  // windows of 8 cycles
  EXPECT_NO_THROW(static_cast<void>(
      experiment::simulate_under(spec_of(), std::make_unique<Counting>(policy::Needs{.epoch = 8}, calls))));
  try {
    (void)experiment::simulate_under(spec_of(), std::make_unique<Counting>(policy::Needs{.epoch = 7}, calls));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "error: an epoch of 7 cycles is shorter than a window: parts of dai18-maxwell meet every 8 cycles "
        "(noc.latency)");
  }
}

/// Sets an alarm of its own at each call; two of them have one each.
class Alarmed final : public policy::BlockScheduler {
 public:
  explicit Alarmed(std::vector<Cycle>& calls) : calls_(calls) {}
  void order(std::uint32_t sms, std::vector<SmId>& order) override {
    for (std::uint32_t sm = 0; sm < sms; ++sm) order.push_back(static_cast<SmId>(sm));
  }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    if (kernel.arrival == 0) control.set_alarm(control.now() + 160);
  }
  void alarm(policy::Control& control) override {
    calls_.push_back(control.now());
    if (calls_.size() < 3) control.set_alarm(control.now() + 160);
  }

 private:
  std::vector<Cycle>& calls_;
};

std::vector<Cycle> block_alarms;
const bool registered_alarmed = policy::register_block_scheduler(
    {"alarmed", "of a test", "", [](const std::string&) -> std::unique_ptr<policy::BlockScheduler> {
       block_alarms.clear();
       return std::make_unique<Alarmed>(block_alarms);
     }});

TEST(Mechanisms, EachHasAnAlarmOfItsOwn) {
  ASSERT_TRUE(registered_alarmed);
  // ws sets alarms all the time.
  const auto result = experiment::simulate(spec_of("ws:warmup=100,window=50,blocks=alarmed"));
  ASSERT_EQ(block_alarms.size(), 3U);
  EXPECT_EQ(block_alarms[1] - block_alarms[0], 160U);
  EXPECT_EQ(block_alarms[2] - block_alarms[1], 160U);
  EXPECT_GT(result.gpu.blocks_completed, 0U);
}

/// Samples at exact cycles, and counts events.
class Sampling final : public policy::Observer {
 public:
  explicit Sampling(Cycle every) : every_(every), next_(every) {}
  [[nodiscard]] Cycle next_sample() const override { return next_; }
  void sample(const policy::Probes& probes) override {
    EXPECT_EQ(probes.now(), next_);
    next_ += every_;
    std::uint64_t instructions = 0;
    for (unsigned app = 0; app < 2; ++app)
      instructions += probes.app_counters(static_cast<AppId>(app)).warp_instructions;
    EXPECT_GE(instructions, seen.empty() ? 0 : seen.back());
    seen.push_back(instructions);
    (void)probes.sm(3).resident_blocks(0);
  }
  void block_ended(const policy::View& view, const policy::RunningKernel&, const policy::BlockPlace& place,
                   Cycle) override {
    EXPECT_LT(place.sm, view.config().sms);
    ++blocks;
  }
  void run_ended(const policy::Probes& probes) override { end = probes.now(); }
  std::vector<std::uint64_t> seen;
  std::uint64_t blocks = 0;
  Cycle end = 0;

 private:
  Cycle every_, next_;
};

TEST(Mechanisms, ObserversSeeExactCyclesAndChangeNothing) {
  for (const char* policy : {"leftover", "spatial", "even-dmil"}) {
    experiment::RunSpec spec = spec_of(policy);
    spec.apps = {experiment::builtin_app("add"), experiment::builtin_app("stream")};
    spec.cycles = 6000;
    const auto alone = experiment::simulate(spec);
    for (const unsigned threads : {1U, 2U}) {
      spec.threads = threads;
      const auto often = std::make_shared<Sampling>(101), seldom = std::make_shared<Sampling>(1007);
      spec.observers = {often, seldom};
      spec.series = 250;
      const auto watched = experiment::simulate(spec);
      EXPECT_EQ(watched.gpu.warp_instructions, alone.gpu.warp_instructions) << policy;
      EXPECT_EQ(watched.gpu.lsu_stall_cycles, alone.gpu.lsu_stall_cycles) << policy;
      EXPECT_EQ(watched.partitions.dram_row_hits, alone.partitions.dram_row_hits) << policy;
      EXPECT_EQ(often->seen.size(), 6000U / 101);
      EXPECT_EQ(seldom->seen.size(), 6000U / 1007);
      EXPECT_EQ(often->seen[2 * 1007 / 101 - 1] <= seldom->seen[1], true);
      EXPECT_EQ(often->end, 6000U);
      EXPECT_EQ(often->blocks, watched.gpu.blocks_completed);
      EXPECT_EQ(watched.series.samples.size(), 24U);
    }
  }
}

/// Stops each kernel on each SM after some hundred instructions until it is told, and counts in SMs that have
/// slept.
class Triggering final : public policy::Policy {
 public:
  explicit Triggering(std::uint64_t& told) : told_(told) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override {
    return {.triggers = true, .kernel_ends = false};
  }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    std::vector<arch::KernelSlot> order;
    for (const policy::RunningKernel& running : control.kernels()) order.push_back(running.slot);
    for (std::uint32_t i = 0; i < control.config().sms; ++i) {
      arch::SmControl& sm = control.sm(i);
      sm.limit_blocks(kernel.slot, 3);
      sm.set_issue_budget(kernel.slot,
                          {.amount = 700, .at_epoch = arch::IssueBudget::Refill::KeepBoth, .epoch = 900});
      EXPECT_EQ(sm.issue_budget(kernel.slot).left, 700);
      arm(sm, kernel.slot, 300);
    }
    control.set_dispatch_order(order);
  }
  void triggered(policy::Control& control, SmId sm, const arch::Fired& fired) override {
    ++told_;
    EXPECT_LE(fired.cycle, control.now());
    EXPECT_GT(fired.cycle + 8, control.now()) << "in the same window";
    const auto slot = static_cast<arch::KernelSlot>(fired.id);
    control.sm(sm).allow_issue(slot, true);
    arm(control.sm(sm), slot, control.sm(sm).counters(slot).warp_instructions + 300);
  }

 private:
  static void arm(arch::SmControl& sm, arch::KernelSlot slot, std::uint64_t count) {
    sm.arm({.id = slot,
            .when = arch::Trigger::When::AtCount,
            .kernel = slot,
            .count = count,
            .forbid = 1U << slot});
  }
  std::uint64_t& told_;
};

TEST(Mechanisms, TriggersAndBudgetsAreTheSameHoweverRunsAreCut) {
  std::optional<experiment::RunResult> first;
  std::uint64_t first_told = 0;
  for (const bool no_skip : {false, true}) {
    for (const unsigned threads : {1U, 3U}) {
      for (const Cycle series : {Cycle{0}, Cycle{333}}) {
        experiment::RunSpec spec = spec_of();
        spec.cycles = 12'000;
        spec.no_skip = no_skip;
        spec.threads = threads;
        spec.series = series;
        std::uint64_t told = 0;
        const auto result = experiment::simulate_under(spec, std::make_unique<Triggering>(told));
        EXPECT_GT(told, 8U);
        if (!first) {
          first = result;
          first_told = told;
        }
        EXPECT_EQ(told, first_told);
        for (std::size_t app = 0; app < 2; ++app)
          EXPECT_EQ(result.apps[app].counters.warp_instructions, first->apps[app].counters.warp_instructions);
        EXPECT_EQ(result.gpu.lsu_stall_cycles, first->gpu.lsu_stall_cycles);
        EXPECT_EQ(result.partitions.dram_row_hits, first->partitions.dram_row_hits);
      }
    }
  }
}

/// Limits the second application's memory instructions in flight, with no memory scheme beside it.
class Limiting final : public policy::Policy {
 public:
  Limiting(std::uint32_t limit, std::uint32_t& peak) : limit_(limit), peak_(peak) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.memory_limits = true}; }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    std::vector<arch::KernelSlot> order;
    for (const policy::RunningKernel& running : control.kernels()) order.push_back(running.slot);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(kernel.slot, 3);
      control.sm(sm).set_memory_limit(1, limit_);
    }
    control.set_dispatch_order(order);
  }
  [[nodiscard]] policy::Report report(const policy::Probes& probes) const override {
    peak_ = 0;
    for (std::uint32_t sm = 0; sm < probes.config().sms; ++sm)
      peak_ = std::max(peak_, probes.sm(sm).memory_client(1).peak);
    return {};
  }

 private:
  std::uint32_t limit_;
  std::uint32_t& peak_;
};

TEST(Mechanisms, LimitsOfMemoryInstructionsActWithoutAScheme) {
  experiment::RunSpec spec = spec_of();
  spec.cycles = 6000;
  std::uint32_t free_peak = 0, held_peak = 0;
  const auto free = experiment::simulate_under(spec, std::make_unique<Limiting>(1000, free_peak));
  const auto held = experiment::simulate_under(spec, std::make_unique<Limiting>(1, held_peak));
  EXPECT_GT(free_peak, 1U);
  EXPECT_EQ(held_peak, 1U);
  EXPECT_LT(held.apps[1].counters.memory_instructions, free.apps[1].counters.memory_instructions);
}

/// Limits what the second application has of L1.
class Confining final : public policy::Policy {
 public:
  explicit Confining(std::uint32_t ways) : ways_(ways) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.l1_ways = true}; }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    std::vector<arch::KernelSlot> order;
    for (const policy::RunningKernel& running : control.kernels()) order.push_back(running.slot);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(kernel.slot, 2);
      control.sm(sm).set_l1_ways(1, ways_);
      EXPECT_EQ(static_cast<const policy::Control&>(control).sm(sm).memory_client(1).ways, ways_);
    }
    control.set_dispatch_order(order);
  }

 private:
  std::uint32_t ways_;
};

TEST(Mechanisms, WaysOfL1CanBeLimitedDuringARun) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=2"});
  for (const char* app : {"stencil:nx=66,ny=66,nz=10,steps=2", "stream:blocks=200"})
    spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice("leftover");
  spec.cycles = 30'000;
  const auto misses = [&](std::uint32_t ways) {
    const experiment::RunResult result = experiment::simulate_under(spec, std::make_unique<Confining>(ways));
    const arch::KernelCounters& counters = result.apps[0].counters;
    return static_cast<double>(counters.l1_misses) / static_cast<double>(counters.l1_accesses);
  };
  EXPECT_LT(misses(1), misses(0));
}

}  // namespace
}  // namespace gpumux
