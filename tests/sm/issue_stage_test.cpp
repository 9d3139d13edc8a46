// The issue stage alone, over a table of blocks. All instructions of warps count as fetched, and a list of
// issued instructions with their cycles replaces the execution units.
#include "sm/issue_stage.hpp"

#include "sm/harness.hpp"
#include "sm/issue.hpp"

namespace gpumux::sm::testing {
namespace {

struct Issued {
  std::uint32_t slot;
  Cycle cycle;
  bool operator==(const Issued&) const = default;
};
using Log = std::vector<Issued>;

template <typename Order = LooseRoundRobin, Beside kBeside = Beside::Nothing>
struct Stage {
  explicit Stage(const Program& program_of_all, arch::MachineConfig machine = plain_machine())
      : config(std::move(machine)),
        program(program_of_all),
        timing(config, program.table.data(), static_cast<std::uint32_t>(program.table.size())),
        table(config.sm, IssueStage::warp_slots(config.sm)),
        memory(0, config.sm.schedulers),
        stage(config, table, memory) {
    for (KernelSlot kernel = 0; kernel < 2; ++kernel) {
      table.bind(kernel, kernel, {256, 8, 0});
      stage.bind(kernel, timing, &counters[kernel], kernel);
    }
  }
  /// A block whose warps have all their records, and may issue from `start` on.
  void launch(std::vector<WarpCode> code, Cycle start = 0, KernelSlot kernel = 0, bool open = true) {
    if (table.empty()) stage.begin(start);
    Block& block = table.admit(kernel, 0, std::make_unique<HandMadeBlock>(std::move(code), 1000), start);
    stage.launched(block, open, start);
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      block.stream->refill(w, 1000);
      const workload::WarpStream& stream = block.stream->stream(w);
      Warp& warp = table.warp(block.warps[w]);
      warp.next = stream.next;
      warp.end = stream.end;
      warp.mem_next = stream.mem_next;
      warp.starved = false;
      warp.fetch_ready = 0;
      stage.place(block.warps[w], start, start);
    }
  }
  void run(Cycle end) {
    for (; now < end; ++now) {
      stage.wake(now);
      stage.schedule<Order, kBeside>(now, *this);
    }
  }
  // What the stage asks and tells.
  [[nodiscard]] bool has_room() const { return room; }
  [[nodiscard]] AppId head_app() const { return 0; }
  [[nodiscard]] bool accepts(Cycle /*cycle*/) const { return room; }
  [[nodiscard]] static bool viewed() { return false; }
  void issue_viewed(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle cycle) {
    issue(scheduler, index, local, cycle);
  }
  void issue(Scheduler& scheduler, std::uint32_t index, std::uint32_t local, Cycle cycle) {
    const std::uint32_t slot = stage.slot_of(index, local);
    log.push_back({slot, cycle});
    Warp& warp = table.warp(slot);
    const TimedInst& inst = stage.kernel(warp.kernel).table[(warp.next++)->pc];
    const std::uint32_t delay = stage.book(scheduler, index, local, inst, cycle);
    if (inst.unit == Unit::Memory) {
      stage.memory_issued(index);
      warp.mem_next += 1 + std::bit_cast<workload::MemHeader>(*warp.mem_next).transactions;
      if (inst.num_dst > 0) stage.load_issued(slot, inst);
      if (kBeside == Beside::Control) memory.issued(stage.kernel(warp.kernel).app);
    } else if (inst.num_dst > 0) {
      stage.write_back(slot, inst, cycle + delay + inst.latency);
    }
    if (warp.next == warp.end) {
      stage.exits(warp, cycle);
      table.exits(slot, cycle);
    } else {
      stage.follow(scheduler, warp, slot, stage.kernel(warp.kernel), cycle);
    }
  }

  arch::MachineConfig config;
  Program program;
  TimingTable timing;
  BlockTable table;
  MemoryControl memory;
  IssueStage stage;
  std::array<arch::KernelCounters, 2> counters{};
  bool room = true;
  Log log;
  Cycle now = 0;
};

/// pc 0 and 1 do not depend on each other, 2 depends on 0; 3 is a load, 4 reads what it brings.
Program mixed() {
  Program program;
  program.add(alu(1));
  program.add(alu(2));
  program.add(alu(3, {1}));
  program.add(load(4));
  program.add(alu(5, {4}));
  return program;
}
WarpCode code(std::initializer_list<std::uint32_t> pcs) {
  WarpCode made;
  for (const std::uint32_t pc : pcs) made.run(pc);
  return made;
}

TEST(IssueStage, ADependentInstructionWaitsForTheResult) {
  Stage<> at(mixed());
  at.launch({code({0, 2, 1})});
  at.run(1);
  EXPECT_EQ(at.table.warp(0).wait, Wait::Alu);
  EXPECT_EQ(at.stage.next_try(), kNever);
  EXPECT_EQ(at.stage.next_wake(1), 4U);  // the latency
  at.run(10);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 4}, {0, 5}}));
  const arch::SchedulerCounters counted = at.stage.counters(6);
  EXPECT_EQ(counted.issued, 3U);
  EXPECT_EQ(counted.scoreboard_alu, 3U);
}

