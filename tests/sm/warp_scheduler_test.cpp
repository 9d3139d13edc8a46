// The warp schedulers alone. The test sets each warp to ready, waiting or ended.
#include "sm/warp_scheduler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace gpumux::sm {
namespace {

/// A scheduler of class Order with `count` resident warps, launched in the order of their numbers.
template <typename Order>
class Alone {
 public:
  Alone(std::uint32_t count, std::uint32_t ready_queue) : ready_queue_(ready_queue) {
    for (std::uint32_t warp = 0; warp < count; ++warp) launch(warp);
  }
  void configure(const arch::SmConfig& config) { Order::configure(state_, config); }
  void launch(std::uint32_t warp) {
    by_age_.push_back(static_cast<std::uint8_t>(warp));
    alive_ |= WarpMask{1} << warp;
  }
  void block(std::uint32_t warp) { blocked_ |= WarpMask{1} << warp; }
  void free(std::uint32_t warp) { blocked_ &= ~(WarpMask{1} << warp); }
  void exit(std::uint32_t warp) {
    std::erase(by_age_, static_cast<std::uint8_t>(warp));
    alive_ &= ~(WarpMask{1} << warp);
    Order::left(state_, warp);
  }
  /// Those that may issue, as "0 2 3".
  std::string eligible() {
    refresh();
    std::string text;
    for (std::uint32_t warp = 0; warp < 64; ++warp)
      if ((Order::eligible(state_) & alive_) >> warp & 1U)
        text += (text.empty() ? "" : " ") + std::to_string(warp);
    return text;
  }
  /// All that may issue are ready: the one that does.
  std::uint32_t issue() { return issue(~WarpMask{0}); }
  std::uint32_t issue(WarpMask ready) {
    refresh();
    const std::uint32_t warp = pick(alive_ & ~blocked_ & ready & Order::eligible(state_));
    Order::issued(state_, warp);
    return warp;
  }
  /// Cycles from each warp's next instruction to the end of its phase.
  std::array<std::uint32_t, 64> distance{};

