// In which order SMs get blocks, and how many: by hand, and in the machine.
#include "policy/block_scheduler.hpp"

#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "experiment/run.hpp"
#include "policy/fake_control.hpp"

namespace gpumux {
namespace {

using arch::KernelSlot;
using Order = std::vector<SmId>;

Order order(policy::BlockScheduler& scheduler, std::uint32_t sms) {
  Order order;
  scheduler.order(sms, order);
  return order;
}

TEST(BlockScheduler, RoundRobinBeginsBehindTheSmThatTookTheLastBlock) {
  const auto max = policy::create_block_scheduler("");
  EXPECT_EQ(order(*max, 4), (Order{0, 1, 2, 3}));
  max->placed(0, 0);
  max->placed(1, 0);
  EXPECT_EQ(order(*max, 4), (Order{2, 3, 0, 1}));
  max->placed(3, 0);
  EXPECT_EQ(order(*max, 4), (Order{0, 1, 2, 3}));
}

TEST(BlockScheduler, LimitPassesOverKernelsThatHaveTheirNumber) {
  policy::FakeControl control(1);
  const auto limit = policy::create_block_scheduler("limit:2");
  const std::vector<KernelSlot> both = {3, 5};
  const arch::SmProbes& sm = static_cast<const policy::Control&>(control).sm(0);
  EXPECT_EQ(limit->choose(sm, both), std::optional<KernelSlot>(3));
  control.resident[{0, 3}] = 2;
  EXPECT_EQ(limit->choose(sm, both), std::optional<KernelSlot>(5));
  control.resident[{0, 5}] = 2;
  EXPECT_EQ(limit->choose(sm, both), std::nullopt);
}

std::string error_of(const std::string& policy) {
  try {
    (void)policy::parse_choice(policy);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(BlockScheduler, BadOnesAreErrorsOfOneLine) {
  EXPECT_EQ(error_of("even,blocks=limti:3"),
            "error: unknown block scheduler 'limti'; did you mean 'limit'?; known: limit, max, packed");
  for (const char* argument : {"", ":", ":0", ":256", ":x", ":3.5", ":-1"})
    EXPECT_NE(error_of(std::string("even,blocks=limit") + argument).find("a number of blocks from 1 to 255"),
              std::string::npos)
        << argument;
  EXPECT_EQ(error_of("even,blocks=max:3"), "error: blocks=max:3: max takes no argument");
}

TEST(BlockScheduler, TheUsualOneIsNoChoice) {
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("even,blocks=max")), "even");
  EXPECT_EQ(policy::canonical_text(policy::parse_choice("even, warps=lrr ,blocks=limit:4,memory=smil,k0=3")),
            "even,memory=smil,k0=3,blocks=limit:4,warps=lrr");
}

/// The most blocks of a kernel on each SM in any window, and the first SMs that got some.
class Census final : public policy::Observer {
 public:
  void block_began(const policy::View&, const policy::RunningKernel& kernel, std::uint64_t,
                   const policy::BlockPlace& place, Cycle) override {
    std::uint32_t& now = now_[{kernel.slot, place.sm}];
    most = std::max(most, ++now);
    if (first.size() < 8) first.push_back(place.sm);
  }
  void block_ended(const policy::View&, const policy::RunningKernel& kernel, const policy::BlockPlace& place,
                   Cycle) override {
    --now_[{kernel.slot, place.sm}];
  }
  std::uint32_t most = 0;
  Order first;

 private:
  std::map<std::pair<KernelSlot, SmId>, std::uint32_t> now_;
};

std::pair<experiment::RunResult, std::shared_ptr<Census>> run(const std::string& policy,
                                                              unsigned threads = 1) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  for (const char* app : {"add:blocks=60", "stream:blocks=60"})
    spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  spec.verify = true;
  spec.threads = threads;
  const auto census = std::make_shared<Census>();
  spec.observers = {census};
  return {experiment::simulate(spec), census};
}

TEST(BlockScheduler, LimitsHoldInTheMachine) {
  const auto many = run("leftover").second;
  EXPECT_GT(many->most, 3U);
  EXPECT_EQ(many->first, (Order{0, 1, 2, 3, 0, 1, 2, 3}));
  for (const unsigned threads : {1U, 3U}) {
    const auto [limited, few] = run("leftover,blocks=limit:3", threads);
    EXPECT_EQ(few->most, 3U);
    EXPECT_GE(limited.apps[1].completions, 1U);
    EXPECT_EQ(limited.cycles, run("leftover,blocks=limit:3").first.cycles);
  }
}

// The worked example of docs/adding-a-block-scheduler.md.
TEST(BlockScheduler, ThePackedExampleFillsOneSmAfterTheOther) {
  const auto [result, census] = run("leftover,blocks=packed");
  ASSERT_EQ(census->first.size(), 8U);
  EXPECT_EQ(census->first[0], 0U);
  EXPECT_EQ(census->first[1], 0U) << "where one block is placed in a cycle, the first SM gets the next, too";
  EXPECT_EQ(result.apps[0].completions, 1U);
}

}  // namespace
}  // namespace gpumux
