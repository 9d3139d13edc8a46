// Reads fat binaries as nvcc embeds them, whole and damaged.
#include "program/fat_binary.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "base/error.hpp"
#include "tests/program/calls/cuda.hpp"

namespace gpumux::program {
namespace {

FatBinary read(const std::string& bytes) { return read_fat_binary(std::as_bytes(std::span(bytes)), "app"); }

std::string text_of(char letter) { return ".version 7.5\n" + std::string(5000, letter) + "\n"; }

TEST(FatBinary, HoldsPtxOfSeveralArchitecturesInEachPacking) {
  const std::string entries = fat_entry(2, 80, "machine code", Packing::Raw) +
                              fat_entry(1, 75, text_of('a') + '\0', Packing::Raw) +
                              fat_entry(1, 90, text_of('b') + '\0', Packing::Lz4) +
                              fat_entry(1, 120, text_of('c') + '\0', Packing::Zstd);
  const FatBinary all = read(fat_binary(entries));
  ASSERT_EQ(all.ptx.size(), 3U);
  EXPECT_EQ(all.ptx[0].text, text_of('a'));
  EXPECT_EQ(all.ptx[1].text, text_of('b'));
  EXPECT_EQ(all.ptx[2].text, text_of('c'));
  ASSERT_EQ(all.machine_code.size(), 1U);
  EXPECT_EQ(all.machine_code[0].architecture, 80U);
  // The highest that the GPU has, else the lowest there is.
  EXPECT_EQ(all.best(75)->architecture, 75U);
  EXPECT_EQ(all.best(89)->architecture, 75U);
  EXPECT_EQ(all.best(100)->architecture, 90U);
  EXPECT_EQ(all.best(61)->architecture, 75U);
  EXPECT_EQ(FatBinary().best(75), nullptr);
}

void expect_refused(const std::string& bytes, const std::string& why) {
  try {
    static_cast<void>(read(bytes));
    FAIL() << "nothing was wrong with it; expected: " << why;
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).find("app: error: fat binary, byte "), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(FatBinary, RefusesWhatIsDamaged) {
  const std::string entry = fat_entry(1, 75, text_of('a'), Packing::Zstd);
  const std::string whole = fat_binary(entry);
  const auto with = [&](std::size_t at, auto value) {
    std::string changed = whole;
    put(changed, at, value);
    return changed;
  };
  expect_refused("", "no fat binary");
  expect_refused(with(0, std::uint32_t{1}), "no fat binary");
  expect_refused(whole.substr(0, whole.size() - 8), "are left");
  expect_refused(with(6, std::uint16_t{8}), "are left");
  expect_refused(with(8, std::uint64_t{20}), "an entry of 20 bytes");
  expect_refused(with(16 + 4, std::uint32_t{0x20}), "an entry of 32 and");
  expect_refused(with(16 + 8, ~std::uint64_t{0}), "an entry of 72 and");
  expect_refused(with(16 + 0x10, std::uint32_t{1U << 20U}), "compressed bytes");
  expect_refused(with(16 + 0x38, std::uint64_t{1} << 40U), "bytes; at most");
  expect_refused(with(16 + 0x38, std::uint64_t{17}), "does not unpack (Zstandard)");
  std::string lz4 = fat_binary(fat_entry(1, 75, text_of('a'), Packing::Lz4));
  put(lz4, 16 + 0x38, std::uint64_t{17});
  expect_refused(lz4, "does not unpack (LZ4)");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(read(whole.substr(0, bytes)), UserError);
}

}  // namespace
}  // namespace gpumux::program
