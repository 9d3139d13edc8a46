// Warps that wait for copies to shared memory and for mbarriers: the exact cycles in which they continue, by
// hand.
#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

using workload::MbarrierWord;

StaticInst copy(std::uint16_t flags = 0) {
  return inst(Unit::Memory, LatencyClass::Memory, {}, {},
              static_cast<std::uint16_t>(isa::kLoad | isa::kAsync | flags));
}
StaticInst commit() { return control(isa::kAsync); }
StaticInst wait(std::uint8_t open) {
  StaticInst made = control(static_cast<std::uint16_t>(isa::kAsync | isa::kFence));
  made.barrier = open;
  return made;
}
StaticInst arrive() {
  return inst(Unit::Memory, LatencyClass::Memory, {}, {},
              static_cast<std::uint16_t>(isa::kShared | isa::kAsync | isa::kAtomic | isa::kStore));
}
StaticInst test_wait(std::uint16_t predicate) {
  return inst(Unit::Memory, LatencyClass::Memory,
              {static_cast<std::uint16_t>(isa::kPredicateSlot + predicate)}, {},
              static_cast<std::uint16_t>(isa::kShared | isa::kAsync | isa::kLoad));
}
/// The cycle in which the SM's `count`-th instruction issues.
Cycle issue_of(Bench& bench, std::uint64_t count) {
  while (bench.counters().warp_instructions < count) {
    bench.window(bench.now + 1);
    if (bench.now > 100'000) {
      ADD_FAILURE() << "never:\n" << bench.sm.describe_waits();
      return kNever;
    }
  }
  return bench.now - 1;
}

// An issue in cycle t is in the load/store unit in t + 1, misses there, is queued, leaves a cycle later, is
// with the memory 10 later, and back 100 after that.
constexpr Cycle kReply = 1 + 1 + 10 + 100;

/// A warp whose instructions follow each other in the code.
class Straight {
 public:
  explicit Straight(Program& program) : program_(program) {}
  Straight& run(const StaticInst& made) {
    code.run(program_.add(made));
    return *this;
  }
  Straight& global(const StaticInst& made, std::uint64_t line) {
    code.global(program_.add(made), line);
    return *this;
  }
  Straight& mbarrier(const StaticInst& made, MbarrierWord::Kind kind, std::uint32_t address,
                     std::uint64_t number) {
    const MbarrierWord word = MbarrierWord::make(address, kind, number);
    code.access(program_.add(made), Where::Shared, {workload::Transaction{word.word}}, 1);
    return *this;
  }
  WarpCode code;

 private:
  Program& program_;
};

TEST(AsyncCopies, AWaitTakesAsLongAsAFenceBehindALoad) {
  const auto run = [](const StaticInst& access, const StaticInst& control, const StaticInst& last) {
    Program program;
    Straight warp(program);
    warp.global(access, 7).run(control).run(last).run(alu(2));
    Bench bench(plain_machine());
    bench.start(program, {warp.code});
    EXPECT_EQ(issue_of(bench, 3), 3U) << "none of them waits to issue";
    const Cycle at = issue_of(bench, 4);
    bench.finish();
    EXPECT_EQ(bench.counters().l1_accesses, 1U);
    return at;
  };
  EXPECT_EQ(run(load(1), control(0), control(isa::kFence)), 1 + kReply);
  EXPECT_EQ(run(copy(), commit(), wait(0)), 1 + kReply);
  EXPECT_EQ(run(copy(isa::kBypassL1), commit(), wait(0)), 1 + kReply);
}

TEST(AsyncCopies, AGroupThatIsNotCommittedIsNotWaitedFor) {
  Program program;
  Straight warp(program);
  warp.global(copy(), 7).run(wait(0)).run(alu(1)).run(commit()).run(wait(0)).run(alu(2));
  Bench bench(plain_machine());
  bench.start(program, {warp.code});
  EXPECT_LT(issue_of(bench, 5), 10U);
  EXPECT_EQ(issue_of(bench, 6), 1 + kReply);
  bench.finish();
}

TEST(AsyncCopies, TheYoungestGroupMayStayOpen) {
  const auto run = [](std::uint8_t open) {
    Program program;
    Straight warp(program);
    warp.global(copy(isa::kBypassL1), 1).global(copy(isa::kBypassL1), 2).run(commit());
    warp.global(copy(isa::kBypassL1), 3).run(commit()).run(wait(open)).run(alu(1));
    Bench bench(plain_machine());
    bench.start(program, {warp.code});
    const Cycle at = issue_of(bench, 7);
    bench.finish();
    return at;
  };
  // The copies issue in 1, 2 and 4.
  EXPECT_EQ(run(2), 7U);
  EXPECT_EQ(run(1), 2 + kReply);
  EXPECT_EQ(run(0), 4 + kReply);
}

TEST(AsyncCopies, GroupsAreCompleteInTheirOrder) {
  // The second group's line has been in L1 since the begin; the first one's has not.
  Program program;
  Straight warp(program);
  warp.global(copy(), 7).run(commit()).run(wait(0)).run(alu(1));
  warp.global(copy(), 8).run(commit()).global(copy(), 7).run(commit()).run(wait(1)).run(alu(2));
  Bench bench(plain_machine());
  bench.start(program, {warp.code});
  const Cycle begin = issue_of(bench, 5);
  EXPECT_EQ(issue_of(bench, 10), begin + kReply);
  bench.finish();

  Program alone;  // a hit is there after its latency
  Straight hit(alone);
  hit.global(copy(), 7).run(commit()).run(wait(0)).run(alu(1));
  hit.global(copy(), 7).run(commit()).run(wait(0)).run(alu(2));
  Bench again(plain_machine());
  again.start(alone, {hit.code});
  const Cycle second = issue_of(again, 5);
  EXPECT_EQ(issue_of(again, 8), second + 1 + plain_machine().l1.latency);
  again.finish();
}

