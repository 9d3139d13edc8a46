// Phases of kernels, against analyses by hand. Latencies: 4 cycles for arithmetic, 2 cycles for memory and
// control instructions.
#include "isa/phases.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel_builder.hpp"

namespace gpumux::emulator::test {
namespace {

using isa::Phase;

struct Analysis {
  explicit Analysis(const KernelBuilder& kernel) : table(isa::make_static_table(kernel.function)) {
    for (const isa::StaticInst& inst : table) cycles.push_back(isa::is_arithmetic(inst.unit) ? 4 : 2);
    phases = isa::find_phases(table, cycles);
    distances = isa::phase_distances(phases, cycles);
  }
  std::vector<isa::StaticInst> table;
  std::vector<std::uint32_t> cycles;
  std::vector<Phase> phases;
  std::vector<std::uint16_t> distances;
};

// Figure 3.2 of awatramani17: c[i] = a[i] + b[i]. The sum of what the loads bring begins the second phase.
TEST(Phases, VectorAddHasTwo) {
  KernelBuilder k;
  k.add(isa::Opcode::MadLo, isa::Type::U32, {r(0)}, {r(1), r(2), r(3)});  // 0: index
  k.add(isa::Opcode::Add, isa::Type::U32, {r(4)}, {param(0), r(0)});      // 1
  k.load(isa::Space::Global, isa::Type::F32, r(5), r(4));                 // 2
  k.add(isa::Opcode::Add, isa::Type::U32, {r(6)}, {param(4), r(0)});      // 3
  k.load(isa::Space::Global, isa::Type::F32, r(7), r(6));                 // 4
  k.add(isa::Opcode::Add, isa::Type::F32, {r(5)}, {r(5), r(7)});          // 5: the second phase
  k.add(isa::Opcode::Add, isa::Type::U32, {r(0)}, {param(8), r(0)});      // 6
  k.store(isa::Space::Global, isa::Type::F32, r(0), r(5));                // 7
  k.exit();                                                               // 8
  const Analysis of(k);
  EXPECT_EQ(of.phases, (std::vector<Phase>{{0, 5, 4 + 4 + 2 + 4 + 2}, {5, 9, 4 + 4 + 2 + 2}}));
  EXPECT_EQ(of.distances, (std::vector<std::uint16_t>{16, 12, 8, 6, 2, 12, 8, 4, 2}));
}

TEST(Phases, AnAnnotationRoundsDistancesAndHoldsThemUpToItsMost) {
  const std::vector<Phase> phases = {{0, 4, 16}};
  const std::vector<std::uint32_t> cycles = {4, 5, 4, 3};
  const auto distances = [&](std::uint32_t most, std::uint32_t unit) {
    return isa::phase_distances(phases, cycles, {most, unit});
  };
  EXPECT_EQ(distances(512, 1), (std::vector<std::uint16_t>{16, 12, 7, 3}));
  EXPECT_EQ(distances(512, 2), (std::vector<std::uint16_t>{16, 12, 8, 4}));
  EXPECT_EQ(distances(10, 1), (std::vector<std::uint16_t>{10, 10, 7, 3}));
}

// One load's address is the result of another: each begins a phase.
TEST(Phases, AChaseHasOneForEachLoad) {
  KernelBuilder k;
  for (int i = 0; i < 3; ++i) k.load(isa::Space::Global, isa::Type::U32, r(0), r(0));
  k.store(isa::Space::Global, isa::Type::U32, r(1), r(0));
  k.exit();
  const Analysis of(k);
  EXPECT_EQ(of.phases, (std::vector<Phase>{{0, 1, 2}, {1, 2, 2}, {2, 3, 2}, {3, 5, 4}}));
}

// What a phase reads of the phase before begins no other: only what its own loads bring does.
TEST(Phases, ResultsOfThePhaseBeforeAreNoBoundary) {
  KernelBuilder k;
  k.load(isa::Space::Global, isa::Type::U32, r(0), r(8));
  k.load(isa::Space::Global, isa::Type::U32, r(1), r(8), 4);
  k.add(isa::Opcode::Add, isa::Type::U32, {r(2)}, {r(0), r(9)});  // the second phase
  k.add(isa::Opcode::Add, isa::Type::U32, {r(3)}, {r(1), r(2)});  // of the first phase's other load
  k.load(isa::Space::Global, isa::Type::U32, r(4), r(3));
  k.add(isa::Opcode::Add, isa::Type::U32, {r(5)}, {r(0), r(1)});
  k.add(isa::Opcode::Add, isa::Type::U32, {r(5)}, {r(5), r(4)});  // the third
  k.exit();
  const Analysis of(k);
  EXPECT_EQ(of.phases, (std::vector<Phase>{{0, 2, 4}, {2, 6, 14}, {6, 8, 6}}));
}

// A loop over shared memory: its block is one phase, since shared memory and constants are near.
TEST(Phases, BasicBlocksBeginOneAndSharedMemoryDoesNot) {
  KernelBuilder k;
  k.add(isa::Opcode::Mov, isa::Type::U32, {r(0)}, {imm(0)});        // 0
  k.load(isa::Space::Shared, isa::Type::U32, r(1), r(0));           // 1: the loop
  k.add(isa::Opcode::Add, isa::Type::U32, {r(2)}, {r(2), r(1)});    // 2
  k.add(isa::Opcode::Add, isa::Type::U32, {r(0)}, {r(0), imm(4)});  // 3
  k.add(isa::Opcode::Setp, isa::Type::U32, {p(0)}, {r(0), imm(64)}).compare = isa::Compare::LT;  // 4
  k.branch(1, 6, p(0));                                                                          // 5
  k.store(isa::Space::Global, isa::Type::U32, r(9), r(2));                                       // 6
  k.exit();                                                                                      // 7
  const Analysis of(k);
  EXPECT_EQ(of.phases, (std::vector<Phase>{{0, 1, 4}, {1, 6, 2 + 4 + 4 + 4 + 2}, {6, 8, 4}}));
}

// A barrier ends a block, and an atomic operation brings a result from afar.
TEST(Phases, BarriersAndAtomicOperations) {
  KernelBuilder k;
  k.add(isa::Opcode::Mov, isa::Type::U32, {r(0)}, {imm(1)});                                // 0
  k.store(isa::Space::Shared, isa::Type::U32, r(1), r(0));                                  // 1
  k.add(isa::Opcode::Bar, isa::Type::None, {}, {imm(0)}).bar = isa::BarMode::Sync;          // 2
  isa::Instruction& atom = k.add(isa::Opcode::Atom, isa::Type::U32, {r(2)}, {r(3), r(0)});  // 3
  atom.space = isa::Space::Global;
  atom.atomic = isa::AtomicOp::Add;
  k.add(isa::Opcode::Add, isa::Type::U32, {r(0)}, {r(0), imm(1)});  // 4
  k.add(isa::Opcode::Add, isa::Type::U32, {r(2)}, {r(2), imm(1)});  // 5
  k.exit();                                                         // 6
  const Analysis of(k);
  EXPECT_EQ(of.phases, (std::vector<Phase>{{0, 3, 8}, {3, 5, 6}, {5, 7, 6}}));
}

TEST(Phases, DistancesEndAtTheirAnnotationsMost) {
  KernelBuilder k;
  for (int i = 0; i < 200; ++i) k.add(isa::Opcode::Add, isa::Type::U32, {r(0)}, {r(0), imm(1)});
  k.exit();
  const Analysis of(k);
  EXPECT_EQ(of.phases, (std::vector<Phase>{{0, 201, 802}}));
  EXPECT_EQ(of.distances[0], 512);
  EXPECT_EQ(of.distances[72], 512) << "128 x 4 + 2";
  EXPECT_EQ(of.distances[73], 510);
}

}  // namespace
}  // namespace gpumux::emulator::test
