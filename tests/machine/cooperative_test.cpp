// Grids whose blocks wait for each other: what a choice of policy, block scheduler and core control has no
// room for at best is refused at the launch.
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

experiment::AppSpec grid(std::uint32_t blocks) {
  experiment::AppSpec spec;
  spec.text = spec.name = "grid";
  spec.identity = fmt::format("grid {}", blocks);
  spec.create = [blocks](std::uint64_t) { return std::make_unique<GridSum>(blocks); };
  return spec;
}

constexpr std::uint32_t kSms = 4;

experiment::RunSpec run_of(const std::string& policy, std::vector<experiment::AppSpec> apps) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=" + std::to_string(kSms)});
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

}  // namespace
}  // namespace gpumux
