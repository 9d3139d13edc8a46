// Grids whose blocks wait for each other: under every policy they are placed as a whole, or refused
// immediately. And runs whose blocks wait for an event that never happens, which end soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "experiment/run.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/observer.hpp"
#include "policy/policy.hpp"

namespace gpumux {
namespace {

constexpr std::uint32_t kThreads = 256;

/// nvcc's grid_sum: prefix sums of `blocks` x 256 numbers, two barriers of the whole grid for each doubling.
class GridSum final : public runtime::Application {
 public:
  explicit GridSum(std::uint32_t blocks) : blocks_(blocks) {}
  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(
        read_file(std::string(GPUMUX_SOURCE_DIR) + "/tests/emulator/data/grid.sm_75.ptx"), "grid.ptx");
    const std::uint32_t count = blocks_ * kThreads;
    std::vector<int> numbers(count);
    for (std::uint32_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i % 7);
    const auto data = host.malloc<int>(count);
    const auto out = host.malloc<int>(count);
    host.to_device(data, numbers);
    runtime::LaunchSpec spec{{blocks_, 1, 1}, {kThreads, 1, 1}};
    spec.cooperative = true;
    host.launch(module, "grid_sum", spec, data, out, static_cast<int>(count));
    std::vector<int> sums(count);
    host.from_device(sums, out);
    co_await host.synchronize();
    int sum = 0;
    for (std::uint32_t i = 0; verify && i < count; ++i) {
      sum += numbers[i];
      if (sums[i] != sum)
        throw SimulationFault(fmt::format("error: sum {} is {} and not {}", i, sums[i], sum));
    }
  }

 private:
  std::uint32_t blocks_;
};

// `work` goes round a loop. `meet` waits until all blocks of the grid have added to a counter. `look` waits
// for a flag, `raise` sets it after a while, `lock` takes a lock that nobody gives back.
constexpr const char* kCooperativePtx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry work(.param .u64 words, .param .u32 rounds)
{
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [words]; ld.param.u32 %r1, [rounds];
  mov.u32 %r2, 0; mov.u32 %r3, 1;
AGAIN:
  mad.lo.u32 %r3, %r3, %r1, %r2; add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra AGAIN;
  setp.eq.u32 %p1, %r3, 77;
  @%p1 st.global.u32 [%rd1+64], %r3;
  ret;
}
.visible .entry meet(.param .u64 words, .param .u32 rounds)
{
  .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [words];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %nctaid.x;
  setp.ne.u32 %p1, %r1, 0;
  bar.sync 0;
  @%p1 bra MET;
  atom.release.gpu.global.add.u32 %r3, [%rd1], 1;
AGAIN:
  ld.acquire.gpu.global.u32 %r4, [%rd1];
  setp.lt.u32 %p2, %r4, %r2;
  @%p2 bra AGAIN;
MET:
  bar.sync 0;
  ret;
}
.visible .entry look(.param .u64 words, .param .u32 rounds)
{
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [words];
AGAIN:
  ld.acquire.gpu.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ret;
}
.visible .entry raise(.param .u64 words, .param .u32 rounds)
{
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [words]; ld.param.u32 %r1, [rounds];
  mov.u32 %r2, 0;
AGAIN:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra AGAIN;
  st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry lock(.param .u64 words, .param .u32 rounds)
{
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [words];
AGAIN:
  atom.global.cas.b32 %r1, [%rd1], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ret;
}
)";

struct Kernel {
  std::string name;
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint32_t rounds = 100;
  std::uint32_t stream = 0;
  std::uint32_t times = 1;
};

class Kernels final : public runtime::Application {
 public:
  explicit Kernels(std::vector<Kernel> kernels) : kernels_(std::move(kernels)) {}
  runtime::Task run(runtime::Host& host, bool /*verify*/) override {
    const std::uint32_t module = host.load_module(kCooperativePtx, "k.ptx");
    const auto words = host.malloc<std::uint32_t>(64);
    host.fill(words.address, 0, 256, 0);
    co_await host.synchronize();
    std::map<std::uint32_t, runtime::StreamId> streams;
    for (const Kernel& kernel : kernels_) {
      if (!streams.contains(kernel.stream)) streams[kernel.stream] = host.create_stream();
      for (std::uint32_t i = 0; i < kernel.times; ++i)
        host.launch(module, kernel.name,
                    {{kernel.blocks, 1, 1}, {kernel.threads, 1, 1}, 0, streams[kernel.stream]}, words,
                    kernel.rounds);
    }
    co_await host.synchronize();
  }

