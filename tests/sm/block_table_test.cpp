// The table of resident blocks alone: the resources of blocks, their barriers, and their ends.
#include "sm/block_table.hpp"

#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

/// Eight warps of at most 256 threads in four blocks; a launch takes 7 cycles, a barrier 5.
arch::SmConfig small() {
  arch::SmConfig config;
  config.max_threads = 256;
  config.max_warps = 8;
  config.max_blocks = 4;
  config.registers = 4096;
  config.register_allocation_unit = 256;
  config.shared_bytes = 4096;
  config.shared_allocation_unit = 256;
  config.block_launch_latency = 7;
  config.barrier_latency = 5;
  return config;
}

std::unique_ptr<workload::BlockStream> stream(std::uint32_t warps) {
  return std::make_unique<HandMadeBlock>(std::vector<WarpCode>(warps), 1);
}

/// A table of eight slots with one kernel.
struct Table {
  explicit Table(workload::BlockResources resources = {64, 16, 0}) : table(config, 8) {
    table.bind(0, 3, resources);
  }
  Block& admit(std::uint32_t warps, Cycle start = 0) { return table.admit(0, 0, stream(warps), start); }
  std::vector<Cycle> ends(Cycle now) {
    std::vector<Cycle> times;
    table.end_blocks(now, [&](const Block& block) { times.push_back(block.finish_at); });
    return times;
  }
  arch::SmConfig config = small();
  BlockTable table;
};

TEST(BlockTable, RoundsWhatABlockTakes) {
  const Table at;
  // 17 x 32 = 544 registers a warp, 768 in units of 256; two warps.
  EXPECT_EQ(at.table.registers_of({64, 17, 0}), 1536U);
  EXPECT_EQ(at.table.shared_of({64, 17, 257}), 512U);
  EXPECT_EQ(at.table.shared_of({64, 17, 0}), 0U);
}

TEST(BlockTable, EachResourceBindsExactly) {
  const Table at;
  EXPECT_TRUE(at.table.fits({256, 16, 4096}));
  EXPECT_FALSE(at.table.fits({257, 1, 0}));  // threads, and a ninth warp
  EXPECT_FALSE(at.table.fits({32, 16, 4097}));
  EXPECT_TRUE(at.table.fits({32, 128, 0}));  // 4096 registers
  EXPECT_FALSE(at.table.fits({32, 129, 0}));
}

TEST(BlockTable, TakesAndGivesBack) {
  Table at({64, 32, 1000});  // 2 warps, 2048 registers, 1024 bytes
  EXPECT_TRUE(at.table.drained());
  at.admit(2);
  EXPECT_TRUE(at.table.fits({64, 32, 3072}));
  EXPECT_FALSE(at.table.fits({64, 32, 3073}));
  EXPECT_FALSE(at.table.fits({64, 33, 0}));
  at.admit(2);
  EXPECT_EQ(at.table.resident(0), 2U);
  EXPECT_EQ(at.table.resident_of(3), 2U);
  EXPECT_EQ(at.table.resident(), 2U);
  EXPECT_EQ(at.table.present(), 1U);
  for (const std::uint32_t slot : {0U, 1U, 2U, 3U}) at.table.exits(slot, 20);
  EXPECT_EQ(at.ends(20).size(), 2U);
  EXPECT_TRUE(at.table.drained());
  EXPECT_EQ(at.table.present(), 0U);
  EXPECT_EQ(at.table.resident_of(3), 0U);
}

TEST(BlockTable, SharedNeedIsThatOfEachKernelAlone) {
  Table at({64, 16, 1000});  // 1024 bytes: four fit by shared memory, threads and blocks
  at.table.bind(1, 4, {256, 8, 256});
  EXPECT_EQ(at.table.shared_need(), 0U);
  at.admit(2);
  EXPECT_EQ(at.table.shared_need(), 4096U);
  at.table.exits(0, 1);
  at.table.exits(1, 1);
  at.ends(1);
  at.table.admit(1, 0, stream(8), 2);
  EXPECT_EQ(at.table.shared_need(), 256U);  // one of 256 threads
}

TEST(BlockTable, WarpsTakeTheLowestFreeSlots) {
  Table at;
  for (std::uint32_t slot = 0; slot < 8; ++slot) at.table.warp(slot).local = static_cast<std::uint8_t>(slot);
  at.admit(1);
  at.admit(2);
  at.table.exits(0, 3);
  at.ends(3);
  const Block& third = at.admit(2, 10);
  EXPECT_EQ(third.warps, (std::vector<std::uint16_t>{0, 3}));
  const Warp& warp = at.table.warp(3);
  EXPECT_TRUE(warp.alive && warp.starved);
  EXPECT_EQ(warp.index, 1U);
  EXPECT_EQ(warp.local, 3U);  // of the slot, not of the block
  EXPECT_EQ(warp.sync_until, 17U);
  EXPECT_EQ(at.table.warp(0).generation, 1U);  // its second user
  // Index 0 was free again, but the block is younger than that of index 1.
  EXPECT_EQ(at.table.order(), (std::vector<std::uint8_t>{1, 0}));
}