TEST(IssueStage, WarpsTakeTheirTurns) {
  Stage<LooseRoundRobin> round(mixed());
  round.launch({code({0, 1}), code({0, 1})});
  round.run(5);
  EXPECT_EQ(round.log, (Log{{0, 0}, {1, 1}, {0, 2}, {1, 3}}));
  Stage<GreedyThenOldest> greedy(mixed());
  greedy.launch({code({0, 1}), code({0, 1})});
  greedy.run(5);
  EXPECT_EQ(greedy.log, (Log{{0, 0}, {0, 1}, {1, 2}, {1, 3}}));
}

TEST(IssueStage, ASchedulerOwnsItsSlotForTheIssueInterval) {
  arch::MachineConfig config = plain_machine();
  config.sm.issue_interval = 2;
  Stage<> at(mixed(), config);
  at.launch({code({0, 1})});
  at.run(1);
  EXPECT_EQ(at.stage.next_try(), 2U);
  at.run(4);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 2}}));
}

TEST(IssueStage, SchedulersIssueEachTheirOwn) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 2;
  Stage<> at(mixed(), config);
  at.launch({code({0}), code({0}), code({0})});  // slots 0 and 2 are the first scheduler's
  at.run(3);
  EXPECT_EQ(at.log, (Log{{0, 0}, {1, 0}, {2, 1}}));
}

TEST(IssueStage, AUnitIsFreeAgainAfterItsOccupation) {
  arch::MachineConfig config = plain_machine();
  for (auto& unit : config.units) unit.count = 1;
  config.units[static_cast<std::size_t>(Unit::Sp)].lanes = 16;  // two cycles a warp
  Stage<> at(mixed(), config);
  at.launch({code({0, 1})});
  at.run(4);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 2}}));
  EXPECT_EQ(at.stage.counters(3).pipeline_alu, 1U);
}

TEST(IssueStage, ALoadIsOutUntilItIsTold) {
  Stage<> at(mixed());
  at.launch({WarpCode{}.global(3, 1).run(4)});
  at.run(10);
  EXPECT_EQ(at.table.warp(0).wait, Wait::Memory);
  EXPECT_TRUE(at.stage.any_out(0));
  EXPECT_EQ(at.stage.slot_out(0, at.timing.data()[4]), 4);
  EXPECT_EQ(at.stage.next_wake(10), kNever);
  at.stage.load_done(0, at.timing.data()[3], 20);  // known in 10
  at.stage.place(0, 10, 10);
  EXPECT_EQ(at.stage.next_wake(10), 20U);
  at.run(30);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 20}}));
  EXPECT_EQ(at.stage.counters(21).scoreboard_memory, 19U);
}

TEST(IssueStage, MemoryInstructionsWaitForRoom) {
  Stage<> at(mixed());
  at.room = false;
  at.launch({WarpCode{}.global(3, 1), code({0})});
  at.run(5);
  EXPECT_EQ(at.log, (Log{{1, 0}}));
  EXPECT_EQ(at.stage.next_try(), kNever);  // it is told
  EXPECT_EQ(at.stage.counters(5).pipeline_memory, 4U);
  at.room = true;
  at.stage.room(5);
  EXPECT_EQ(at.stage.next_try(), 5U);
  at.run(7);
  EXPECT_EQ(at.log, (Log{{1, 0}, {0, 5}}));
}

TEST(IssueStage, TheTurnPassesWithEachMemoryInstruction) {
  arch::MachineConfig config = plain_machine();
  config.sm.schedulers = 2;
  Stage<> at(mixed(), config);
  const WarpCode two = WarpCode{}.global(3, 1).run(0);
  at.launch({two, two});
  at.run(2);
  // The second scheduler issued a memory instruction last, so the first begins; had the first alone issued
  // one, the second would.
  EXPECT_EQ(at.log, (Log{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
}

TEST(IssueStage, TheGateHoldsAKernel) {
  Stage<> at(mixed());
  IssueGate gate;
  gate.allow(1, false);
  at.launch({code({0})}, 0, 0);
  at.launch({code({0})}, 0, 1, false);
  at.run(4);
  EXPECT_EQ(at.log, (Log{{0, 0}}));
  EXPECT_EQ(at.stage.counters(4).throttled, 3U);
  std::uint32_t ready = 0;
  at.stage.ready_warps([&](const Warp& /*warp*/) { ++ready; });
  EXPECT_EQ(ready, 0U);
  gate.allow(1, true);
  at.stage.admit(0b10, gate, 4);
  at.run(6);
  EXPECT_EQ(at.log, (Log{{0, 0}, {1, 4}}));
}

TEST(IssueStage, ALimitOfWarpsLeavesTheOldest) {
  Stage<> at(mixed());
  IssueGate gate;
  gate.limit_warps(0, 1);
  at.launch({code({0, 2}), code({0, 2})});
  at.stage.admit(1, gate, 0);
  at.run(5);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 4}}));
  at.stage.admit(1, gate, 5);  // it has gone
  at.run(10);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 4}, {1, 5}, {1, 9}}));
}