 private:
  void refresh() {
    const WarpView view{by_age_, alive_, blocked_};
    if constexpr (Order::kByPhase) {
      Order::refresh(state_, view, ready_queue_, [this](std::uint32_t warp) { return distance[warp]; });
    } else {
      Order::refresh(state_, view, ready_queue_);
    }
  }
  std::uint32_t pick(WarpMask candidates) {
    if constexpr (Order::kByPhase) {
      return Order::pick(state_, by_age_, candidates, [this](std::uint32_t warp) { return distance[warp]; });
    } else {
      return Order::pick(state_, by_age_, candidates);
    }
  }
  typename Order::State state_;
  WarpsByAge by_age_;
  WarpMask alive_ = 0, blocked_ = 0;
  std::uint32_t ready_queue_;
};

TEST(WarpSchedulers, GreedyThenOldest) {
  Alone<GreedyThenOldest> gto(4, 1);
  EXPECT_EQ(gto.eligible(), "0 1 2 3");
  EXPECT_EQ(gto.issue(), 0U);
  EXPECT_EQ(gto.issue(0b1110), 1U);  // 0 cannot
  EXPECT_EQ(gto.issue(), 1U);        // and 1 goes on
  gto.exit(1);
  EXPECT_EQ(gto.issue(0b1100), 2U);
  gto.exit(0);
  gto.launch(0);  // the youngest now
  gto.exit(2);
  EXPECT_EQ(gto.issue(), 3U);
}

// The worked example of docs/adding-a-warp-scheduler.md.
TEST(WarpSchedulers, OldestFirst) {
  Alone<OldestFirst> oldest(4, 1);
  EXPECT_EQ(oldest.issue(), 0U);
  EXPECT_EQ(oldest.issue(0b1110), 1U);
  EXPECT_EQ(oldest.issue(), 0U);  // not the one that issued last
  oldest.exit(0);
  oldest.launch(0);
  EXPECT_EQ(oldest.issue(), 1U);
}

TEST(WarpSchedulers, LooseRoundRobin) {
  Alone<LooseRoundRobin> lrr(4, 1);
  EXPECT_EQ(lrr.issue(), 0U);
  EXPECT_EQ(lrr.issue(), 1U);
  EXPECT_EQ(lrr.issue(0b1011), 3U);
  EXPECT_EQ(lrr.issue(), 0U);
  lrr.exit(1);
  EXPECT_EQ(lrr.issue(), 2U);
}

TEST(WarpSchedulers, TwoLevelRoundRobin) {
  Alone<TwoLevelRoundRobin> tlrr(8, 3);
  EXPECT_EQ(tlrr.eligible(), "0 1 2");
  EXPECT_EQ(tlrr.issue(), 0U);
  EXPECT_EQ(tlrr.issue(), 1U);
  EXPECT_EQ(tlrr.issue(), 2U);
  EXPECT_EQ(tlrr.issue(), 0U);
  tlrr.block(1);  // it waits for memory: the head of the active queue, 3, follows
  EXPECT_EQ(tlrr.eligible(), "0 2 3");
  EXPECT_EQ(tlrr.issue(), 2U);
  tlrr.free(1);  // to the tail, behind 4 to 7
  EXPECT_EQ(tlrr.eligible(), "0 2 3");
  for (const std::uint32_t warp : {0U, 2U, 3U}) tlrr.block(warp);
  EXPECT_EQ(tlrr.eligible(), "4 5 6");
  tlrr.block(4);
  tlrr.block(5);
  EXPECT_EQ(tlrr.eligible(), "1 6 7");
  tlrr.free(3);  // in the order in which they come, not of age
  EXPECT_EQ(tlrr.eligible(), "1 6 7");
  tlrr.free(0);
  EXPECT_EQ(tlrr.eligible(), "1 6 7");
  tlrr.block(6);
  EXPECT_EQ(tlrr.eligible(), "1 3 7");
}

TEST(WarpSchedulers, TwoLevelOldest) {
  Alone<TwoLevelOldest> tlgto(8, 3);
  EXPECT_EQ(tlgto.eligible(), "0 1 2");
  EXPECT_EQ(tlgto.issue(), 0U);
  EXPECT_EQ(tlgto.issue(), 0U);
  EXPECT_EQ(tlgto.issue(0b110), 1U);
  EXPECT_EQ(tlgto.issue(), 0U);  // the oldest, not the greedy one
  tlgto.block(1);
  EXPECT_EQ(tlgto.eligible(), "0 2 3");
  tlgto.free(1);  // before 4: it is older
  EXPECT_EQ(tlgto.eligible(), "0 2 3");
  tlgto.block(3);
  EXPECT_EQ(tlgto.eligible(), "0 1 2");
}

TEST(WarpSchedulers, PhaseAwareTakesTheNearestToItsPhasesEnd) {
  Alone<PhaseAware> phase(4, 1);
  EXPECT_EQ(phase.eligible(), "0 1 2 3");
  phase.distance = {40, 12, 7, 12};
  EXPECT_EQ(phase.issue(), 2U);
  EXPECT_EQ(phase.issue(0b1011), 1U) << "the older one of two";
  phase.distance[0] = 3;
  EXPECT_EQ(phase.issue(), 0U);
  phase.distance[0] = 90;  // its next phase
  EXPECT_EQ(phase.issue(), 2U);
  phase.exit(1);
  phase.launch(1);  // the youngest now
  EXPECT_EQ(phase.issue(0b1010), 3U);
}

TEST(WarpSchedulers, TwoLevelPhaseAwareBringsShortPhasesInFirst) {
  Alone<TwoLevelPhaseAware> tlphase(6, 2);
  tlphase.distance = {30, 30, 30, 20, 30, 10};
  EXPECT_EQ(tlphase.eligible(), "3 5");
  EXPECT_EQ(tlphase.issue(), 3U);
  tlphase.distance[3] = 1;
  EXPECT_EQ(tlphase.issue(), 5U) << "round robin";
  tlphase.block(5);
  EXPECT_EQ(tlphase.eligible(), "0 3") << "the oldest of equal ones";
  tlphase.distance[5] = 40;
  tlphase.free(5);  // behind 1, 2 and 4, whose phases are shorter
  tlphase.block(3);
  EXPECT_EQ(tlphase.eligible(), "0 1");
  tlphase.distance[3] = 5;
  tlphase.free(3);
  tlphase.block(0);
  EXPECT_EQ(tlphase.eligible(), "1 3");
}

TEST(WarpSchedulers, TheReadyQueueOfTwoLevelPhaseAwareHasAnOrder) {
  const auto issues = [](arch::ReadyOrder order) {
    Alone<TwoLevelPhaseAware> tlphase(5, 3);
    arch::SmConfig config;
    config.tlphase_order = order;
    tlphase.configure(config);
    tlphase.distance = {9, 30, 7, 40, 5};
    EXPECT_EQ(tlphase.eligible(), "0 2 4");
    std::vector<std::uint32_t> issued = {tlphase.issue()};
    tlphase.distance[issued[0]] = 8;
    for (int i = 0; i < 3; ++i) issued.push_back(tlphase.issue());
    issued.push_back(tlphase.issue(0b00101));
    return issued;
  };
  EXPECT_EQ(issues(arch::ReadyOrder::RoundRobin), (std::vector<std::uint32_t>{0, 2, 4, 0, 2}));
  EXPECT_EQ(issues(arch::ReadyOrder::Oldest), (std::vector<std::uint32_t>{0, 0, 0, 0, 0}));
  // 4 with 5 cycles, which has 8 then; 2 with 7; of 0 and 2 the latter again.
  EXPECT_EQ(issues(arch::ReadyOrder::Nearest), (std::vector<std::uint32_t>{4, 2, 2, 2, 2}));
}

template <typename Order>
void expect_that_numbers_are_used_again() {
  Alone<Order> order(4, 2);
  EXPECT_EQ(order.eligible(), "0 1");
  order.exit(0);  // its place is free at once
  EXPECT_EQ(order.eligible(), "1 2");
  order.exit(3);  // of the active queue
  order.launch(0);
  order.exit(1);
  EXPECT_EQ(order.eligible(), "0 2");
  order.block(0);  // and in the active queue, none is left
  EXPECT_EQ(order.eligible(), "2");
  order.block(2);
  EXPECT_EQ(order.eligible(), "");
  order.free(0);
  EXPECT_EQ(order.eligible(), "0");
}

TEST(WarpSchedulers, NumbersOfWarpsAreUsedAgain) {
  expect_that_numbers_are_used_again<TwoLevelRoundRobin>();
  expect_that_numbers_are_used_again<TwoLevelOldest>();
  expect_that_numbers_are_used_again<TwoLevelPhaseAware>();
}

TEST(WarpSchedulers, AWarpOfTheActiveQueueThatBlocksIsPending) {
  Alone<TwoLevelRoundRobin> tlrr(4, 1);
  EXPECT_EQ(tlrr.eligible(), "0");
  tlrr.block(1);
  EXPECT_EQ(tlrr.eligible(), "0");
  tlrr.block(0);
  EXPECT_EQ(tlrr.eligible(), "2");
  tlrr.free(1);
  tlrr.block(2);
  EXPECT_EQ(tlrr.eligible(), "3");
  tlrr.block(3);
  EXPECT_EQ(tlrr.eligible(), "1");
}

TEST(WarpSchedulers, NamesAreThoseOfTheList) {
  for (const std::string& name : arch::warp_scheduler_names()) {
    const arch::WarpScheduler scheduler = arch::warp_scheduler_named(name);
    EXPECT_EQ(arch::warp_scheduler_names()[static_cast<std::size_t>(scheduler)], name);
    EXPECT_NE(arch::warp_scheduler_help().find(name + ": "), std::string::npos);
  }
}

}  // namespace
}  // namespace gpumux::sm
