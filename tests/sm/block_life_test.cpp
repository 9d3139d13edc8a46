// Blocks that leave an SM before their end and continue or restart on another SM, by hand.
#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

constexpr workload::BlockResources kOneWarp{32, 16, 0};

/// Moves the block that has left `from` to `to`.
void move(Bench& from, Bench& to, Cycle start) {
  FinishedBlock& block = from.ended.back();
  to.sm.launch_block(block.kernel, block.residency, std::move(block.stream), start, block.context.get());
}

/// Up to `end`, as often as messages are exchanged.
void windows(Bench& bench, Cycle end) {
  while (bench.now < end) bench.window(bench.now + 5);
}

// A load, and an instruction that waits for it.
struct LoadAndUse {
  LoadAndUse() {
    program.add(load(1));
    program.add(alu(2, {1}));
    code.global(0, 7).run(1);
  }
  Program program;
  WarpCode code;
};

TEST(BlockLife, AStoppedBlockWaitsForItsLoad) {
  const LoadAndUse at;
  WarpCode load_alone;
  load_alone.global(0, 7);
  const Cycle there = time_of(plain_machine(), at.program, {load_alone});  // it ends with its data
  Bench bench(plain_machine());
  bench.start(at.program, {at.code});
  bench.window(10);  // the load is under way
  ASSERT_EQ(bench.counters().warp_instructions, 1U);
  bench.sm.stop_block(0, {});
  // One instruction issued, ten cycles here.
  EXPECT_EQ(bench.sm.blocks(), (std::vector<arch::ResidentBlock>{{0, 0, true, 1, 10, true}}));
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Stopped);
  EXPECT_EQ(bench.ended[0].time, there);
  EXPECT_EQ(bench.counters().warp_instructions, 1U);
  EXPECT_EQ(bench.counters().blocks_completed, 0U);
  EXPECT_TRUE(bench.sm.fits(kOneWarp));

  Bench other(plain_machine());
  other.bind(at.program, kOneWarp);
  move(bench, other, 0);
  other.finish();
  ASSERT_EQ(other.ended.size(), 1U);
  EXPECT_EQ(other.ended[0].left, Left::Ended);
  EXPECT_EQ(other.counters().warp_instructions, 1U);
  EXPECT_EQ(other.counters().memory_instructions, 0U);
  // Its register is there: it ends as a block of that instruction alone.
  WarpCode use_alone;
  use_alone.run(1);
  EXPECT_EQ(other.ended[0].time, time_of(plain_machine(), at.program, {use_alone}));
}

TEST(BlockLife, AStoppedBlockWaitsForItsStores) {
  Program program;
  program.add(store());
  program.add(alu(1));
  WarpCode code;
  code.global(0, 7).run(1);
  Bench bench(plain_machine(), 500);
  bench.keep_sent = true;
  bench.start(program, {code});
  bench.window(2);  // launch at 0, fetch in 0, issue in 1
  ASSERT_EQ(bench.counters().warp_instructions, 1U);
  bench.sm.stop_block(0, {});
  bench.finish();
  ASSERT_EQ(bench.sent.size(), 1U);
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Stopped);
  EXPECT_GT(bench.ended[0].time, 500U);
}

TEST(BlockLife, MovingItsContextTakesItsTime) {
  const LoadAndUse at;
  Bench bench(plain_machine());
  bench.start(at.program, {at.code});
  bench.window(10);
  bench.sm.stop_block(0, {.save = 1000, .restore = 70});
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].time, 1010U);
  ASSERT_NE(bench.ended[0].context, nullptr);
  EXPECT_EQ(bench.ended[0].context->instructions, 1U);
  EXPECT_EQ(bench.ended[0].context->cycles, 1010U);

  Bench other(plain_machine());
  other.bind(at.program, kOneWarp);
  move(bench, other, 0);
  other.window(50);
  EXPECT_EQ(other.sm.blocks(), (std::vector<arch::ResidentBlock>{{0, 0, false, 1, 1060, true}}));
  other.finish();
  ASSERT_EQ(other.ended.size(), 1U);
  WarpCode use_alone;
  use_alone.run(1);
  const Cycle alone = time_of(plain_machine(), at.program, {use_alone});
  EXPECT_EQ(other.ended[0].time, alone + 70);
  EXPECT_EQ(other.ended[0].instructions, 2U);
  EXPECT_EQ(other.ended[0].cycles, 1010 + alone + 70);
}