 private:
  std::vector<Kernel> kernels_;
};

experiment::AppSpec app(const std::string& name, std::vector<Kernel> kernels) {
  experiment::AppSpec spec;
  spec.text = spec.name = name;
  spec.identity = name;
  for (const Kernel& of : kernels)
    spec.identity +=
        fmt::format(" {} {} {} {} {} {}", of.name, of.blocks, of.threads, of.rounds, of.stream, of.times);
  spec.create = [kernels = std::move(kernels)](std::uint64_t) { return std::make_unique<Kernels>(kernels); };
  return spec;
}

experiment::AppSpec grid(std::uint32_t blocks) {
  experiment::AppSpec spec;
  spec.text = spec.name = "grid";
  spec.identity = fmt::format("grid {}", blocks);
  spec.create = [blocks](std::uint64_t) { return std::make_unique<GridSum>(blocks); };
  return spec;
}

/// Launches kernels behind each other in two streams, so that some of its blocks are on the machine all the
/// time, with resources for one more small block on each SM or not.
experiment::AppSpec neighbour(std::uint32_t threads = 192) {
  return app("neighbour", {{"work", 16, threads, 300, 0, 2}, {"work", 6, threads, 500, 1, 2}});
}

constexpr std::uint32_t kSms = 4;

experiment::RunSpec run_of(const std::string& policy, std::vector<experiment::AppSpec> apps) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(
      "dai18-maxwell", {"sms=" + std::to_string(kSms), "sm.max_threads=1024", "sm.max_warps=32"});
  spec.machine.runtime.max_kernel_cycles = 3'000'000;
  spec.policy = policy::parse_choice(policy);
  spec.apps = std::move(apps);
  spec.verify = true;
  return spec;
}

/// Blocks of grid_sum that fit an SM.
std::uint32_t fit() {
  static const std::uint32_t blocks = [] {
    class Watch final : public policy::Observer {
     public:
      void kernel_arrived(const policy::View&, const policy::RunningKernel& kernel,
                          const policy::Launch&) override {
        most = kernel.max_blocks_per_sm;
      }
      std::uint32_t most = 0;
    };
    auto watch = std::make_shared<Watch>();
    experiment::RunSpec spec = run_of("leftover", {grid(1)});
    spec.observers = {watch};
    (void)experiment::simulate(spec);
    return watch->most;
  }();
  return blocks;
}

/// A grid is on the machine as a whole or not at all, except while its blocks leave or are to move.
class AsAWhole final : public policy::Observer {
 public:
  [[nodiscard]] Cycle next_sample() const override { return next_; }
  void sample(const policy::Probes& probes) override {
    next_ += 500;
    for (const policy::RunningKernel& kernel : probes.kernels()) {
      if (!kernel.cooperative) continue;
      const std::uint64_t alive = kernel.blocks_total - kernel.blocks_done;
      const std::uint64_t resident = policy::resident_blocks(kernel);
      bool leaves = false;
      for (std::uint32_t sm = 0; sm < probes.config().sms; ++sm)
        for (const arch::ResidentBlock& block : probes.sm(sm).blocks())
          leaves = leaves || (block.kernel == kernel.slot && block.stops);
      whole = whole + (resident == alive ? 1 : 0);
      // One whose warps have ended stays for its stores, while the others have left.
      const bool torn = resident != 0 && resident != alive && !leaves;
      in_part += torn && was_torn_ ? 1 : 0;
      was_torn_ = torn;
    }
  }
  std::uint64_t whole = 0, in_part = 0;

