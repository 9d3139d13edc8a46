// The front end alone, over a table of blocks: which warps get records when, and when instructions are in the
// buffer.
#include "sm/front_end.hpp"

#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

/// Warps that execute the pcs 0, 1, 2, ... `length` of them.
std::unique_ptr<workload::BlockStream> straight(std::uint32_t warps, std::uint32_t length) {
  std::vector<WarpCode> code(warps);
  for (WarpCode& warp : code)
    for (std::uint32_t pc = 0; pc < length; ++pc) warp.run(pc);
  return std::make_unique<HandMadeBlock>(std::move(code), 1);
}

/// Two schedulers, whose slots are the even and the odd ones. Two instructions a fetch, a buffer of two.
arch::MachineConfig two_schedulers() {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 2;
  config.sm.fetch_width = config.sm.instruction_buffer = 2;
  config.sm.block_launch_latency = 3;
  return config;
}

struct Front {
  explicit Front(arch::MachineConfig machine = two_schedulers(), bool refills_itself = false)
      : config(std::move(machine)), table(config.sm, 8), front(config, table) {
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
      table.warp(slot).scheduler = static_cast<std::uint8_t>(slot % config.sm.schedulers);
      table.warp(slot).local = static_cast<std::uint8_t>(slot / config.sm.schedulers);
    }
    table.bind(0, 5, {64, 8, 0});
    front.bind(0, 5, Address{1} << 20U, refills_itself);
  }
  void launch(std::uint32_t length, std::uint32_t warps = 2, Cycle start = 0) {
    front.launched(table.admit(0, 0, straight(warps, length), start));
  }
  /// Resumes the warps that have records, as the SM does: their slots.
  std::vector<std::uint32_t> reload(Cycle now) {
    std::vector<std::uint32_t> slots;
    front.reload([&](std::uint32_t slot) {
      slots.push_back(slot);
      if (table.warp(slot).next != table.warp(slot).end) front.resume(table.warp(slot), now);
    });
    return slots;
  }
  /// The warp issues its next record in `now`. True: and has few left then.
  bool issue(std::uint32_t slot, Cycle now) {
    Warp& warp = table.warp(slot);
    warp.last_pc = (warp.next++)->pc;
    if (warp.next == warp.end) {
      FrontEnd::starve(warp, now);
    } else {
      front.issued(warp, now);
    }
    return warp.next >= warp.few_left && !warp.finished;
  }
  arch::MachineConfig config;
  BlockTable table;
  FrontEnd front;
};