/// Whole lines of 128 bytes that move a context, among what was sent from `first` on.
std::size_t context_lines(const Bench& bench, arch::RequestKind kind, std::size_t first = 0) {
  std::size_t lines = 0;
  for (std::size_t i = first; i < bench.sent.size(); ++i) {
    const MemRequest& request = bench.sent[i];
    if (request.line < first_line_of(0) + (std::uint64_t{7} << (kAppLineShift - 3))) continue;
    EXPECT_EQ(request.kind, kind);
    EXPECT_EQ(request.sectors, 0xfU);
    EXPECT_EQ(request.data_bytes, kind == arch::RequestKind::Write ? kLineBytes : 0U);
    ++lines;
  }
  return lines;
}

TEST(BlockLife, ItsContextGoesToMemoryAndComesBack) {
  constexpr Cycle kMemory = 300;
  const LoadAndUse at;
  WarpCode load_alone;
  load_alone.global(0, 7);
  const Cycle data = time_of(plain_machine(), at.program, {load_alone}, kMemory);
  Bench bench(plain_machine(), kMemory);
  bench.start(at.program, {at.code});
  bench.window(10);
  bench.sm.stop_block(0, {.lines = 6});
  windows(bench, data / 5 * 5);
  EXPECT_EQ(bench.sent.size(), 1U);  // what is in flight comes first
  bench.finish();
  EXPECT_EQ(context_lines(bench, arch::RequestKind::Write), 6U);
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Stopped);
  EXPECT_GT(bench.ended[0].time, data + kMemory);
  EXPECT_EQ(bench.ended[0].context->lines, 6U);

  Bench other(plain_machine(), kMemory);
  other.bind(at.program, kOneWarp);
  move(bench, other, 0);
  windows(other, kMemory);
  EXPECT_EQ(other.counters().warp_instructions, 0U);  // its registers are not there
  other.finish();
  EXPECT_EQ(context_lines(other, arch::RequestKind::Read), 6U);
  ASSERT_EQ(other.ended.size(), 1U);
  EXPECT_EQ(other.ended[0].left, Left::Ended);
  EXPECT_EQ(other.counters().warp_instructions, 1U);
}

TEST(BlockLife, ABlockThatComesBackMayBeAskedToLeaveAgain) {
  const LoadAndUse at;
  Bench bench(plain_machine(), 300);
  bench.start(at.program, {at.code});
  bench.window(10);
  bench.sm.stop_block(0, {.lines = 2});
  bench.finish();
  Bench other(plain_machine(), 300);
  other.bind(at.program, kOneWarp);
  move(bench, other, 0);
  windows(other, 20);
  other.sm.stop_block(0, {.lines = 2});
  other.finish();
  // It comes back whole, issues nothing, and goes again.
  ASSERT_EQ(other.ended.size(), 1U);
  EXPECT_EQ(other.ended[0].left, Left::Stopped);
  EXPECT_EQ(other.counters().warp_instructions, 0U);
  EXPECT_EQ(other.sent.size(), 4U);

  Bench third(plain_machine(), 300);
  third.bind(at.program, kOneWarp);
  move(other, third, 0);
  windows(third, 20);
  third.sm.drop_block(0);  // and lines that come for a block that has gone find nobody
  third.finish();
  ASSERT_EQ(third.ended.size(), 1U);
  EXPECT_EQ(third.ended[0].left, Left::Dropped);
}