 private:
  Cycle next_ = 500;
  bool was_torn_ = false;
};

struct Outcome {
  std::string error;  // empty: it ran
  bool refused = false;
  std::uint64_t in_part = 0;
};

Outcome outcome_of(const experiment::RunSpec& of) {
  experiment::RunSpec spec = of;
  auto watch = std::make_shared<AsAWhole>();
  spec.observers.emplace_back(watch);
  Outcome outcome;
  try {
    const experiment::RunResult result = experiment::simulate(spec);
    for (const experiment::AppResult& app : result.apps) EXPECT_GE(app.completions, 1U) << app.app;
  } catch (const UserError& error) {
    outcome = {error.what(), true, 0};
  } catch (const SimulationFault& fault) {
    outcome.error = fault.what();
  }
  outcome.in_part = watch->in_part;
  return outcome;
}

/// Policies with settings that make them limit what a kernel gets; those that run kernels alone first do so
/// for a short time.
std::vector<std::string> choices() {
  std::vector<std::string> all;
  const std::map<std::string, std::string> settings = {{"smk-pw", ":profile_cycles=3000"},
                                                       {"ws-static", ":profile_cycles=3000"},
                                                       {"ws", ":warmup=500,window=500"},
                                                       {"time-slice", ":slice=20us"}};
  for (const policy::PolicyInfo& info : policy::policies()) {
    if (info.file.find("_test") != std::string::npos) continue;
    if (info.name == "priority") continue;  // the second application starves beside the first
    const auto more = settings.find(info.name);
    all.push_back(info.name + (more == settings.end() ? "" : more->second));
  }
  for (const char* text : {"leftover:mode=sequential",
                           "spatial:surplus=keep",
                           "spatial:sms=3/1",
                           "mps:75/25",
                           "mig:4/3",
                           "even:shares=1/3",
                           "interleaved:limits=2/2",
                           "interleaved:split=optimum,profile_cycles=3000",
                           "interleaved:order=age,rest=keep",
                           "smart-even:preempt=switch",
                           "smart-even:preempt=chimera",
                           "smart-even:preempt=flush",
                           "priority:levels=1/1",
                           "time-slice:slice=20us,preempt=drain",
                           "time-slice:slice=20us,preempt=chimera",
                           "time-slice:slice=20us,preempt=flush-strict",
                           "ws:warmup=500,window=500,fallback=0.1",
                           "ws-static:fallback=0.1,profile_cycles=3000",
                           "smk-p,memory=qbmi",
                           "even,memory=dmil"})
    all.emplace_back(text);
  for (const policy::BlockSchedulerInfo& info : policy::block_schedulers())
    for (const char* base : {"leftover", "even"})
      all.push_back(fmt::format("{},blocks={}{}", base, info.name, info.name == "limit" ? ":2" : ""));
  for (const policy::CoreControlInfo& info : policy::core_controls())
    all.push_back(fmt::format("leftover,cores={}{}", info.name, info.name == "first" ? ":1" : ""));
  for (const policy::ConcurrencyControlInfo& info : policy::concurrency_controls())
    all.push_back(
        fmt::format("leftover,concurrency={}:start=2{}", info.name, info.name == "cm-bal" ? "/k=1" : ""));
  for (const char* warps : {"swl:1", "ccws", "lrr"}) all.push_back(fmt::format("leftover,warps={}", warps));
  return all;
}

/// Places that a choice gives the first of two applications at best.
std::uint64_t most_places(const policy::PolicyChoice& choice, std::uint32_t per_sm) {
  std::uint64_t sms = kSms;
  if (choice.name == "mig") sms = choice.settings.contains("slices") ? 2 : 1;  // of 4 SMs, 4 or 3 sevenths
  if (choice.name == "mps" && choice.settings.contains("shares")) sms = 3;
  if (choice.name == "spatial" && choice.settings.contains("sms")) sms = 3;
  if (choice.cores == "first:1") sms = 1;
  return sms * (choice.blocks == "limit:2" ? std::min(per_sm, 2U) : per_sm);
}