TEST(IssueStage, ALimitOfWarpsLeavesASparedKernelOut) {
  for (const bool of_kernel : {true, false}) {
    Stage<> at(mixed());
    IssueGate gate;
    gate.limit_warps(0, of_kernel ? 1 : 0);
    gate.limit_all_warps(of_kernel ? 0 : 1);
    gate.spare(0, true);
    at.launch({code({0}), code({0})}, 0, 0);
    at.launch({code({0}), code({0})}, 0, 1);
    at.stage.admit(0b11, gate, 0);
    at.run(4);
    // Of the other kernel all warps, or one: those of the spared one do not count.
    EXPECT_EQ(at.log.size(), of_kernel ? 4U : 3U);
    at.stage.admit(0b11, gate, 4);
    at.run(8);
    EXPECT_EQ(at.log.size(), 4U);
  }
}

TEST(IssueStage, AReleasedWarpWaitsForItsCycle) {
  arch::MachineConfig config = plain_machine();
  config.sm.barrier_latency = 6;
  Stage<> at(mixed(), config);
  at.launch({code({0, 2}), code({0, 2})});
  at.run(3);
  at.table.arrives(0, 0, 2, true, 3);
  at.stage.place(0, 3, 3);
  EXPECT_EQ(at.table.warp(0).wait, Wait::Sync);
  EXPECT_EQ(at.table.arrives(1, 0, 2, false, 3).warps, 0b1U);  // opens, and goes on
  at.stage.place(0, 3, 3);
  at.run(12);
  EXPECT_EQ(at.log, (Log{{0, 0}, {1, 1}, {1, 5}, {0, 9}}));
}

TEST(IssueStage, FencesWaitForTheMemoryInstructionsOfTheWarp) {
  Stage<> at(mixed());
  at.launch({WarpCode{}.global(3, 1).run(0)});
  Warp& warp = at.table.warp(0);
  at.run(1);
  warp.sync = Sync::Fence;
  warp.memory_out = 1;
  at.stage.place(0, 1, 2);
  EXPECT_EQ(warp.wait, Wait::Sync);
  warp.memory_out = 0;
  warp.memory_until = 12;
  at.stage.place(0, 8, 8);
  at.run(20);
  EXPECT_EQ(at.log, (Log{{0, 0}, {0, 12}}));
}

TEST(IssueStage, AnEmptySmCountsNoCycles) {
  arch::MachineConfig config = plain_machine();
  config.sm.issue_interval = 4;
  Stage<> at(mixed(), config);
  at.launch({code({0})}, 2);
  at.now = 2;
  at.run(4);
  EXPECT_TRUE(at.stage.drained());
  at.stage.end(3);  // within the interval of the issue in 2
  EXPECT_EQ(at.stage.next_try(), kNever);
  EXPECT_EQ(at.stage.counters(100).issued, 2U);
  EXPECT_EQ(at.stage.counters(100).idle, 0U);
}

TEST(IssueStage, AMemorySchemeLimitsAnApplication) {
  Stage<LooseRoundRobin, Beside::Control> at(mixed());
  arch::MemoryScheme scheme;
  scheme.limit = arch::MemoryScheme::Limit::Static;
  scheme.limits[0] = 1;
  at.memory.set(scheme);
  at.memory.set_sharers(0b11);
  at.stage.set_scheme(scheme);
  at.launch({WarpCode{}.global(3, 1), WarpCode{}.global(3, 2)}, 0, 0);
  at.launch({WarpCode{}.global(3, 3)}, 0, 1);
  at.run(5);
  EXPECT_EQ(at.log, (Log{{0, 0}, {2, 1}}));  // the second of application 0 waits
  EXPECT_EQ(at.stage.next_try(), kNever);
  EXPECT_TRUE(at.memory.ended(0));
  at.stage.below_limit(5);
  at.run(7);
  EXPECT_EQ(at.log, (Log{{0, 0}, {2, 1}, {1, 5}}));
}

TEST(IssueStage, AMemorySchemeGivesTheTurnToTheOtherApplication) {
  Stage<GreedyThenOldest, Beside::Control> at(mixed());
  arch::MemoryScheme scheme;
  scheme.order = arch::MemoryScheme::Order::RoundRobin;
  at.memory.set(scheme);
  at.memory.set_sharers(0b11);
  at.stage.set_scheme(scheme);
  at.launch({WarpCode{}.global(3, 1), WarpCode{}.global(3, 2)}, 0, 0);
  at.launch({WarpCode{}.global(3, 3), WarpCode{}.global(3, 4)}, 0, 1);
  at.run(5);
  // Oldest first would be 0, 1, 2, 3.
  EXPECT_EQ(at.log, (Log{{0, 0}, {2, 1}, {1, 2}, {3, 3}}));
}

}  // namespace
}  // namespace gpumux::sm::testing