// The block that takes its place has fewer warps, so that some of the dropped one's slots stay empty.
TEST(BlockLife, WhatADroppedBlockHasInFlightIsNotItsSuccessors) {
  const LoadAndUse at;
  Bench bench(plain_machine(), 300);
  bench.bind(at.program, {3 * kWarpSize, 16, 0});
  bench.bind(at.program, kOneWarp, 1);
  bench.launch({at.code, at.code, at.code});
  windows(bench, 15);
  bench.sm.drop_block(0);
  windows(bench, 25);
  ASSERT_EQ(bench.ended.size(), 1U);
  bench.launch({at.code}, 1, 1, 25);
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 2U);
  EXPECT_EQ(bench.ended[1].left, Left::Ended);
}

TEST(BlockLife, KilledBlocksLeaveAtOnceWhateverTheyHaveDone) {
  const LoadAndUse at;
  Bench bench(plain_machine(), 300);
  bench.bind(at.program, kOneWarp);
  bench.bind(at.program, kOneWarp, 1, 1);
  auto block = std::make_unique<HandMadeBlock>(std::vector<WarpCode>{at.code}, 4);
  block->restartable = false;
  bench.sm.launch_block(0, 0, std::move(block), 0);
  bench.launch({at.code}, 1, 1);
  bench.window(10);
  bench.sm.kill_blocks(0);
  bench.window(20);
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Killed);
  EXPECT_EQ(bench.ended[0].time, 10U);
  EXPECT_FALSE(bench.sm.drained(0));  // its load is under way
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 2U);
  EXPECT_EQ(bench.ended[1].left, Left::Ended);
  EXPECT_EQ(bench.counters().blocks_completed, 0U);
}

/// A warp of 100 instructions, none of memory.
struct Hundred {
  Program program;
  WarpCode code;
  Hundred() {
    program.add(alu(1));
    for (int k = 0; k < 100; ++k) code.run(0);
  }
};

TEST(BlockLife, InstructionsCountHoweverTheyCome) {
  const Hundred of;
  Bench bench(plain_machine());
  bench.bind(of.program, kOneWarp);
  bench.sm.launch_block(0, 0, std::make_unique<HandMadeBlock>(std::vector<WarpCode>{of.code}, 3), 0);
  for (Cycle end = 10; end <= 60; end += 10) {
    bench.window(end);
    EXPECT_EQ(bench.sm.blocks()[0].instructions, bench.counters().warp_instructions) << end;
  }
  bench.finish();
  EXPECT_EQ(bench.ended.at(0).instructions, 100U);
}

TEST(BlockLife, WhatADroppedBlockHasDoneIsDiscarded) {
  const Hundred of;
  Bench bench(plain_machine());
  bench.bind(of.program, kOneWarp);
  bench.bind(of.program, kOneWarp, 1, 1);
  bench.sm.launch_block(0, 0, std::make_unique<HandMadeBlock>(std::vector<WarpCode>{of.code}, 3), 0);
  bench.launch({of.code}, 1, 1);
  bench.window(40);
  const std::uint64_t done = bench.sm.blocks()[0].instructions;
  ASSERT_GT(done, 0U);
  EXPECT_EQ(bench.counters().discarded_thread_instructions, 0U);
  bench.sm.drop_block(0);
  bench.finish();
  EXPECT_EQ(bench.counters().discarded_thread_instructions, done * kWarpSize);
  EXPECT_EQ(bench.counters().useful_instructions(), 0U);
  EXPECT_EQ(bench.sm.counters(1).discarded_thread_instructions, 0U);
}

