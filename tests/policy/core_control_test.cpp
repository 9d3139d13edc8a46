// Core controls: the search for the number of SMs that serve, by hand and in the machine.
#include "policy/core_control.hpp"

#include <gtest/gtest.h>

#include <set>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_controls/descent.hpp"
#include "policy/core_controls/estimation.hpp"
#include "policy/memory_scheme.hpp"
#include "tests/figures.hpp"

namespace gpumux {
namespace {

std::string core_error(const std::string& policy) {
  try {
    (void)policy::parse_choice(policy);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

// --- searches -------------------------------------------------------------------------------------------

/// Each sample is taken with so many cores and shows this IPC; then `found` cores are found.
void expect_samples(policy::CoreSearch& search, const std::vector<std::pair<std::uint32_t, double>>& samples,
                    std::uint32_t found) {
  for (const auto& [cores, ipc] : samples) {
    EXPECT_FALSE(search.found());
    EXPECT_EQ(search.cores(), cores) << "sample " << search.samples() + 1;
    search.sample(ipc);
  }
  EXPECT_TRUE(search.found());
  EXPECT_EQ(search.cores(), found);
  EXPECT_EQ(search.samples(), samples.size());
}

// Figure 4.11: the first estimate for Pathfinder is 31; the second, all 32, is taken without another sample.
TEST(CoreEstimation, Pathfinder) {
  policy::CoreEstimation search(32, 0.02);
  expect_samples(search, {{32, 1000}, {1, 31.9}, {31, 975}}, 32);
}

// Figure 4.12: Backprop's estimates are 9, 10, 11 and 12.
TEST(CoreEstimation, Backprop) {
  policy::CoreEstimation search(32, 0.02);
  expect_samples(search, {{32, 100}, {1, 11.5}, {9, 92}, {10, 95}, {11, 96.8}, {12, 98.1}}, 12);
}

TEST(CoreEstimation, EndsOfTheRange) {
  policy::CoreEstimation one(8, 0.02);
  expect_samples(one, {{8, 100}, {1, 98}}, 1);
  policy::CoreEstimation all(8, 0.02);
  expect_samples(all, {{8, 100}, {1, 12.5}}, 8);
  policy::CoreEstimation last(8, 0.02);
  expect_samples(last, {{8, 100}, {1, 14}, {7, 13}}, 8);
  policy::CoreEstimation single(1, 0.02);
  expect_samples(single, {{1, 100}}, 1);
  policy::CoreEstimation nothing(8, 0.02);
  expect_samples(nothing, {{8, 0}, {1, 0}}, 1);
}

TEST(CoreEstimation, WhereSamplesDoNotRiseItTriesOneMore) {
  policy::CoreEstimation search(16, 0.02);
  expect_samples(search, {{16, 100}, {1, 25}, {4, 90}, {5, 90}, {6, 89}, {7, 99}}, 7);
}

TEST(CoreEstimation, HowManyMoreIsASetting) {
  policy::CoreEstimation search(16, 0.02, 3);
  expect_samples(search, {{16, 100}, {1, 25}, {4, 90}, {5, 90}, {8, 89}, {11, 99}}, 11);
  // Not where the line rises: 92 and 95 meet the threshold at 11.
  policy::CoreEstimation rises(32, 0.02, 3);
  expect_samples(rises, {{32, 100}, {1, 11.5}, {9, 92}, {10, 95}, {11, 96.8}, {12, 98.1}}, 12);
  policy::CoreEstimation all(8, 0.02, 4);
  expect_samples(all, {{8, 100}, {1, 25}, {4, 20}}, 8);
}

TEST(CoreEstimation, TheThresholdIsASetting) {
  policy::CoreEstimation search(16, 0.1);
  expect_samples(search, {{16, 100}, {1, 25}, {4, 90}}, 4);
}

TEST(CoreDescent, GoesBackByOne) {
  policy::CoreDescent search(4, 0.02, false);
  expect_samples(search, {{4, 100}, {3, 98.5}, {2, 97.9}}, 3);
  policy::CoreDescent compute(4, 0.02, false);
  expect_samples(compute, {{4, 100}, {3, 75}}, 4);
  policy::CoreDescent down(3, 0.02, false);
  expect_samples(down, {{3, 100}, {2, 101}, {1, 98}}, 1);
}

TEST(CoreDescent, AgainstTheBest) {
  policy::CoreDescent all(4, 0.02, false), best(4, 0.02, true);
  expect_samples(all, {{4, 100}, {3, 104}, {2, 100}, {1, 50}}, 2);
  expect_samples(best, {{4, 100}, {3, 104}, {2, 100}}, 3);
}

// --- choices --------------------------------------------------------------------------------------------

TEST(CoreControl, BadOnesAreErrorsOfOneLine) {
  EXPECT_EQ(core_error("cores=onca"),
            "error: unknown core control 'onca'; did you mean 'onac'?; known: all, blinking, first, onac, "
            "seq-det, switching");
  EXPECT_EQ(core_error("cores=all:3"), "error: cores=all:3: all takes no argument");
  EXPECT_EQ(core_error("cores=onac:threshold=1.5/waves=2"), "none");
  EXPECT_EQ(core_error("cores=onac:threshold=51"),
            "error: cores=onac: threshold=51 must be a number from 0 to 50");
  EXPECT_EQ(core_error("cores=onac:step=1024"), "none");
  EXPECT_NE(core_error("cores=onac:step=0").find("step=0 must be a whole number from 1 to 1024"),
            std::string::npos)
      << core_error("cores=onac:step=0");
  EXPECT_NE(core_error("cores=onac:wave=2").find("did you mean 'waves'?"), std::string::npos);
  EXPECT_NE(core_error("cores=onac:period=two").find("value of period 'two'"), std::string::npos);
  EXPECT_NE(core_error("cores=seq-det:against=none").find("value of against 'none'"), std::string::npos);
  EXPECT_NE(core_error("cores=first").find("a number of SMs from 1 to 1024 must follow"), std::string::npos);
  const arch::MachineConfig machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  EXPECT_NO_THROW(policy::check_choice(policy::parse_choice("cores=first:4"), machine, 1));
  EXPECT_THROW(policy::check_choice(policy::parse_choice("cores=first:5"), machine, 1), UserError);
}

TEST(CoreControl, AllIsNoChoice) {
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("even,cores=all")), "even");
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("warps=lrr,cores=onac,blocks=limit:2")),
            "leftover,blocks=limit:2,cores=onac,warps=lrr");
}

