// Shuffles, votes, matches and reductions inside a warp.
#include <gtest/gtest.h>

#include "emulator/instruction_probe.hpp"

namespace gpumux::emulator::test {
namespace {

using isa::ShflMode;

// One warp of operands.
std::vector<Operands> warp_inputs(std::uint64_t b, std::uint64_t c) {
  std::vector<Operands> in;
  for (std::uint64_t lane = 0; lane < 32; ++lane) in.push_back({100 + lane, b, c, 0xffffffff});
  return in;
}

TEST(WarpOps, ShufflesFollowTheirSegments) {
  const ProbeShape shape{Held::Bits32, {Held::Bits32, Held::Bits32, Held::Bits32, Held::Bits32}, Held::Pred};
  for (const ShflMode mode : {ShflMode::Up, ShflMode::Down, ShflMode::Bfly, ShflMode::Idx}) {
    for (const std::uint32_t width : {32U, 16U, 8U, 2U}) {
      for (const std::uint32_t distance : {0U, 1U, 3U, 5U, 16U, 31U}) {
        isa::Instruction inst = make(Opcode::Shfl, Type::B32);
        inst.shfl = mode;
        // As __shfl_*_sync: the segment mask in bits 8 to 12, the clamp in bits 0 to 4.
        const std::uint32_t c = ((32 - width) << 8U) | (mode == ShflMode::Up ? 0 : 31);
        const auto result = probe(inst, shape, warp_inputs(distance, c));
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
          const std::uint32_t first = lane / width * width;
          std::int64_t from = 0;
          if (mode == ShflMode::Up) from = std::int64_t{lane} - distance;
          if (mode == ShflMode::Down) from = std::int64_t{lane} + distance;
          if (mode == ShflMode::Bfly) from = lane ^ distance;
          if (mode == ShflMode::Idx) from = first + distance % width;
          const bool inside = mode == ShflMode::Up ? from >= first : from < first + width;
          ASSERT_EQ(result.value[lane], 100 + static_cast<std::uint64_t>(inside ? from : lane))
              << static_cast<int>(mode) << ' ' << width << ' ' << distance << ' ' << lane;
          ASSERT_EQ(result.second[lane], inside);
        }
      }
    }
  }
}

TEST(WarpOps, VotesCountMembersOnly) {
  std::vector<Operands> in;
  for (std::uint64_t lane = 0; lane < 32; ++lane) in.push_back({lane % 4 == 1, 0x0000ffff, 0, 0});
  isa::Instruction inst = make(Opcode::Vote, Type::B32);
  inst.vote = isa::VoteMode::Ballot;
  for (const auto value : probe(inst, {Held::Bits32, {Held::Pred, Held::Bits32}}, in).value) {
    EXPECT_EQ(value, 0x2222U);
  }
  const ProbeShape pred{Held::Pred, {Held::Pred, Held::Bits32}};
  const auto vote = [&](isa::VoteMode mode, auto predicate) {
    std::vector<Operands> lanes;
    for (std::uint64_t lane = 0; lane < 32; ++lane)
      lanes.push_back({predicate(lane) ? 1U : 0U, 0xffffffff, 0, 0});
    isa::Instruction one = make(Opcode::Vote, Type::Pred);
    one.vote = mode;
    return probe(one, pred, lanes).value[5];
  };
  EXPECT_EQ(vote(isa::VoteMode::All, [](auto) { return true; }), 1U);
  EXPECT_EQ(vote(isa::VoteMode::All, [](auto lane) { return lane != 9; }), 0U);
  EXPECT_EQ(vote(isa::VoteMode::Any, [](auto lane) { return lane == 9; }), 1U);
  EXPECT_EQ(vote(isa::VoteMode::Any, [](auto) { return false; }), 0U);
  EXPECT_EQ(vote(isa::VoteMode::Uni, [](auto) { return false; }), 1U);
  EXPECT_EQ(vote(isa::VoteMode::Uni, [](auto lane) { return lane == 9; }), 0U);
}

TEST(WarpOps, MatchAndRedux) {
  std::vector<Operands> in;
  for (std::uint64_t lane = 0; lane < 32; ++lane) in.push_back({lane % 3, 0xffffffff, 0, 0});
  isa::Instruction any = make(Opcode::Match, Type::B32);
  any.match = isa::MatchMode::Any;
  const auto matched = probe(any, {Held::Bits32, {Held::Bits32, Held::Bits32}}, in);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    std::uint32_t expected = 0;
    for (std::uint32_t k = lane % 3; k < 32; k += 3) expected |= 1U << k;
    EXPECT_EQ(matched.value[lane], expected);
  }
  isa::Instruction all = make(Opcode::Match, Type::B32);
  all.match = isa::MatchMode::All;
  const auto differ = probe(all, {Held::Bits32, {Held::Bits32, Held::Bits32}, Held::Pred}, in);
  EXPECT_EQ(differ.value[0], 0U);
  EXPECT_EQ(differ.second[0], 0U);
  for (auto& o : in) o[0] = 7;
  const auto same = probe(all, {Held::Bits32, {Held::Bits32, Held::Bits32}, Held::Pred}, in);
  EXPECT_EQ(same.value[31], 0xffffffffU);
  EXPECT_EQ(same.second[31], 1U);
  for (std::uint64_t lane = 0; lane < 32; ++lane) in[lane][0] = (lane * 7 + 3) & 0xffU;
  const auto redux = [&](isa::AtomicOp op, Type type) {
    isa::Instruction inst = make(Opcode::Redux, type);
    inst.atomic = op;
    return probe(inst, {Held::Bits32, {Held::Bits32, Held::Bits32}}, in).value[0];
  };
  EXPECT_EQ(redux(isa::AtomicOp::Add, Type::U32), 7U * 496U + 96U);
  EXPECT_EQ(redux(isa::AtomicOp::Min, Type::U32), 3U);
  EXPECT_EQ(redux(isa::AtomicOp::Max, Type::S32), 220U);
}

}  // namespace
}  // namespace gpumux::emulator::test