constexpr std::uint32_t kAddress = 64;

TEST(AsyncCopies, AWaitAtAnMbarrierLastsUntilTheArrivals) {
  using Kind = MbarrierWord::Kind;
  Program program;
  Straight late(program);  // waits for a copy of its own, then arrives
  late.global(copy(), 7)
      .run(commit())
      .run(wait(0))
      .mbarrier(arrive(), Kind::Arrivals, kAddress, 32)
      .run(alu(1));
  Straight waiter(program);
  waiter.mbarrier(arrive(), Kind::Arrivals, kAddress, 32);
  waiter.mbarrier(test_wait(0), Kind::Wait, kAddress, 64).run(alu(1));
  Straight other(program);  // whose phase is complete with the first arrivals
  other.mbarrier(test_wait(0), Kind::Wait, kAddress, 32).run(alu(1));
  Bench bench(plain_machine());
  bench.start(program, {late.code, waiter.code, other.code});
  while (bench.now < 60) bench.window(bench.now + 5);
  EXPECT_EQ(bench.counters().warp_instructions, 3U + 2U + 2U);
  const std::string waits = bench.sm.describe_waits();
  EXPECT_NE(waits.find("the mbarrier at 0x40 of shared memory (32 arrivals so far, 64 needed)"),
            std::string::npos)
      << waits;
  EXPECT_NE(waits.find("its copies to shared memory (1 under way)"), std::string::npos) << waits;
  const Cycle arrival = issue_of(bench, 8);
  EXPECT_GE(arrival, 1 + kReply);
  EXPECT_LE(issue_of(bench, 10), arrival + 2) << "the waiting warp and the one that arrived";
  bench.finish();
}

TEST(AsyncCopies, TheFirstPhaseOfAFreshMbarrierNeedsNoArrival) {
  using Kind = MbarrierWord::Kind;
  Program program;
  Straight warp(program);
  warp.mbarrier(test_wait(0), Kind::Wait, kAddress, 0).run(alu(1));
  warp.mbarrier(arrive(), Kind::Arrivals, kAddress, 32);
  warp.mbarrier(test_wait(1), Kind::Wait, kAddress + 8, 0).run(alu(2));
  Bench bench(plain_machine());
  bench.start(program, {warp.code});
  EXPECT_LT(issue_of(bench, 5), 12U) << "none of them waits";
  bench.finish();
}

TEST(AsyncCopies, AnArrivalBehindCopiesHappensWithTheLastOfThem) {
  using Kind = MbarrierWord::Kind;
  const auto run = [](bool behind) {
    Program program;
    Straight producer(program);
    producer.global(copy(isa::kBypassL1), 1).global(copy(isa::kBypassL1), 2);
    producer.mbarrier(arrive(), behind ? Kind::CopiesArrivals : Kind::Arrivals, kAddress, 32).run(alu(1));
    Straight consumer(program);
    consumer.mbarrier(test_wait(0), Kind::Wait, kAddress, 32).run(alu(1));
    Bench bench(plain_machine());
    bench.start(program, {producer.code, consumer.code});
    EXPECT_LT(issue_of(bench, 5), 12U) << "the producer waits for nothing";
    const Cycle at = issue_of(bench, 6);
    bench.finish();
    return at;
  };
  EXPECT_LT(run(false), 15U);
  // Two warps take turns: the second copy issues in 2 or 3.
  EXPECT_GE(run(true), 2 + kReply);
  EXPECT_LE(run(true), 3 + kReply);
}

TEST(AsyncCopies, ABlockThatMovesTakesItsArrivalsAlong) {
  using Kind = MbarrierWord::Kind;
  Program program;
  Straight first(program);
  first.mbarrier(arrive(), Kind::Arrivals, kAddress, 32)
      .mbarrier(test_wait(0), Kind::Wait, kAddress, 64)
      .run(alu(1));
  Straight second(program);
  second.global(copy(), 7)
      .run(commit())
      .run(wait(0))
      .mbarrier(arrive(), Kind::Arrivals, kAddress, 32)
      .run(alu(1));
  Bench bench(plain_machine());
  bench.start(program, {first.code, second.code});
  while (bench.now < 20) bench.window(bench.now + 5);
  bench.sm.stop_block(0, {});
  bench.finish();
  ASSERT_EQ(bench.ended.size(), 1U);
  ASSERT_EQ(bench.ended[0].left, Left::Stopped);
  ASSERT_EQ(bench.ended[0].context->mbarriers.size(), 1U);
  EXPECT_EQ(bench.ended[0].context->mbarriers[0].count, 32U);
  EXPECT_EQ(bench.ended[0].context->warps[0].arrivals, 64U);
  EXPECT_EQ(bench.ended[0].context->warps[1].arrivals, 0U);

  Bench other(plain_machine());
  other.bind(program, {64, 16, 0});
  FinishedBlock& block = bench.ended.back();
  other.sm.launch_block(block.kernel, block.residency, std::move(block.stream), 0, block.context.get());
  other.finish();
  ASSERT_EQ(other.ended.size(), 1U);
  EXPECT_EQ(other.ended[0].left, Left::Ended);
}

}  // namespace
}  // namespace gpumux::sm::testing
