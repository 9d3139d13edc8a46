// The first instruction after which a block could not be restarted, by hand.
#include "workload/overwrites.hpp"

#include <gtest/gtest.h>

namespace gpumux::workload {
namespace {

constexpr std::uint32_t kSectorOne = 1, kSectorTwo = 2;

struct Block {
  explicit Block(std::uint32_t warps) : overwrites(warps) {}
  void access(std::uint32_t warp, std::uint16_t flags, std::uint64_t line, std::uint32_t sectors,
              MemHeader::Where where = MemHeader::Where::Global) {
    isa::StaticInst inst;
    inst.unit = isa::Unit::Memory;
    inst.flags = flags;
    MemHeader header;
    header.where = where;
    header.transactions = 1;
    const std::uint64_t word = Transaction::make(line, sectors, 1).word;
    overwrites.executed(warp, index++, inst, header, &word);
  }
  Overwrites overwrites;
  std::uint64_t index = 0;
};

TEST(Overwrites, AStoreOfWhatWasReadIsOne) {
  Block block(1);
  block.access(0, isa::kStore, 7, kSectorOne);  // nobody has read it
  block.access(0, isa::kLoad, 7, kSectorTwo);
  block.access(0, isa::kStore, 7, kSectorOne);  // another sector
  block.access(0, isa::kStore, 8, kSectorTwo);  // another line
  EXPECT_EQ(block.overwrites.first(0), Overwrites::kNone);
  block.access(0, isa::kStore, 7, kSectorOne | kSectorTwo);
  EXPECT_EQ(block.overwrites.first(0), 4U);
  block.access(0, isa::kStore, 7, kSectorTwo);  // the first counts
  EXPECT_EQ(block.overwrites.first(0), 4U);
}

TEST(Overwrites, WhatAnotherWarpOfTheBlockHasReadCountsAndIsTheStoresWarps) {
  Block block(2);
  block.access(1, isa::kLoad, 7, kSectorOne);
  block.access(0, isa::kStore, 7, kSectorOne);
  EXPECT_EQ(block.overwrites.first(0), 1U);
  EXPECT_EQ(block.overwrites.first(1), Overwrites::kNone);
}

TEST(Overwrites, AnAtomicIsOneWhateverItsAddress) {
  Block block(1);
  block.access(0, isa::kAtomic | isa::kLoad, 7, kSectorOne, MemHeader::Where::Shared);
  EXPECT_EQ(block.overwrites.first(0), Overwrites::kNone);
  block.access(0, isa::kAtomic | isa::kStore, 7, kSectorOne);
  EXPECT_EQ(block.overwrites.first(0), 1U);
}

TEST(Overwrites, LocalMemoryBeginsAnewWithTheBlock) {
  Block block(1);
  block.access(0, isa::kLoad, 7, kSectorOne, MemHeader::Where::Local);
  block.access(0, isa::kStore, 7, kSectorOne, MemHeader::Where::Local);
  EXPECT_EQ(block.overwrites.first(0), Overwrites::kNone);
}

}  // namespace
}  // namespace gpumux::workload