TEST(FrontEnd, ABlockWaitsForItsTurn) {
  Front at;
  EXPECT_FALSE(at.front.waits_for_turn());
  at.launch(40);
  EXPECT_TRUE(at.front.waits_for_turn());
  EXPECT_TRUE(at.front.refill_in_turn(3));  // both warps had none
  EXPECT_FALSE(at.front.waits_for_turn());
  EXPECT_TRUE(at.front.refilled());
  EXPECT_EQ(at.reload(0), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_FALSE(at.front.refilled());
  // Four times what was asked for, for both.
  EXPECT_EQ(at.front.records_left(0, 0), 24U);
  EXPECT_FALSE(at.front.refill_in_turn(3));  // nobody asks
}

TEST(FrontEnd, FewLeftIsFewerThanTheWatermark) {
  Front at;
  at.launch(40, 1);
  at.front.refill_in_turn(3);  // 12 records
  at.reload(0);
  for (Cycle now = 10; now < 19; ++now) EXPECT_FALSE(at.issue(0, now)) << now;
  EXPECT_TRUE(at.issue(0, 19));  // two are left
  EXPECT_FALSE(at.front.ask_for_records(at.table.warp(0)));
  EXPECT_TRUE(at.front.waits_for_turn());
  EXPECT_FALSE(at.front.refill_in_turn(3));  // it had some: nothing to wake
  EXPECT_EQ(at.front.records_left(0, 10), 12U);
  EXPECT_FALSE(at.issue(0, 20));
}

TEST(FrontEnd, ALargerWatermarkMarksAllBlocks) {
  Front at;
  at.launch(40, 1);
  at.front.refill_in_turn(2);  // 8 records
  at.reload(0);
  at.front.refill_in_turn(10);
  EXPECT_EQ(at.front.records_left(0, 0), 40U);
}

TEST(FrontEnd, SomeKernelsRefillThemselves) {
  Front at(two_schedulers(), true);
  at.launch(40, 1);
  EXPECT_FALSE(at.front.waits_for_turn());
  EXPECT_FALSE(at.front.refill_in_turn(3));  // the watermark alone
  EXPECT_EQ(at.front.records_left(0, 0), 0U);
  at.front.refill_independent_if_any();
  EXPECT_EQ(at.front.records_left(0, 0), 12U);
  at.reload(0);
  for (Cycle now = 10; now < 20; ++now) at.issue(0, now);
  EXPECT_TRUE(at.front.ask_for_records(at.table.warp(0)));
  at.front.refill_independent();
  EXPECT_EQ(at.front.records_left(0, 10), 12U);
}

TEST(FrontEnd, AStarvedWarpIsWokenByItsRecords) {
  Front at;
  at.launch(8, 2);
  at.front.refill_in_turn(1);  // 4 records
  at.reload(0);
  for (Cycle now = 10; now < 14; ++now) at.issue(1, now);
  EXPECT_TRUE(at.table.warp(1).starved);
  EXPECT_EQ(at.table.warp(1).starved_at, 13U);
  at.front.ask_for_records(at.table.warp(1));
  EXPECT_TRUE(at.front.refill_in_turn(1));
  EXPECT_EQ(at.reload(20), (std::vector<std::uint32_t>{1}));
  EXPECT_FALSE(at.table.warp(1).starved);
  EXPECT_TRUE(at.table.warp(1).finished);  // all eight are here
}

TEST(FrontEnd, CountsOfAKernelThatHasGoneAreForgotten) {
  Front at;
  at.launch(4, 1);
  at.front.refill_in_turn(1);
  at.front.forget(0, 4);
  EXPECT_EQ(at.front.records_left(0, 0), 0U);
}

TEST(FrontEnd, EachSchedulerFetchesOneBatchACycle) {
  Front at;
  at.table.bind(0, 5, {96, 8, 0});
  at.launch(40, 3, 10);
  at.front.refill_in_turn(4);
  at.reload(10);
  // From 10 + 3 on; slots 0 and 2 share a scheduler.
  EXPECT_EQ(at.table.warp(0).fetch_ready, 14U);
  EXPECT_EQ(at.table.warp(1).fetch_ready, 14U);
  EXPECT_EQ(at.table.warp(2).fetch_ready, 15U);
  // The buffer has two; the next batch is fetched when there is room for it.
  at.issue(0, 14);
  EXPECT_EQ(at.table.warp(0).fetch_ready, 14U);
  at.issue(0, 15);
  EXPECT_EQ(at.table.warp(0).fetch_ready, 16U);
}

TEST(FrontEnd, ATakenBranchFetchesAnew) {
  arch::MachineConfig config = two_schedulers();
  config.sm.branch_latency = 4;
  Front at(config);
  std::vector<WarpCode> code(1);
  code[0].run(0).run(9);
  at.front.launched(at.table.admit(0, 0, std::make_unique<HandMadeBlock>(std::move(code), 8), 0));
  at.front.refill_in_turn(2);
  at.reload(0);
  at.issue(0, 10);
  EXPECT_EQ(at.table.warp(0).fetch_ready, 14U);
}

TEST(FrontEnd, MissesOfALineAreSentOnce) {
  arch::MachineConfig config = two_schedulers();
  config.icache.bytes = 1024;
  config.icache.ways = 2;
  config.icache.line_bytes = 128;
  config.icache.instruction_bytes = 8;
  Front at(config);
  at.launch(20, 2, 0);
  at.front.refill_in_turn(5);
  at.reload(0);
  EXPECT_TRUE(at.front.has_unsent());
  EXPECT_EQ(at.table.warp(0).fetch_ready, kNever);
  struct Sent {
    std::uint64_t line;
    std::uint32_t sectors;
    AppId app;
    Cycle at;
    bool operator==(const Sent&) const = default;
  };
  std::vector<Sent> sent;
  const auto send = [&](std::uint64_t line, std::uint8_t sectors, KernelSlot, AppId app, Cycle when) {
    sent.push_back({line, sectors, app, when});
  };
  at.front.send_misses(1, send);
  // Line 0 of the code, which begins at 2^20; the fetch was in 3, when the block had been launched.
  EXPECT_EQ(sent, (std::vector<Sent>{{(1U << 20U) / 128, 0xf, 5, 3}}));
  EXPECT_FALSE(at.front.has_unsent());
  EXPECT_EQ(at.front.misses(), 1U);
  std::vector<std::uint32_t> ready;
  at.front.arrived((1U << 20U) / 128, 0xf, 40, [&](std::uint32_t slot) { ready.push_back(slot); });
  EXPECT_EQ(ready, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(at.table.warp(1).fetch_ready, 41U);
  EXPECT_EQ(at.front.misses(), 0U);
  // The second batch of the same line hits.
  at.issue(0, 41);
  at.issue(0, 42);
  EXPECT_EQ(at.table.warp(0).fetch_ready, 43U);
}

}  // namespace
}  // namespace gpumux::sm::testing
