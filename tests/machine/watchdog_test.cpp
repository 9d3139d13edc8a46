// Runs in which nothing can proceed end with a report that names each waiter and its reason.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"

namespace gpumux {
namespace {

using policy::Control;
using policy::RunningKernel;

/// Serves the first kernel alone and never thinks of the others.
class ForgetsTheSecond final : public policy::Policy {
 public:
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    if (kernel.arrival > 0) return;
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
    }
    control.set_dispatch_order({kernel.slot});
  }
};

/// Serves everybody, and after a while lets nobody issue any more.
class StopsIssue final : public policy::Policy {
 public:
  explicit StopsIssue(Cycle after) : after_(after) {}
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      control.sm(sm).limit_blocks(kernel.slot, policy::kUnlimited);
    }
    control.set_dispatch_order({kernel.slot});
  }
  [[nodiscard]] policy::Needs needs(const policy::View&) const override { return {.epoch = after_}; }
  void epoch_ended(Control& control) override {
    for (const RunningKernel& kernel : control.kernels()) {
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
        control.sm(sm).allow_issue(kernel.slot, false);
      }
    }
  }

 private:
  Cycle after_;
};

/// Settings of the test policies are the cycle at which they stop issue.
const bool kRegistered =
    policy::register_policy({"test-forgets",
                             "for tests",
                             {},
                             [](const policy::Settings&) -> std::unique_ptr<policy::Policy> {
                               return std::make_unique<ForgetsTheSecond>();
                             }}) &&
    policy::register_policy({"test-stops",
                             "for tests",
                             {{"after", "cycle"}},
                             [](const policy::Settings& s) -> std::unique_ptr<policy::Policy> {
                               return std::make_unique<StopsIssue>(std::stoul(s.at("after")));
                             }});

/// The host program of a kernel in text, with one buffer of 1024 words.
class StuckKernel final : public runtime::Application {
 public:
  StuckKernel(std::string ptx, Dim3 grid, Dim3 block) : ptx_(std::move(ptx)), grid_(grid), block_(block) {}
  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(ptx_, "k.ptx");
    const auto buffer = host.malloc<std::uint32_t>(1024);
    host.launch(module, "k", {grid_, block_, 0, 0}, buffer);
    std::vector<std::uint32_t> words(1);
    host.from_device(words, buffer);
    co_await host.synchronize();
    if (verify && words[0] != 7) {
      throw SimulationFault("word 0 is " + std::to_string(words[0]) + " instead of 7");
    }
  }

 private:
  std::string ptx_;
  Dim3 grid_;
  Dim3 block_;
};

const std::string kHeader =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 buffer)\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [buffer];\n"
    "mov.u32 %r1, %tid.x;\n";

/// Warp 0 works for long while the others wait for it at a barrier.
const std::string kBarrier = kHeader +
                             "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra MEET;\n"
                             "mov.u32 %r2, 0;\n"
                             "LOOP:\nxor.b32 %r3, %r3, %r2;\nadd.u32 %r2, %r2, 1;\n"
                             "setp.lt.u32 %p2, %r2, 20000;\n@%p2 bra LOOP;\n"
                             "st.global.u32 [%rd1], %r3;\n"
                             "MEET:\nbar.sync 0;\nret;\n}\n";

/// Every warp chases loads through the buffer, which holds zeroes.
const std::string kLoads = kHeader +
                           "mov.u32 %r2, 0;\n"
                           "LOOP:\nld.volatile.global.u32 %r3, [%rd1];\nadd.u32 %r4, %r4, %r3;\n"
                           "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 20000;\n@%p2 bra LOOP;\n"
                           "st.global.u32 [%rd1], %r4;\nret;\n}\n";

const std::string kSeven = kHeader + "mov.u32 %r2, 7;\nst.global.u32 [%rd1], %r2;\nret;\n}\n";

experiment::AppSpec app(const std::string& name, const std::string& ptx, Dim3 grid, Dim3 block) {
  experiment::AppSpec spec;
  spec.text = spec.name = spec.identity = name;
  spec.create = [=](std::uint64_t) { return std::make_unique<StuckKernel>(ptx, grid, block); };
  return spec;
}

experiment::RunSpec run_spec(const char* policy) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=2"});
  spec.policy = policy::parse_choice(policy);
  return spec;
}

std::string fault_of(const experiment::RunSpec& spec) {
  try {
    (void)experiment::simulate(spec);
  } catch (const SimulationFault& fault) {
    return fault.what();
  }
  return "no fault";
}

void expect_parts(const std::string& report, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " in:\n" << report;
  }
}