class CooperativeUnder : public ::testing::TestWithParam<std::string> {};

TEST_P(CooperativeUnder, AGridIsPlacedAsAWholeOrRefused) {
  const std::uint32_t per_sm = fit();
  ASSERT_GE(per_sm, 4U);
  const std::uint64_t most = most_places(policy::parse_choice(GetParam()), per_sm);
  for (const auto& [blocks, threads] : {std::pair(3U, 1024U), std::pair(kSms * per_sm, 192U)}) {
    SCOPED_TRACE(fmt::format("{} blocks beside some of {} threads", blocks, threads));
    const Outcome of = outcome_of(run_of(GetParam(), {grid(blocks), neighbour(threads)}));
    if (blocks <= most) {
      // Policies that share every SM refuse kernels of which one block each does not fit.
      if (of.refused) {
        EXPECT_NE(of.error.find("does not fit an SM together"), std::string::npos) << of.error;
      } else {
        EXPECT_EQ(of.error, "");
      }
    } else {
      EXPECT_TRUE(of.refused) << of.error;
      EXPECT_EQ(of.error.find(fmt::format(
                    "error: policy {}: app grid: kernel grid_sum: a cooperative launch of {} blocks",
                    GetParam(), blocks)),
                0U)
          << of.error;
      EXPECT_NE(of.error.find(fmt::format("room for {} at a time", most)), std::string::npos) << of.error;
    }
    EXPECT_EQ(of.in_part, 0U);
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(EveryChoice, CooperativeUnder, ::testing::ValuesIn(choices()), test_name);

struct Case {
  const char* choice;
  std::uint32_t sms;     // that the first of two applications gets at best
  std::uint32_t blocks;  // of a kernel on each; 0: what fits
};

class Cooperative : public ::testing::TestWithParam<Case> {};

TEST_P(Cooperative, AGridThatNeverHasRoomIsRefusedWithTheChoicesName) {
  const Case& of = GetParam();
  const std::uint32_t blocks = of.blocks == 0 ? fit() : std::min(fit(), of.blocks);
  const std::uint32_t most = of.sms * blocks;
  try {
    (void)experiment::simulate(run_of(of.choice, {grid(most + 1), grid(1)}));
    ADD_FAILURE() << "it ran";
  } catch (const UserError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        fmt::format(
            "error: policy {}: app grid: kernel grid_sum: a cooperative launch of {} blocks, which have to "
            "be resident together; the policy has room for {} at a time, {} on each of {} SMs",
            of.choice, most + 1, most, blocks, of.sms));
  }
  // What has room has the right sums.
  const experiment::RunResult result = experiment::simulate(run_of(of.choice, {grid(most), grid(1)}));
  EXPECT_GE(result.apps[0].completions, 1U);
}

INSTANTIATE_TEST_SUITE_P(Choices, Cooperative,
                         ::testing::Values(Case{"mig:4/3", 2, 0}, Case{"mps:75/25", 3, 0},
                                           Case{"spatial:sms=3/1", 3, 0},
                                           Case{"leftover,blocks=limit:2", kSms, 2},
                                           Case{"leftover,cores=first:1", 1, 0},
                                           Case{"leftover,blocks=limit:3,cores=first:2", 2, 3}));

// Whoever is first on the command line, and whatever else the application itself does meanwhile.
TEST(CooperativeGrid, TheOrderOfApplicationsDoesNotMatter) {
  for (const char* policy :
       {"even", "smart-even:preempt=switch", "qos-naive", "priority:levels=1/1", "leftover", "interleaved"}) {
    SCOPED_TRACE(policy);
    EXPECT_EQ(outcome_of(run_of(policy, {neighbour(), grid(kSms * fit())})).error, "");
    EXPECT_EQ(outcome_of(run_of(policy, {grid(kSms * fit()), grid(kSms * fit())})).error, "");
  }
}

TEST(CooperativeGrid, ItIsTheSameForAnyNumberOfThreadsAndWithoutSkipping) {
  for (const char* policy : {"even", "time-slice:slice=20us", "qos-rollover"}) {
    experiment::RunSpec spec = run_of(policy, {grid(kSms * fit()), neighbour()});
    const experiment::RunResult one = experiment::simulate(spec);
    spec.threads = 3;
    const experiment::RunResult three = experiment::simulate(spec);
    spec.no_skip = true;
    const experiment::RunResult all = experiment::simulate(spec);
    EXPECT_EQ(one.cycles, three.cycles) << policy;
    EXPECT_EQ(one.cycles, all.cycles) << policy;
    EXPECT_EQ(one.gpu.warp_instructions, three.gpu.warp_instructions) << policy;
    EXPECT_EQ(one.gpu.warp_instructions, all.gpu.warp_instructions) << policy;
  }
}

// They take their places together, and begin as fast as blocks are dispatched.
TEST(CooperativeGrid, ItsBlocksBeginAtTheRateOfDispatch) {
  class Begins final : public policy::Observer {
   public:
    void block_began(const policy::View& view, const policy::RunningKernel& kernel, std::uint64_t index,
                     const policy::BlockPlace& place, Cycle begin) override {
      EXPECT_EQ(index, begins.size());
      EXPECT_LT(place.sm, view.config().sms);
      EXPECT_EQ(kernel.first_block_cycle, begins.empty() ? begin : begins.front());
      begins.push_back(begin);
    }
    std::vector<Cycle> begins;
  };
  for (const std::uint32_t rate : {1U, 3U}) {
    auto watch = std::make_shared<Begins>();
    experiment::RunSpec spec = run_of("leftover", {grid(kSms * fit())});
    spec.machine.runtime.blocks_per_cycle = rate;
    spec.observers = {watch};
    (void)experiment::simulate(spec);
    ASSERT_EQ(watch->begins.size(), kSms * fit());
    for (std::size_t i = 0; i < watch->begins.size(); ++i)
      EXPECT_EQ(watch->begins[i], watch->begins[0] + i / rate) << i;
  }
}

// Its places are kept for it: small blocks that come all the time would else have them one by one.
TEST(CooperativeGrid, PlacesAreKeptForIt) {
  const auto busy = [](std::uint32_t times) {
    return app("busy", {{"work", 64, 64, 200, 0, times}, {"work", 64, 64, 250, 1, times}});
  };
  experiment::RunSpec spec = run_of("leftover", {busy(2), grid(kSms * fit())});
  const Cycle few = experiment::simulate(spec).apps[1].first_completion;
  spec.apps[0] = busy(12);
  EXPECT_LT(experiment::simulate(spec).apps[1].first_completion, 2 * few);
}

// A policy that gives a kernel less than it needs, alone, for ever.
class HalfOfAnSm final : public policy::Policy {
 public:
  explicit HalfOfAnSm(Cycle epoch) : epoch_(epoch) {}
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.epoch = epoch_}; }
  void kernel_arrived(policy::Control& control, const policy::RunningKernel& kernel) override {
    control.sm(0).limit_blocks(kernel.slot, 1);
    control.set_dispatch_order({kernel.slot});
  }

 private:
  Cycle epoch_;
};
const bool kRegistered = policy::register_policy(
    {"test-half",
     "for tests",
     {{"epoch", "cycles"}},
     [](const policy::Settings& s) -> std::unique_ptr<policy::Policy> {
       return std::make_unique<HalfOfAnSm>(s.contains("epoch") ? std::stoul(s.at("epoch")) : 0);
     }});