TEST(BlockTable, ABarrierOpensWithItsLastWarp) {
  Table at({96, 8, 0});
  at.admit(3);
  EXPECT_FALSE(at.table.arrives(0, 2, 0, true, 10).opened);
  EXPECT_FALSE(at.table.arrives(2, 18, 0, true, 11).opened);  // 18 is 2, modulo 16
  EXPECT_EQ(at.table.warp(0).sync, Sync::Barrier);
  EXPECT_EQ(at.table.block(0).at_barrier, 2U);
  const BlockTable::Released released = at.table.arrives(1, 2, 0, true, 12);
  EXPECT_TRUE(released.opened);
  EXPECT_EQ(released.warps, 0b111U);
  for (const std::uint32_t slot : {0U, 1U, 2U}) {
    EXPECT_EQ(at.table.warp(slot).sync, Sync::Released);
    EXPECT_EQ(at.table.warp(slot).sync_until, 17U);
  }
  EXPECT_EQ(at.table.block(0).at_barrier, 0U);
}

TEST(BlockTable, AnExitOpensWhatTheOthersWaitAt) {
  Table at({96, 8, 0});
  at.admit(3);
  at.table.arrives(0, 1, 0, true, 10);
  at.table.arrives(2, 1, 0, true, 10);
  const BlockTable::Released released = at.table.exits(1, 20);
  EXPECT_TRUE(released.opened);
  EXPECT_EQ(released.warps, 0b101U);
  EXPECT_EQ(at.table.warp(0).sync_until, 25U);
}

TEST(BlockTable, ABarrierOfSomeWarpsCountsArrivals) {
  Table at({128, 8, 0});
  at.admit(4);
  // Two arrivals open barrier 3; the first goes on without waiting.
  const BlockTable::Released first = at.table.arrives(0, 3, 2, false, 5);
  EXPECT_FALSE(first.opened);
  EXPECT_EQ(at.table.warp(0).sync, Sync::None);
  const BlockTable::Released second = at.table.arrives(3, 3, 2, true, 6);
  EXPECT_TRUE(second.opened);
  EXPECT_EQ(second.warps, 0b1000U);
  // And one that nobody waits at opens, too.
  at.table.arrives(0, 4, 2, false, 7);
  const BlockTable::Released nobody = at.table.arrives(1, 4, 2, false, 8);
  EXPECT_TRUE(nobody.opened);
  EXPECT_EQ(nobody.warps, 0U);
}

TEST(BlockTable, TheLowestBarrierOpensWhenAllAreStuck) {
  Table at({96, 8, 0});
  at.admit(3);
  at.table.arrives(0, 5, 0, true, 10);
  at.table.arrives(1, 4, 0, true, 11);
  const BlockTable::Released released = at.table.arrives(2, 5, 0, true, 12);
  EXPECT_EQ(released.warps, 0b010U);  // barrier 4; 5 waits for warp 1
  EXPECT_EQ(at.table.block(0).at_barrier, 2U);
}

TEST(BlockTable, ABlockEndsWithItsLastExitOrData) {
  Table at;
  at.admit(2);
  at.admit(2);
  at.table.access_issued(0);
  at.table.exits(0, 10);
  at.table.exits(1, 12);
  EXPECT_EQ(at.table.next_end(), kNever);  // data are out
  at.table.exits(2, 13);
  at.table.exits(3, 14);
  EXPECT_EQ(at.table.next_end(), 14U);
  at.table.access_done(0, 40);
  EXPECT_EQ(at.table.next_end(), 14U);
  EXPECT_EQ(at.ends(14), (std::vector<Cycle>{14}));
  EXPECT_EQ(at.table.next_end(), 40U);
  EXPECT_TRUE(at.ends(39).empty());
  EXPECT_EQ(at.ends(40), (std::vector<Cycle>{40}));
  EXPECT_EQ(at.table.next_end(), kNever);
}

TEST(BlockTable, ABlockWithoutWarpsEndsAtItsStart) {
  Table at;
  at.admit(0, 9);
  EXPECT_EQ(at.table.next_end(), 9U);
  EXPECT_EQ(at.ends(9), (std::vector<Cycle>{9}));
}

TEST(BlockTable, ADelayedBlockHasItsPlaceAtOnce) {
  Table at;
  const Block& block = at.table.admit(0, 0, stream(2), 9, nullptr, 30);
  EXPECT_EQ(at.table.resident(0), 1U);
  for (const std::uint16_t slot : block.warps) EXPECT_EQ(at.table.warp(slot).sync_until, 9U + 30 + 7);
  at.table.admit(0, 1, stream(0), 9, nullptr, 30);
  EXPECT_TRUE(at.ends(38).empty());
  EXPECT_EQ(at.ends(39), (std::vector<Cycle>{39}));
}

TEST(BlockTable, LimitsAreKeptUntilAnotherKernelComes) {
  Table at;
  at.table.set_limit(0, 3);
  EXPECT_EQ(at.table.limit(0), 3U);
  at.table.bind(0, 1, {32, 8, 0});
  EXPECT_EQ(at.table.limit(0), 0U);
}

}  // namespace
}  // namespace gpumux::sm::testing
