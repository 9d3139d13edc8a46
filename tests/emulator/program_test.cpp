// Kernels from launch to result, and faults that end kernels.
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/kernel_builder.hpp"

namespace gpumux::emulator::test {
namespace {

// c[i] = a[i] + b[i] for i = ctaid * ntid + tid < n; parameters: a, b, c, n.
KernelBuilder vector_add() {
  KernelBuilder k;
  k.add(Opcode::MadLo, Type::S32, {r(0)}, {sreg(Special::CtaidX), sreg(Special::NtidX), sreg(Special::TidX)});
  Instruction& compare = k.add(Opcode::Setp, Type::S32, {p(0)}, {r(0), param(24)});
  compare.compare = isa::Compare::GE;
  k.exit().guard = p(0);
  k.add(Opcode::MulWide, Type::S32, {rd(0)}, {r(0), imm(4)});
  k.add(Opcode::Add, Type::S64, {rd(1)}, {rd(0), param(0)});
  k.add(Opcode::Add, Type::S64, {rd(2)}, {rd(0), param(8)});
  k.add(Opcode::Add, Type::S64, {rd(3)}, {rd(0), param(16)});
  k.load(Space::Global, Type::F32, r(1), rd(1));
  k.load(Space::Global, Type::F32, r(2), rd(2));
  k.add(Opcode::Add, Type::F32, {r(3)}, {r(1), r(2)});
  k.store(Space::Global, Type::F32, rd(3), r(3));
  k.exit();
  return k;
}

TEST(Program, AddsVectorsWithAPartialLastWarp) {
  constexpr std::uint32_t kCount = 1000;
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  Device device;
  const Address pa = device.upload(a);
  const Address pb = device.upload(b);
  const Address pc = device.memory.allocate(kCount * 4);
  const std::uint64_t executed = device.run(vector_add(), {8, 1, 1}, {128, 1, 1}, {pa, pb, pc, kCount});
  const auto c = device.download<float>(pc, kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(c[i], static_cast<float>(3 * i)) << i;
  // 31 full warps and one of 8 lanes run all 12 instructions; no warp is wholly out of range but
  // 1024 - 1000 = 24 lanes of the last are.
  EXPECT_EQ(executed, 32U * 12U);
}

TEST(Program, OutOfBoundsReadNamesEverything) {
  std::vector<float> a(256, 1.0F);
  Device device;
  const Address pa = device.upload(a);
  const Address pc = device.memory.allocate(1024 * 4);
  const std::string message = device.fault_of(vector_add(), {8, 1, 1}, {128, 1, 1}, {pa, pc, pc, 1000});
  EXPECT_EQ(
      message,
      fmt::format(
          "error: test: kernel kernel: invalid global read of 4 bytes at 0x{:x} (just after the end "
          "of the allocation of 1024 bytes at 0x{:x}), thread (0,0,0) of block (2,0,0), pc 7 (test.ptx:8)",
          pa + 1024, pa));
}

// On the two sides of a branch the same physical registers may hold a pair and a single value.
TEST(Program, PairsDoNotShareStorageWithTheirHalves) {
  KernelBuilder k;
  k.function.physical = true;
  k.function.num_reg64 = 0;
  k.add(Opcode::Mov, Type::U32, {r(0)}, {sreg(Special::LaneId)});
  k.add(Opcode::MulWide, Type::U32, {rd(2)}, {r(0), imm(8)});
  k.add(Opcode::Add, Type::U64, {rd(2)}, {rd(2), param(0)});
  k.add(Opcode::MulWide, Type::U32, {rd(4)}, {r(0), imm(0x10001)});
  k.add(Opcode::And, Type::B32, {r(1)}, {r(0), imm(1)});
  k.add(Opcode::Setp, Type::U32, {p(0)}, {r(1), imm(0)}).compare = isa::Compare::EQ;
  k.add(Opcode::Mov, Type::U32, {r(4)}, {imm(7)}).guard = p(0);
  k.add(Opcode::Mov, Type::U32, {r(5)}, {imm(9)}).guard = p(0);
  k.store(Space::Global, Type::U64, rd(2), rd(4)).guard = not_p(0);
  k.store(Space::Global, Type::U32, rd(2), r(5)).guard = p(0);
  k.exit();
  Device device;
  const Address out = device.memory.allocate(32 * 8);
  device.run(k, {1, 1, 1}, {32, 1, 1}, {out});
  const auto values = device.download<std::uint64_t>(out, 32);
  for (std::uint64_t lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], lane % 2 == 0 ? 9 : lane * 0x10001);
}

}  // namespace
}  // namespace gpumux::emulator::test