TEST(CooperativeGrid, APolicyThatNeverHoldsItIsNamed) {
  for (const char* policy : {"test-half", "test-half:epoch=5000"}) {
    const Outcome of = outcome_of(run_of(policy, {grid(2)}));
    EXPECT_TRUE(of.refused);
    EXPECT_EQ(
        of.error,
        fmt::format("error: policy {}: app grid: kernel grid_sum: a cooperative launch of 2 blocks, and "
                    "the policy has room for 1 at a time, though no other kernel runs",
                    policy));
    EXPECT_EQ(outcome_of(run_of(policy, {grid(1)})).error, "");
  }
}

// All of its blocks leave, or none.
TEST(CooperativeGrid, ItIsPreemptedAsAWhole) {
  for (const char* policy : {"time-slice:slice=20us", "priority:levels=1/2,preempt=switch",
                             "time-slice:slice=20us,preempt=chimera"}) {
    SCOPED_TRACE(policy);
    // One block of the neighbour's asks for one SM of four.
    experiment::RunSpec spec =
        run_of(policy, {grid(kSms * fit()), app("late", {{"work", 1, 64, 9000, 0, 3}})});
    auto watch = std::make_shared<AsAWhole>();
    spec.cycles = 300'000;  // to its end it would starve beside one that goes first and runs again and again
    spec.observers = {watch};
    const experiment::RunResult result = experiment::simulate(spec);
    EXPECT_EQ(watch->in_part, 0U);
    EXPECT_GT(watch->whole, 0U);
    double switched = 0;
    for (const auto& number : result.policy_report.numbers)
      if (number.name == "preempted_blocks_switched" && !number.app) switched = number.value;
    EXPECT_GE(switched, kSms * fit());
  }
}

