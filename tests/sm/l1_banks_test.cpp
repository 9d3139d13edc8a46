// The cycles that accesses to the L1 data array take, by hand.
#include "sm/l1_banks.hpp"

#include <gtest/gtest.h>

namespace gpumux::sm::testing {
namespace {

L1Banks of(std::uint32_t banks, std::uint32_t bytes) {
  arch::L1Config config;
  config.banks = banks;
  config.bank_bytes = bytes;
  return L1Banks(config);
}

TEST(L1Banks, ABankOfLinesTakesOneACycleWhateverIsRead) {
  L1Banks banks = of(1, 128);
  EXPECT_TRUE(banks.free(5, 0xf, 10));
  EXPECT_EQ(banks.last(5, 0xf, 10), 10U);
  EXPECT_EQ(banks.take(5, 0xf, 10), 10U);
  EXPECT_FALSE(banks.free(6, 0x1, 10));
  EXPECT_TRUE(banks.free(6, 0x1, 11));
}

TEST(L1Banks, LinesOfDifferentBanksGoTogether) {
  L1Banks banks = of(4, 128);
  for (std::uint64_t line = 0; line < 4; ++line) {
    EXPECT_TRUE(banks.free(line, 0xf, 3));
    EXPECT_EQ(banks.take(line, 0xf, 3), 3U);
  }
  EXPECT_FALSE(banks.free(8, 0xf, 3));  // in the bank of line 0
  EXPECT_TRUE(banks.free(8, 0xf, 4));
}

TEST(L1Banks, FourBanksOfSectorsReadALineACycle) {
  L1Banks banks = of(4, 32);
  EXPECT_EQ(banks.take(0, 0xf, 7), 7U);
  EXPECT_FALSE(banks.free(1, 0xf, 7));
  EXPECT_EQ(banks.take(1, 0xf, 8), 8U);
}

TEST(L1Banks, SectorsOfDifferentLinesInDifferentBanksGoTogether) {
  L1Banks banks = of(4, 32);
  EXPECT_EQ(banks.take(0, 0x1, 7), 7U);
  EXPECT_TRUE(banks.free(1, 0x2, 7));
  EXPECT_EQ(banks.take(1, 0x2, 7), 7U);
  EXPECT_FALSE(banks.free(2, 0x1, 7));  // the first sector again
}

TEST(L1Banks, AnAccessBeginsWithItsFirstSectorAndWaitsForTheBanksOfOthers) {
  L1Banks banks = of(4, 32);
  EXPECT_EQ(banks.take(0, 0x4, 7), 7U);
  ASSERT_TRUE(banks.free(1, 0x7, 7));
  EXPECT_EQ(banks.last(1, 0x7, 7), 8U);
  EXPECT_EQ(banks.take(1, 0x7, 7), 8U);  // 0 and 1 in 7, 2 in 8
  EXPECT_TRUE(banks.free(2, 0x1, 8));
  EXPECT_FALSE(banks.free(2, 0x4, 8));
}

TEST(L1Banks, OneBankOfSectorsReadsALineInFourCycles) {
  L1Banks banks = of(1, 32);
  EXPECT_EQ(banks.take(0, 0xf, 20), 23U);
  EXPECT_FALSE(banks.free(1, 0x1, 23));
  EXPECT_TRUE(banks.free(1, 0x1, 24));
}

TEST(L1Banks, PiecesOfTwoSectorsAreReadOnce) {
  L1Banks banks = of(1, 64);
  EXPECT_EQ(banks.take(0, 0x3, 5), 5U);
  EXPECT_EQ(banks.take(0, 0x6, 6), 7U);  // both halves
  EXPECT_EQ(banks.take(1, 0xf, 8), 9U);
}

TEST(L1Banks, BanksNeedNotBeAPowerOfTwo) {
  L1Banks banks = of(3, 128);
  EXPECT_EQ(banks.take(0, 0xf, 1), 1U);
  EXPECT_TRUE(banks.free(1, 0xf, 1));
  EXPECT_TRUE(banks.free(2, 0xf, 1));
  EXPECT_FALSE(banks.free(3, 0xf, 1));
}

}  // namespace
}  // namespace gpumux::sm::testing