TEST(BlockLife, ABlockThatCannotBeginAnewIsNotDropped) {
  const LoadAndUse at;
  Bench bench(plain_machine(), 300);
  bench.bind(at.program, kOneWarp);
  auto block = std::make_unique<HandMadeBlock>(std::vector<WarpCode>{at.code}, 4);
  block->restartable = false;
  bench.sm.launch_block(0, 0, std::move(block), 0);
  bench.window(10);
  EXPECT_FALSE(bench.sm.blocks()[0].may_restart);
  bench.sm.drop_block(0);
  EXPECT_FALSE(bench.sm.blocks()[0].stops);
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Ended);
}

TEST(BlockLife, ADroppedBlockLeavesAtOnceAndItsLoadFindsNobody) {
  const LoadAndUse at;
  Bench bench(plain_machine(), 300);
  bench.start(at.program, {at.code});
  bench.window(10);
  bench.sm.drop_block(0);
  bench.window(15);
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Dropped);
  EXPECT_EQ(bench.ended[0].time, 10U);
  EXPECT_EQ(bench.ended[0].context, nullptr);
  EXPECT_TRUE(bench.sm.fits(kOneWarp));
  EXPECT_FALSE(bench.sm.drained(0));  // its request is still answered
  // Another takes its place, its warp slot and its registers, and is not woken by that answer.
  WarpCode code;
  code.global(0, 9).run(1);
  bench.launch({code}, 0, 1, 15);
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 2U);
  EXPECT_EQ(bench.ended[1].left, Left::Ended);
  EXPECT_EQ(bench.counters().warp_instructions, 3U);
  EXPECT_EQ(bench.counters().blocks_completed, 1U);
}

TEST(BlockLife, BarriersAndExitedWarpsMoveAlong) {
  Program program;
  StaticInst barrier = control(isa::kBarrier);
  program.add(barrier);                                   // 0
  program.add(alu(1));                                    // 1
  for (int i = 0; i < 40; ++i) program.add(alu(2, {2}));  // 2 to 41: one after the other
  program.add(barrier);                                   // 42
  program.add(alu(3));                                    // 43
  WarpCode waits, works, exits;
  waits.run(0).run(1);
  for (std::uint32_t pc = 2; pc <= 43; ++pc) works.run(pc);
  exits.run(1);
  Bench bench(plain_machine());
  bench.bind(program, {96, 16, 0});
  bench.launch({waits, works, exits});
  // Until one waits, one works and one has exited.
  while (bench.counters().warp_instructions < 12) bench.window(bench.now + 5);
  ASSERT_EQ(bench.counters().barriers, 1U);
  bench.sm.stop_block(0, {});
  bench.finish();
  ASSERT_EQ(bench.ended[0].left, Left::Stopped);
  const BlockContext& context = *bench.ended[0].context;
  ASSERT_EQ(context.warps.size(), 3U);
  EXPECT_TRUE(context.warps[0].alive && context.warps[0].waits);
  EXPECT_TRUE(context.warps[1].alive && !context.warps[1].waits);
  EXPECT_FALSE(context.warps[2].alive);
  EXPECT_EQ(context.barriers[0].arrivals, 1U);
  EXPECT_EQ(context.barriers[0].warps, 1U);

  Bench other(plain_machine());
  other.bind(program, {96, 16, 0});
  const std::uint64_t before = bench.counters().warp_instructions;
  move(bench, other, 0);
  while (other.counters().barriers == 0) other.window(other.now + 1);
  EXPECT_EQ(before + other.counters().warp_instructions, 1U + 41 + 1);  // nobody has passed
  other.finish();
  EXPECT_EQ(other.ended[0].left, Left::Ended);
  EXPECT_EQ(before + other.counters().warp_instructions, 2U + 42 + 1);
  EXPECT_EQ(bench.counters().barriers + other.counters().barriers, 2U);
}