TEST(CoreControl, PoliciesThatDivideSmsAreRefused) {
  EXPECT_EQ(
      core_error("spatial,cores=onac"),
      "error: policy spatial,cores=onac: cores=onac cannot go with spatial, which gives SMs to kernels");
  std::set<std::string> refused;
  for (const policy::PolicyInfo& info : policy::policies())
    if (core_error(info.name + ",cores=onac") != "none") refused.insert(info.name);
  EXPECT_EQ(refused, (std::set<std::string>{"mig", "priority", "qos-elastic", "qos-history", "qos-naive",
                                            "qos-rollover", "qos-rollover-time", "smart-even", "spart",
                                            "spatial", "time-slice", "ws"}));
  EXPECT_EQ(core_error("mps,cores=onac"), "none") << "each may use all SMs";
  EXPECT_NE(core_error("mps:50/50,cores=onac"), "none");
  EXPECT_NE(core_error("ws-static:fallback=0.5,cores=onac").find("may give SMs to kernels"),
            std::string::npos);
}

// --- in the machine -------------------------------------------------------------------------------------

experiment::RunSpec core_spec(const std::string& policy, const std::vector<std::string>& apps,
                              Cycle cycles = 0, const std::string& machine = "awatramani17-onac32",
                              unsigned sms = 8) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine, {"sms=" + std::to_string(sms)});
  for (const std::string& app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = cycles;
  spec.audit = true;
  return spec;
}

double result_number(const experiment::RunResult& result, const std::string& name) {
  for (const policy::Report::Number& result_number : result.policy_report.numbers)
    if (result_number.name == name) return result_number.value;
  return -1;
}

/// Which SMs got blocks, and when the last one of each ended.
class Places final : public policy::Observer {
 public:
  void block_began(const policy::View&, const policy::RunningKernel&, std::uint64_t,
                   const policy::BlockPlace& place, Cycle begin) override {
    begins[place.sm].push_back(begin);
  }
  void block_ended(const policy::View&, const policy::RunningKernel&, const policy::BlockPlace& place,
                   Cycle end) override {
    ends[place.sm].push_back(end);
  }
  std::map<SmId, std::vector<Cycle>> begins, ends;
};