// A kernel that waits for a later one of its application is not held up by a grid that waits for it.
TEST(CooperativeGrid, ItWaitsForNoKernelThatWaitsForOneBehindIt) {
  const auto pair = app("pair", {{"look", 2, 64, 0, 0}, {"work", 1, 32, 9000, 1}, {"raise", 1, 32, 100, 1}});
  EXPECT_EQ(outcome_of(run_of("even", {pair, grid(kSms * fit())})).error, "");
}

TEST(CooperativeGrid, WhoHasSmsOfItsOwnDoesNotWaitForOthersGrids) {
  for (const char* text : {"mig", "mps:50/50", "spatial:sms=2/2", "time-slice"}) {
    const auto policy = policy::create(policy::parse_choice(text));
    EXPECT_FALSE(policy->waits_behind(0, 1)) << text;
    EXPECT_TRUE(policy->waits_behind(1, 1)) << text;
  }
  EXPECT_TRUE(policy::create(policy::parse_choice("mps"))->waits_behind(0, 1));
}

TEST(CooperativeGrid, OneThatKeepsToItsShareSharesTheMachine) {
  // A quarter of the machine: with half of each SM it goes on beside the other.
  experiment::RunSpec spec = run_of("even", {grid(kSms * fit() / 4), app("long", {{"work", 64, 64, 20000}})});
  const experiment::RunResult result = experiment::simulate(spec);
  EXPECT_LT(result.apps[0].first_completion, result.apps[1].first_completion);
}

// --- runs that cannot progress --------------------------------------------------------------------

std::string fault_of(const experiment::RunSpec& spec) {
  try {
    (void)experiment::simulate(spec);
  } catch (const SimulationFault& fault) {
    return fault.what();
  }
  return "no fault";
}
/// The cycle that a message names.
Cycle cycle_in(const std::string& text) {
  const std::size_t at = text.find("since cycle ");
  return at == std::string::npos ? kNever : std::stoull(text.substr(at + 12));
}

// Launched without saying so, more blocks wait for each other than there is room for. Where something may
// still give them more, it gets time.
TEST(Standstill, ResidentBlocksThatWaitForOthersWithoutAPlaceAreReported) {
  for (const char* policy : {"leftover", "even", "leftover,blocks=perf-sat", "leftover,cores=first:1",
                             "leftover,blocks=dyncta", "qos-naive"}) {
    SCOPED_TRACE(policy);
    experiment::RunSpec spec = run_of(policy, {app("own", {{"meet", 200, 256}})});
    std::uint64_t windows = 0;
    spec.progress = [&](Cycle cycle) { windows = cycle; };
    const std::string fault = fault_of(spec);
    EXPECT_EQ(fault.find("error: app own: kernel meet: it cannot go on, since cycle "), 0U) << fault;
    EXPECT_NE(fault.find(" resident blocks wait for "), std::string::npos) << fault;
    EXPECT_NE(fault.find(fmt::format("for which policy {} has no room on", policy)), std::string::npos)
        << fault;
    EXPECT_NE(fault.find("looking again and again at 0x"), std::string::npos) << fault;
    EXPECT_LT(windows, 1'000'000U);
  }
}