TEST(BlockLife, WhoIsNotHereOrHasExitedDoesNotLeave) {
  Program program;
  program.add(load(1));
  WarpCode code;
  code.global(0, 7);
  Bench bench(plain_machine());
  bench.start(program, {code});
  bench.window(10);  // all its warps have exited; it waits for its data
  bench.sm.stop_block(0, {});
  bench.sm.drop_block(0);
  bench.sm.stop_block(5, {});
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 1U);
  EXPECT_EQ(bench.ended[0].left, Left::Ended);
}

TEST(BlockLife, AStoppedBlockIssuesNothingThoughTheGateOpens) {
  Program program;
  program.add(load(1));
  for (int i = 0; i < 20; ++i) program.add(alu(2));
  WarpCode code;
  code.global(0, 7);
  for (std::uint32_t pc = 1; pc <= 20; ++pc) code.run(pc);
  Bench bench(plain_machine(), 300);
  bench.start(program, {code});
  bench.window(5);
  bench.sm.stop_block(0, {});
  const std::uint64_t issued = bench.counters().warp_instructions;
  bench.sm.allow_issue(0, false);
  bench.window(10);
  bench.sm.allow_issue(0, true);
  bench.sm.limit_warps(0, 4);
  bench.sm.limit_warps(0, 0);
  bench.finish();
  EXPECT_EQ(bench.counters().warp_instructions, issued);
  EXPECT_EQ(bench.ended[0].left, Left::Stopped);
}

// Of four blocks of one warp each, the oldest two may issue. Those around the second leave in one cycle.
TEST(BlockLife, WhoMayIssueIsFoundOutWhenAllThatLeaveHaveLeft) {
  const Hundred of;
  for (const bool ccws : {false, true}) {
    arch::MachineConfig config = plain_machine();
    config.sm.warp_limit = ccws ? 0 : 2;
    config.ccws.on = ccws;
    Bench bench(config);
    bench.bind(of.program, kOneWarp);
    for (std::uint32_t block = 0; block < 3; ++block)
      bench.sm.launch_block(0, block, std::make_unique<HandMadeBlock>(std::vector<WarpCode>{of.code}, 3), 0);
    bench.window(10);
    bench.sm.drop_block(0);
    bench.sm.drop_block(2);
    bench.finish();
    ASSERT_EQ(bench.ended.size(), 3U);
    EXPECT_EQ(bench.ended[2].left, Left::Ended);
    EXPECT_EQ(bench.ended[2].residency, 1U);
  }
}