TEST(CoreControl, TheFirstAloneServe) {
  experiment::RunSpec spec = core_spec("cores=first:3", {"stream:blocks=200"});
  const auto places = std::make_shared<Places>();
  spec.observers = {places};
  spec.verify = true;
  const experiment::RunResult result = experiment::simulate(spec);
  EXPECT_EQ(places->begins.size(), 3U);
  EXPECT_EQ(places->begins.rbegin()->first, 2);
  EXPECT_EQ(result.apps[0].completions, 1U);
  // The others have power until the first kernel arrives.
  const Cycle launch = spec.machine.runtime.kernel_launch_latency;
  EXPECT_NEAR(static_cast<double>(result.powered_sm_cycles),
              static_cast<double>(3 * result.cycles + 5 * launch), 5 * 64.0);
  spec.machine.energy.gated_sm_watts = 0.5;
  EXPECT_NEAR(experiment::simulate(spec).energy->static_sms - result.energy->static_sms,
              0.5 * static_cast<double>(8 * result.cycles - result.powered_sm_cycles) /
                  (spec.machine.clocks.core * 1e6),
              1e-12);
  const experiment::RunResult all = experiment::simulate(core_spec("leftover", {"stream:blocks=200"}));
  EXPECT_EQ(all.powered_sm_cycles, 8 * all.cycles);
  EXPECT_GT(all.energy->static_sms / static_cast<double>(all.cycles),
            2 * result.energy->static_sms / static_cast<double>(result.cycles));
}

constexpr Cycle kOff = 4000, kOn = 20'000;
/// All but the first SM are gated at kOff, and serve again at kOn.
class Switching final : public policy::CoreControl {
 public:
  void kernel_arrived(policy::Control& control, const policy::RunningKernel&) override {
    control.set_alarm(kOff);
  }
  void alarm(policy::Control& control) override {
    const bool off = control.now() < kOn;
    for (SmId sm = 1; sm < control.config().sms; ++sm)
      control.set_duty(sm, off ? policy::SmDuty::Gated : policy::SmDuty::Serves);
    if (off) control.set_alarm(kOn);
  }
};
/// All but the first SM are gated for a moment.
class Blinking final : public policy::CoreControl {
 public:
  void kernel_arrived(policy::Control& control, const policy::RunningKernel&) override {
    control.set_alarm(kOff);
  }
  void alarm(policy::Control& control) override {
    for (SmId sm = 1; sm < control.config().sms; ++sm) control.set_duty(sm, policy::SmDuty::Gated);
    for (SmId sm = 1; sm < control.config().sms; ++sm) control.set_duty(sm, policy::SmDuty::Serves);
  }
};
const bool blinking_registered = policy::register_core_control(
    {"blinking", "of a test", "", [](const std::string&) -> std::unique_ptr<policy::CoreControl> {
       return std::make_unique<Blinking>();
     }});
const bool registered = policy::register_core_control(
    {"switching", "of a test", "", [](const std::string&) -> std::unique_ptr<policy::CoreControl> {
       return std::make_unique<Switching>();
     }});