// Another application waits for a place, and changes nothing about it.
TEST(Standstill, WhoHasNoPlaceBesideThemHelpsNobody) {
  const auto own = app("own", {{"meet", 200, 256}});
  for (const auto& other : {app("other", {{"work", 4, 256}}), grid(kSms * fit())}) {
    const std::string fault = fault_of(run_of("leftover", {own, other}));
    EXPECT_EQ(fault.find("error: app own: kernel meet: it cannot go on, since cycle "), 0U) << fault;
    EXPECT_NE(fault.find(" resident blocks wait for "), std::string::npos) << fault;
  }
}

TEST(Standstill, WarpsThatLookForWhatNobodyWritesAreReported) {
  for (const auto& [kernel, threads] :
       {std::pair("look", 256U), std::pair("lock", 32U), std::pair("look", 1U)}) {
    SCOPED_TRACE(kernel);
    const std::string fault = fault_of(run_of("leftover", {app("own", {{kernel, 3, threads}})}));
    EXPECT_EQ(fault.find(fmt::format("error: app own: kernel {}: it cannot go on, since cycle ", kernel)), 0U)
        << fault;
    EXPECT_NE(fault.find("read the same in loops that change nothing"), std::string::npos) << fault;
    EXPECT_LT(cycle_in(fault), 900'000U);
  }
}

TEST(Standstill, WhoWaitsForAnotherKernelIsNot) {
  experiment::RunSpec spec =
      run_of("leftover", {app("own", {{"look", 3, 64, 0, 0}, {"raise", 1, 32, 40'000, 1}})});
  EXPECT_EQ(fault_of(spec), "no fault");
  // The other one is behind a kernel of another application for longer than anybody needs to react.
  spec = run_of("leftover:mode=sequential",
                {app("first", {{"work", 8, 32, 130'000}}), app("own", {{"work", 1}})});
  EXPECT_EQ(fault_of(spec), "no fault");
}

// Its other blocks come when the neighbour's have ended.
TEST(Standstill, WhoWaitsForPlacesThatOthersHaveIsNot) {
  const experiment::RunSpec spec =
      run_of("leftover", {app("long", {{"work", 28, 256, 40'000}}), app("own", {{"meet", 16, 256}})});
  EXPECT_EQ(fault_of(spec), "no fault");
}

// A run of so many cycles measures them, whoever waits for what.
TEST(Standstill, ARunWithALimitOfCyclesComesToIt) {
  experiment::RunSpec spec = run_of("leftover", {app("own", {{"look", 3, 64}})});
  spec.cycles = 200'000;
  EXPECT_EQ(experiment::simulate(spec).cycles, 200'000U);
}

TEST(Standstill, WhoIsNeverServedBesideOthersThatRunAgainAndAgainIsReported) {
  // Between two kernels of the high one, the contexts of the other's blocks do not come back in time.
  experiment::RunSpec spec =
      run_of("priority:levels=1/2", {grid(kSms * fit()), app("high", {{"work", 1, 64, 5000, 0, 3}})});
  std::uint64_t last = 0;
  spec.progress = [&](Cycle cycle) { last = cycle; };
  const std::string fault = fault_of(spec);
  EXPECT_EQ(fault.find("error: app grid: starved: it has got nowhere since cycle "), 0U) << fault;
  EXPECT_NE(fault.find("policy priority:levels=1/2 does not serve it"), std::string::npos) << fault;
  EXPECT_LT(last, 2'000'000U);
}

}  // namespace
}  // namespace gpumux