TEST(Watchdog, NamesAKernelThatItsPolicyForgot) {
  experiment::RunSpec spec = run_spec("test-forgets");
  spec.apps = {app("first", kSeven, {3, 1, 1}, {64, 1, 1}), app("second", kLoads, {5, 1, 1}, {32, 1, 1})};
  const std::string report = fault_of(spec);
  EXPECT_EQ(report.find("error: deadlock at cycle "), 0U) << report;
  expect_parts(report, {"nothing can move\n", "second: kernel k (slot 1): 0 of 5 blocks dispatched, 0 done"});
  // The first application has ended once and starts anew until the second has, too.
  expect_parts(report, {"first: kernel k (slot 0): 0 of 3 blocks dispatched, 0 done"});
  // The same where idle windows are visited: the watchdog finds it later.
  spec.no_skip = true;
  spec.machine.watchdog_cycles = 20'000;
  const std::string later = fault_of(spec);
  EXPECT_EQ(later.find("error: watchdog: no progress since cycle "), 0U) << later;
  expect_parts(later, {"second: kernel k (slot 1): 0 of 5 blocks dispatched, 0 done"});
}

TEST(Watchdog, SaysWhichWarpsWaitAtABarrierAndWhichMayNotIssue) {
  experiment::RunSpec spec = run_spec("test-stops:after=3000");
  spec.apps = {app("meeting", kBarrier, {3, 1, 1}, {96, 1, 1})};
  const std::string report = fault_of(spec);
  expect_parts(report,
               {"error: watchdog: no progress since cycle ",
                "meeting: kernel k (slot 0): 3 of 3 blocks dispatched, 0 done",
                "sm 0 meeting: kernel k block 0 warp 0 waits for its kernel to be allowed to issue at pc ",
                "sm 0 meeting: kernel k block 2 warps 1 to 2 wait for barrier 0 (2 arrivals, 3 warps run)",
                "sm 1 meeting: kernel k block 1 warps 1 to 2 wait for barrier 0"});
  // With the text of its instruction on each line.
  std::size_t named = 0;
  for (std::size_t at = report.find(" (k+"); at != std::string::npos; at = report.find(" (k+", at + 1)) {
    ++named;
  }
  EXPECT_EQ(named, 6U) << report;
}

TEST(Watchdog, SaysWhichWarpsWaitForMemory) {
  experiment::RunSpec spec = run_spec("even");
  spec.machine.runtime.max_kernel_cycles = 5'000;
  spec.apps = {app("loads", kLoads, {2, 1, 1}, {64, 1, 1})};
  const std::string report = fault_of(spec);
  EXPECT_EQ(report.find("error: app loads: kernel k: endless: it has run for more than 5000 cycles"), 0U)
      << report;
  expect_parts(report,
               {"loads: kernel k (slot 0): 2 of 2 blocks dispatched, 0 done", "loads: kernel k block 1 warp",
                "for memory data of register ", "requests under way: "});
}

TEST(Watchdog, CutsALongList) {
  experiment::RunSpec spec = run_spec("test-stops:after=3000");
  spec.machine.sms = 8;
  spec.apps = {app("loads", kLoads, {128, 1, 1}, {32, 1, 1})};
  const std::string report = fault_of(spec);
  expect_parts(report, {"\nand 28 more lines like these"});
  EXPECT_EQ(std::count(report.begin(), report.end(), '\n'), 102) << report;
}

// A limit counts the same with and without skipping, and on any number of threads.
TEST(Watchdog, TheLengthOfAKernelIsExact) {
  experiment::RunSpec spec = run_spec("even");
  spec.apps = {app("meeting", kBarrier, {1, 1, 1}, {64, 1, 1})};
  const Cycle cycles = experiment::simulate(spec).cycles;
  for (const bool no_skip : {false, true}) {
    spec.no_skip = no_skip;
    spec.machine.runtime.max_kernel_cycles = cycles;
    EXPECT_EQ(fault_of(spec), "no fault");
    spec.machine.runtime.max_kernel_cycles = cycles - 200;
    EXPECT_NE(fault_of(spec).find("endless"), std::string::npos);
  }
}

TEST(Verify, AWrongResultIsTheProgramsFault) {
  experiment::RunSpec spec = run_spec("even");
  spec.verify = true;
  spec.apps = {app("seven", kSeven, {1, 1, 1}, {32, 1, 1})};
  EXPECT_EQ(experiment::simulate(spec).apps[0].completions, 1U);
  spec.apps.push_back(app("wrong", kBarrier, {1, 1, 1}, {64, 1, 1}));
  const std::string fault = fault_of(spec);
  EXPECT_EQ(fault.find("error: app wrong: word 0 is "), 0U) << fault;
  EXPECT_NE(fault.find(" instead of 7"), std::string::npos) << fault;
}

}  // namespace
}  // namespace gpumux