TEST(CoreControl, PowerIsOffFromTheEndOfTheLastBlockOn) {
  experiment::RunSpec spec = core_spec("cores=switching", {"stream:blocks=2000"}, 30'000);
  const auto places = std::make_shared<Places>();
  spec.observers = {places};
  const experiment::RunResult result = experiment::simulate(spec);
  std::uint64_t gated = 0;
  const Cycle window = spec.machine.noc.latency;
  for (SmId sm = 1; sm < 8; ++sm) {
    Cycle last = 0;
    for (const Cycle begin : places->begins[sm]) {
      EXPECT_TRUE(begin < kOff + window || begin >= kOn) << "SM " << sm << " at " << begin;
      if (begin < kOff + window) continue;
      last = last == 0 ? begin : last;
    }
    EXPECT_LT(last, kOn + 100) << "it serves again";
    Cycle end = 0;
    for (const Cycle at : places->ends[sm])
      if (at < kOn) end = std::max(end, at);
    EXPECT_GT(end, kOff);
    gated += (kOn + window - 1) / window * window - end;
  }
  EXPECT_EQ(result.powered_sm_cycles, 8 * result.cycles - gated);
}

TEST(CoreControl, PowerTakesItsTimeToComeBack) {
  // Their first block after kOn, by SM.
  const auto first_blocks = [](std::uint32_t latency) {
    experiment::RunSpec spec = core_spec("cores=switching", {"stream:blocks=2000"}, 40'000);
    spec.machine.sm.power_up_latency = latency;
    const auto places = std::make_shared<Places>();
    spec.observers = {places};
    (void)experiment::simulate(spec);
    std::vector<Cycle> ends;
    for (SmId sm = 1; sm < 8; ++sm)
      for (const Cycle end : places->ends[sm])
        if (end > kOn) {
          ends.push_back(end);
          break;
        }
    return ends;
  };
  const std::vector<Cycle> at_once = first_blocks(0);
  const std::vector<Cycle> late = first_blocks(10'000);
  ASSERT_EQ(at_once.size(), 7U);
  ASSERT_EQ(late.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_GT(late[i], kOn + 10'000);
    EXPECT_NEAR(static_cast<double>(late[i] - at_once[i]), 10'000, 500);
  }
}

// Equal blocks end on all SMs in the same window: who has none at that moment counts, too.
TEST(CoreControl, SamplesOfEachSmAddUpToThatOfAll) {
  const auto ipc_of_all = [](const std::string& period) {
    experiment::RunSpec spec =
        core_spec("blocks=limit:1,cores=seq-det:warmup=0/waves=2/period=" + period, {"add:blocks=400"});
    spec.machine.runtime.blocks_per_cycle = 8;
    const experiment::RunResult result = experiment::simulate(spec);
    return result.policy_report.curves.at(0).points.at(0).second;
  };
  EXPECT_NEAR(ipc_of_all("each") / ipc_of_all("one"), 1, 0.05);
}

// Killed while SMs power up: no block waits there, and counters hold.
TEST(CoreControl, NoBlockGoesWhereThereIsNoPowerYet) {
  for (const bool no_skip : {false, true}) {
    experiment::RunSpec spec = core_spec("cores=switching", {"stream:blocks=2000"}, kOn + 3000);
    spec.machine.sm.power_up_latency = 10'000;
    spec.no_skip = no_skip;
    const auto places = std::make_shared<Places>();
    spec.observers = {places};
    const experiment::RunResult result = experiment::simulate(spec);
    for (SmId sm = 1; sm < 8; ++sm)
      for (const Cycle begin : places->begins[sm]) EXPECT_LT(begin, kOn);
    EXPECT_LE(result.schedulers.issued, 2 * 8 * result.cycles);
  }
}

TEST(CoreControl, SearchesFindFewCoresForAStreamAndAllForArithmetic) {
  for (const char* name : {"onac", "seq-det", "onac:period=each"}) {
    const std::string cores = std::string("leftover,cores=") + name;
    experiment::RunSpec stream = core_spec(cores, {"stream:words=8,blocks=2000"});
    // One partition in eight SMs' share of the machine: memory that a few SMs can fill.
    stream.machine = arch::load_machine("awatramani17-onac32", {"sms=8", "l2.partitions=1"});
    stream.verify = true;
    const experiment::RunResult memory = experiment::simulate(stream);
    EXPECT_EQ(result_number(memory, "core_searches_found"), 1) << name;
    EXPECT_LT(result_number(memory, "active_cores"), 6) << name;
    EXPECT_LT(memory.powered_sm_cycles, 8 * memory.cycles) << name;
    EXPECT_EQ(memory.apps[0].completions, 1U) << name;
    experiment::RunSpec threads = stream;
    threads.threads = 3;
    EXPECT_EQ(figures(experiment::simulate(threads)), figures(memory)) << name;
    threads.threads = 1;
    threads.no_skip = true;
    EXPECT_EQ(figures(experiment::simulate(threads)), figures(memory)) << name;
    const experiment::RunResult compute = experiment::simulate(core_spec(cores, {"add:blocks=1500"}));
    EXPECT_GE(result_number(compute, "active_cores"), 7) << name;
  }
}

// SMs that compete for memory run in turns: what each does in a time of its own must not be added up.
TEST(CoreControl, SamplesShowWhatTheWholeGridShows) {
  const std::string app = "awatramani17/transpose:width=1024,height=1024";
  const experiment::RunResult whole = experiment::simulate(core_spec("cores=first:2", {app}));
  const experiment::RunResult sampled = experiment::simulate(core_spec("cores=onac", {app}));
  double compared = 0;
  for (const policy::Report::Curve& curve : sampled.policy_report.curves)
    for (const auto& [cores, ipc] : curve.points)
      for (const experiment::KernelResult& kernel : whole.kernels) {
        if (cores != 2 || kernel.name != curve.kernel) continue;
        const double expected =
            static_cast<double>(kernel.block_instructions) * 32 / static_cast<double>(kernel.cycles);
        EXPECT_NEAR(ipc, expected, 0.08 * expected);
        ++compared;
      }
  EXPECT_EQ(compared, 1);
}

// A grid that ends within the search: all SMs serve again, and nothing is left paused.
TEST(CoreControl, AShortGridEndsTheSearch) {
  for (const char* blocks : {"8", "60", "150", "300"}) {
    experiment::RunSpec spec = core_spec("cores=onac", {std::string("stream:blocks=") + blocks});
    spec.verify = true;
    const experiment::RunResult result = experiment::simulate(spec);
    EXPECT_EQ(result.apps[0].completions, 1U) << blocks;
    EXPECT_EQ(result_number(result, "core_searches_found"), 0) << blocks;
    EXPECT_EQ(result.powered_sm_cycles, 8 * result.cycles);
  }
}

// SMs that are gated and serve again while they run the blocks that they had: they have had power all along.
TEST(CoreControl, PowerStaysOnWhileBlocksRun) {
  const experiment::RunResult result =
      experiment::simulate(core_spec("cores=blinking", {"stream:blocks=2000"}, 10'000));
  EXPECT_EQ(result.powered_sm_cycles, 8 * result.cycles);
}

// Under a policy that holds the second kernel back, the first one's paused blocks are all that can end.
TEST(CoreControl, SearchesEndWithTheirKernelWhereOthersWait) {
  for (const char* policy : {"sequential,cores=onac", "sequential,cores=seq-det", "leftover,cores=onac",
                             "even,cores=seq-det:waves=1/warmup=0"}) {
    SCOPED_TRACE(policy);
    for (const char* blocks : {"150", "400", "900", "2000"}) {
      experiment::RunSpec spec =
          core_spec(policy, {std::string("stream:blocks=") + blocks, "add:blocks=700"});
      spec.verify = true;
      const experiment::RunResult result = experiment::simulate(spec);
      EXPECT_GE(result.apps[0].completions, 1U) << blocks;
      EXPECT_GE(result.apps[1].completions, 1U) << blocks;
      EXPECT_GE(result_number(result, "core_searches"), 2) << blocks;
    }
  }
}

TEST(Kernels, TakeFromTheirFirstBlockToTheirLast) {
  const experiment::RunResult result = experiment::simulate(core_spec("leftover", {"lud:size=128"}));
  Cycle sum = 0;
  for (const experiment::KernelResult& kernel : result.kernels) {
    EXPECT_GT(kernel.cycles, 0U) << kernel.name;
    EXPECT_GE(kernel.cycles * 8 * 8, kernel.block_cycles)
        << kernel.name << ": eight SMs, eight blocks on each";
    sum += kernel.cycles;
  }
  // One after the other, each with the way of its launch before it.
  EXPECT_LT(sum, result.cycles);
  EXPECT_GT(sum, result.cycles / 2);
}

/// Of all levels of --policy each with each, once.
TEST(Levels, EveryPairRuns) {
  using List = std::vector<std::string>;
  List policies, warps, blocks, cores, concurrency, memory;
  for (const policy::PolicyInfo& info : policy::policies())
    if (!info.name.starts_with("test")) policies.push_back(info.name);
  for (const std::string& name : arch::warp_scheduler_names()) warps.push_back("warps=" + name);
  for (const char* name : {"ccws", "swl:6"}) warps.push_back(std::string("warps=") + name);
  const auto text = [](const char* level, const auto& info) {
    return std::string(level) + "=" + info.name + (info.example.empty() ? "" : ":" + info.example);
  };
  for (const policy::BlockSchedulerInfo& info : policy::block_schedulers())
    blocks.push_back(text("blocks", info));
  for (const policy::CoreControlInfo& info : policy::core_controls()) cores.push_back(text("cores", info));
  for (const policy::ConcurrencyControlInfo& info : policy::concurrency_controls())
    concurrency.push_back("concurrency=" + info.name +
                          (info.name == "cm-bal" ? ":1/interval=128" : ":interval=128"));
  for (const policy::MemorySchemeInfo& info : policy::memory_schemes())
    memory.push_back("memory=" + info.name + (info.per_app.key.empty() ? "" : ",k0=3"));
  const List* levels[] = {&policies, &warps, &blocks, &cores, &concurrency, &memory};
  std::size_t ran = 0;
  for (std::size_t a = 0; a < std::size(levels); ++a)
    for (std::size_t b = a + 1; b < std::size(levels); ++b)
      for (const std::string& first : *levels[a])
        for (const std::string& second : *levels[b]) {
          const std::string policy = first + "," + second;
          SCOPED_TRACE(policy);
          if (const std::string error = core_error(policy); error != "none") {
            EXPECT_NE(error.find("cannot go with"), std::string::npos) << error;
            continue;
          }
          experiment::RunSpec spec =
              core_spec(policy, {"stream:blocks=40", "add:blocks=40"}, 1500, "wang17-16sm", 4);
          if (spec.policy.name.starts_with("ws") || spec.policy.name == "smk-pw")
            spec.policy.settings["profile_cycles"] = "1000";
          try {
            const experiment::RunResult result = experiment::simulate(spec);
            EXPECT_GT(result.gpu.warp_instructions, 0U);
            ++ran;
          } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
          }
        }
  EXPECT_GT(ran, 500U);
}

}  // namespace
}  // namespace gpumux