TEST(BlockLife, AStoppedBlockMakesPlaceForOthersWarpsAtOnce) {
  const Hundred of;
  arch::MachineConfig config = plain_machine();
  config.sm.warp_limit = 1;
  Bench bench(config);
  bench.bind(of.program, kOneWarp);
  bench.bind(of.program, kOneWarp, 1, 1);
  bench.launch({of.code}, 0, 0);
  bench.launch({of.code}, 1, 1);
  bench.window(20);
  EXPECT_EQ(bench.sm.counters(1).warp_instructions, 0U);
  bench.sm.stop_block(0, {.save = 10'000});
  bench.window(60);
  EXPECT_EQ(bench.sm.blocks().size(), 2U) << "it is still there";
  EXPECT_GT(bench.sm.counters(1).warp_instructions, 5U);
  bench.finish();
}

TEST(Notices, ABlockIsNotifiedFromItsIssueOnAndTheStoreGoesToTheSmsOwnLine) {
  constexpr std::uint32_t kStore = 0, kAdd = 1;
  Program as_store_program, as_notice_program;
  StaticInst store_word = store();
  store_word.flags |= isa::kBypassL1;
  as_store_program.add(store_word);
  store_word.flags |= isa::kNotice;
  as_notice_program.add(store_word);
  for (Program* program : {&as_store_program, &as_notice_program}) program->add(alu(1));
  const std::uint64_t line = first_line_of(0) + 4096;
  constexpr SmId kId = 5;
  const auto run = [&](LaneMask active) {
    WarpCode code;
    for (int i = 0; i < 20; ++i) code.run(kAdd);
    code.access(kStore, Where::Global, {}, 0, 0);  // predicated off
    for (int i = 0; i < 20; ++i) code.run(kAdd);
    if (active != 0) {
      code.access(kStore, Where::Global, {workload::Transaction::make(line, 1, 1)}, 0, active);
    } else {
      code.access(kStore, Where::Global, {}, 0, 0);
    }
    for (int i = 0; i < 400; ++i) code.run(kAdd);
    return code;
  };
  struct Seen {
    Cycle end;
    std::uint64_t memory, issued, discarded, sent_line;
    std::size_t sent;
    std::vector<bool> notified;  // after each window
  };
  const auto look = [&](const Program& program, LaneMask active) {
    Bench bench(plain_machine(), 30, kId);
    bench.start(program, {run(active)});
    Seen seen{};
    for (Cycle end = 10; !bench.sm.blocks().empty() && end < 400; end += 10) {
      bench.window(end);
      if (!bench.sm.blocks().empty()) seen.notified.push_back(bench.sm.blocks()[0].notified);
    }
    seen.end = bench.finish();
    seen.memory = bench.counters().memory_instructions;
    seen.issued = bench.counters().warp_instructions;
    seen.discarded = bench.counters().discarded_thread_instructions;
    seen.sent = bench.sent.size();
    seen.sent_line = bench.sent.empty() ? 0 : bench.sent[0].line;
    return seen;
  };
  const Seen as_store = look(as_store_program, kAllLanes);
  const Seen as_notice = look(as_notice_program, 0xff);
  // It takes what a store that bypasses L1 takes: the same cycles, instructions and packets.
  EXPECT_EQ(as_notice.end, as_store.end);
  EXPECT_EQ(as_notice.issued, as_store.issued);
  EXPECT_EQ(as_notice.memory, 1U);
  EXPECT_EQ(as_store.memory, 1U);
  EXPECT_EQ(as_store.discarded, 0U);
  EXPECT_EQ(as_notice.discarded, 8U);  // no progress of the kernel's
  EXPECT_EQ(as_notice.sent, 1U);
  EXPECT_EQ(as_store.sent_line, line);
  EXPECT_EQ(as_notice.sent_line, line + kId);
  EXPECT_EQ(std::count(as_store.notified.begin(), as_store.notified.end(), true), 0);
  ASSERT_GT(as_notice.notified.size(), 3U);
  EXPECT_FALSE(as_notice.notified.front());  // the one that is predicated off notifies nobody
  EXPECT_TRUE(as_notice.notified.back());
  const Seen off = look(as_notice_program, 0);
  EXPECT_EQ(off.sent, 0U);
  EXPECT_EQ(std::count(off.notified.begin(), off.notified.end(), true), 0);
}

TEST(Notices, GoAlongWithAStoppedBlockAndNotWithADroppedOne) {
  Program program;
  StaticInst word = store();
  word.flags |= isa::kBypassL1 | isa::kNotice;
  program.add(word);
  program.add(alu(1));
  for (const bool drop : {false, true}) {
    WarpCode code;
    code.access(0, Where::Global, {workload::Transaction::make(first_line_of(0), 1, 1)});
    for (int i = 0; i < 100; ++i) code.run(1);
    Bench bench(plain_machine(), 30);
    bench.start(program, {code});
    for (Cycle end = 10; end <= 50; end += 10) bench.window(end);
    ASSERT_TRUE(bench.sm.blocks().at(0).notified);
    if (drop) {
      bench.sm.drop_block(0);
    } else {
      bench.sm.stop_block(0, {});
    }
    bench.finish();
    Bench other(plain_machine(), 30);
    other.bind(program, kOneWarp);
    move(bench, other, 0);
    EXPECT_EQ(other.sm.blocks().at(0).notified, !drop);
    other.finish();
  }
}

}  // namespace
}  // namespace gpumux::sm::testing
